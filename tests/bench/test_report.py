"""What the bench makes of its figures: ratios, tables, JSON, the chart and the page about them."""

from pathlib import Path

import emqlab.bench
from emqlab.bench.chart import draw
from emqlab.bench.line import Account
from emqlab.bench.options import ENDINGS
from emqlab.bench.pipelined import Pipelined
from emqlab.bench.report import COLUMNS, PEER_COLUMNS, READ_THIS, Result
from emqlab.bench.rounds import Figures, median_ratio, ratio
from emqlab.bench.workloads import ROWS

SCRIPTED = Figures([9.0, 6.0, 30.0, 8.0, 7.0], 5000)
NATIVE = Figures([4.0, 5.0, 3.0, 50.0, 6.0], 5000)


def result(**changed: object) -> Result:
    """A whole result, out of made-up figures."""
    ways = {"scripted": SCRIPTED, "native": NATIVE, "same_steps": Figures([12.0], 9), "limit": Figures([2.0], 9)}
    whole: dict[str, object] = {
        "server": "valkey 9.1.2",
        "rounds": 5,
        "measured": {"claim": ways, "requeue": {"native": NATIVE}},
        "ping": Figures([0.25], 9),
        "limit_missing": None,
        "pipelined": Pipelined("redis-benchmark", 100_000.0, 150_000.0),
    }
    return Result(**{**whole, **changed})  # type: ignore[arg-type]


def test_the_ratio_is_that_of_the_best_rounds() -> None:
    """Scripted over native, least by least; the medians have a ratio of their own."""
    assert 6.0 / 3.0 == ratio(SCRIPTED, NATIVE)
    assert 8.0 / 5.0 == median_ratio(SCRIPTED, NATIVE)
    assert None is ratio(None, NATIVE)
    assert None is median_ratio(SCRIPTED, None)


def test_a_round_is_the_time_between_two_accounts() -> None:
    """Microseconds a call, of the calls in between."""
    figures = Figures()
    figures.add(Account(1500, 9000, 1).since(Account(500, 5000, 1)))
    assert ([4.0], 1000) == (figures.rounds, figures.calls)


def test_the_json_has_the_form_that_was_promised() -> None:
    """Server, verbs, limit; null where there is no script."""
    told = result().json()
    claim = {"scripted_us": 6.0, "native_us": 3.0, "ratio": 2.0}
    more = {"scripted_median_us": 8.0, "native_median_us": 5.0, "ratio_of_medians": 1.6, "calls": 5000}
    requeue = {"scripted_us": None, "native_us": 3.0, "ratio": None, "scripted_median_us": None}
    assert {
        "server": "valkey 9.1.2",
        "rounds": 5,
        "verbs": {
            "claim": {**claim, **more},
            "requeue": {**requeue, **dict(list(more.items())[1:]), "ratio_of_medians": None},
        },
        "limit": {"limit_us": 2.0, "scripted_us": 6.0, "native_us": 3.0, "ratio": 3.0},
        "peers": {"ping_us": 0.25, "same_steps": {"us": 12.0, "ratio": 0.5}},
        "pipelined": {"program": "redis-benchmark", "scripted_per_s": 100000, "native_per_s": 150000, "ratio": 1.5},
    } == told


def test_what_is_missing_says_why() -> None:
    """In the JSON and below the tables."""
    ways = {"scripted": SCRIPTED, "native": NATIVE}
    there = result(measured={"claim": ways}, limit_missing="only in a clone", pipelined="it is not installed")
    assert {"missing": "only in a clone"} == there.json()["limit"]
    assert {"missing": "it is not installed"} == there.json()["pipelined"]
    assert "missing" in there.json()["peers"]["same_steps"]
    assert "No speed limit: only in a clone.\nNo claims a second: it is not installed." in there.text()
    unclaimed = result(measured={"requeue": {"native": NATIVE}}).json()
    assert {"missing": "claim was not measured"} == unclaimed["limit"]


def test_the_table_shows_best_rounds_and_both_ratios() -> None:
    """One line a row; a verb without a script says so; then the peers, and what to read."""
    lines = result().text().splitlines()
    assert "verb     scripted µs  native µs  ratio  ratio of medians  calls" == lines[2]
    assert "claim           6.00       3.00  2.00×             1.60×  5,000" == lines[3]
    assert "requeue    no script       3.00      -                 -  5,000" == lines[4]
    assert ["hand-written C", "2.00", "3.00×"] == lines[8].rsplit(maxsplit=2)
    assert READ_THIS == lines[-1]


def test_the_page_explains_every_column_row_and_peer() -> None:
    """README.md beside the code has a line for each of them, and shows every field of the JSON."""
    page = (Path(emqlab.bench.__file__).parent / "README.md").read_text()
    first_cells = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    named = {name for cell in first_cells for name in cell.split(", ")}
    assert list(COLUMNS) == [cell for cell in first_cells if cell in COLUMNS]
    assert set(ROWS) <= named
    peers = [line.split("  ")[0] for line in result().text().split("\n\n")[2].splitlines()[1:]]
    assert 5 == len(peers)
    assert set(peers) <= named
    assert PEER_COLUMNS[2] in COLUMNS
    told = result().json()
    fields = [*told, *told["verbs"]["claim"], *told["limit"], *told["peers"], *told["pipelined"]]
    assert [] == [field for field in fields if f'"{field}"' not in page]


def test_a_chart_is_written_in_every_format(tmp_path: Path) -> None:
    """Also of a verb without a peer, and of none with a script."""
    begins = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    for ending in ENDINGS:
        draw(result(), tmp_path / f"all{ending}")
        assert begins[ending] == (tmp_path / f"all{ending}").read_bytes()[: len(begins[ending])]
    fail = {"fail": {"scripted": SCRIPTED, "native": NATIVE}}
    draw(result(measured=fail), tmp_path / "one.svg")
    draw(result(measured={"requeue": {"native": NATIVE}}), tmp_path / "none.svg")
    assert (tmp_path / "one.svg").read_bytes() != (tmp_path / "none.svg").read_bytes()
