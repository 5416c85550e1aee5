"""The dives: their files, questions and lengths, for whatever lists them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dive:
    """One notebook: its ``number``, ``title``, ``question``, ``minutes`` for a reader on their own, and ``stem``."""

    number: str
    title: str
    question: str
    minutes: int

    @property
    def stem(self) -> str:
        """Its file's name without the ending: ``02_the_fencing_check``."""
        return f"{self.number}_{self.title.lower().replace(' ', '_')}"

    @property
    def file(self) -> str:
        """Its file's name."""
        return f"{self.stem}.ipynb"


DIVES: tuple[Dive, ...] = (
    Dive("00", "Start here", "What happens to one job?", 15),
    Dive("01", "State and attempts", "Where is the job, and who holds it?", 25),
    Dive("02", "The fencing check", "Why is a late worker refused?", 20),
    Dive("03", "Completion and recovery", "How can a job leave `active`?", 20),
    Dive("04", "Native parity", "What changes when the script becomes a command?", 20),
    Dive("05", "Failures and recovery", "What does a failure cost, and a stall?", 25),
)
