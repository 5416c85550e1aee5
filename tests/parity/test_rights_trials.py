"""Rights: what each verb needs besides its declared keys, and that one right too few or too many is seen."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from emqlab.parity.defects.hunters import VerbHunter
from emqlab.parity.defects.sources import Mutant, own_sources
from emqlab.parity.ground import Ground
from emqlab.parity.trials import rights
from emqlab.parity.trials.rights import NEEDS, READ, USER, WRITE, Need, RightsBench, rights_complaints
from emqlab.replies import ask
from emqlab.transitions import OF_COMMAND
from tests.parity.grounds import ground_on
from tests.servers.real import NAMES


@pytest.fixture(scope="module")
def bench() -> Iterator[RightsBench]:
    """One user of an embedded server."""
    ground = Ground("embedded")
    with RightsBench(ground.server) as opened:
        yield opened
    assert USER.encode() not in ask(ground.server.observer, "ACL", "USERS")
    ground.close()


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: str(need.name))
def test_a_verb_does_what_its_caller_may(bench: RightsBench, need: Need) -> None:
    """NOPERM with nothing written for each right that is missing; with just those that it needs, all goes well."""
    assert [] == list(bench.complaints(need))


@pytest.fixture(scope="module", params=["embedded", *NAMES])
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """The bench on the embedded server and on each real one."""
    with ground_on(request.param) as made:
        yield made


def test_the_rights_are_as_told_on_every_server(ground: Ground) -> None:
    """All ways, and the user is gone after them; without the native verbs there is nothing to try."""
    server, executors = ground.lab.bench()
    users = ask(server.observer, "ACL", "USERS")
    assert USER.encode() not in users
    assert [] == list(rights_complaints(server, executors))
    assert users == ask(server.observer, "ACL", "USERS")
    assert [] == list(rights_complaints(server, {"scripted": executors["scripted"]}))


@pytest.mark.parametrize(
    ("shift", "said"),
    [(-1, "with just the rights that it needs"), (1, "without the right to write meta the reply is")],
)
def test_a_table_that_is_wrong_is_seen_on_every_server(ground: Ground, shift: int, said: str) -> None:
    """A verb that opens one key more than it is said to, or one less; the user is gone though nobody reads on."""
    need = next(need for need in NEEDS if need.name == "claim, a job")
    told = need.accesses[:shift] if shift < 0 else (*need.accesses, (b"meta", WRITE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rights, "NEEDS", (replace(need, accesses=told),))
        asked = rights_complaints(*ground.lab.bench())
        assert said in next(iter(asked))
        asked.close()  # type: ignore[attr-defined]
    assert USER.encode() not in ask(ground.server.observer, "ACL", "USERS")


def test_every_verb_is_tried() -> None:
    """All twelve; each is written to where it is read first, and the version comes before everything."""
    assert {row.verb for row in OF_COMMAND.values()} == {need.verb for need in NEEDS}
    for need in NEEDS:
        assert (b"{emq}:version", READ) == need.all[0]
        written = [key for key, access in need.all if access == WRITE]
        assert all((key, READ) in need.all for key in written)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("claim.py", "host.open(row, READ)", "None", "without the right to read job:"),
        ("claim.py", "host.open(row, WRITE)", "None", "without the right to write job:"),
        ("claim.py", "host.open(meta, READ)", "None", "without the right to read meta"),
        ("complete.py", "host.open(held, WRITE)", "None", "without the right to write pending"),
        ("rules.py", "host.open(key, WRITE)", "None", "without the right to write metrics:"),
        ("claim.py", "host.open(meta, READ)", "host.open(meta, WRITE)", "with just the rights that it needs"),
        ("promote.py", "host.open(row, READ)", "host.open(row, WRITE)", "with just the rights that it needs"),
    ],
)
def test_a_verb_that_asks_for_others_is_seen(file: str, old: str, new: str, said: str) -> None:
    """An opening that is left out, and one for more than is done."""
    text = own_sources().text(file)
    assert 1 == text.count(old)
    hunter = VerbHunter(0)
    try:
        seen = hunter.hunt(Mutant(file, file, 0, "ByHand", old, new, text.replace(old, new)))
    finally:
        hunter.close()
    assert seen is not None
    assert said in seen[1]
