"""Random calls of the verbs, right and wrong, and random damage to the keys they work on; all of it from a seed."""

from collections.abc import Callable, Sequence
from random import Random

from emqlab import keys
from emqlab.transitions import OF_COMMAND, Transition

#: These queues are touched by verbs alone, so that they are in order at the end.
SOUND = (b"calm", b"still")
#: These are damaged at will.
SPOILED = (b"q", b"a}:b", b"n\x00\r\n*", b"Q" * 300)
QUEUES = SOUND + SPOILED

I64_MAX = 2**63 - 1
IDS = [b"JOB0NgWEfAEJf" + bytes([end]) for end in b"abcdefgh"]
ODD_IDS = [
    b"",
    b"J",
    b"JOB",
    b"JOB0NgWEfAEJ",
    b"JOB0NgWEfAEJfaa",
    b"TSK0NgWEfAEJfa",
    b"JOB\x00\r\n",
    b"JOB{}:*?[",
    b"JOB%s%n%d",
    b"\xff\xfe",
    "JOB٠۱".encode(),
    b"JOB" + b"x" * 500,
]
#: Texts that are no count, or the last one.
ODD_NUMBERS = [
    *(b"", b"-", b"-0", b"-1", b"00", b"01", b"+1", b" 1", b"1 ", b"1\n", b"1\x00", b"\x001", b"1.0", b"1e3", b"0x10"),
    *(b"nan", b"inf", "١".encode(), "²".encode(), "１".encode(), b"9" * 31, b"9" * 5_000, b"-" + b"9" * 40),
    *(b"%d" % (sign * 2**bits + off) for sign in (1, -1) for bits in (31, 32, 53, 63, 64, 127) for off in (-1, 0, 1)),
]
ODD = [*ODD_IDS, *ODD_NUMBERS, b"emq:{q}:", b"emq:{}:", b"emq:{q}", b"{emq}:version", b"\r\n-ERR x\r\n", b"z" * 70_000]
ODD_SCORES = [
    b"inf",
    b"-inf",
    b"-0",
    b"1.5",
    b"1e300",
    b"-1e-300",
    b"9007199254740993",
    b"123456789012345678901",
    b"-7",
]
SETS = {b"pending": b"pending", b"active": b"active", b"schedule": b"scheduled", b"dead": b"dead"}
METRICS = (b"metrics:completed", b"metrics:failed")
COUNTERS = (b"attempts", b"failures", b"stalled")
FIELDS = (b"state", b"payload", b"last_error", b"lease_epoch", b"group", b"parent", *COUNTERS)
#: Command that makes a key of a type, the key left out.
MAKERS: dict[bytes, tuple[bytes, ...]] = {
    b"string": (b"SET", b"text"),
    b"list": (b"RPUSH", b"one", b"two"),
    b"set": (b"SADD", b"one", b"two"),
    b"hash": (b"HSET", b"attempts", b"1"),
    b"zset": (b"ZADD", b"0", b"JOB0NgWEfAEJfa"),
    b"stream": (b"XADD", b"*", b"f", b"v"),
}
#: How often a verb is drawn: what moves jobs on comes oftener.
OFTEN = {b"EMQ.CLAIM": 5, b"EMQ.ENQUEUE": 4, b"EMQ.FAIL": 3, b"EMQ.PROMOTE": 2, b"EMQ.STALLED.CHECK": 2}
COMMANDS = [name.encode() for name in OF_COMMAND]

Words = list[bytes]


class Fuzzer:
    """Draws calls and damage, about ``ids`` for the most part.

    ``tokens`` may be told the tokens that claims handed out: (queue, id) -> token.
    """

    def __init__(self, seed: object, ids: Sequence[bytes] = IDS) -> None:
        self.draw = Random(str(seed))
        self.ids = ids
        self.tokens: dict[tuple[bytes, bytes], bytes] = {}
        #: Key -> the types that damage may have given it, and those with a time to live.
        self.planted: dict[bytes, set[bytes]] = {}
        self.mortal: set[bytes] = set()
        self._weights = [OFTEN.get(name, 2) for name in COMMANDS]

    def chance(self, share: float) -> bool:
        """True in a ``share`` of the cases."""
        return self.draw.random() < share

    def any_id(self) -> bytes:
        """An id, seldom an odd one."""
        return self.draw.choice(ODD_IDS) if self.chance(0.06) else self.draw.choice(self.ids)

    def number(self, *good: int, odd: float = 0.05) -> bytes:
        """One of ``good``, seldom no count at all."""
        return self.draw.choice(ODD_NUMBERS) if self.chance(odd) else b"%d" % self.draw.choice(good)

    def token(self, queue: bytes, job_id: bytes) -> bytes:
        """The token last heard of, or another."""
        known = self.tokens.get((queue, job_id), b"1")
        return known if self.chance(0.7) else self.number(0, 1, 2, 3, odd=0.3)

    # -- calls

    def call(self, queue: bytes | None = None) -> tuple[bytes, Words]:
        """A verb's call on ``queue`` or on any, as it goes over the wire; about every fifth is wrong in shape."""
        queue = self.draw.choice(QUEUES) if queue is None else queue
        name = self.draw.choices(COMMANDS, self._weights)[0]
        words = self.sound_call(name, queue)
        if self.chance(0.2):
            for _ in range(self.draw.choice((1, 1, 2, 3))):
                self._mutate(words)
        return name, words

    def sound_call(self, name: bytes, queue: bytes) -> Words:
        """A call in good shape, its values good for the most part."""
        transition = OF_COMMAND[name.decode()]
        base, job_id = keys.base(queue), self.any_id()
        names = {"row": b"job:" + job_id, "base": b""}
        sent = [base + names.get(key, key.encode()) for key in transition.keys]
        values = self._values(transition, queue, base, job_id)
        args = [part for arg in transition.args for part in values[arg]()]
        spelled = name if self.chance(0.9) else name.swapcase()
        return [spelled, b"%d" % len(sent), *sent, *args]

    def _values(
        self, transition: Transition, queue: bytes, base: bytes, job_id: bytes
    ) -> dict[str, Callable[[], Words]]:
        draw = self.draw

        def pairs() -> Words:
            jobs = [self.any_id() for _ in range(draw.choice((1, 1, 2, 5)))]
            return [part for job in jobs for part in (job, self.token(queue, job))]

        return {
            "base": lambda: [base],
            "id": lambda: [job_id],
            "payload": lambda: [draw.choice((b"tea", b"", b"\x00\xff\r\n", b"p" * 300))],
            "error": lambda: [draw.choice((b"boom", b"", b"\r\n\x00", b"e" * 300))],
            "token": lambda: [self.token(queue, job_id)],
            "mode": lambda: [b"around" if self.chance(0.03) else draw.choice((b"in", b"at"))],
            "value": lambda: [self.number(0, 1, 5, 10**12)],
            "delay_ms": lambda: [self.number(0, 1, 60_000)],
            "lease_ms": lambda: [self.number(1, 2, 30_000, 30_000)],
            "max_attempts": lambda: [self.number(1, 2, 3)],
            "max_stalled": lambda: [self.number(1, 2, 3)],
            "limit": lambda: [self.number(1, 3, 100, I64_MAX)],
            "batch": lambda: [self.number(1, 3, 100, I64_MAX)],
            "pairs": pairs,
        }

    def _mutate(self, words: Words) -> None:
        """Make one thing wrong."""
        draw = self.draw
        place = draw.randrange(1, len(words)) if len(words) > 1 else 0
        kind = draw.randrange(9)
        if place == 0 or kind == 0:
            words.append(draw.choice(ODD))
        elif kind == 1:
            del words[place:]
        elif kind == 2:
            del words[place]
        elif kind == 3:
            words.insert(place, words[draw.randrange(1, len(words))])
        elif kind == 4:
            words[1] = draw.choice((b"0", b"1", b"2", b"3", b"4", b"9", *ODD_NUMBERS))
        elif kind == 5:
            words[place] = self.key(draw.choice(QUEUES))
        elif kind == 6 and words[place]:
            text = bytearray(words[place])
            text[draw.randrange(len(text))] = draw.randrange(256)
            words[place] = bytes(text)
        elif kind == 7:
            other = draw.randrange(1, len(words))
            words[place], words[other] = words[other], words[place]
        else:
            words[place] = draw.choice(ODD)

    # -- what wraps a call

    def garbage(self) -> Words:
        """A command about the verbs that is no call of one."""
        draw = self.draw
        _, words = self.call()
        asked = [b"EMQ.TRACE", *words] if self.chance(0.7) else words
        if self.chance(0.5):
            return [b"COMMAND", draw.choice((b"GETKEYS", b"GETKEYSANDFLAGS")), *asked]
        if self.chance(0.2):
            return [b"COMMAND", draw.choice((b"DOCS", b"INFO")), draw.choice(COMMANDS)]
        wrong = (b"", b"EMQ", b"emq.clai", b"EMQ.CLAIM\x00", b"emq.claimx", b"GET", b"EMQ.TRACE", *ODD_IDS)
        return draw.choice(([b"EMQ.TRACE"], [b"EMQ.TRACE", draw.choice(wrong), *words[1:]]))

    # -- damage

    def key(self, queue: bytes) -> bytes:
        """A key of a queue."""
        named = self.draw.choice((*SETS, *METRICS, b"meta"))
        return keys.base(queue) + named if self.chance(0.6) else keys.row(queue, self.any_id())

    def damage(self) -> list[Words]:
        """Raw commands that change a spoiled queue's keys, or how the server stores them."""
        queue = self.draw.choice(SPOILED)
        kind = self.draw.randrange(12)
        if kind == 9:
            return [self._life(keys.row(queue, self.any_id()))]
        return self._encodings() if kind == 11 else self.state(queue)

    def state(self, queue: bytes) -> list[Words]:
        """Raw commands that change a queue's keys as any server would."""
        draw = self.draw
        job_id = self.any_id()
        row, base = keys.row(queue, job_id), keys.base(queue)
        kind = draw.randrange(14)
        if kind <= 7:
            return self._job(queue, job_id)
        if kind == 8:
            return self._another_type(self.key(queue))
        if kind == 9:
            return self.put_right(queue)
        if kind == 10:
            self._plant(row, b"hash")
            value = draw.choice(ODD_NUMBERS)
            return [
                [b"HSET", row, draw.choice(COUNTERS), value],
                [b"HSET", base + draw.choice(METRICS), b"count", value],
            ]
        if kind == 11:
            self._plant(row, b"hash")
            return [draw.choice(([b"HSET", row, draw.choice(FIELDS), b"x"], [b"HDEL", row, draw.choice(FIELDS)]))]
        if kind == 12:
            return [[b"ZADD", base + draw.choice(list(SETS)), draw.choice(ODD_SCORES), job_id]]
        meta = base + b"meta"
        return [draw.choice(([b"HSET", meta, b"paused", b""], [b"HDEL", meta, b"paused"], [b"DEL", meta]))]

    def _life(self, row: bytes) -> Words:
        """A time to live, for a row or two of its fields, or the end of one."""
        self.mortal.add(row)
        ttl = [b"HPEXPIRE", row, b"100000", b"FIELDS", b"2", b"attempts", b"payload"]
        short = [b"PEXPIRE", row, b"%d" % self.draw.choice((1, 5, 20))]
        return self.draw.choice((short, [b"PERSIST", row], ttl))

    def _job(self, queue: bytes, job_id: bytes) -> list[Words]:
        """A job as a verb would find it, or nearly."""
        draw = self.draw
        row, base = keys.row(queue, job_id), keys.base(queue)
        self._plant(row, b"hash")
        attempts = self.number(0, 1, 2)
        self.tokens[queue, job_id] = attempts
        home = draw.choice(list(SETS))
        score = b"0" if home in (b"pending", b"dead") else draw.choice((b"1", b"9999999999999"))
        fields = [b"state", SETS[home], b"attempts", attempts, b"payload", b"p"]
        for field in (b"failures", b"stalled"):
            fields += [field, self.number(0, 1, 2)] if self.chance(0.3) else []
        fields += [b"lease_epoch", b"@run_id" if self.chance(0.7) else b"0" * 40] if self.chance(0.7) else []
        fields += [draw.choice((b"group", b"parent")), b"g"] if self.chance(0.04) else []
        made = [[b"DEL", row], [b"HSET", row, *fields]]
        if self.chance(0.05):
            self.mortal.add(row)
            made.append([b"PEXPIRE", row, b"86400000"])
        made += [[b"ZREM", base + name, job_id] for name in SETS if self.chance(0.8)]
        return [*made, [b"ZADD", base + home, score, job_id]]

    def _another_type(self, key: bytes) -> list[Words]:
        kind = self.draw.choice(list(MAKERS))
        command, *rest = MAKERS[kind]
        self._plant(key, kind)
        return [[b"DEL", key], [command, key, *rest]]

    def put_right(self, queue: bytes) -> list[Words]:
        """Take a queue's keys away."""
        base = keys.base(queue)
        own = [base + name for name in (*SETS, *METRICS, b"meta")]
        return [[b"DEL", *own, *(keys.row(queue, job_id) for job_id in (*IDS, *ODD_IDS) if self.chance(0.5))]]

    def _encodings(self) -> list[Words]:
        few = self.draw.choice((b"0", b"3", b"128"))
        return [
            [b"CONFIG", b"SET", b"hash-max-listpack-entries", few],
            [b"CONFIG", b"SET", b"zset-max-listpack-entries", few],
        ]

    def _plant(self, key: bytes, kind: bytes) -> None:
        self.planted.setdefault(key, set()).add(kind)


def verb_of(words: Sequence[bytes]) -> bytes | None:
    """The verb that a command calls, in upper case; None for any other command."""
    name = words[0].upper()
    return name if name in COMMANDS else None
