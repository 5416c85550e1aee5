"""The options of ``emqlab parity``. The command line reads them, so nothing here takes time to import."""

import argparse
from pathlib import Path

ABOUT = """\
Measure parity: run generated cases on both executors, compare them with each other and with an independent model, and
count where the declared divergences show. Whatever else differs is shrunk to a smallest case and printed.

Layers: exhaustive (every state of one and two jobs, every transition), corruption (everything that can be wrong with
a queue), histories (twenty random steps, with restarts), three-jobs; plants and mutants show what the instrument
catches. Without --layer, the four layers of cases are run: on a Valkey all of it, elsewhere one case in five."""
STATUS = "exit status: 0 as declared; 1 something is not, or was not caught; 2 unusable input; 3 the server was lost"

CASES = ("exhaustive", "corruption", "histories", "three-jobs")
LAYERS = (*CASES, "mutants", "plants")


def parity_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``parity``."""
    parser.add_argument(
        "--layer",
        dest="layers",
        metavar="LAYER",
        action="append",
        type=_layers,
        help="only this one, or these, with commas between; may be given more than once",
    )
    parser.add_argument("--server", metavar="embedded|valkey|auto|URL", help="default: $EMQLAB_SERVER, else embedded")
    parser.add_argument("--seed", type=_whole, metavar="N", default=0, help="makes the same run again (default: 0)")
    parser.add_argument(
        "--minutes", type=_minutes, metavar="M", help="as many cases as two cores run in M minutes, all layers together"
    )
    parser.add_argument("--share", type=_share, metavar="N", help="one case in N (default: 1 on a Valkey, else 5)")
    parser.add_argument("--plant", metavar="NAME", help="plant this defect and see after how many cases it is caught")
    parser.add_argument("--plants", action="store_true", help="list the defects that can be planted")
    parser.add_argument("--index", type=_whole, metavar="N", help="run the one case of this number in --layer again")
    parser.add_argument("--page", type=_page, metavar="FILE", help="also write the report as a page, a .html file")
    parser.add_argument("--json", action="store_true", help="one line of JSON a layer")


def _layers(text: str) -> list[str]:
    named = [name.strip() for name in text.split(",")]
    for name in named:
        if name not in LAYERS:
            raise argparse.ArgumentTypeError(f"{name!r} is no layer; those are {', '.join(LAYERS)}")
    return named


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"a whole number from 0 to {2**63 - 1} is needed, not {text!r}")
    return int(text)


def _share(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 10**6):
        raise argparse.ArgumentTypeError(f"a whole number from 1 to 1000000 is needed, not {text!r}")
    return int(text)


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes <= 10_000:
        raise argparse.ArgumentTypeError(f"a number of minutes above 0 and up to 10000 is needed, not {text!r}")
    return minutes


def _page(text: str) -> Path:
    page = Path(text)
    if page.suffix not in (".html", ".htm"):
        raise argparse.ArgumentTypeError(f"a page is written to a .html file, not to {text!r}")
    if page.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder; name a .html file in it")
    if not page.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(page.parent)!r}; make it, or name another")
    return page
