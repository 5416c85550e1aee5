"""The words of the course: each with a sentence or two, and the dive that teaches it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """One word as its heading (first letter capital), what it means, and the number of the dive that teaches it."""

    name: str
    about: str
    dive: str

    @property
    def anchor(self) -> str:
        """What stands behind the ``#`` of a link to it."""
        return self.name.replace(" ", "-")


def _terms(listed: str) -> tuple[Term, ...]:
    """Entries, a line each: the word, the dive, the sentences."""
    found = []
    for line in listed.strip().splitlines():
        name, dive, about = (part.strip() for part in line.split("|", 2))
        found.append(Term(name, about, dive))
    return tuple(sorted(found, key=lambda term: term.name.lower()))


# One line an entry is what keeps the list a list.
# ruff: noqa: E501
TERMS: tuple[Term, ...] = _terms("""
Active               | 00 | The set of jobs that somebody holds. An id's score in it is the end of its lease.
Attempts             | 01 | The row's count of claims, and the current token. Only a claim raises it, by one; nothing lowers it.
Audit                | 03 | A look at a whole queue that writes nothing and lists what the verbs would trip over: ghosts, ids in two sets, rows in none.
Cap                  | 01 | The number at which a budget is spent: `max_attempts` for failures, `max_stalled` for stalls. Reaching it makes a dead letter.
Case                 | 00 | A small text that says what is there (`given`) and what is done (`when`), so that both executors can be made to do the same.
Claim                | 00 | The verb by which a worker gets the oldest job in line: a lease on it, and a token.
Clock                | 01 | The server's own time, in milliseconds, by which every lease and every delay is judged. A worker's watch plays no part.
Complete             | 03 | The verb by which a worker says that it is done: the row is deleted, the id leaves its set, and a metric goes up by one.
Counter              | 05 | A number in the row that tells what the job has been through: `attempts`, `failures`, `stalled`. `lease_epoch`, which names an epoch, is shown beside them.
Dead                 | 00 | The set of dead letters, and the state of a job in it.
Dead letter          | 00 | A job whose budget is spent. It is kept until somebody looks at it; a reprocess brings it back.
Deadline             | 01 | The moment at which a lease ends: the id's score in `active`. From that millisecond on the lease has expired, and a sweep may take the job.
Defect               | 04 | A mistake in a script or a verb. The course plants some on purpose, to see whether the instrument finds them.
Delay                | 01 | The verb by which a holder gives a job back, due later. It is no failure and costs no budget natively; the next claim costs one in the scripts.
Divergence           | 04 | A difference between the executors that is declared: it has a number, a sentence and a case that shows it. Any other difference is a bug.
Enqueue              | 00 | The verb that makes a job: a row with `attempts` 0, and its id in `pending`.
Epoch                | 05 | One life of the server process, from its start to its end, named by the 40 characters of its `run_id`. A restart begins another.
Executor             | 00 | One of two ways to run a verb: as a script that is sent to the server, or natively, as a command that the server knows.
Exempt               | 05 | Of an expired lease: taken back by the native sweep without counting a stall, because its stamp is missing or of an earlier epoch. A restart is not the worker's fault.
Expired lease        | 05 | A lease whose deadline is not after now. Nothing happens to it by itself; a sweep or the reaper takes the job back.
Extend               | 03 | The verb by which a holder moves its deadline further off. The token stays what it is; `extends` does it for many jobs at once.
Fail                 | 01 | The verb by which a holder says that it did not work out: on to `schedule` for another try, or to `dead` when the budget is spent.
Failures             | 05 | The row's count of reported failures, which the native FAIL raises and compares with `max_attempts`. No script looks at it.
Fence                | 02 | The check that lets a verb through only if the token shown is, byte for byte, what `attempts` says. (`EMQFENCE`, with which a native verb refuses another wire version, has nothing to do with tokens.)
Fencing token        | 02 | The number that a claim hands out with the job, and that its worker must show. A later claim hands out a greater one, and the earlier one opens nothing any more.
Field                | 00 | One entry of a row, with a name and a text: `state`, `attempts`, `payload` and so on.
Flat job             | 00 | A job with neither a group nor a parent. The native verbs serve only these.
Flow                 | 01 | A parent job and its children. The parent waits in no set until the last child is done; scripts alone know about it.
Frozen clock         | 04 | The time that a server keeps unchanged while one command runs. A native verb reads that; a script asks TIME.
Ghost                | 03 | An id in a set without its row. A claim spends it on both executors; a sweep and a promotion treat it differently.
Gone                 | 00 | Of a job or an id: there is no row, and no set holds the id. A complete leaves it so.
Happy path           | 04 | The run in which nothing is wrong. A mistake that shows only off it survives every test that stays on it.
Host                 | 04 | What a verb runs in: the embedded server, the module of a real one, or a client. A script's host is the client that sends it.
Instrument           | 04 | What runs the same cases on both executors and compares every reply and every key. It is trusted because it finds the defects planted for it.
Job                  | 00 | Work that somebody wants done: a row, and an id in at most one of four sets.
Key                  | 00 | The name under which a server keeps one thing. All keys of a queue begin alike, so a cluster keeps them together.
Lane                 | 01 | The line of one group of jobs, with a limit and a pause of its own, served in rotation with the others. Scripts alone know about it.
Late worker          | 02 | A worker that comes back after its lease has run out. If the job has been claimed since, the fence refuses it; if not, it is in time after all.
Lease                | 01 | The time for which a claim holds a job: a score in `active`, and the server's clock to hold it against. It locks nothing.
Lease epoch          | 05 | The row's field for the stamp.
Ledger               | 01 | The part of the stage that shows the row's fields line by line, with what this run added to each.
Member               | 05 | One entry of a sorted set, with a score. In the four sets of a queue the members are ids of jobs.
Metrics              | 03 | Two counts that outlive a row: `completed` and `failed`.
Module               | 00 | Code that a server loads at its start and that gives it new commands. Ours is made from the very files that the embedded server runs.
Mutant               | 04 | A script or verb with one small change, made by a program. A mutant that no case tells from the original has survived.
Native verb          | 04 | A verb as a command of the server, `EMQ.CLAIM` for instance. It answers every question before its first write.
No set               | 04 | Where a job is that still has a row, while no set holds its id: no claim and no sweep will come across it. With neither a row nor a set it is gone.
Parity               | 04 | That both executors do the same on the same case, but for the declared divergences.
Pause                | 04 | A mark in the queue's `meta` that stops claims. The script's client asks for it in a round trip of its own, the verb asks inside the command.
Payload              | 00 | The bytes that the job is about. The queue hands them on and never looks into them.
Peek                 | 04 | To look at the head of a line without taking it. The native claim peeks and predicts; only then it pops, and verifies that it got what it foresaw.
Pending              | 00 | The set of jobs that wait in line, and the state of a job in it. All scores are 0, so the ids' order decides, and that is the order in which they were made.
Plant                | 04 | A defect put in on purpose, one known mistake in one executor, to see that the instrument finds it.
Poison job           | 05 | A job that takes down whoever works on it, each time, and so reports no failure. Where its worker goes down, a sweep counts the stall and its cap stops the job; where the server does, the native sweep counts nothing (it is another epoch), and the worker must have a cap of its own.
Poisoned row         | 04 | A row that no verb can work with: no hash, or a counter that is no number. A script loses its job, a native verb refuses and leaves it where it is.
Prediction           | 00 | What you say before a run about its outcome. The run itself judges it.
Promote              | 01 | The verb that puts scheduled jobs which are due back in line.
Queue                | 00 | Everything under one name: the rows, four sets, two metrics and the pause.
Reaper               | 03 | The older way to take expired leases back, a script: it puts every one of them in line and counts nothing. There is no such verb natively.
Recovery             | 03 | What puts a job back in line after its worker went away: a sweep, or the reaper.
Refusal              | 02 | An error reply after which nothing was written. (What a script answers when it breaks off is an error too, and may come after a write.)
Reprocess            | 01 | The verb that revives a dead letter. It resets no counter, so a revived job may die at once.
Requeue              | 01 | The verb by which a holder gives a job back at once, at no cost. It exists natively only.
Restart              | 05 | The end of one server process and the start of another on the same data: another epoch.
Retry                | 05 | Another try after a failure. The script of the verb `fail` is called `retry.lua`.
Retry budget         | 05 | How often a job may fail, `max_attempts`. In the scripts every claim spends of it, natively every reported failure.
Ring                 | 05 | The list of lanes that have something to do and may do it; a lane claim takes the next in turn.
Row                  | 00 | The hash that holds all that is known of one job. When the job is completed it is deleted.
Schedule             | 00 | The set of jobs that wait for their time, and the verb that puts a new job there. A job in it has the state `scheduled`.
Score                | 01 | The number by which a sorted set orders its members. In `active` it is a deadline, in `schedule` a due time, in the other two 0.
Script               | 00 | A Lua text that a server runs from its first line to its last with nobody in between. It is not rolled back: what it wrote before an error stays.
Server               | 00 | What keeps the keys and runs the verbs: the embedded one inside the notebook's process, or a real Valkey or Redis.
Set                  | 00 | One of the four sorted sets of a queue, `pending`, `active`, `schedule` and `dead`: which of them holds an id says where its job is.
Side by side         | 00 | How the stage shows two executors: the same thing at the same height, so that a difference is a break in a line.
Stage                | 00 | The picture that all dives use: rows, sets, counters and the trace of a run, for each executor, step by step.
Stale token          | 02 | A token that is not the row's `attempts`: mostly an older one, because somebody has claimed the job since.
Stall                | 05 | That a lease ran out and the worker had not said a word. It is found by a sweep, not by the clock.
Stall budget         | 05 | How many stalls a job survives: one fewer than `max_stalled`, for the stall that reaches it kills.
Stalled              | 05 | The row's count of stalls that a sweep has charged. It is never cleared.
Stamp                | 05 | The epoch in which a lease was made, which the native claim and extend write into the row as `lease_epoch`. The scripts write none.
State                | 01 | The row's field for where the job is: `pending`, `active`, `scheduled` or `dead`. It is written in the same atomic step that moves the id.
Sweep                | 01 | The verb that takes expired leases back, counts a stall against each, and puts the job in line or, at the cap, to the dead. Its name as a command is EMQ.STALLED.CHECK.
Token                | 01 | The number that a claim hands out, the row's `attempts` at that moment. Also called fencing token, for what it is good for.
Trace                | 00 | The commands of one run in their order: reads, the write guard, writes.
Transition           | 01 | One atomic step of a job's life. The thing that makes it is called a verb.
Verb                 | 00 | A step by its name: claim, complete, fail and so on. Each is one script, or one command of the server; where a page says *the script* and *the verb*, the verb is the command.
Verdict              | 00 | What a check says of an answer: solved, or which command and which field came out otherwise than asked.
Wire version         | 04 | A text on the server, in `{emq}:version`, that says how its queues are written. Whoever speaks another version is refused.
Worker               | 00 | A program that claims jobs, does them and reports. It may stop at any moment, and nobody is told.
Write guard          | 04 | The point in a native verb before which nothing is written and after which nothing is asked. The stage shows it as a double bar.
""")
