"""The order in which a reader best meets steps that only one executor takes: a script acts where a verb asks."""

_STORY = """
fence pause child turn select head leave type row token group parent dead0 where where-line epoch count0 count
claimed gactive gdel lease0 sound1 sound2 clock lease payload guard leave2 pop2 count2 state2 lease2
"""

_RANKS = {name: place for place, name in enumerate(_STORY.split())}


def rank_of(step: str, word: str) -> int:
    """A step's place in the story; what is not in it comes last. Claim's ``state`` is said before the lease."""
    return _RANKS.get("claimed" if (step, word) == ("state", "say that it is leased") else step, len(_RANKS))
