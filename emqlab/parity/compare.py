"""Whether two runs agree, and whether a run is what its case expects (SPEC 6, 8)."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from emqlab.observe.case import World, encoded, moment, offset_of
from emqlab.observe.run import Run
from emqlab.observe.snapshot import Key, name_json
from emqlab.replies import Json, reply_json, text_json, value_json

#: How a script's own runtime error begins, on the embedded server and on real ones.
_RUNTIME = (
    "ERR Error running script",
    "ERR user_script:",
    "ERR Lua redis lib command arguments",
    "ERR Command arguments must be strings",
    "ERR Script attempted to set global",
)
#: What real servers add to the text of an error that a script raised (SPEC 6, number 25).
_ADDED = re.compile(r" script: ([0-9a-f]+, )?on @user_script.*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two sides part: the command or key, the field, both values in JSON form."""

    where: str
    field: str
    left: Json
    right: Json

    def sentence(self, left: str, right: str) -> str:
        """One line: ``where, field: left says …, right says …``."""
        return f"{self.where}, {self.field}: {left} {_show(self.left)}, {right} {_show(self.right)}"


def _show(value: Json) -> str:
    return "absent" if value is None else repr(value) if isinstance(value, str) else str(value)


# ---------------------------------------------------------------- two executors


def difference(scripted: Run, native: Run) -> Difference | None:
    """The first difference between the executors' replies, then their keys; None when they agree."""
    verbs = scripted.case.verbs
    for place, (left, right) in enumerate(zip(scripted.replies, native.replies, strict=True)):
        one, other = plain_reply(left), plain_reply(right)
        if one != other:
            return Difference(f"step {place + 1} {verbs[place]}", "reply", one, other)
    for name in sorted({*scripted.after, *native.after}):
        found = _key_difference(name, scripted, native)
        if found:
            return found
    return None


def plain_reply(reply: Any) -> Json:
    """A reply as it is compared: an error by its code word and detail, a script's own runtime error as ``ERR``."""
    told = reply_json(reply)
    return {"error": plain_error(told["error"])} if "error" in told else told


def plain_error(text: str) -> str:
    """An error's text without what a server adds when a script raised it."""
    if text.startswith(_RUNTIME):
        return "ERR"
    return _ADDED.sub("", text)


def _key_difference(name: bytes, scripted: Run, native: Run) -> Difference | None:
    left, right = scripted.after.get(name), native.after.get(name)
    where = f"key {name_json(name)}"
    if left is None or right is None or left.type != right.type:
        return Difference(where, "type", left and left.type, right and right.type)
    if left.ttl_ms != right.ttl_ms:
        return Difference(where, "ttl_ms", left.ttl_ms, right.ttl_ms)
    if left.type not in ("hash", "zset"):
        return None if left.value == right.value else Difference(where, "value", *_both(left, right))
    ours, theirs = _fields(left, scripted), _fields(right, native)
    for part in sorted({*ours, *theirs}):
        one, other = ours.get(part), theirs.get(part)
        if one is None or other is None:
            return Difference(where, str(text_json(part)), _text(one), _text(other))
        same = one == other
        if left.type == "zset" and not same:
            same = _same_score(one, other, scripted, native)
        if not same:
            return Difference(where, str(text_json(part)), _text(one), _text(other))
    return None


def _both(left: Key, right: Key) -> tuple[Json, Json]:
    return value_json(left.value), value_json(right.value)


def _text(raw: bytes | None) -> Json:
    return None if raw is None else text_json(raw)


def _fields(key: Key, run: Run) -> dict[bytes, bytes]:
    pairs = key.pairs()
    stamp = pairs.get(b"lease_epoch", b"").decode("utf-8", "replace")
    epochs = run.epochs or (run.run_id,)
    if key.type == "hash" and stamp in epochs:
        # Counted from the last: @run_id, and before a restart inside the case @run_id-1.
        back = len(epochs) - 1 - epochs.index(stamp)
        pairs[b"lease_epoch"] = b"@run_id" if back == 0 else b"@run_id-%d" % back
    return pairs


def number(text: bytes | str) -> Decimal | None:
    """A score as a number, however a server prints it; None when it is none."""
    try:
        return Decimal(text.decode() if isinstance(text, bytes) else text)
    except (InvalidOperation, UnicodeDecodeError):
        return None


def _same_number(one: Decimal | None, other: Decimal | None) -> bool:
    """Equal as the doubles that scores are, so that 1e+17 and 100000000000000000 are one number."""
    return one is not None and other is not None and float(one) == float(other)


def _same_score(one: bytes, other: bytes, scripted: Run, native: Run) -> bool:
    left, right = number(one), number(other)
    if left is None or right is None:
        return False
    if _same_number(left, right):
        return True
    sides = ((left, scripted), (right, native))
    if not all(score.is_finite() and score > run.now_ms // 2 for score, run in sides):
        return False
    # A time, in whichever set a case put it, written between its run's first and last moment and rounded to a double.
    slack = Decimal(math.ulp(float(left)) + math.ulp(float(right))) if abs(left) > 2**53 else 0
    ours = left - scripted.done_ms - slack, left - scripted.now_ms + slack
    theirs = right - native.done_ms, right - native.now_ms
    return ours[0] <= theirs[1] and theirs[0] <= ours[1]


# ---------------------------------------------------------------- a run and its case


def unmet(run: Run) -> Difference | None:
    """The first place where a run is not what its case's ``expect`` says; None when all holds."""
    expected: Mapping[str, Any] = run.case.expect.get(run.executor, {})
    world = World(run.now_ms, run.run_id.encode())
    if "replies" in expected:
        found = _reply_unmet(expected["replies"], run, world)
        if found:
            return found
    return _keys_unmet(expected["keys"], run, world) if "keys" in expected else None


def _reply_unmet(wanted: list[Any], run: Run, world: World) -> Difference | None:
    if len(wanted) != len(run.replies):
        return Difference("replies", "count", len(wanted), len(run.replies))
    for place, (want, reply) in enumerate(zip(wanted, run.replies, strict=True)):
        got = reply_json(reply)
        if "error" in want:
            held = isinstance(got.get("error"), str) and got["error"].startswith(str(want["error"]))
        else:
            held = got == _stamped(want, world)
        if not held:
            return Difference(f"step {place + 1} {run.case.verbs[place]}", "reply", want, got)
    return None


def _stamped(value: Json, world: World) -> Json:
    """An expected value with its ``@`` words put in."""
    if isinstance(value, str):
        stamp = moment(value, world)
        return value if stamp is None else stamp.decode()
    if isinstance(value, list):
        return [_stamped(item, world) for item in value]
    if isinstance(value, dict) and set(value) == {"hex"}:
        # However it is spelt, it is the bytes that count.
        return text_json(bytes.fromhex(value["hex"]))
    if isinstance(value, dict):
        return {key: _stamped(item, world) for key, item in value.items()}
    return value


def _keys_unmet(wanted: Mapping[str, Any], run: Run, world: World) -> Difference | None:
    held = {name_json(name): key for name, key in run.after.items()}
    for name in sorted({*wanted, *held}):
        where = f"key {name}"
        if name not in held or name not in wanted:
            want, got = wanted.get(name), held.get(name)
            return Difference(where, "type", want and want["type"], got and got.type)
        found = _key_unmet(where, wanted[name], held[name], run, world)
        if found:
            return found
    return None


def _key_unmet(where: str, want: Mapping[str, Any], got: Key, run: Run, world: World) -> Difference | None:
    if want["type"] != got.type:
        return Difference(where, "type", want["type"], got.type)
    if want.get("ttl_ms", -1) != got.ttl_ms:
        return Difference(where, "ttl_ms", want.get("ttl_ms", -1), got.ttl_ms)
    if got.type not in ("hash", "zset"):
        value = value_json(got.value)
        stamped = _stamped(want["value"], world)
        if got.type == "set":
            stamped, value = sorted(stamped, key=_part), sorted(value, key=_part)
        return None if stamped == value else Difference(where, "value", stamped, value)
    ours = {_part(field): value for field, value in want["value"]}
    theirs = {_part(text_json(field)): value for field, value in got.pairs().items()}
    for part in sorted({*ours, *theirs}):
        left, right = ours.get(part), theirs.get(part)
        if left is None or right is None:
            return Difference(where, part, left, _text(right))
        if got.type == "zset":
            held = _score_holds(left, right, run)
        else:
            held = _stamped(left, world) == text_json(right) or (
                left == "@run_id" and right in [epoch.encode() for epoch in run.epochs]
            )
        if not held:
            return Difference(where, part, left, _text(right))
    return None


def _part(name: Json) -> str:
    """A field or member as text; one given as bytes as the text they are, or else ``hex:…``."""
    told = name if isinstance(name, str) else text_json(bytes.fromhex(name["hex"]))
    return told if isinstance(told, str) else "hex:" + str(told["hex"])


def _score_holds(want: Json, got: bytes, run: Run) -> bool:
    score = number(got)
    offset = offset_of(want) if isinstance(want, str) else None
    if offset is None or score is None:
        return _same_number(number(encoded(str(want))), score)
    # A score is a double: far from now the bounds are rounded as the server rounded it.
    return float(run.now_ms + offset) <= float(score) <= float(run.done_ms + offset)
