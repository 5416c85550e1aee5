"""What an ACL user may do, read off the rules of ACL SETUSER, with the read/write split of key patterns.

Only what a right to run EMQ.* needs: commands, the categories those commands are in, key patterns, selectors.
Source: https://valkey.io/topics/acl/
"""

from collections.abc import Callable
from dataclasses import dataclass, field

READ = 1
WRITE = 2
_CATEGORIES = {b"@all", b"@write", b"@slow"}

Match = Callable[[bytes, bytes], bool]


@dataclass(slots=True)
class Grant:
    """One set of rules: the user's own, or one selector's."""

    commands: list[tuple[bool, bytes]] = field(default_factory=list)
    keys: dict[bytes, int] = field(default_factory=dict)

    def apply(self, rule: bytes) -> None:
        """Take one rule; a rule about anything but commands and keys is passed over."""
        word = rule.lower()
        if word in (b"allcommands", b"nocommands"):
            self.commands = [(word == b"allcommands", b"@all")]
        elif rule[:1] in (b"+", b"-"):
            self.commands.append((rule[:1] == b"+", word[1:]))
        elif word == b"allkeys":
            self._allow(READ | WRITE, b"*")
        elif word == b"resetkeys":
            self.keys.clear()
        elif rule[:1] == b"~":
            self._allow(READ | WRITE, rule[1:])
        elif rule[:1] == b"%" and b"~" in rule:
            letters, pattern = rule[1:].split(b"~", 1)
            access = sum(bit for letter, bit in ((b"R", READ), (b"W", WRITE)) if letter in letters.upper())
            self._allow(access, pattern)

    def _allow(self, access: int, pattern: bytes) -> None:
        self.keys[pattern] = self.keys.get(pattern, 0) | access

    def runs(self, command: bytes) -> bool:
        """Whether ``command`` (lower case) is granted: the last rule that speaks of it decides."""
        allowed = False
        for grant, name in self.commands:
            if name == command or name in _CATEGORIES:
                allowed = grant
        return allowed

    def reaches(self, key: bytes, access: int, match: Match) -> bool:
        """Whether one of its patterns grants all of ``access`` to ``key``."""
        return any(bits & access == access and match(pattern, key) for pattern, bits in self.keys.items())


def _whole_selectors(rules: tuple[bytes, ...]) -> list[bytes]:
    """The rules with each selector in one piece, however many words it was sent as."""
    out: list[bytes] = []
    for rule in rules:
        if out and out[-1][:1] == b"(" and out[-1][-1:] != b")":
            out[-1] += b" " + rule
        else:
            out.append(rule)
    return out


class Rights:
    """The rules of one user."""

    def __init__(self) -> None:
        self.grants = [Grant()]

    def apply(self, rules: tuple[bytes, ...]) -> None:
        """Take the rules of one ACL SETUSER, in order."""
        for rule in _whole_selectors(rules):
            word = rule.lower()
            if word == b"reset":
                self.grants = [Grant()]
            elif word == b"clearselectors":
                del self.grants[1:]
            elif rule[:1] == b"(":
                selector = Grant()
                for part in rule.strip(b"()").split():
                    selector.apply(part)
                self.grants.append(selector)
            else:
                self.grants[0].apply(rule)

    def runs(self, command: bytes, keys: list[tuple[bytes, int]], match: Match) -> bool | None:
        """True when one grant covers command and keys, None when only the keys are missing, else False."""
        able = [grant for grant in self.grants if grant.runs(command)]
        if not able:
            return False
        if any(all(grant.reaches(key, access, match) for key, access in keys) for grant in able):
            return True
        return None

    def reaches(self, key: bytes, access: int, match: Match) -> bool:
        """Whether any grant gives ``access`` to ``key``."""
        return any(grant.reaches(key, access, match) for grant in self.grants)
