"""What "Link to this" copies, brought back: the widget that a code belongs to, and the code opened in it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from emqlab.lab import Lab
from emqlab_widgets.stage import Stage

#: The first part of a code -> the function of that widget. It is looked for when its code is opened.
WIDGETS = {
    "one-life": "life",
    "transition": "transition",
    "lease": "lease",
    "first-claim": "first_claim",
    "token": "token",
    "two-workers": "two_workers",
    "exit": "exits",
    "after-hours": "after_hours",
    "side-by-side": "side_by_side",
    "six-differences": "six_differences",
    "instrument": "instrument",
    "ledger": "counters",
    "two-budgets": "two_budgets",
    "expired-lease": "expired_lease",
    "restart": "restart",
}
LOOKS = 'a code reads widget/choice@step, for instance transition/claim@3, as "Link to this" copies it'


def open(widget: Stage | str, code: str | None = None, lab: Lab | None = None) -> Stage:
    """Open what "Link to this" copied: ``open("lease/5000/after/2/claim@3")``, or in a stage that you have.

    With one argument the code finds its widget, which runs in ``lab`` (a private embedded one unless given); with
    ``open(stage, code)`` it is opened in ``stage``, see ``Stage.reopen``. Raises ValueError for a code that is none.
    """
    if isinstance(widget, str):
        if code is not None:
            raise ValueError(f"of two texts neither is a stage: write open({widget!r})")
        return maker(widget)(lab).reopen(widget)
    if not isinstance(code, str):
        raise ValueError(f"the code is missing: {LOOKS}")
    return widget.reopen(code)


def maker(code: str) -> Callable[[Lab | None], Stage]:
    """The function that makes the widget of a code. Raises ValueError where there is none."""
    first = code.partition("/")[0].partition("@")[0]
    name = WIDGETS.get(first)
    if name is None:
        raise ValueError(f"{code!r} is no code of a widget: {LOOKS}")
    made = getattr(import_module("emqlab_widgets"), name, None)
    if not callable(made):
        raise ValueError(f"{code!r} is of a widget that this edition does not have: {first}")
    return cast("Callable[[Lab | None], Stage]", made)
