"""Write what is made from the code's own data: the cheat sheet, the glossary and the instructor notes.

    .venv/bin/python notebooks/tables.py            write them
    .venv/bin/python notebooks/tables.py --check    write nothing, say which would change

What verbs do is measured here, on the embedded server, by running each of them.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import nbformat

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from emqlab import open_lab
from emqlab.teach.measured import measure
from notebooks import record
from notebooks.pages import cheat_sheet, glossary, instructor_notes

FOLDER = Path(__file__).parent


def notebook(name: str, cells: Sequence[str]) -> str:
    """A notebook of Markdown alone, in normal form, as its file's text."""
    told = [{"cell_type": "markdown", "metadata": {}, "source": text} for text in cells]
    whole = {"cells": told, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return record.as_text(record.normal_form(nbformat.from_dict(whole), name))


def pages() -> Mapping[str, str]:
    """File name -> text of everything that is made here."""
    with open_lab("embedded") as lab:
        verbs = measure(lab)
    return {
        "cheat_sheet.html": cheat_sheet.page(verbs),
        "glossary.ipynb": notebook("glossary", glossary.cells(verbs)),
        "instructor_notes.ipynb": notebook("instructor_notes", instructor_notes.cells()),
    }


def write_all(made: Mapping[str, str], folder: Path, *, check: bool) -> int:
    """Write every page that was ``made`` into ``folder``, or only say which would change; answer 1 if one would."""
    status = 0
    for name, text in made.items():
        path = folder / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            print(f"{name}: as written")
        elif check:
            print(f"{name}: would change; write it with notebooks/tables.py")
            status = 1
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{name}: written")
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; answers the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page would change")
    return write_all(pages(), FOLDER, check=parser.parse_args(arguments).check)


if __name__ == "__main__":
    sys.exit(main())
