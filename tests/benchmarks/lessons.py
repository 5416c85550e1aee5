"""Benchmark: how long each lesson runs, as a multiple of an empty notebook with the same imports. Aim: under 2.

Run it by hand, on a quiet machine: ``.venv/bin/python -m tests.benchmarks.lessons``. Each number is the least of three
runs, from the start of the kernel to its end, of both notebooks in turn, on the embedded server.
"""

import ast
import os
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from notebooks import record

ROUNDS = 3


Node = nbformat.notebooknode.NotebookNode


def imports_of(source: str) -> str:
    """The import statements of a cell."""
    return "\n".join(
        ast.unparse(node) for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)
    )


def empty(notebook: Node) -> Node:
    """A notebook with the same imports, and nothing else."""
    found = [imports_of(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    bare: Node = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("\n".join(filter(None, found)))])
    return bare


def seconds(notebook: Node, folder: Path) -> float:
    """Run it in a kernel of its own."""
    started = time.perf_counter()
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    return time.perf_counter() - started


def main() -> None:
    """Print a line a lesson."""
    os.environ["EMQLAB_SERVER"] = "embedded"
    with tempfile.TemporaryDirectory() as own:
        os.environ["EMQLAB_PROGRESS"] = str(Path(own, "progress.json"))
        for path in sorted(record.LESSONS.glob("*.ipynb")):
            lesson = record.read(path)
            if not any(cell["cell_type"] == "code" for cell in lesson["cells"]):
                continue
            pairs = [(seconds(lesson, path.parent), seconds(empty(lesson), path.parent)) for _ in range(ROUNDS)]
            whole, bare = (min(times) for times in zip(*pairs, strict=True))
            print(f"{path.stem:28} {whole:5.2f} s, empty {bare:5.2f} s: {whole / bare:4.2f}", flush=True)


if __name__ == "__main__":
    main()
