"""Where the reader is: the server, and how far the course has come."""

from __future__ import annotations

from emqlab.lab import Lab
from emqlab.teach import progress
from emqlab.teach.exercises import EXERCISES
from emqlab_widgets.table import Table


def here(lab: Lab) -> Table:
    """Which server this is: its name, executors, clock (ms since 1970) and epoch (the first characters)."""
    clock = "runs by itself" if lab.server.ticks else "stands still until you move it"
    if lab.server.ticks and lab.server.movable:
        clock += ", and you can move it"
    other = "lab.restart()" if lab.server.restartable else "a restart of that server"
    rows = [
        ("server", lab.server.name),
        ("executors", f"{lab.scripted.name} and {lab.native.name}"),
        ("clock", f"{lab.now_ms()} ms, and it {clock}"),
        ("epoch", f"{lab.run_id[:8]}…, another one after {other}"),
    ]
    return Table("You are here", (), rows)


def progress_table() -> Table | None:
    """What has been done so far, an exercise a line; None (which a notebook shows as nothing) before that."""
    told = progress.read()
    rows = [
        (name, exercise.title, "solved" if name in told.solved else "open", str(told.hints.get(name, 0)))
        for name, exercise in EXERCISES.items()
        if name in told.solved or told.hints.get(name)
    ]
    if not rows:
        return None
    return Table(f"{len(told.solved)} of {len(EXERCISES)} exercises solved", ("", "exercise", "", "hints"), rows)
