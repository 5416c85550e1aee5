"""What the server is told of each verb: name, flags, arity, key specifications and documentation, as C (SPEC 5.2)."""

from collections.abc import Iterator

from emqlab.native.module.compiler import c_name, c_text
from emqlab.native.module.sources import Source
from emqlab.transitions import OF_COMMAND, Transition

#: What a verb does to each of its keys; a set that a job leaves, one that it enters, a row.
_ACCESS = {
    "enqueue": {"row": "INSERT", "pending": "INSERT"},
    "schedule": {"row": "INSERT", "schedule": "INSERT"},
    "claim": {"pending": "DELETE", "active": "INSERT"},
    "complete": {"active": "DELETE", "row": "DELETE"},
    "fail": {"active": "DELETE", "schedule": "INSERT", "dead": "INSERT", "row": "UPDATE"},
    "delay": {"row": "UPDATE", "active": "DELETE", "schedule": "INSERT"},
    "requeue": {"active": "DELETE", "pending": "INSERT", "row": "UPDATE"},
    "extend": {"active": "UPDATE", "row": "UPDATE"},
    "extends": {"active": "UPDATE"},
    "promote": {"schedule": "DELETE", "pending": "INSERT"},
    "stalled_check": {"active": "DELETE", "pending": "INSERT", "dead": "INSERT"},
    "reprocess": {"row": "UPDATE", "dead": "DELETE", "pending": "INSERT"},
}
_COMPLEXITY = {
    "extends": "O(M*log(N)) with M pairs and N active jobs.",
    "promote": "O(M*log(N)) with M due jobs and N jobs in the sets.",
    "stalled_check": "O(M*log(N)) with M expired leases and N jobs in the sets.",
}
_ONE = "O(log(N)) with N jobs in the sets."
#: Of the verbs only these are refused when memory is short: the others free it, or hold what is there.
_NEW_JOBS = ("enqueue", "schedule")
_NUMBERS = ("lease_ms", "delay_ms", "max_attempts", "max_stalled", "limit", "batch", "value", "token")


def catalogue(sources: dict[str, Source]) -> str:
    """The C tables of all verbs: a handler each, key specifications, arguments, and ``VERBS``."""
    verbs = sorted(OF_COMMAND.items())
    tables = [line for _, transition in verbs for line in _tables(transition)]
    rows = [_row(command, transition, sources[transition.verb].summary) for command, transition in verbs]
    return "\n".join([*tables, "static const Verb VERBS[] = {", *rows, "};", ""])


def real_keys(transition: Transition) -> int:
    """How many of a verb's keys are keys to the server; a base is none."""
    return len([key for key in transition.keys if key != "base"])


def _tables(transition: Transition) -> Iterator[str]:
    verb = transition.verb
    yield f"static int {verb}_command(Context *context, ServerString **argv, int argc) {{"
    yield f"  return run(context, argv, argc, {c_name(verb, verb)});"
    yield "}"
    yield f"static KeySpec {verb}_keys[] = {{"
    for place, key in enumerate(transition.keys):
        access = _ACCESS[verb].get(key)
        flags = f"KEY_RW | KEY_ACCESS | KEY_{access}" if access else "KEY_RO | KEY_NONE"
        yield f"  {{.flags = {flags}, .search = SEARCH_INDEX, .begin.index.position = {place + 2},"
        yield "   .find = FIND_RANGE, .keys.range = {0, 1, 0}},"
    yield "  {0}};"
    yield from _arguments(transition)


def _arguments(transition: Transition) -> Iterator[str]:
    verb = transition.verb
    if "pairs" in transition.args:
        yield f"static CommandArgument {verb}_pair[] = {{"
        yield from (f'  {{.name = "{name}", .key_spec = -1}},' for name in ("id", "token"))
        yield "  {0}};"
    yield f"static CommandArgument {verb}_arguments[] = {{"
    yield '  {.name = "numkeys", .type = ARGUMENT_INTEGER, .key_spec = -1},'
    for place, key in enumerate(transition.keys):
        kind = "ARGUMENT_STRING" if key == "base" else "ARGUMENT_KEY"
        yield f'  {{.name = "{key}", .type = {kind}, .key_spec = {-1 if key == "base" else place}}},'
    for name in transition.args:
        if name == "pairs":
            yield '  {.name = "pair", .type = ARGUMENT_BLOCK, .key_spec = -1, .flags = ARGUMENT_MULTIPLE,'
            yield f"   .parts = {verb}_pair}},"
        else:
            kind = "ARGUMENT_INTEGER" if name in _NUMBERS else "ARGUMENT_STRING"
            yield f'  {{.name = "{name}", .type = {kind}, .key_spec = -1}},'
    yield "  {0}};"


def _row(command: str, transition: Transition, summary: str) -> str:
    verb = transition.verb
    flags = "write deny-oom" if verb in _NEW_JOBS else "write"
    shown = summary.partition("\n")[0].partition(": ")[2].partition(" (")[0].rstrip(".")
    if not shown:
        raise ValueError(f"{verb}.py: its first line says what the verb does after a colon, for COMMAND DOCS")
    shown = shown[:1].upper() + shown[1:] + "."
    count = 2 + len(transition.keys) + len(transition.args)
    # The pairs are one or more, each of two words.
    arity = -(count + 1) if "pairs" in transition.args else count
    return (
        f'  {{"{command.lower()}", {c_name(verb, verb)}, {verb}_command, "{flags}", {real_keys(transition)},\n'
        f"   {{.version = &INFO_VERSION, .summary = {c_text(shown.encode())},\n"
        f'    .complexity = {c_text(_COMPLEXITY.get(verb, _ONE).encode())}, .since = "1.0.0", .arity = {arity},\n'
        f"    .key_specs = {verb}_keys, .arguments = {verb}_arguments}}}},"
    )
