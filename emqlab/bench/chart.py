"""The result as a picture: ratios of all verbs, and a claim's microseconds beside its peers'."""

from pathlib import Path
from typing import Any

from emqlab.bench.report import Result
from emqlab.bench.rounds import median_ratio, ratio
from emqlab.bench.ways import LIMIT, SAME_STEPS

#: What matplotlib writes without help.
_INK, _QUIET, _LINE, _JOB, _SOFT = "#16191d", "#565c64", "#d5d8dc", "#14599c", "#e4eef8"
_STYLE: Any = {
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _QUIET,
    "svg.hashsalt": "emqlab",
}


def draw(result: Result, path: Path) -> None:
    """Write the chart to ``path``, whose ending is one of ENDINGS. Raises OSError."""
    # Not at the top: it takes half a second, and most runs draw nothing.
    import matplotlib
    from matplotlib.figure import Figure

    claims = "claim" in result.measured
    rows = len([name for name in result.measured if "scripted" in result.measured[name]])
    with matplotlib.rc_context(_STYLE):
        figure = Figure(
            figsize=(8, 1.6 + 0.34 * rows + (2.4 if claims else 0)), layout="constrained", facecolor="white"
        )
        if claims:
            above, below = figure.subplots(2, 1, height_ratios=[max(rows, 3), 5])
            _claim(below, result)
        else:
            above = figure.subplots()
        _ratios(above, result)
        figure.savefig(path, dpi=150)


def _ratios(axes: Any, result: Result) -> None:
    pairs = [(name, ways["scripted"], ways["native"]) for name, ways in result.measured.items() if "scripted" in ways]
    names = [name for name, _, _ in pairs]
    best = [ratio(scripted, native) or 0 for _, scripted, native in pairs]
    medians = [median_ratio(scripted, native) or 0 for _, scripted, native in pairs]
    axes.barh(names, best, color=_JOB, height=0.62)
    axes.plot(medians, names, "o", color="white", markeredgecolor=_INK, markersize=5)
    axes.axvline(1, color=_INK, linewidth=1)
    most = max([*best, *medians, 1.0])
    for place, (_, scripted, native) in enumerate(pairs):
        told = f"{best[place]:.2f}×   {_us(scripted.best)} → {_us(native.best)} µs"
        axes.text(max(best[place], medians[place]) + most * 0.025, place, told, va="center", color=_INK)
    axes.set_xlim(0, most * 1.6)
    axes.set_title(
        f"{result.server}: how many times quicker the native verb is, {result.rounds} rounds", loc="left", fontsize=11
    )
    axes.set_xlabel("scripted / native. Bar: best rounds; ring: medians; line: no difference")
    _plain(axes)


def _claim(axes: Any, result: Result) -> None:
    named = [
        ("PING", result.ping, _SOFT),
        ("hand-written C", result.peer(LIMIT), _SOFT),
        ("native", result.peer("native"), _JOB),
        ("scripted", result.peer("scripted"), _QUIET),
        ("native's steps as a script", result.peer(SAME_STEPS), _LINE),
    ]
    there = [(name, found.best, color) for name, found, color in named if found is not None]
    names, values, colors = zip(*there, strict=True)
    axes.barh(names, values, color=colors, edgecolor=_QUIET, linewidth=0.6, height=0.62)
    for place, value in enumerate(values):
        axes.text(value + max(values) * 0.015, place, f"{value:.2f}", va="center", color=_INK)
    axes.set_xlim(0, max(values) * 1.12)
    axes.set_title("One claim beside its peers", loc="left", fontsize=11)
    axes.set_xlabel("µs inside the server, the best of the rounds")
    _plain(axes)


def _plain(axes: Any) -> None:
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_LINE)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=_LINE, linewidth=0.6)


def _us(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
