"""The options of ``emqlab audit``. The command line reads them, so nothing here takes time to import."""

import argparse

ABOUT = """\
Look at queues and change nothing: what stops work, what loses it, what is odd, and what each executor would do.
What is good to know and harms nobody (a lease of the scripts, which natively is exempt) stands in a group of its own.

Without a QUEUE, every queue of the server is looked at; they are found by SCAN. On a live queue a finding is told
only if it still holds when it is looked at again, in one transaction."""
STATUS = (
    "exit status: 0 nothing found, or only what is good to know; 1 something that stops work, loses it or is odd;"
    " 2 unusable input; 3 the server was lost"
)


def audit_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``audit``."""
    parser.add_argument("queues", nargs="*", metavar="QUEUE", help="a queue's name (default: every queue there)")
    parser.add_argument(
        "--server", metavar="URL", help="your server (default: $EMQLAB_SERVER); with --case also embedded, valkey, auto"
    )
    parser.add_argument(
        "--case", metavar="FILE", help="instead, the queue as the case's `given` makes it; this writes, and cleans up"
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON a queue")
