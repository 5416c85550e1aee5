"""The instructor notes: prose of ours, and tables out of the dives, the exercises and the recordings."""

from __future__ import annotations

import re
from pathlib import Path

from emqlab.teach.dives import DIVES, Dive
from emqlab.teach.exercises import EXERCISES
from notebooks.pages.glossary import table
from notebooks.record import read

FOLDER = Path(__file__).parents[1]

# A paragraph is a line, as in the notebook that is made of it.
# ruff: noqa: E501

FIRST = """\
# Instructor notes

For whoever takes others through this course. Back to [the start](00_start_here.ipynb); the words are in [the glossary](glossary.ipynb), and [the cheat sheet](cheat_sheet.html) is one page to hand out.

The course is made for a reader alone. With a class it works best as that: each at their own notebook, and a talk of a few minutes around each dive's one question."""

TIMING = """\
## Timing

{table}

The minutes are for somebody who reads, predicts and runs everything, {total} in all; they leave out long talks and third exercises that resist. If there is only one hour, take the start, dive 01 and dive 02: they hold together without the rest. For half a day, put the break after dive 03. Dive 04 asks most of a class, so it should not come last before lunch.

Ask the question of a dive before anybody opens it, and let people commit to an answer, aloud or on paper. The stages hold an outcome back until it is predicted, for the same reason."""

WRONG = """\
## What people get wrong

What the dives are aimed at. Each has a run that settles it, so rather than explain, ask which run that would be.

- **Start.** "A claim takes the job out of the queue." It moves the id to another set; the job stays where it was, in its row. And: a lease is taken for a lock. Nothing is locked, and nobody is stopped from working.
- **01.** "When the lease runs out, the job goes back." It does not; a sweep takes it back, later. "Then the first worker's token is void." Not before the next claim. "Reviving a dead letter starts it afresh." No counter is reset.
- **02.** "The token is compared as a number." It is compared byte by byte, so `02` is not `2`. "The fence finds out who is slow." It finds out who is not the last to have claimed.
- **03.** "A job leaves `active` by being completed." There are other ways, and they do not agree on what they leave behind. "Gone from all sets is gone." The row may still be there, or the other way round.
- **04.** "Same steps, same result." As long as nothing is wrong with the row. "A script is a transaction, so an error undoes it." It is atomic, and it is not rolled back. "Our tests are green, so it is right." A mistake off the happy path leaves every test on it green.
- **05.** "A crash is a failure." It is a stall, and pays from another budget, if anybody counts it at all. "A restart is the worker's fault." The native sweep exempts it; the scripts do not.

What a check says to the start that each exercise gives, taken from the recordings:

{table}

The tests keep more wrong answers, each with the command, the field, and the two values that its check must name: `tests/teach`, in a clone."""

THIRTY = """\
## For thirty people

Nobody needs an account, and nothing is shared. The server of a lesson lives in its own notebook: the embedded one inside the notebook's Python process, a real Valkey as a process beside it, which talks through a file that only this user can open and ends with the notebook. What one does to their queue no other sees.

- **On their own machines**: a clone and `python3 binder/here.py`, or `pip install` of the wheel and `emqlab`. The first start fetches packages, so have it done before the class.
- **On Binder**: the link in the README. Nothing to install; each gets a machine of their own for the session. Open it yourself an hour before, for the first start builds the image. What people type is lost when the session ends, so let them download their notebooks.
- **On one big machine**, or a JupyterHub: an own process each. Measured on one Linux machine, x86-64, after running dive 01 to its end: the notebook's kernel held 85 MB with the embedded server, and with a real Valkey 86 MB, with two server processes of 8 MB beside it (one for the lab, one for its cases). JupyterLab itself comes on top of that.
- **Without any of it**: the committed notebooks show every picture and every table where notebooks are shown at all, and print.

In the browser runs what steps: going through a recording costs no kernel. In the kernel runs everything else: the cases, both executors, the judging. Nothing leaves the machine.

If some have a real server and some have not, the lessons say the same. To have all on one kind, set `EMQLAB_SERVER=embedded` before starting, or let them choose it on [the start page](00_start_here.ipynb)."""

JUDGED = """\
## How answers are judged

`teach.check("01-2", answer)` opens an embedded lab of its own, runs the answer there, on both executors where the exercise is about both, and looks at what the run did: no answer is compared with a stored one, so any way that gets there is right. It says which command and which field decided, what was expected and what came out. What a reader's code raises is told in a sentence, and code that does not end is stopped after 5 s. `teach.hint("01-2")` gives three hints and then the shape of an answer; the count is kept, and nobody is marked down for it.

To show an answer to the class, let somebody who has one put it on the projector, and ask who has another."""

PROGRESS = """\
## Progress, and starting over

What was solved and hinted is in `.progress.json` beside the notebooks, or where `EMQLAB_PROGRESS` says. Delete the file to start over. `git restore notebooks` brings the recordings back in a clone, and undoes what was typed. The choice of a server is in `.server.json`; delete that too, and `open_lab("auto")` chooses for itself again."""

CHECKING = """\
## Checking a class's notebooks

To see what somebody has solved, take their `.progress.json`, or have them print `teach.progress.export()`. To judge what their notebook holds instead, run it on the embedded server with a progress file of its own, and look into that:

```
EMQLAB_SERVER=embedded EMQLAB_PROGRESS="$PWD/ann.json" .venv/bin/jupyter execute ann/01_state_and_attempts.ipynb
cat ann.json
```

A run like this executes what Ann wrote, with your rights; so do it where that does not matter. The process in which an answer is judged guards a notebook against accidents, not a verdict against a cheat: its code could say the verdict itself, so read the answer before you give a mark for it. The commands are those of a clone; with the wheel it is plain `jupyter execute`. To see whether your own copies are still the recordings, in a clone: `.venv/bin/python notebooks/record.py --check`."""


def cells(folder: Path = FOLDER) -> list[str]:
    """The cells' texts. The tables are made from the dives, the exercises, and the recordings in ``folder``."""
    total = sum(dive.minutes for dive in DIVES)
    hours = f"{total // 60} hours" + (f" and {total % 60} minutes" if total % 60 else "")
    return [
        FIRST,
        TIMING.format(table=_timing(), total=hours),
        WRONG.format(table=_starts(folder)),
        THIRTY,
        JUDGED,
        PROGRESS,
        CHECKING,
    ]


def _timing() -> str:
    rows = [
        (f"[{dive.number} {dive.title}]({dive.file})", dive.question, str(dive.minutes), str(len(_exercises(dive))))
        for dive in DIVES
    ]
    return table(("dive", "its question", "minutes", "exercises"), rows)


def _exercises(dive: Dive) -> list[str]:
    return [name for name in EXERCISES if name.startswith(f"{dive.number}-")]


def _starts(folder: Path) -> str:
    said = {name: text for dive in DIVES for name, text in recorded_starts(folder / dive.file).items()}
    rows = [(name, exercise.title, said[name]) for name, exercise in EXERCISES.items() if name in said]
    return table(("", "exercise", "the start, judged"), rows)


def recorded_starts(path: Path) -> dict[str, str]:
    """Exercise -> the first line that its check says in the recording of a dive; nothing for a dive without a file."""
    found: dict[str, str] = {}
    if not path.is_file():
        return found
    for cell in read(path)["cells"]:
        asked = re.search(r'^teach\.check\("([^"]+)"', cell["source"], re.MULTILINE)
        if asked and cell["cell_type"] == "code":
            texts = [one["data"]["text/plain"] for one in cell["outputs"] if "data" in one]
            found |= {asked[1]: texts[-1].split("\n")[0]} if texts else {}
    return found
