"""``emqlab run``: cases out of files, run and judged (SPEC 9)."""

import contextlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import redis

from emqlab import errors
from emqlab.executor import Executor
from emqlab.observe.case import EXECUTORS, BadCase, Case, escaped
from emqlab.observe.case_reader import parse_text
from emqlab.observe.run import Run, Skipped, run_case
from emqlab.parity.compare import difference, unmet
from emqlab.parity.executors import chosen, cost_of, counted
from emqlab.parity.explain import misnamed, told
from emqlab.parity.report import table
from emqlab.servers.bounds import CannotRun
from emqlab.servers.server import Server

HELD, DID_NOT_HOLD, UNUSABLE, LOST = 0, 1, 2, 3
_ENDINGS = (".json", ".jsonl")


def read_cases(paths: list[str]) -> list[Case]:
    """All cases of files, folders of files, and ``-`` (standard input), in order.

    Raises BadCase for the first thing that can't be used; nothing has been run by then.
    """
    return [case for path in paths for case in _cases_of(path)]


def _cases_of(path: str) -> Iterator[Case]:
    if path == "-":
        text = _standard_input()
        yield from parse_text(text, "standard input", lines=_looks_like_lines(text))
        return
    if not path:
        raise BadCase("an empty path names no file; name a case file, a folder of them, or - for standard input")
    place = Path(path)
    mode = _mode(place)
    if stat.S_ISDIR(mode):
        files = _files_under(place)
        if not files:
            raise BadCase(f"{path}: no .json or .jsonl file in this folder; name one with cases")
    elif place.name.endswith(_ENDINGS):
        files = [place]
    else:
        raise BadCase(f"{path}: cases are .json or .jsonl files, folders of them, or - for standard input")
    for file in files:
        yield from parse_text(_text(file), str(file), lines=file.name.endswith(".jsonl"))


def _mode(place: Path) -> int:
    """What kind of a file this is."""
    try:
        return place.stat().st_mode
    except FileNotFoundError:
        raise BadCase(f"{place}: no such file; name a case file or a folder of them") from None
    except (OSError, ValueError) as error:
        raise _unreadable(place, error) from None


def _files_under(folder: Path) -> list[Path]:
    """The case files of a folder and of those below it, in order."""

    def refuse(error: OSError) -> None:
        raise _unreadable(error.filename or folder, error)

    walk = os.walk(folder, onerror=refuse)
    return sorted(Path(inner, name) for inner, _, names in walk for name in names if name.endswith(_ENDINGS))


def _unreadable(place: object, error: Exception) -> BadCase:
    return BadCase(f"{place}: can't be read: {getattr(error, 'strerror', None) or error}")


def _text(file: Path) -> str:
    if not stat.S_ISREG(_mode(file)):
        raise BadCase(f"{file}: not a regular file; write the cases to one, or use - for standard input")
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise _unreadable(file, error) from None
    return _decoded(raw, str(file))


def _standard_input() -> str:
    if sys.stdin is None:
        raise BadCase("standard input: it is closed; name a case file, or send the cases to it")
    try:
        raw = getattr(sys.stdin, "buffer", sys.stdin).read()
    except (OSError, ValueError) as error:
        raise _unreadable("standard input", error) from None
    return raw.removeprefix("\ufeff") if isinstance(raw, str) else _decoded(raw, "standard input")


def _decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadCase(f'{where}: not UTF-8 at byte {error.start}; write other bytes as {{"hex": …}}') from None


def _looks_like_lines(text: str) -> bool:
    """Whether standard input is one case a line rather than one JSON document."""
    if _is_json(text):
        return False
    first, more, _ = text.strip(" \t\r\n").partition("\n")
    return bool(more) and _is_json(first)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class Runner:
    """Runs cases one after the other on one server, prints each and keeps the verdict."""

    def __init__(
        self,
        server: Server,
        executors: dict[str, Executor],
        names: tuple[str, ...],
        *,
        as_json: bool,
        out: TextIO,
        err: TextIO,
    ) -> None:
        self._server = server
        self._executors = executors
        self._names = names
        self._as_json = as_json
        self._out = out
        self._err = err
        self._failed = 0
        self._skipped = 0
        self._refused = 0

    def run(self, cases: list[Case]) -> int:
        """Run them all; the exit status: HELD, DID_NOT_HOLD, or UNUSABLE when one was refused. Raises ServerLost."""
        for done, case in enumerate(cases, 1):
            self._case(case)
            self._progress(done, len(cases))
        if self._skipped:
            self._err.write(f"{self._skipped} skipped; each says why\n")
        if not self._as_json:
            refused = f", {self._refused} not run" if self._refused else ""
            self._out.write(f"{counted(len(cases), 'case')}, {self._failed} did not hold{refused}\n")
        if self._refused:
            return UNUSABLE
        return DID_NOT_HOLD if self._failed else HELD

    def _case(self, case: Case) -> None:
        try:
            done = [self._once(case, name) for name in self._names]
        except CannotRun as error:
            # The others may be run: nothing of this one was, and nothing of it stays behind.
            self._refused += 1
            self._err.write(escaped(f"{case.where}: {case.name}: not run: {error}") + "\n")
            return
        runs = [run for run in done if isinstance(run, Run)]
        self._skipped += len(done) - len(runs)
        if self._as_json:
            for run in done:
                self._out.write(json.dumps(run.json()) + "\n")
        else:
            self._out.write(table(case, done) + "\n")
        complaints = list(judge(case, runs, both=len(self._names) == 2))
        self._failed += bool(complaints)
        for complaint in complaints:
            self._err.write(escaped(f"{case.name}: {complaint}") + "\n")

    def _once(self, case: Case, name: str) -> Run | Skipped:
        return run_case(self._server, self._executors, case, name, traced=False, before=not self._as_json)

    def _progress(self, done: int, total: int) -> None:
        if self._err.isatty() and total > 20 and (done % 20 == 0 or done == total):
            self._err.write(f"\r{done} of {total}" + ("\n" if done == total else ""))


def judge(case: Case, runs: list[Run], *, both: bool) -> Iterator[str]:
    """What does not hold, a sentence each: what the case expects, and whether the executors differ as it says."""
    for run in runs:
        found = unmet(run)
        if found:
            yield f"{run.executor}: {found.sentence('expected', 'got')}"
    if not both or len(runs) != 2:
        return
    found = difference(runs[0], runs[1])
    if found and not case.differs:
        yield found.sentence(runs[0].executor, runs[1].executor)
    elif not found and case.differs:
        yield f"differs says the executors part here, but replies and keys are the same ({told(case.differs)})"
    elif found:
        yield from misnamed(case, *runs)


def run(
    paths: list[str],
    *,
    executor: str,
    server: str | None,
    native: str,
    as_json: bool,
    out: TextIO | None = None,
) -> int:
    """``emqlab run``: the exit status. ``executor`` is scripted, native or both; ``native`` module or optimistic."""
    from emqlab.lab import open_lab

    names = EXECUTORS if executor == "both" else (executor,)
    with contextlib.ExitStack() as closing:
        try:
            cases = read_cases(paths)
            lab = closing.enter_context(open_lab(server))
            executors = chosen(lab, names, native)
        except (ValueError, errors.WrongVersion) as error:
            print(f"emqlab run: {escaped(str(error))}", file=sys.stderr)
            return UNUSABLE
        except errors.ServerLost as error:
            return _lost(error)
        try:
            runner = Runner(lab.server, executors, names, as_json=as_json, out=out or sys.stdout, err=sys.stderr)
            return runner.run(cases)
        except errors.WrongVersion as error:
            print(f"emqlab run: {escaped(str(error))}", file=sys.stderr)
            return UNUSABLE
        except (errors.ServerLost, redis.ConnectionError, redis.TimeoutError) as error:
            return _lost(error)
        except redis.ResponseError as error:
            print(f"emqlab run: the server refused to be used: {escaped(str(error))}; see to it", file=sys.stderr)
            return LOST
        finally:
            cost = cost_of(executors)
            if cost:
                print(cost, file=sys.stderr)


def _lost(error: Exception) -> int:
    print(f"emqlab run: the server was lost: {escaped(str(error))}; start it and run again", file=sys.stderr)
    return LOST
