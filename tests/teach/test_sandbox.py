"""A reader's own code is judged in a process of its own, and nothing it does reaches the notebook."""

import functools
import operator
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from emqlab.teach import check, sandbox
from emqlab.teach.cases import claim


def forever(k: int) -> int:
    """A function that a reader would have to interrupt."""
    while True:
        k += 1


def stubborn(k: int) -> int:
    """One that swallows what would stop it."""
    while True:
        with suppress(BaseException):
            k += 1


def ends_itself(k: int) -> int:
    """One that takes its process with it."""
    os.kill(os.getpid(), signal.SIGKILL)
    return k


def greedy(k: int) -> int:
    """One that asks for more memory than there is."""
    return len(bytearray(64 * 1024**3)) + k


def helper(k: int) -> int:
    """Stands beside the answer, in the same file."""
    return k + 1


def with_help(k: int) -> int:
    """An answer that calls another function of its file."""
    return helper(k)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (forever, "Your code was still running after 0.5 s: it was stopped."),
        (stubborn, "Your code was still running after 0.5 s: it was stopped."),
        (ends_itself, "Your code ended the process in which it was judged, before there was a verdict."),
        (greedy, "Your function raised MemoryError for k = 0"),
    ],
)
def test_code_that_would_harm_a_notebook_gets_a_sentence(
    answer: Callable[[int], int], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it does, it does to a process that is ended with it."""
    monkeypatch.setattr(sandbox, "LIMIT_S", 0.5)
    assert check("01-1", answer).sentence.startswith(said)


def test_what_was_started_is_ended_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that the code started does not outlive the verdict."""
    monkeypatch.setattr(sandbox, "LIMIT_S", 1.0)
    note = tmp_path / "pid"

    def starts_another(k: int) -> int:
        import subprocess

        child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        note.write_text(str(child.pid))
        return child.wait()

    assert "was stopped" in check("01-1", starts_another).sentence
    stat = Path(f"/proc/{note.read_text()}/stat")
    state = stat.read_text().rpartition(")")[2].split()[0] if stat.exists() else "gone"
    assert state in ("gone", "Z", "X")


def test_a_process_that_left_the_group_is_ended_too(tmp_path: Path) -> None:
    """It began a session of its own, and is known by what it inherited."""
    note = tmp_path / "pid"

    def starts_a_session(k: int) -> int:
        import subprocess

        child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
        note.write_text(str(child.pid))
        return k + 1

    assert check("01-1", starts_a_session).ok
    stat = Path(f"/proc/{note.read_text()}/stat")
    state = stat.read_text().rpartition(")")[2].split()[0] if stat.exists() else "gone"
    assert state in ("gone", "Z", "X")


@pytest.mark.parametrize("answer", [functools.partial(operator.add, 1), functools.partial(pow, 1), int])
def test_what_is_installed_goes_by_its_name(answer: Callable[[int], int]) -> None:
    """A function made of the library's own parts is an answer like any other."""
    assert check("01-1", answer).sentence.startswith(("The runs with", "With ", "For k"))


def test_code_that_ends_itself_is_told_so() -> None:
    """sys.exit is no traceback of the judge's."""
    assert check("01-1", lambda k: sys.exit(3)).sentence == (
        "Your code ended itself with SystemExit, before there was a verdict."
    )


def test_a_number_that_compares_as_it_likes_is_no_answer() -> None:
    """A token is an int and nothing that claims to be equal to it."""

    class Agreeable(int):
        def __eq__(self, other: object) -> bool:
            return True

        def __ne__(self, other: object) -> bool:
            return False

        __hash__ = int.__hash__

    assert not check("01-1", lambda k: Agreeable(0)).ok


def test_a_verdict_is_bounded_and_every_page_can_show_it() -> None:
    """Neither ten million characters nor half of one reach the notebook."""

    def raises(k: int) -> int:
        raise ValueError("\ud800" + "x" * 10_000_000)

    shown = repr(check("01-1", raises))
    assert len(shown.encode("utf-8")) < 2_000
    assert "\\ud800" in shown


def test_an_answer_may_use_what_stands_beside_it() -> None:
    """Functions of the reader's own file go along."""
    assert check("01-1", with_help).ok


def test_an_answer_that_holds_what_cant_go_along_is_told_so() -> None:
    """A lock or a lab is this process's own."""
    lock = threading.Lock()
    verdict = check("01-1", lambda k: k + lock.locked())
    assert verdict.sentence.startswith("Your code is judged in a process of its own, and uses something that can't go")


def test_what_the_code_prints_is_shown_up_to_a_length(capsys: pytest.CaptureFixture[str]) -> None:
    """Printing is how a reader looks into a function; a flood of it is cut."""

    def talks(k: int) -> int:
        print("k is", k)
        return k + 1

    def floods(k: int) -> int:
        print("x" * 1_000_000)
        return k + 1

    assert check("01-1", talks).ok
    assert capsys.readouterr().out.startswith("k is 0\nk is 1\n")
    assert check("01-1", floods).ok
    assert len(capsys.readouterr().out) < sandbox.PRINTED + 10


def test_where_there_are_no_processes_steps_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edition in the browser stops the same function, by its steps."""
    monkeypatch.setattr(sandbox, "possible", lambda: False)
    answers: list[Any] = [forever, with_help]
    assert [check("01-1", answer).ok for answer in answers] == [False, True]


@pytest.mark.parametrize("exercise", ["02-3", "04-3"])
def test_a_text_that_nothing_could_stop_is_not_run_where_there_are_no_processes(
    exercise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps are counted of a function; a script or a verb that goes on for ever would take the whole page along."""
    monkeypatch.setattr(sandbox, "possible", lambda: False)
    monkeypatch.setattr(sys.modules["emqlab.teach.check"], "open_lab", lambda _: pytest.fail("it was run"))
    text = "while true do end\n"
    case = {"name": "mine", "queue": "q", "when": [claim()]}
    answer = {"complete.lua": text} if exercise == "02-3" else {"file": "complete.lua", "text": text, "case": case}
    assert check(exercise, answer).sentence == sandbox.NO_PROCESS


LATE = """
import sys
from emqlab.lab import open_lab
from emqlab.teach import judge
from emqlab.teach.altered import own_text

judge.prepare()
before = set(sys.modules)
text = own_text("complete.lua").replace("attempts ~= token", "false")
with open_lab("embedded") as lab:
    assert judge.EXERCISES["02-3"].judge(lab, {"complete.lua": text}).ok
    assert judge.catch_text(lab, {"complete.lua": text}).after == 1
print([name for name in sys.modules if name.startswith("emqlab") and name not in before])
"""


def test_the_time_begins_when_everything_is_imported() -> None:
    """Else a slow disk would take it from the reader's code: a hunt needs the most, and finds it there."""
    ran = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_an_answer_that_nobody_reads_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that never reads can't hold up the notebook with an answer longer than a pipe."""
    deaf = tmp_path / "python"
    deaf.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    deaf.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(deaf))
    monkeypatch.setattr(sandbox, "START_S", 0.1)
    verdict = sandbox.judged("01-1", {"long": "x" * 1_000_000})
    assert verdict.sentence.startswith("The process in which your answer is judged did not begin")
