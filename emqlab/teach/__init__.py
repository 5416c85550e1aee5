"""What lessons use and no widget needs: predictions, checks, hints, progress."""

from emqlab.teach import progress
from emqlab.teach.check import Verdict, check
from emqlab.teach.hints import Hint, hint

__all__ = ["Hint", "Verdict", "check", "hint", "progress"]
