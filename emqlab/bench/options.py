"""The options of ``emqlab bench``. The command line reads them, so nothing here takes time to import."""

import argparse
from pathlib import Path

from emqlab.transitions import OF_COMMAND

ABOUT = """\
Measure the verbs: each as a script and as a native command, in the same server, by the server's own account.

Every verb is run on the same prepared jobs by both executors in turn, and what it answered and did is checked."""
STATUS = "exit status: 0 measured; 1 a verb did not do its work; 2 nothing could be measured; 3 the server was lost"

ROUNDS = 21
_CALLS = 1_000_000
#: What a chart may be written as.
ENDINGS = (".png", ".svg", ".pdf")
VERBS = tuple(transition.verb for transition in OF_COMMAND.values())


def bench_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``bench``."""
    parser.add_argument(
        "--server", metavar="valkey|URL", default="valkey", help="default: valkey, a server started for this"
    )
    parser.add_argument(
        "--verb",
        dest="verbs",
        metavar="VERB",
        action="append",
        type=_verbs,
        help="only this one, or these, with commas between; may be given more than once",
    )
    parser.add_argument(
        "--rounds", type=_positive, metavar="N", default=ROUNDS, help=f"rounds to measure (default: {ROUNDS})"
    )
    parser.add_argument("--chart", type=_chart, metavar="FILE", help="also draw a chart, a .png, .svg or .pdf")
    parser.add_argument(
        "--memory",
        type=_positive,
        metavar="CALLS",
        nargs="?",
        const=_CALLS,
        help=f"instead, measure memory over this many calls (default: {_CALLS:,}), and what the module adds",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")


def _verbs(text: str) -> list[str]:
    named = [name.strip().lower().replace("-", "_") for name in text.split(",")]
    for name in named:
        if name not in VERBS:
            raise argparse.ArgumentTypeError(f"{name!r} is no verb that can be measured; those are {', '.join(VERBS)}")
    return named


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 10**9):
        raise argparse.ArgumentTypeError(f"a whole number from 1 to 1000000000 is needed, not {text!r}")
    return int(text)


def _chart(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in ENDINGS:
        raise argparse.ArgumentTypeError(f"a chart's name ends in {', '.join(ENDINGS)}, not as {text!r} does")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}; make it, or name another")
    return path
