"""The picker of a server: it keeps what is picked, says what is in force, and records nothing of a machine."""

import json
from pathlib import Path

import pytest

import emqlab
from emqlab import choice
from emqlab_widgets.server_picker import ServerPicker, found_texts, server_picker

WHOLE = choice.Found("valkey-server 9.1.2", "built", "", named=False)
NOTHING = choice.Found(None, None, "There is no Valkey here. There is no C compiler here", named=False)


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test has a reader's folder of its own, and a machine that chooses nothing."""
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv(choice.VARIABLE, raising=False)
    monkeypatch.setattr(choice, "_memory", None)


def texts(picker: ServerPicker) -> dict[str, str]:
    """What a notebook stores of it."""
    data, _ = picker._repr_mimebundle_()
    return {kind: data[kind] for kind in ("text/html", "text/plain")}


def test_a_pick_is_kept_and_said(tmp_path: Path) -> None:
    """In the file at once; the next picker opens on it."""
    picker = server_picker()
    assert picker.choice == "auto"
    picker.choice = "embedded"
    assert json.loads((tmp_path / choice.FILE).read_text(encoding="utf-8"))["server"] == "embedded"
    assert picker.status.startswith("Chosen: embedded. It takes effect in the next lab that is opened")
    assert server_picker().choice == "embedded"


def test_it_says_which_server_is_in_use(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the lab it is given, and what overrides a choice."""
    assert server_picker(lab).status.startswith("This notebook's lab runs on embedded.")
    monkeypatch.setenv(choice.VARIABLE, "embedded")
    picker = server_picker(lab)
    picker.choice = "valkey"
    told = "$EMQLAB_SERVER is embedded, and wins over what is chosen here until it is unset."
    assert picker.status == f"Noted: valkey. {told}"


def test_a_pick_that_cant_be_kept_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the reader looks, not only on stderr."""
    (tmp_path / "flat").touch()
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "flat" / "progress.json"))
    picker = server_picker()
    picker.choice = "valkey"
    assert "could not be kept in its file" in picker.status


def test_what_is_missing_is_said_in_words() -> None:
    """Where all is there, where nothing is, and where a program was named that is none."""
    here = "On this machine: valkey-server 9.1.2; the native verbs' module is built."
    assert found_texts(WHOLE) == {"auto": "Here: valkey.", "embedded": "", "valkey": here}
    gone = "Not on this machine: There is no Valkey here. There is no C compiler here."
    assert found_texts(NOTHING) == {"auto": "Here: embedded.", "embedded": "", "valkey": gone}
    assert "opens nothing" in found_texts(NOTHING._replace(named=True))["auto"]


def test_nothing_is_looked_for_until_a_browser_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording has no browser; the message that the widget sends when it is drawn brings the words."""
    looked: list[choice.Found] = []

    def look() -> choice.Found:
        looked.append(WHOLE)
        return WHOLE

    monkeypatch.setattr(choice, "look", look)
    picker = server_picker()
    texts(picker)
    assert looked == []
    picker._handle_custom_msg({"look": True}, [])
    assert (len(looked), picker.found["auto"]) == (1, "Here: valkey.")


def test_a_recording_says_the_same_on_every_machine(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what was chosen nor what is there nor which server is in use is in the plain twin."""
    once = texts(server_picker())
    monkeypatch.setenv(choice.VARIABLE, "valkey")
    picker = server_picker(lab)
    picker.choice = "embedded"
    picker.found = found_texts(NOTHING)
    assert texts(picker) == once
    assert all(name in once["text/plain"] for name in choice.NAMES)
