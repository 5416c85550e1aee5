"""Episodes of a fuzz: a few dozen commands around one extreme, which must not last."""

import itertools
from collections.abc import Iterator

from emqlab import keys
from tests.native.fuzzing import I64_MAX, IDS, MAKERS, METRICS, SETS, SPOILED, Fuzzer, Words

ODD_VERSIONS = [
    b"echomq:2.0.0",
    b"",
    b"echomq:3.0.0\x00",
    b"two\r\nlines\r\n+OK\r\n",
    b"\x00\x00",
    b"%s%n%n%s",
    b"7",
    b"v" * 100_000,
]


def episodes(fuzzer: Fuzzer) -> Iterator[list[Words]]:
    """One extreme after the other, for ever; each takes itself away at its end."""
    cheap, dear = (_versions, _short_of_memory), (_crowd, _heartbeats, _giants)
    for kind in itertools.cycle([kind for one in dear for kind in (*cheap, one)]):
        queue = fuzzer.draw.choice(SPOILED)
        yield [*kind(fuzzer, queue), *fuzzer.put_right(queue)]


def _versions(fuzzer: Fuzzer, queue: bytes) -> list[Words]:
    key = keys.VERSION_KEY
    spoil = [[b"SET", key, fuzzer.draw.choice(ODD_VERSIONS)]]
    if fuzzer.chance(0.3):
        command, *rest = fuzzer.draw.choice(list(MAKERS.values()))
        spoil = [[b"DEL", key], [command, key, *rest]]
    cured = [b"DEL", key] if fuzzer.chance(0.3) else [b"SET", key, keys.VERSION]
    return [*spoil, *(fuzzer.call()[1] for _ in range(10)), [b"DEL", key], cured]


def _short_of_memory(fuzzer: Fuzzer, queue: bytes) -> list[Words]:
    limit = [b"CONFIG", b"SET", b"maxmemory"]
    calls = [fuzzer.call()[1] for _ in range(20)]
    calls += [[b"EMQ.TRACE", *fuzzer.call()[1]] for _ in range(5)]
    return [[*limit, b"1"], *calls, [*limit, b"0"]]


def _crowd(fuzzer: Fuzzer, queue: bytes, size: int = 5_000) -> list[Words]:
    """Sweeps and promotions over thousands, some of them with rows."""
    base, draw = keys.base(queue), fuzzer.draw
    crowd = [b"JOB%011d" % place for place in range(size)]
    rows = draw.sample(crowd, 60)
    made: list[Words] = [[b"DEL", *(base + name for name in (*SETS, *METRICS, b"meta"))]]
    for name in (b"active", b"schedule"):
        made.append([b"ZADD", base + name, *itertools.chain(*((b"1", job_id) for job_id in crowd))])
    for job_id in rows:
        stalled = [b"stalled", fuzzer.number(0, 1, odd=0.01)] if fuzzer.chance(0.3) else []
        epoch = [b"lease_epoch", b"@run_id"] if fuzzer.chance(0.8) else []
        made.append([b"HSET", keys.row(queue, job_id), b"attempts", b"1", b"payload", b"p", *stalled, *epoch])
    many = [b"%d" % number for number in (1_000, size, I64_MAX)]
    sets = {name: base + name for name in SETS}
    for number in (draw.choice(many), b"%d" % I64_MAX):
        sweep = [b"EMQ.STALLED.CHECK", b"3", sets[b"active"], sets[b"pending"], sets[b"dead"], base, b"2", number]
        promote = [b"EMQ.PROMOTE", b"2", sets[b"schedule"], sets[b"pending"], base, number]
        for words in (sweep, promote):
            made.append([b"EMQ.TRACE", *words] if fuzzer.chance(0.3) else words)
    return [*made, [b"DEL", *(keys.row(queue, job_id) for job_id in rows)]]


def _heartbeats(fuzzer: Fuzzer, queue: bytes) -> list[Words]:
    """EXTENDS with thousands of pairs, and with an odd one too many."""
    base = keys.base(queue)
    held = IDS[:4]
    made: list[Words] = [[b"DEL", base + b"active"]]
    for job_id in held:
        made += [[b"DEL", keys.row(queue, job_id)], [b"HSET", keys.row(queue, job_id), b"attempts", b"1"]]
        made.append([b"ZADD", base + b"active", b"1", job_id])
    pairs = [(fuzzer.draw.choice((*held, b"JOB%011d" % place)), b"1") for place in range(4_000)]
    words = [b"EMQ.EXTENDS", b"1", base + b"active", base, b"1000", *itertools.chain(*pairs)]
    return [*made, words, [*words, b"odd"], [b"EMQ.TRACE", *words]]


def _giants(fuzzer: Fuzzer, queue: bytes) -> list[Words]:
    """A megabyte as payload, error, id, token, base and number."""
    giant, job_id, base = fuzzer.draw.randbytes(1 << 20), IDS[0], keys.base(queue)
    huge_id = b"JOB" + giant[: 1 << 19]
    row, pending, active = keys.row(queue, job_id), base + b"pending", base + b"active"
    fail = [
        b"EMQ.FAIL",
        b"4",
        active,
        base + b"schedule",
        base + b"dead",
        row,
        job_id,
        b"1",
        b"0",
        b"2",
        giant,
        base,
    ]
    made: list[Words] = [
        *fuzzer.put_right(queue),
        [b"DEL", row],
        [b"EMQ.ENQUEUE", b"2", row, pending, job_id, giant],
        [b"EMQ.CLAIM", b"3", pending, active, base, b"30000"],
        [b"EMQ.COMPLETE", b"2", active, row, job_id, giant, base],
        [b"EMQ.TRACE", *fail] if fuzzer.chance(0.5) else fail,
        [b"EMQ.ENQUEUE", b"2", keys.row(queue, huge_id), pending, huge_id, b""],
        [b"EMQ.TRACE", b"EMQ.CLAIM", b"3", pending, active, base, b"30000"],
        [b"EMQ.CLAIM", b"3", pending, active, base, giant],
        [b"EMQ.CLAIM", b"3", giant + b"pending", giant + b"active", giant, b"1"],
    ]
    return [*made, [b"DEL", row, keys.row(queue, huge_id)]]
