"""All mutants: how many there are, what the list of equivalents may hold, and that a share of them is hunted down."""

from collections import Counter

import pytest

from emqlab.parity.defects.hunters import ScriptHunter, VerbHunter, verbs_at
from emqlab.parity.defects.mutants import Listed, _result, all_mutants, keys, listed, run_mutants
from emqlab.parity.defects.sources import Mutant, own_sources
from emqlab.parity.telling import mutants_json


def changed(file: str, old: str, new: str) -> Mutant:
    """A mutant made by hand: ``old``, which is there once, is ``new``."""
    sound = own_sources().text(file)
    assert 1 == sound.count(old)
    return Mutant(f"{file} by hand", file, 1, "ByHand", old, new, sound.replace(old, new))


# ---------------------------------------------------------------- the list


def test_there_are_enough_of_them() -> None:
    """At least 250 of the scripts and 400 of the verbs."""
    counted = Counter(mutant.executor for mutant in all_mutants())
    assert counted["scripted"] >= 250
    assert counted["native"] >= 400


def test_a_share_is_every_nth() -> None:
    """A tenth is every tenth, in the same order."""
    assert all_mutants()[::10] == all_mutants(10)


def test_each_is_known_by_what_it_changes() -> None:
    """No two have one key, and no key holds a line's number."""
    known = keys()
    assert len(all_mutants()) == len(known) == len(set(known.values()))
    by_hand = next(mutant for mutant in all_mutants() if mutant.after == "return failures > max_attempts")
    expected = (
        "fail.py",
        "ReplaceComparisonOperator_GtE_Gt",
        "return failures >= max_attempts",
        "return failures > max_attempts",
        1,
    )
    assert expected == known[by_hand.id]


def test_every_listed_one_exists() -> None:
    """What is listed as equivalent is a mutant that is made."""
    assert [] == [key for key in listed() if key not in keys().values()]


def test_every_listed_one_has_a_reason() -> None:
    """One sentence each; and few are listed: fewer than one in twenty."""
    assert [] == [each for each in listed().values() if not each.reason.endswith(".") or len(each.reason) < 20]
    assert len(listed()) < len(all_mutants()) / 20


# ---------------------------------------------------------------- the hunt


def test_a_share_of_them_is_hunted() -> None:
    """Of every fortieth, whatever is not listed is killed, and nothing that is listed."""
    done: list[int] = []
    found = run_mutants(server="embedded", seed=0, share=40, workers=1, tell=done.append)
    assert ((), ()) == (found.survivors, found.mistaken)
    total = found.total
    # This server's clock shows whole ms only.
    apart = [key for each in all_mutants(40) if (key := keys()[each.id]) in listed() and listed()[key].seen]
    assert len(all_mutants(40)) == sum(done) == total.mutants + len(apart)
    assert total.mutants == total.killed + total.equivalent
    assert total.mutants >= 60
    assert "100.0 %" == total.adjusted
    assert {"mutants": total.mutants, "killed": total.killed, "equivalent": total.equivalent} == mutants_json(found)


def test_the_same_seed_finds_the_same() -> None:
    """Two runs over a few mutants come to one result."""
    first, second = (run_mutants(server="embedded", seed=3, share=1400, workers=1) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("file", ["claim.py", "rules.py"])
def test_a_verb_that_nobody_changed_is_not_seen(file: str) -> None:
    """The hunters see nothing where there is nothing."""
    hunter = VerbHunter(0)
    try:
        assert None is hunter.hunt(Mutant(file, file, 0, "Nothing", "", "", own_sources().text(file)), 300)
    finally:
        hunter.close()


def test_a_hunter_goes_on_with_the_next() -> None:
    """A mutant leaves nothing behind: after it the unchanged verb is not seen."""
    hunter = VerbHunter(0)
    try:
        text = own_sources().text("requeue.py")
        assert hunter.hunt(changed("requeue.py", 'b"ZADD", pending, b"0"', 'b"ZADD", pending, b"1"'))
        assert hunter.hunt(changed("requeue.py", "    host.fence()\n", "    host.fence(1)\n"))
        assert hunter.hunt(changed("requeue.py", "    host.fence()\n", "    host.fence(\n"))
        assert None is hunter.hunt(Mutant("requeue.py", "requeue.py", 0, "Nothing", "", "", text), 200)
    finally:
        hunter.close()


def test_a_script_hunter_goes_on_with_the_next() -> None:
    """So do the scripts' hunters."""
    hunter = ScriptHunter("embedded", 0)
    try:
        text = own_sources().text("reap.lua")
        assert hunter.hunt(changed("reap.lua", "'LIMIT', 0, 100)", "'LIMIT', 0, 101)"))
        assert None is hunter.hunt(Mutant("reap.lua", "reap.lua", 0, "Nothing", "", "", text), 200)
        assert not hunter.fine
    finally:
        hunter.close()


def test_where_a_mutant_is_looked_for() -> None:
    """In its own verb's trials; the rules serve all twelve."""
    verbs = {mutant.file: verbs_at(mutant) for mutant in all_mutants(5)}
    assert ("fail",) == verbs["retry.lua"] == verbs["fail.py"]
    assert ("stalled_check",) == verbs["sweep_stalled.lua"]
    assert 12 == len(verbs["rules.py"])


# ---------------------------------------------------------------- the result


def test_findings_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listed and alive is equivalent, listed and killed a mistake, not listed and alive a survivor."""
    one, two, three, four = all_mutants()[:4]
    entries = [Listed(*keys()[each.id][:4], "It is so.", keys()[each.id][4]) for each in (one, two)]
    monkeypatch.setattr("emqlab.parity.defects.mutants.listed", lambda: {entry.key: entry for entry in entries})
    found = _result([(one, None), (two, (7, "seen")), (three, None), (four, (1, "seen"))])
    assert [one.id] == [each.id for each in found.equivalent]
    assert [two.id] == [each.id for each in found.mistaken]
    assert [three.id] == [each.id for each in found.survivors]
    row = found.by[0]
    assert ("scripted", 4, 2, 1, 1) == (row.executor, row.mutants, row.killed, row.equivalent, row.survived)


def test_not_on_a_users_server() -> None:
    """What is changed runs on the lab's own."""
    with pytest.raises(ValueError, match="mutants are hunted on a server of the lab's own: embedded or valkey"):
        run_mutants(server="redis://127.0.0.1:1", seed=0)
