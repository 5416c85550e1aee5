"""What can be planted in lanes and flows, each beside the healthy queue; and all plants together."""

from tests.audit.plants import CLAIM, COMPLETE, PLANTS, A, B, C, Command, M, P, Plant, held, leased, row

TWO: list[Command] = [["SET", f"{{p}}job:{P}:dependencies", "2"]]
NO_NATIVE = "there is no native verb for lane_resume"
RINGS, IDLE = "puts the group on the ring", "leaves the group off the ring"
NOT_LANES = "refused EMQLANE, the job stays in active"


def parent(job: str, left: str | None, **fields: str) -> list[Command]:
    """A parent that awaits its children, with its count of them if there is one."""
    made = [row(job, "awaiting_children", attempts="0", **fields)]
    return made if left is None else [*made, ["SET", f"{{p}}job:{job}:dependencies", left]]


def child(job: str, of: str, name: str = "schedule", **fields: str) -> list[Command]:
    """A child where no verb comes to it yet, or in ``name``."""
    state = "scheduled" if name == "schedule" else name
    score = "@now+900000" if name in ("schedule", "active") else "0"
    return [row(job, state, parent=of, **fields), held(job, name, score)]


LANES = [
    Plant("a lane that nobody rings", [["LREM", "{p}ring", "0", "blue"]], [("lane-waits", "g:blue:pending")],
          RINGS, NO_NATIVE, {"verb": "lane_resume", "group": "blue"}),
    Plant("a limit that is no number", [["HSET", "{p}glimit", "blue", "many"]], [("lane-number", "glimit")],
          "stops with an error of the script's own, the id is lost", NOT_LANES),
    Plant("a limit in Lua's own way", [["HSET", "{p}glimit", "blue", " 0x2 "]], []),
    Plant("a count of slots that is no number", [["HSET", "{p}gactive", "blue", "x"]], [("lane-number", "gactive")],
          "stops with “hash value is not an integer”, the id is lost", NOT_LANES),
    Plant("a lane whose every slot has leaked",
          [["HSET", "{p}gactive", "blue", "3"], ["LREM", "{p}ring", "0", "blue"]], [("lane-full", "g:blue:pending")],
          IDLE, NO_NATIVE),
    Plant("a slot too many", [["HINCRBY", "{p}gactive", "blue", "1"], ["HSET", "{p}glimit", "blue", "9"]],
          [("gactive-drift", "gactive")]),
    Plant("a slot too few", [["HDEL", "{p}gactive", "blue"]], [("gactive-drift", "gactive")]),
    Plant("a group of none", [["HSET", "{p}gactive", "green", "1"]], [("gactive-drift", "gactive")]),
    Plant("a delayed lane row", [["ZREM", "{p}active", M], held(M, "schedule", "@now+900000"), row(M, "scheduled")],
          [("gactive-drift", "gactive")]),
    Plant("a lane row without its lane", [row(A, "pending", group="blue")], [("no-set", A)]),
    Plant("a lane row in two places", [row(A, "pending", group="blue"), held(A, "pending"),
          held(A, "g:blue:pending")], [("two-sets", A)]),
    Plant("a group on the ring without a lane", [["RPUSH", "{p}ring", "green"]], [("ring-empty", "ring")],
          "once its turn comes: answers empty", "there is no native verb for lane_claim"),
    Plant("a group twice on the ring", [["RPUSH", "{p}ring", "blue"]], [("ring-twice", "ring")]),
    Plant("a paused group on the ring", [["SADD", "{p}paused", "blue"]], [("ring-paused", "ring")]),
    Plant("a paused lane with a backlog", [["SADD", "{p}paused", "blue"], ["LREM", "{p}ring", "0", "blue"]],
          [("lane-held", "g:blue:pending")]),
    Plant("a limit of nobody", [["HSET", "{p}glimit", "blue", "0"], ["LREM", "{p}ring", "0", "blue"]],
          [("lane-held", "g:blue:pending")]),
    Plant("a lane at its limit", [["HSET", "{p}glimit", "blue", "1"], ["LREM", "{p}ring", "0", "blue"]], []),
]  # fmt: skip

FLOWS = [
    Plant("a killed child", [*TWO, row(A, "dead", parent=P, last_error="stalled"), held(A, "dead")],
          [("parent-waits", P)]),
    Plant("a dead child of which its parent knows", [row(A, "dead", parent=P, last_error="boom"), held(A, "dead"),
          ["HSET", f"{{p}}job:{P}:unsuccessful", A, "boom"]], []),
    Plant("a child that is gone", TWO, [("parent-waits", P)]),
    Plant("a parent that no key counts for", parent(A, None), [("parent-waits", A)]),
    Plant("a parent of none at 0", parent(A, "0"), [("parent-waits", A)]),
    Plant("a count that is no number", [["SET", f"{{p}}job:{P}:dependencies", "many"]],
          [("flow-count", f"job:{P}:dependencies")],
          "stops with “value is not an integer or out of range”, the id is lost",
          "refused EMQFLOW, the job stays in active"),
    Plant("a count that is gone", [["DEL", f"{{p}}job:{P}:dependencies"]], [("parent-early", P)]),
    Plant("a count that is too low", [*parent(A, "1"), *child(B, A), *child(C, A)], [("parent-early", A)]),
    Plant("a released parent that is named", [row(A, "pending", attempts="0"), held(A, "pending"), *child(B, A)],
          [("parent-early", A)]),
    Plant("a released parent whose count is that of its children", [row(A, "pending", attempts="0"),
          held(A, "pending"), *child(B, A), ["SET", f"{{p}}job:{A}:dependencies", "1"]], [("parent-early", A)]),
    Plant("a count that leaves a dead child out",
          [*parent(A, "1"), *child(B, A), row(C, "dead", parent=A, last_error="stalled"), held(C, "dead")],
          [("parent-early", A)]),
    Plant("a dead child without a parent", [row(A, "dead", parent=B), held(A, "dead")], []),
    Plant("a child whose parent left its count alone", [*child(A, B), ["SET", f"{{p}}job:{B}:dependencies", "2"]],
          [("orphan", A)], "completes it, its row is deleted, the id stays in schedule",
          "refused EMQFLOW, it stays in schedule"),
    Plant("a parent killed by a child, and another child",
          [row(A, "dead", attempts="0"), held(A, "dead"), ["SET", f"{{p}}job:{A}:dependencies", "2"], *child(B, A),
           row(C, "dead", parent=A), held(C, "dead"), ["HSET", f"{{p}}job:{A}:failed", C, "boom"]], []),
    Plant("a child without a parent", child(A, B), [("orphan", A)],
          "completes it, its row is deleted, the id stays in schedule", "refused EMQFLOW, it stays in schedule",
          COMPLETE),
    Plant("a child at work without a parent", child(A, B, "active"), [("orphan", A), ("flow-child", A), ("exempt", A)],
          "completes it, its row is deleted, a row is minted for its parent, its parent goes to pending",
          "refused EMQFLOW, it stays in active", COMPLETE),
    Plant("a parent of which nothing but its state is left", [["HSET", f"{{p}}job:{A}", "state", "dead"],
          held(A, "dead")], [("no-attempts", A)]),
    Plant("a child in pending", [*TWO, *child(A, P, "pending")], [("flow-child", A)],
          "leases it with token 2, it goes to active", "leases it with token 2, it goes to active", CLAIM),
    Plant("the last child at work", [*parent(B, "1"), *leased(A, parent=B)], [("flow-child", A)],
          "completes it, its row is deleted, its parent goes to pending", "refused EMQFLOW, it stays in active",
          COMPLETE),
    Plant("a child of no parent's name", [row(A, "pending", parent=""), held(A, "pending")], [("flow-child", A)],
          "leases it with token 2, it goes to active", "leases it with token 2, it goes to active", CLAIM),
    Plant("a parent's keys of another type", [["DEL", f"{{p}}job:{P}:processed"],
          ["RPUSH", f"{{p}}job:{P}:processed", "x"]], [("wrong-type", f"job:{P}:processed")],
          "stops with WRONGTYPE, the id is lost", "refused EMQFLOW, the job stays in active"),
    Plant("what a finished parent left", [["SET", f"{{p}}job:{A}:dependencies", "0"],
          ["HSET", f"{{p}}job:{A}:processed", B, B]], [("flow-left", A)]),
]  # fmt: skip

EVERY_PLANT = [*PLANTS, *LANES, *FLOWS]
