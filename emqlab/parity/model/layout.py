"""How a native verb reads the keys and arguments of a call: shape, then layout (SPEC 5.1, rules 1, 8 and 9)."""

from collections.abc import Sequence
from typing import Any

from emqlab import keys as names
from emqlab.parity.model.commands import Refused
from emqlab.parity.model.world import Given

FOREIGN = b"EMQARGS keys must be those of one queue, in the order of the verb"

#: Verb -> its keys and its arguments (SPEC 5.2). ``pairs`` stands for ids and tokens, at least one of each.
_WIRE = {
    "enqueue": ("row pending", "id payload"),
    "schedule": ("row schedule", "id payload mode value"),
    "claim": ("pending active base", "lease_ms"),
    "complete": ("active row", "id token base"),
    "fail": ("active schedule dead row", "id token delay_ms max_attempts error base"),
    "delay": ("row active schedule", "id token mode value"),
    "requeue": ("active pending row", "id token"),
    "extend": ("active row", "id token lease_ms"),
    "extends": ("active", "base lease_ms pairs"),
    "promote": ("schedule pending", "base batch"),
    "stalled_check": ("active pending dead", "base max_stalled limit"),
    "reprocess": ("row dead pending", "id"),
}


def wire(queue: bytes, verb: str, values: Given) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The keys and arguments that a call with these values is sent as."""
    base = names.base(queue)
    known: dict[str, Any] = {"base": base, **values}
    if "id" in values:
        known["row"] = base + b"job:" + values["id"]
    if "pairs" in values:
        known["pairs"] = [part for pair in values["pairs"] for part in pair]
    keys, args = (text.split() for text in _WIRE[verb])
    sent: list[bytes] = []
    for name in args:
        sent += known[name] if name == "pairs" else [known[name]]
    return tuple(base + name.encode() if name not in known else known[name] for name in keys), tuple(sent)


def laid_out(verb: str, keys: Sequence[bytes], args: Sequence[bytes]) -> tuple[bytes, Given]:
    """The base and the values in a call's keys and arguments. Raises Refused for wrong counts and foreign keys."""
    key_names = _WIRE[verb][0].split()
    given = _counted(verb, keys, args)
    named = dict(zip(key_names, keys, strict=True)) | {"base": given.pop("base", None)}
    if named["base"] is None:
        named["base"] = keys[key_names.index("base")] if "base" in key_names else _before(key_names, keys)
    base = named["base"]
    if not (base.startswith(b"emq:{") and base.endswith(b"}:") and len(base) > len(b"emq:{}:")):
        raise Refused(FOREIGN)
    for name in key_names:
        if name != "base" and named[name] != base + (b"job:" + given["id"] if name == "row" else name.encode()):
            raise Refused(FOREIGN)
    return base, given


def _counted(verb: str, keys: Sequence[bytes], args: Sequence[bytes]) -> dict[str, Any]:
    """The arguments by name. Raises Refused unless there are as many keys and arguments as the verb has."""
    key_names, arg_names = (text.split() for text in _WIRE[verb])
    paired = arg_names[-1] == "pairs"
    single = arg_names[:-1] if paired else arg_names
    rest = args[len(single) :]
    fits = (len(rest) >= 2 and len(rest) % 2 == 0) if paired else not rest
    if len(keys) != len(key_names) or len(args) < len(single) or not fits:
        raise Refused(b"ERR wrong number of arguments for 'emq.%b' command" % verb.replace("_", ".").encode())
    given: dict[str, Any] = dict(zip(single, args, strict=False))
    if paired:
        given["pairs"] = list(zip(rest[::2], rest[1::2], strict=True))
    return given


def _before(key_names: Sequence[str], keys: Sequence[bytes]) -> bytes:
    """What stands before a set's name. Raises Refused for another key in the set's place."""
    place, name = next((place, name) for place, name in enumerate(key_names) if name != "row")
    if not keys[place].endswith(name.encode()):
        raise Refused(FOREIGN)
    return keys[place][: -len(name)]
