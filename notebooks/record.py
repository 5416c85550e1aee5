"""Record the lessons: run each notebook on the embedded server and write it in normal form.

    .venv/bin/python notebooks/record.py                  every lesson
    .venv/bin/python notebooks/record.py 01*.ipynb        some
    .venv/bin/python notebooks/record.py --check          write nothing, say which would change

In normal form nothing depends on the machine, the moment or the editor: cell ids are numbered, execution
counts run from 1, metadata is minimal, and there is no widget state. What a reader without a kernel sees is
each widget's plain twin. Recording twice changes nothing. (The glossary and the instructor notes have nothing to
run; tables.py writes them.)
"""

import argparse
import difflib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

LESSONS = Path(__file__).parent
CELL_SECONDS = 60
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KEPT_CELL_METADATA = ("jupyter", "tags")
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

# A notebook, a cell, an output: nbformat's dictionaries, which carry no types.
Node = Any


def normal_outputs(outputs: list[Node], count: int | None) -> list[Node]:
    """``outputs`` without widget views and timing, neighbouring texts of one stream joined, keys sorted."""
    kept: list[Node] = []
    for output in outputs:
        new = {name: output[name] for name in sorted(output) if name != "transient"}
        if "data" in new:
            new["data"] = {mime: new["data"][mime] for mime in sorted(new["data"]) if mime != WIDGET_VIEW}
            metadata = new.get("metadata", {})
            new["metadata"] = {mime: metadata[mime] for mime in sorted(metadata) if mime in new["data"]}
            if not new["data"]:
                continue
        if "execution_count" in new:
            new["execution_count"] = count
        last = kept[-1] if kept else None
        if last and new["output_type"] == last["output_type"] == "stream" and new["name"] == last["name"]:
            last["text"] += new["text"]
        else:
            kept.append(new)
    return kept


def normal_form(notebook: Node, name: str) -> Node:
    """A copy of ``notebook`` in normal form; ``name`` (the file's stem) begins its cells' ids.

    A code cell that was not run keeps having no execution count: it must not pass for a recorded one.
    """
    cells = []
    count = 0
    for number, cell in enumerate(notebook["cells"], 1):
        metadata = {key: cell["metadata"][key] for key in KEPT_CELL_METADATA if cell["metadata"].get(key)}
        new = {
            "cell_type": cell["cell_type"],
            "id": f"{name}-{number}",
            "metadata": metadata,
            "source": cell["source"].rstrip(),
        }
        if cell.get("attachments"):
            new["attachments"] = cell["attachments"]
        if cell["cell_type"] == "code":
            ran = cell.get("execution_count") is not None
            count += ran
            new["execution_count"] = count if ran else None
            new["outputs"] = normal_outputs(cell["outputs"], new["execution_count"])
        cells.append(new)
    return nbformat.from_dict({"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5})


def as_text(notebook: Node) -> str:
    """The notebook as its file's text: keys sorted, indented by one, a newline at the end.

    Raises ``nbformat.ValidationError`` for a notebook that breaks the format.
    """
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)
    return text.rstrip("\n") + "\n"


def read(path: Path) -> Node:
    """The notebook in ``path``, as format 4."""
    return nbformat.read(path, as_version=4)


def execute(notebook: Node, folder: Path) -> None:
    """Run every cell of ``notebook`` in ``folder``, in place, with nothing of the user's in sight.

    That is: the embedded server, no progress yet, no IPython profile. Raises nbclient's errors when a cell
    raises, takes longer than ``CELL_SECONDS``, or kills the kernel.
    """
    with tempfile.TemporaryDirectory(prefix="emqlab-record-") as own:
        environment = {
            **os.environ,
            "EMQLAB_SERVER": "embedded",
            "EMQLAB_PROGRESS": str(Path(own, "progress.json")),
            "IPYTHONDIR": str(Path(own, "ipython")),
        }
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": str(folder)}},
        )
        client.execute(env=environment)


def record(path: Path) -> str:
    """Run the notebook in ``path`` and answer its text in normal form; the file stays as it is."""
    notebook = read(path)
    execute(notebook, path.parent)
    return as_text(normal_form(notebook, path.stem))


def difference(path: Path, new: str) -> str:
    """The first changed lines between the file and ``new``, as a unified diff."""
    old = path.read_text(encoding="utf-8").splitlines()
    lines = list(difflib.unified_diff(old, new.splitlines(), path.name, "recorded", n=1, lineterm=""))
    return "\n".join(line[:200] for line in lines[:20])


def record_all(paths: Sequence[Path], *, check: bool) -> int:
    """Record ``paths``, or only say what would change; answer 1 if something would, or if a cell failed."""
    status = 0
    for path in paths:
        try:
            new = record(path)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            status = 1
            continue
        if new == path.read_text(encoding="utf-8"):
            print(f"{path.name}: as recorded")
        elif check:
            print(f"{path.name}: would change\n{difference(path, new)}")
            status = 1
        else:
            path.write_text(new, encoding="utf-8")
            print(f"{path.name}: recorded")
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; answers the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, metavar="NOTEBOOK", help="default: every lesson")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a lesson would change")
    options = parser.parse_args(arguments)
    missing = [str(path) for path in options.paths if not path.is_file()]
    if missing:
        parser.error(f"no such notebook: {', '.join(missing)}")
    return record_all(options.paths or sorted(LESSONS.glob("[0-9][0-9]_*.ipynb")), check=options.check)


if __name__ == "__main__":
    sys.exit(main())
