"""What a reader can pick on a stage, and the short codes that bring a pick back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Choice = dict[str, str]
Pick = Mapping[str, Any]

#: Kinds of picks whose value is a text of the reader's own; what it may be is the recorder's to say.
FREE = ("moves", "plan")
KINDS = ("select", "radio", *FREE)


def normalised(picks: Sequence[Pick]) -> list[dict[str, Any]]:
    """Picks in full: every option a dict ``{value, label, about}``.

    A free text (kind ``"moves"`` or ``"plan"``) has a ``default``, and keeps what else its kind needs: ``"moves"`` has
    a move an option, ``presets`` (options too, a whole text each) and ``most``, how many moves there may be. Raises
    ``ValueError`` for a pick without options, of an unknown kind, or with a name or value twice.
    """
    out = [_pick(pick) for pick in picks]
    if len({pick["name"] for pick in out}) < len(out):
        raise ValueError("two picks have the same name")
    return out


def _pick(pick: Pick) -> dict[str, Any]:
    kind, options = pick.get("kind", "select"), [_option(one) for one in pick.get("options", ())]
    if kind not in KINDS:
        raise ValueError(f"pick {pick['name']!r} is of kind {kind!r}, not one of {', '.join(KINDS)}")
    if (not options and kind not in FREE) or len({option["value"] for option in options}) < len(options):
        raise ValueError(f"pick {pick['name']!r} has no option, or one twice")
    out = {"name": pick["name"], "label": pick.get("label", pick["name"]), "kind": kind, "options": options}
    if kind not in FREE:
        return out
    more = {name: value for name, value in pick.items() if name not in out}
    presets = [_option(one) for one in pick.get("presets", ())]
    return {**out, **more, "presets": presets, "default": pick.get("default", "")}


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

    Raises ``ValueError`` for a value that is no option; names that are no pick's are kept for the recorder.
    """
    out = dict(choice)
    for pick in picks:
        if pick["kind"] in FREE:
            value = out.setdefault(pick["name"], pick["default"])
            out[pick["name"]] = " ".join(value.split()) if pick["kind"] == "moves" else value
            continue
        values = [option["value"] for option in pick["options"]]
        value = out.setdefault(pick["name"], values[0])
        if value not in values:
            raise ValueError(f"{pick['name']} has no option {value!r}; it has {', '.join(values)}")
    return out


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
    for value in _beginnings(rest, pick):
        if not others and rest == value:
            return {pick["name"]: value}
        if others and rest.startswith(f"{value}/"):
            found = _read(rest.removeprefix(f"{value}/"), others)
            if found is not None:
                return {pick["name"]: value, **found}
    return None


def _beginnings(rest: str, pick: Pick) -> list[str]:
    """What this pick's part of a code may be: an option, or of a free text all that ends where a part may end."""
    if pick["kind"] not in FREE:
        return [option["value"] for option in pick["options"]]
    return [rest, *(rest[:at] for at, sign in enumerate(rest) if sign == "/")]


def slug(title: str) -> str:
    """A title as the first part of a code: lower case, words joined with hyphens."""
    return re.sub(r"[^0-9a-z]+", "-", title.lower()).strip("-") or "stage"
