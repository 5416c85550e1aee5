"""What a reader may hand in by accident: an object, and an error, that can't even say what they are."""


class Mute:
    """Its texts raise, of which the first is what a sentence would ask for."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Leaver:
    """Its texts end the program."""

    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


class MuteError(Exception):
    """An error without a message that could be told."""

    def __str__(self) -> str:
        raise self

    __repr__ = __str__


def mutely(*_: object) -> None:
    """A function of the reader's that raises it."""
    raise MuteError
