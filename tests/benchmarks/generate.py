"""Random cases from a seed: rows, sets and calls, mostly sound and sometimes odd."""

import random
from collections.abc import Iterator
from typing import Any

IDS = ("JOB0NgWEfAEJfa", "JOB0NgWEfAEJfb", "JOB0NgWEfAEJfc")
ODD = ("", "0", "1", "-1", "01", "+1", " 1", "1.0", "1e3", "nan", "abc", "9223372036854775807", "9223372036854775808")


def cases(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """``count`` cases in the case format; the k-th depends on ``seed`` and k alone."""
    for k in range(count):
        draw = random.Random(f"{seed}/{k}")
        when = [_step(draw) for _ in range(draw.choice((1, 1, 2, 4)))]
        yield {"name": f"generated/{seed}/{k}", "queue": "q", "given": _given(draw), "when": when}


def _odd(draw: random.Random, sound: str, share: float = 0.1) -> str:
    return draw.choice(ODD) if draw.random() < share else sound


def _given(draw: random.Random) -> list[list[str]]:
    commands = []
    for job_id in IDS[: draw.randint(1, 3)]:
        row = ["HSET", "{p}job:" + job_id, "attempts", _odd(draw, draw.choice("0123")), "payload", "p"]
        for field in ("failures", "stalled"):
            row += [field, _odd(draw, draw.choice("012"))] if draw.random() < 0.3 else []
        row += ["lease_epoch", draw.choice(("@run_id", "@old_run_id"))] if draw.random() < 0.5 else []
        home, score = draw.choice(
            (("pending", "0"), ("active", "@now-1000"), ("active", "@now+9000"), ("schedule", "@now"), ("dead", "0"))
        )
        state = "scheduled" if home == "schedule" else home
        commands += [[*row, "state", state]] if draw.random() < 0.9 else []
        commands.append(["ZADD", "{p}" + home, score, job_id])
    return commands


def _step(draw: random.Random) -> dict[str, Any]:
    job = {"id": draw.choice(IDS), "token": _odd(draw, draw.choice("0123"), 0.05)}
    lease = {"lease_ms": _odd(draw, "30000")}
    steps: list[dict[str, Any]] = [
        {"verb": "enqueue", "id": job["id"], "payload": "z"},
        {"verb": "schedule", "id": job["id"], "payload": "z", "mode": "in", "value": _odd(draw, "5000")},
        {"verb": "claim", **lease},
        {"verb": "complete", **job},
        {"verb": "fail", **job, "delay_ms": _odd(draw, "1000"), "max_attempts": draw.choice("123"), "error": "boom"},
        {"verb": "delay", **job, "mode": "in", "value": _odd(draw, "5000")},
        {"verb": "requeue", **job},
        {"verb": "extend", **job, **lease},
        {"verb": "extends", **lease, "pairs": [[job_id, draw.choice("0123")] for job_id in IDS]},
        {"verb": "promote", "batch": _odd(draw, "100")},
        {"verb": "stalled_check", "max_stalled": _odd(draw, draw.choice("123")), "limit": _odd(draw, "100")},
        {"verb": "reap"},
        {"verb": "reprocess", "id": job["id"]},
    ]
    return draw.choice(steps)
