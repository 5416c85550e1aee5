"""What an error reply to one command means to the transition that sent it."""

from emqlab.observe.words.entry import At, in_hand, shown
from emqlab.replies import ErrorReply

_TYPES = {b"H": "hash", b"Z": "sorted set", b"L": "list", b"R": "list", b"S": "set", b"G": "string", b"D": "string"}


def broken_off(at: At) -> str:
    """A script stops where a command fails, a verb refuses; ``at.reply`` is the error."""
    what = reason(at)
    if at.native:
        return f"{what}: refused."
    if in_hand(at.told):
        return f"{what}. The script stops here, and nothing puts the id back."
    if at.wrote:
        return f"{what}. The script stops here, and what ran before stays."
    return f"{what}. The script stops here."


def reason(at: At) -> str:
    """Why the server refused the command, as the beginning of a sentence."""
    assert isinstance(at.reply, ErrorReply)
    text, thing = at.reply.text, named(at.role, at.command)
    if text.startswith("WRONGTYPE"):
        return f"{thing} is not a {_TYPES.get(at.command[0][:1], 'fitting key')}"
    if "not an integer" in text:
        return f"{counter_of(at)} is not an integer"
    if "overflow" in text:
        return f"{counter_of(at)} is full: one more would overflow"
    if "not a valid float" in text or "not a float" in text:
        return "The score is not a number"
    if text.startswith("OOM"):
        return "The server is short of memory and refuses the command"
    if text.startswith("NOPERM"):
        return "This user may not do that"
    if "command arguments must be" in text.lower():
        return "An argument is missing or not a number"
    return f"{shown(at.command[0])} is refused"


def named(role: str, command: tuple[bytes, ...] = ()) -> str:
    """A key in a sentence: ``The row``, ``active``, ``metrics:failed``, ``The lane``."""
    if role.startswith(("row", "parent")):
        return "The row" if role.startswith("row") else "The parent's row"
    if role == "lane":
        return "The lane's key"
    if role == "version":
        return "The version's key"
    name = role.partition(".")[0].partition(" ")[0]
    return name or (shown(command[1]) if len(command) > 1 else "The key")


def counter_of(at: At) -> str:
    """The counter that a command asks or raises: ``attempts``, ``metrics:failed count``."""
    if at.role.startswith(("row.", "metrics:")):
        role, _, field = at.role.partition(".")
        return field if role == "row" else f"{role} count"
    return named(at.role, at.command)
