"""The glossary's entries, and the list of the dives that they point into."""

from emqlab.teach.dives import DIVES
from emqlab.teach.glossary import TERMS


def test_a_word_is_listed_once_and_in_order() -> None:
    """A capital first, so that its anchor can be foreseen; nothing in it that an anchor would lose."""
    names = [term.name for term in TERMS]
    assert names == sorted(set(names), key=str.lower)
    assert [name for name in names if not name.replace(" ", "").isalnum() or not name[0].isupper()] == []


def test_an_entry_is_one_or_two_sentences() -> None:
    """Three with a remark in brackets; and each names a dive there is."""
    numbers = {dive.number for dive in DIVES}
    assert [term.name for term in TERMS if term.dive not in numbers or not term.about.endswith((".", ".)"))] == []
    assert [term.name for term in TERMS if term.about.count(". ") > 2] == []


def test_an_anchor_is_the_word_with_hyphens() -> None:
    """As Jupyter makes it from a heading."""
    assert next(term for term in TERMS if term.name == "Fencing token").anchor == "Fencing-token"
