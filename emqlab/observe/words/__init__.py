"""The one table of step ids, words and notes: what each command of a transition asks, does and finds.

Keyed by transition, executor, phase, command and the key's role. A word is a question for a read and an order for a
write; the same thing has the same step id on both executors, so that rows line up.
"""

from emqlab.observe.words.answer import ANSWER, answer
from emqlab.observe.words.arrive import ARRIVE
from emqlab.observe.words.entry import (
    At,
    Entry,
    Key,
    Table,
    effective,
    in_hand,
    joined,
    member_of,
    sentences,
    short,
    shown,
)
from emqlab.observe.words.find import Sent, entry_of, note_of, stranger
from emqlab.observe.words.order import rank_of
from emqlab.observe.words.whole import CALL_WORDS, advanced, came_between, raw_command, restarted, told_whole

__all__ = [
    "ANSWER",
    "ARRIVE",
    "CALL_WORDS",
    "At",
    "Entry",
    "Key",
    "Sent",
    "Table",
    "advanced",
    "answer",
    "came_between",
    "effective",
    "entry_of",
    "in_hand",
    "joined",
    "member_of",
    "note_of",
    "rank_of",
    "raw_command",
    "restarted",
    "sentences",
    "short",
    "shown",
    "stranger",
    "told_whole",
]
