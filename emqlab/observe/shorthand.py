"""Keys, ids, times, commands and replies as a narrow column shows them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from emqlab.observe.walk import Frame, Json, Recording

_ID = re.compile(r"\b[A-Z]{3}[0-9A-Za-z]{7}([0-9A-Za-z]{4})\b", re.ASCII)
_RUN_ID = re.compile(r"\b([0-9a-f]{4})[0-9a-f]{36}\b", re.ASCII)
_TIME = re.compile(r"[0-9]{13}")


def brief(text: Json, recording: Recording) -> str:
    """A key, an id, an epoch or a time as a narrow column shows it (``row``, ``…EJfs``, ``now+30000``)."""
    out = _text(text).replace(f"emq:{{{recording['queue']}}}:", "").replace("{emq}:", "", 1) or "base"
    out = out.replace(f"job:{recording['subject']}", "row")
    out = _RUN_ID.sub(r"\1…", short_ids(out))
    if not _TIME.fullmatch(out):
        return out
    away = int(out) - int(recording["now_ms"])
    return "now" if away == 0 else f"now{'+' if away > 0 else '−'}{abs(away)}"


def short_ids(text: str) -> str:
    """A text with every id in it cut to its last four characters: ``…EJfs``."""
    return _ID.sub(r"…\1", text)


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def reply_text(reply: Mapping[str, Any] | None, recording: Recording) -> str:
    """A reply in the trace: a value, an error's own text, or ``unsupported <verb>``; empty without one."""
    if not reply:
        return ""
    if reply.get("error") is not None:
        return str(reply["error"])
    if reply.get("unsupported") is not None:
        return f"unsupported {reply['unsupported']}"
    return _value(reply.get("ok"), recording)


def _value(value: Json, recording: Recording) -> str:
    if value is None:
        return "nil"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one, recording) for one in value)}]"
    return '""' if value == "" else brief(value, recording)


def until(rail: str, score: int, clock: int) -> str:
    """How far a lease (on ``active``) or a due time is away: ``30 s left``, ``due in 999 ms``, ``expired just now``."""
    ms = abs(score - clock)
    tenths = (ms + 50) // 100
    away = f"{ms} ms" if ms < 1000 else f"{tenths // 10}{f'.{tenths % 10}' if tenths % 10 else ''} s"
    if score > clock:
        return f"{away} left" if rail == "active" else f"due in {away}"
    past = "expired" if rail == "active" else "due"
    return f"{past} {away} ago" if ms else f"{past} {'just ' if rail == 'active' else ''}now"


def command_text(frame: Frame, recording: Recording) -> str:
    """A frame's command in brief, ``nothing is sent`` for a world frame, empty for a guard or a reply."""
    command = frame.get("command")
    if command:
        return " ".join([_text(command[0]), *(brief(arg, recording) for arg in command[1:])])
    return "nothing is sent" if frame["phase"] == "world" else ""
