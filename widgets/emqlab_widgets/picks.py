"""What a reader can pick on a stage, and the short codes that bring a pick back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Choice = dict[str, str]
Pick = Mapping[str, Any]


def normalised(picks: Sequence[Pick]) -> list[dict[str, Any]]:
    """Picks in full: every option a dict ``{value, label, about}``.

    A pick of kind ``plan`` takes any other text too, without a slash: the recorder says whether it can be run.
    Raises ``ValueError`` for a pick without options, of an unknown kind, or with a name or value twice.
    """
    out = [_pick(pick) for pick in picks]
    if len({pick["name"] for pick in out}) < len(out):
        raise ValueError("two picks have the same name")
    return out


def _pick(pick: Pick) -> dict[str, Any]:
    kind, options = pick.get("kind", "select"), [_option(one) for one in pick["options"]]
    if kind not in ("select", "radio", "plan"):
        raise ValueError(f"pick {pick['name']!r} is of kind {kind!r}, not 'select', 'radio' or 'plan'")
    if not options or len({option["value"] for option in options}) < len(options):
        raise ValueError(f"pick {pick['name']!r} has no option, or one twice")
    return {"name": pick["name"], "label": pick.get("label", pick["name"]), "kind": kind, "options": options}


def _option(option: Mapping[str, str] | Sequence[str] | str) -> dict[str, str]:
    if isinstance(option, str):
        return {"value": option, "label": option, "about": ""}
    if not isinstance(option, Mapping):
        value, *rest = option
        return {"value": value, "label": rest[0] if rest else value, "about": rest[1] if len(rest) > 1 else ""}
    value = option["value"]
    return {"value": value, "label": option.get("label") or value, "about": option.get("about") or ""}


def complete(choice: Mapping[str, str], picks: Sequence[Pick]) -> Choice:
    """The choice with the first option where nothing was chosen.

    Raises ``ValueError`` for a value that is no option; names that are no pick's are kept for the recorder.
    """
    out = dict(choice)
    for pick in picks:
        values = [option["value"] for option in pick["options"]]
        value = out.setdefault(pick["name"], values[0])
        if value not in values and not _free(pick, value):
            raise ValueError(f"{pick['name']} has no option {value!r}; it has {', '.join(values)}")
    return out


def _free(pick: Pick, value: object) -> bool:
    """Whether the pick takes a text that is none of its options."""
    return pick["kind"] == "plan" and isinstance(value, str) and "/" not in value


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
            f"{code!r} is no code of this stage: one reads {name}/" + "/".join(f"<{p['name']}>" for p in picks)
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
