"""The pages made of the code's own data are what would be made of it now, and lead where they say."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from emqlab.divergences import DIVERGENCES
from emqlab.teach.dives import DIVES
from emqlab.teach.exercises import EXERCISES
from emqlab.teach.glossary import TERMS
from emqlab.teach.reference import error_rows
from emqlab.transitions import LANES_AND_FLOWS, TRANSITIONS
from notebooks import record, tables
from notebooks.pages import instructor_notes

FOLDER = Path(record.__file__).parent
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
README = FOLDER.parent / "README.md"

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def prose(path: Path) -> str:
    """The Markdown of a notebook or a page, without code."""
    if path.suffix == ".ipynb":
        cells = record.read(path)["cells"]
        text = "\n\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    else:
        text = path.read_text(encoding="utf-8")
    return text


def anchors(path: Path) -> set[str]:
    """What a link into a notebook may name: its headings, as Jupyter makes ids of them."""
    return {line.strip().replace(" ", "-") for line in re.findall(r"(?m)^#+ (.+)$", _unfenced(prose(path)))}


def _unfenced(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def links(path: Path) -> Iterator[str]:
    """Every relative link of a page."""
    for link in _LINK.findall(_CODE.sub("", prose(path))):
        if "://" not in link:
            yield link


def broken(path: Path, link: str) -> bool:
    """Whether a link names a file that is not there, or a heading that it does not have.

    What lies outside the page's own folder is not there for everybody: JupyterLab opens the lessons' folder alone.
    """
    name, _, anchor = link.partition("#")
    target = (path.parent / name).resolve() if name else path
    if not target.is_file() or not target.is_relative_to(path.parent.resolve()):
        return True
    return bool(anchor) and (target.suffix != ".ipynb" or anchor not in anchors(target))


@pytest.mark.parametrize("path", [*NOTEBOOKS, README], ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    """Each relative link names a file that is there, and a heading that stands in it."""
    assert [link for link in links(path) if broken(path, link)] == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    """Another file, another heading, none: the check would say so."""
    (tmp_path / "lessons").mkdir()
    (tmp_path / "outside.md").touch()
    page = tmp_path / "lessons" / "page.ipynb"
    sound = "# Fencing token\n\n[a](#Fencing-token) [e](page.ipynb)"
    text = f"{sound} [b](#fencing-token) [c](other.ipynb) [d](page.ipynb#Lease) [f](../outside.md)"
    page.write_text(tables.notebook("page", [text]), encoding="utf-8")
    expected = ["#fencing-token", "other.ipynb", "page.ipynb#Lease", "../outside.md"]
    assert [link for link in links(page) if broken(page, link)] == expected


def test_making_the_pages_again_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """What is committed is what the code's data give; else run notebooks/tables.py."""
    assert (tables.main(["--check"]), capsys.readouterr().out.count("as written")) == (0, 3)


def test_a_page_that_would_change_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check writes nothing; without it the page is made, once."""
    made = {"page.html": "<p>new</p>"}
    assert tables.write_all(made, tmp_path, check=True) == 1
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == "page.html: would change; write it with notebooks/tables.py\n"
    assert tables.write_all(made, tmp_path, check=False) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "<p>new</p>"
    assert tables.write_all(made, tmp_path, check=True) == 0


def test_the_glossary_has_a_heading_for_every_word() -> None:
    """And a table for the verbs, the refusals and the divergences."""
    names = {"Table-of-verbs", "Table-of-refusals", "Table-of-divergences"} | {term.anchor for term in TERMS}
    assert names <= anchors(FOLDER / "glossary.ipynb")


def test_the_cheat_sheet_has_it_all_and_asks_for_nothing() -> None:
    """Every flat verb, every error, every divergence; and no address, so that it prints without a network."""
    text = (FOLDER / "cheat_sheet.html").read_text(encoding="utf-8")
    verbs = [name for name in TRANSITIONS if name not in LANES_AND_FLOWS]
    assert [name for name in verbs if f"<code>{name}</code>" not in text] == []
    assert [row.name for row in error_rows() if f"<code>{row.name}</code>" not in text] == []
    plain = html.unescape(re.sub(r"<[^>]+>", "", text))
    assert [sentence for sentence in DIVERGENCES.values() if sentence not in plain] == []
    assert re.findall(r"https?:|@import|url\(|src=", text) == []


def test_hub_and_readme_list_the_same_dives() -> None:
    """Each with its link and its question; the hub with its minutes."""
    hub, readme = prose(FOLDER / DIVES[0].file), README.read_text(encoding="utf-8")
    for dive in DIVES[1:]:
        assert f"| [{dive.number} {dive.title}]({dive.file}) | {dive.question} | {dive.minutes} min |" in hub
        assert f"| [{dive.number} {dive.title}](notebooks/{dive.file}) | {dive.question} |" in readme


def test_a_dive_says_its_question_and_its_minutes() -> None:
    """At its head, the same as wherever the dives are listed."""
    for dive in DIVES[1:]:
        if (FOLDER / dive.file).is_file():
            head = record.read(FOLDER / dive.file)["cells"][0]["source"]
            assert head.startswith(f"# {dive.number} {dive.title}\n")
            assert f"**{dive.question}** · about {dive.minutes} minutes" in head


def test_the_notes_have_what_the_recordings_say() -> None:
    """The first line of each check's answer to the start of its exercise."""
    started = {name for dive in DIVES for name in instructor_notes.recorded_starts(FOLDER / dive.file)}
    assert started == set(EXERCISES)
    text = prose(FOLDER / "instructor_notes.ipynb")
    assert [name for name in started if f"| {name} | {EXERCISES[name].title} | not yet: " not in text] == []
