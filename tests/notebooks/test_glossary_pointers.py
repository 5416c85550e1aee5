"""Where the glossary's entries send a reader: each to a dive in whose prose the word is to be found."""

import json
import re

import pytest

from emqlab.teach.dives import DIVES
from emqlab.teach.glossary import TERMS, Term
from notebooks.tables import FOLDER


def prose(file: str) -> str:
    """All Markdown of one notebook, with ``lease_epoch`` as two words."""
    cells = json.loads((FOLDER / file).read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown").replace("_", " ")


RING = next(term for term in TERMS if term.name == "Ring")
PROSE = {dive.number: prose(dive.file) for dive in DIVES}


def has(text: str, term: Term) -> bool:
    """Whether ``text`` says the word, also in the plural or a verb's form, or links to its entry."""
    said = re.search(rf"\b{re.escape(term.name)}(?:s|es|d|ed)?\b", text, re.IGNORECASE)
    return said is not None or f"(glossary.ipynb#{term.anchor})" in text


def test_each_entry_names_a_dive_whose_prose_has_the_word() -> None:
    """Not only its code or its pictures: whoever follows the pointer must find what is meant."""
    assert [(term.name, term.dive) for term in TERMS if not has(PROSE[term.dive], term)] == []


@pytest.mark.parametrize("text", ["the ring", "Rings", "[so called](glossary.ipynb#Ring)"])
def test_a_word_is_found_in_its_forms_and_as_a_link(text: str) -> None:
    """A capital makes no difference."""
    assert has(text, RING)


def test_a_word_is_not_found_within_another() -> None:
    """Else every dive would have a ring."""
    assert not has("a string, during which", RING)
