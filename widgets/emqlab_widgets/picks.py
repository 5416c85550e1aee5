"""What a reader can pick on a stage, and the short codes that bring a pick back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Choice = dict[str, str]
Pick = Mapping[str, Any]

#: Kinds of picks that take any other text too, without a slash: the recorder says whether it can be run.
FREE = ("plan", "moves")
KINDS = ("select", "radio", *FREE)


def normalised(picks: Sequence[Pick]) -> list[dict[str, Any]]:
    """Picks in full: every option a dict ``{value, label, about}``.

    A pick of kind ``plan`` or ``moves`` takes any other text too, without a slash: the recorder says whether it can be
    run. The options of ``moves`` are the moves that such a text is made of; it has a ``default``, ``presets`` (a whole
    text each) and ``most``, how many moves there may be. Raises ``ValueError`` for a pick without options, of an
    unknown kind, or with a name or value twice.
    """
    out = [_pick(pick) for pick in picks]
    if len({pick["name"] for pick in out}) < len(out):
        raise ValueError("two picks have the same name")
    return out


def _pick(pick: Pick) -> dict[str, Any]:
    kind, options = pick.get("kind", "select"), [_option(one) for one in pick["options"]]
    if kind not in KINDS:
        raise ValueError(f"pick {pick['name']!r} is of kind {kind!r}, not one of {', '.join(KINDS)}")
    if not options or len({option["value"] for option in options}) < len(options):
        raise ValueError(f"pick {pick['name']!r} has no option, or one twice")
    out = {"name": pick["name"], "label": pick.get("label", pick["name"]), "kind": kind, "options": options}
    if kind != "moves":
        return out
    presets = [_option(one) for one in pick.get("presets", ())]
    return {**out, "presets": presets, "default": pick.get("default", ""), "most": pick.get("most", 12)}


def _option(option: Mapping[str, str] | Sequence[str] | str) -> dict[str, str]:
    if isinstance(option, str):
        return {"value": option, "label": option, "about": ""}
    if not isinstance(option, Mapping):
        value, *rest = option
        return {"value": value, "label": rest[0] if rest else value, "about": rest[1] if len(rest) > 1 else ""}
    value = option["value"]
    return {"value": value, "label": option.get("label") or value, "about": option.get("about") or ""}


def complete(choice: Mapping[str, str], picks: Sequence[Pick]) -> Choice:
    """The choice with the first option, or a free text's default, where nothing was chosen.

    Raises ``ValueError`` for a value that is no option and a name that is no pick's, ``TypeError`` for what is no dict.
    """
    if not isinstance(choice, Mapping):
        raise TypeError(f"a choice is a dict, such as {_example(picks)}, not {type(choice).__name__}")
    names = [pick["name"] for pick in picks]
    for name in choice:
        if name not in names:
            raise ValueError(f"there is no pick {str(name)[:40]!r} here; there is {', '.join(names) or 'none'}")
    out = dict(choice)
    for pick in picks:
        values = [option["value"] for option in pick["options"]]
        value = out.setdefault(pick["name"], pick.get("default", values[0]))
        if value not in values:
            _check(pick, value, values)
        if pick["kind"] == "moves":
            out[pick["name"]] = " ".join(value.split())
    return out


def _example(picks: Sequence[Pick]) -> str:
    return str({pick["name"]: pick["options"][0]["value"] for pick in picks[:1]})


def _check(pick: Pick, value: object, values: Sequence[str]) -> None:
    """Raise ValueError unless the pick takes a text that is none of its options, and this is one."""
    if pick["kind"] not in FREE or not isinstance(value, str):
        raise ValueError(f"{pick['name']} has no option {str(value)[:80]!r}; it has {', '.join(values)}")
    if not _free(pick, value):
        raise ValueError(f"{pick['name']} is a text that can be read, without a slash, not {value[:80]!r}")


def _free(pick: Pick, value: str) -> bool:
    """Whether the pick takes a text that is no option: slashes part a code, and half a character can't be sent."""
    return pick["kind"] in FREE and "/" not in value and not re.search("[\ud800-\udfff]", value)


def code_of(choice: Mapping[str, str], picks: Sequence[Pick]) -> str:
    """The picked values in the order of the picks, joined with ``/``."""
    return "/".join(choice[pick["name"]] for pick in picks)


def choice_of(code: str, name: str, picks: Sequence[Pick]) -> Choice:
    """The choice a code stands for; ``name`` is the stage's own first part. Values may hold slashes.

    Raises ``ValueError`` if the code is another stage's, or names an option that is not there.
    """
    if not picks:
        return {}
    found = _read(code.removeprefix(f"{name}/"), picks) if code.startswith(f"{name}/") else None
    if found is None:
        raise ValueError(
            f"{code[:80]!r} is no code of this stage: one reads {name}/" + "/".join(f"<{p['name']}>" for p in picks)
        )
    return found


def _read(rest: str, picks: Sequence[Pick]) -> Choice | None:
    pick, *others = picks
    values = [option["value"] for option in pick["options"]]
    text = rest.partition("/")[0] if others else rest
    for value in [*values, *([text] if _free(pick, text) else [])]:
        if not others and rest == value:
            return {pick["name"]: value}
        if others and rest.startswith(f"{value}/"):
            found = _read(rest.removeprefix(f"{value}/"), others)
            if found is not None:
                return {pick["name"]: value, **found}
    return None


def slug(title: str) -> str:
    """A title as the first part of a code: lower case, words joined with hyphens."""
    return re.sub(r"[^0-9a-z]+", "-", title.lower()).strip("-") or "stage"
