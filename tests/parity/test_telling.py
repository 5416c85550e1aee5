"""How a parity run is told: on a terminal, as a page, as JSON."""

import io
import re
from collections import Counter
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise

import pytest

from emqlab.divergences import DIVERGENCES
from emqlab.parity.campaign import Campaign
from emqlab.parity.ground import layer_of
from emqlab.parity.tally import Finding, Result, Tally
from emqlab.parity.telling import (
    HISTORY,
    Equivalent,
    MutantResult,
    MutantRow,
    PlantResult,
    Report,
    Survivor,
    as_json,
    counted,
    mutants_json,
    percent,
    plant_json,
)
from emqlab.parity.telling.page import SHADES, page
from emqlab.parity.telling.terminal import tell

DIGEST = "0123456789abcdef" * 4
LONG = "native: reply 1 is " + "b'\\x00  two spaces' " * 20 + "and <b>1</b> by the model"
PLANTS = (
    PlantResult("claim-forgets-the-lease-in-lua", "scripted", "A lease ends.", True, 3),
    PlantResult("sweep-forgets-the-epoch", "native", "A restart is not a stall.", True, 1_200),
    PlantResult("values-take-zero", "native", "A lease is at least 1.", False, None),
)
MUTANTS = MutantResult(
    (MutantRow("scripted", 300, 290, 10), MutantRow("native", 1_000, 979, 20)),
    (Equivalent("claim.py:9:NumberReplacer:1", "if count >= 1:", "if count > 0:", "count is whole"),),
    (Survivor("fail.py:3:AddNot:1", "if found:", "if not found:"),),
)


def tally(cases: int = 5_000, **parts: object) -> Tally:
    """A tally in which claim shows 8 and complete shows 13, and resume agrees."""
    held: dict[str, object] = {
        "seen": Counter({("claim", 8): 1_234, ("complete", 13): 7}),
        "cases_of": Counter({8: 1_234, 13: 7}),
        "tried": Counter({"resume": 20, "complete": 980, "claim": 4_000}),
        "violations": Counter(
            {
                ("scripted", "one-set", "extend"): 40,
                ("scripted", "one-set", "fail"): 50,
                ("scripted", "payload", "fail"): 1,
            }
        ),
        "freezes": Counter({"claim": 6, "promote": 13}),
    }
    return Tally(cases, **{**held, **parts})  # type: ignore[arg-type]


def result(layer: str = "corruption", of: int | None = 697_932, **parts: object) -> Result:
    """A layer's result of 5,000 cases in 2.5 seconds."""
    return Result(layer, "valkey 9.1.2", 7, tally(**parts), 2.5, DIGEST, of)  # type: ignore[arg-type]


def wrong() -> Result:
    """A result of which seven cases are not as declared, and one is kept."""
    return result(undeclared=7, findings=[Finding(77, "corruption/7/77", (LONG, "bell \x07"))])


def report(*results: Result, plants: tuple[PlantResult, ...] = (), mutants: MutantResult | None = None) -> Report:
    """A report on a Valkey, seed 7."""
    return Report("valkey 9.1.2", 7, results, plants, mutants)


FULL = report(wrong(), result("histories", None), plants=PLANTS, mutants=MUTANTS)


def lines(told: Report, width: int = 100) -> list[str]:
    """The report as it stands on the terminal."""
    out = io.StringIO()
    tell(told, out, width)
    return out.getvalue().splitlines()


class Page(HTMLParser):
    """What a page is made of: its elements with their attributes, what is unclosed or closed out of turn, its text."""

    VOID = frozenset({"meta", "link"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.mismatched: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Note what it closes."""
        if not self.open or self.open.pop() != tag:
            self.mismatched.append(tag)

    def handle_data(self, data: str) -> None:
        """Note the text, but for the styles."""
        if not self.open or self.open[-1] != "style":
            self.text += data

    def having(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]


# ---------------------------------------------------------------- JSON


def test_a_layer_as_json_has_just_these_keys_and_every_number() -> None:
    """Seconds to the millisecond, the rate to a tenth, 0 for what was not seen."""
    odd = Result("corruption", "valkey 9.1.2", 7, tally(), 2.34567, DIGEST, 697_932)
    divergences = {str(number): 0 for number in DIVERGENCES} | {"8": 1_234, "13": 7}
    assert {
        "layer": "corruption",
        "server": "valkey 9.1.2",
        "cases": 5_000,
        "seconds": 2.346,
        "rate": 2131.6,
        "undeclared": 0,
        "divergences": divergences,
        "digest": DIGEST,
    } == as_json(odd)


def test_a_run_is_told_as_it_was() -> None:
    """A real run of the embedded server, as JSON, on the terminal and as a page."""
    with Campaign("embedded", workers=1) as campaign:
        ran = campaign.run(layer_of("three-jobs", 0), 120)
    told = as_json(ran)
    assert ("three-jobs", 120, 0, ran.digest) == (told["layer"], told["cases"], told["undeclared"], told["digest"])
    assert 0 < sum(told["divergences"].values())
    one = Report(ran.server, 0, (ran,))
    assert "0 undeclared differences in 120 cases" in lines(one)
    assert one.cases_of == Counter(int(cell.split()[0]) for cell in titles(page(one)) for _ in range(cases_in(cell)))


def titles(html: str) -> list[str]:
    """``8: 3 of 5 cases. …`` for each cell of the matrix that is not empty."""
    told = [attributes.get("title") or "" for attributes in Page(html).having("td")]
    return [title.partition("divergence ")[2].replace(":", "", 1) for title in told if title]


def cases_in(title: str) -> int:
    """How many cases such a title tells of."""
    return int(title.split()[1].replace(",", ""))


def test_a_planted_defect_as_json() -> None:
    """Its name, whether it was caught, and after how many cases."""
    assert {"plant": "sweep-forgets-the-epoch", "caught": True, "after": 1_200} == plant_json(PLANTS[1])
    assert {"plant": "values-take-zero", "caught": False, "after": None} == plant_json(PLANTS[2])


def test_mutants_as_json_are_those_of_both_executors() -> None:
    """Whole numbers, added up."""
    assert {"mutants": 1_300, "killed": 1_269, "equivalent": 30} == mutants_json(MUTANTS)


# ---------------------------------------------------------------- figures


def test_a_rate_says_all_of_all_and_of_nothing_less() -> None:
    """1,999 of 2,000 is not 100.0 %."""
    assert ["100.0 %", "99.9 %", "0.0 %", "-"] == [
        percent(2_000, 2_000),
        percent(1_999, 2_000),
        percent(0, 3),
        percent(0, 0),
    ]


def test_rates_of_mutants_are_raw_and_adjusted() -> None:
    """Of all that were made, and of those that are not equivalent."""
    total = MUTANTS.total
    assert ("97.6 %", "99.9 %", 1) == (total.raw, total.adjusted, total.survived)


def test_the_median_is_of_the_defects_that_were_caught() -> None:
    """Half a case is told as one; none caught has no median."""
    assert "601.5 cases" == report(plants=PLANTS).median_after
    assert "1,200 cases" == report(plants=PLANTS[1:]).median_after
    assert "" == report(plants=PLANTS[2:]).median_after


def test_what_is_not_one_is_in_the_plural() -> None:
    """Also none."""
    assert ["0 cases", "1 case", "1,000 cases"] == [counted(number, "case") for number in (0, 1, 1_000)]


def test_a_history_is_booked_to_no_verb() -> None:
    """What one of its steps showed would stand beside the verb of its last."""
    both = report(result(), result("histories", None))
    assert {"claim": 4_000, "complete": 980, "resume": 20, HISTORY: 5_000} == both.tried
    assert {("claim", 8): 1_234, ("complete", 13): 7, (HISTORY, 8): 1_234, (HISTORY, 13): 7} == dict(both.seen)
    assert {8: 2_468, 13: 14} == dict(both.cases_of)


# ---------------------------------------------------------------- the terminal


def test_the_layers_are_a_table() -> None:
    """Numbers to the right and grouped, a digest's first twelve, a layer without an end said so, and the sum."""
    told = lines(report(result(), result("histories", None)))
    at = told.index(next(line for line in told if line.startswith("Layers")))
    assert [
        "Layers       cases       of  seconds  cases/s  undeclared  digest",
        "corruption   5,000  697,932      2.5    2,000           0  0123456789ab",
        "histories    5,000   no end      2.5    2,000           0  0123456789ab",
        "all         10,000               5.0    2,000           0",
    ] == told[at : at + 4]


def test_the_matrix_has_the_verbs_and_numbers_that_were_seen() -> None:
    """In the verbs' order, dots for none, and what agreed in every case below."""
    told = lines(report(result()))
    at = told.index("Divergences: how many cases of a verb showed each number")
    assert [
        "",
        "          cases      8  13",
        "claim     4,000  1,234   ·",
        "complete    980      ·   7",
        "all       5,000  1,234   7",
        "in every case alike: resume 20",
    ] == told[at + 1 : at + 7]
    assert f"   8  {DIVERGENCES[8]}" in told


def test_a_wide_matrix_is_told_in_blocks() -> None:
    """Every number stands once, in its order, and no line is longer than the terminal is wide."""
    wide = Counter({("fail", number): 100_000 + number for number in DIVERGENCES})
    told = lines(report(result(seen=wide, cases_of=Counter({number: cases for (_, number), cases in wide.items()}))))
    heads = [line.split()[1:] for line in told if re.fullmatch(r" +cases( +\d+)+", line)]
    assert [str(number) for number in DIVERGENCES] == [number for head in heads for number in head]
    assert 3 == len(heads)
    assert max(map(len, heads)) - min(map(len, heads)) <= 1
    assert max(map(len, told)) <= 100


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_line_is_longer_than_the_width(width: int) -> None:
    """Whatever was run, and whatever it came to."""
    assert max(map(len, lines(FULL, width))) <= width


def test_numbers_out_of_the_matrix_are_told_with_the_reason() -> None:
    """What no single transition shows, and what these cases did not meet."""
    told = lines(report(result()), 120)
    assert "  26  it takes a server that is short of memory" in told
    missed = next(line for line in told if line.startswith("Declared, and not met in these cases: "))
    assert "2, 3, 5, 7, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24" == missed.partition(": ")[2]


def test_invariants_are_told_of_each_executor() -> None:
    """The scripts' violations by invariant and verb, the native verbs' none, and the freezes."""
    told = lines(report(result(), result()))
    at = told.index("Invariants")
    assert [
        "  scripted breaks these, and it is what the course teaches:",
        "    every row is in just one set: fail 100, extend 80",
        "    a payload keeps its bytes: fail 2",
        "  native breaks none",
        "  native freezes, refused with the bad row still at the head: promote 26, claim 12",
    ] == told[at + 1 : at + 6]


def test_a_violation_of_a_native_verb_is_told_without_an_excuse() -> None:
    """It is not what the course teaches."""
    told = lines(report(result(violations=Counter({("native", "attempts", "requeue"): 1}))))
    at = told.index("  scripted breaks none")
    assert ["  native breaks these:", "    attempts never falls: requeue 1"] == told[at + 1 : at + 3]


def test_planted_defects_and_mutants_are_told() -> None:
    """Caught after how many cases, or not; rates; who survived."""
    told = lines(report(plants=PLANTS, mutants=MUTANTS))
    assert [
        "Parity on valkey 9.1.2, seed 7",
        "2 of 3 planted defects caught",
        "1,269 of 1,270 non-equivalent mutants killed",
        "",
        "Planted defects                 executor  caught after",
        "claim-forgets-the-lease-in-lua  scripted             3",
        "sweep-forgets-the-epoch         native           1,200",
        "values-take-zero                native      NOT CAUGHT",
        "in the median after 601.5 cases",
        "",
        "Mutants    made  detected  equivalent  survived     raw  adjusted",
        "scripted    300       290          10         0  96.6 %   100.0 %",
        "native    1,000       979          20         1  97.9 %    99.8 %",
        "both      1,300     1,269          30         1  97.6 %    99.9 %",
    ] == told[:14]
    assert ["Survived", "  fail.py:3:AddNot:1", "    - if found:", "    + if not found:"] == told[-4:]


def test_what_was_not_run_is_not_told() -> None:
    """No heading stands over nothing."""
    assert ["Parity on valkey 9.1.2, seed 7"] == lines(report())
    plain = [line.partition(" ")[0].rstrip(":") for line in lines(report(plants=PLANTS)) if line[:1].isupper()]
    assert ["Parity", "Planted"] == plain
    assert [] == [line for line in lines(report(result())) if line.startswith(("Planted", "Mutants", "Not as", "Surv"))]


def test_a_finding_is_told_whole_and_last() -> None:
    """Nothing is lost where its lines are broken, and no control character reaches the terminal."""
    told = lines(FULL)
    at = told.index("Not as declared: 7 cases")
    assert "  corruption/7/77" == told[at + 1]
    body = "".join(told[at + 2 : at + 3] + [line[6:] for line in told[at + 3 :] if line.startswith(" " * 6)])
    assert f"    {LONG}" == body
    assert ["    bell \\x07", "  … and 6 more of corruption"] == told[-2:]


# ---------------------------------------------------------------- the page


def test_a_page_needs_nothing_beside_it() -> None:
    """No script, and no address but its own anchors, each of which is there."""
    made = Page(page(FULL))
    assert [] == made.having("script")
    links = [attributes["href"] or "" for tag in ("a", "link") for attributes in made.having(tag)]
    assert {"data:,"} == {link for link in links if not link.startswith("#")}
    ids = [attributes["id"] for _, attributes in made.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert [] == re.findall(r"url\(|@import|src=|https?:", page(FULL))


def test_a_page_is_well_formed() -> None:
    """What is opened is closed, in turn."""
    made = Page(page(FULL))
    assert ([], []) == (made.mismatched, made.open)


def test_a_page_can_be_heard() -> None:
    """Every table has its caption, every head its scope, what moves sideways a name and the keyboard's focus."""
    made = Page(page(FULL))
    assert len(made.having("table")) == len(made.having("caption")) == 6
    assert {"row", "col"} == {attributes.get("scope") for attributes in made.having("th")}
    boxes = [attributes for attributes in made.having("div") if attributes.get("class") == "box"]
    assert [("0", "group", True)] * 3 == [
        (box.get("tabindex"), box.get("role"), bool(box.get("aria-label"))) for box in boxes
    ]
    assert [{"lang": "en"}] == made.having("html")


def test_an_undeclared_difference_stands_first() -> None:
    """Before the matrix, with its complaint as it is."""
    made = Page(page(FULL))
    assert made.text.index("not as declared") < made.text.index(LONG) < made.text.index("Where a script")
    assert "bell \\x07" in made.text
    assert "not as declared" not in page(report(result()))


def test_a_page_is_no_place_for_markup_of_others() -> None:
    """A server's name, a plant's, a mutant's text are text."""
    bad = "<script>&"
    told = Report(
        bad, 0, (), (PlantResult(bad, "native", bad, False, None),), MutantResult((), (), (Survivor(bad, bad, bad),))
    )
    made = Page(page(told))
    assert [] == made.having("script")
    # Twice the server, as a title and below it; the plant and its rule, missed and listed; the mutant.
    assert 2 + 4 + 3 == made.text.count(bad)


def test_a_cell_is_shaded_by_the_power_of_ten() -> None:
    """1 and 9 alike, 10 darker; from the last shade on all the same."""
    counts = [1, 9, 10, 99, 100_000, 10**9]
    numbers = dict(zip(DIVERGENCES, counts, strict=False))
    seen = Counter({("fail", number): cases for number, cases in numbers.items()})
    told = report(result(seen=seen, cases_of=Counter(numbers), tried=Counter({"fail": 10**9})))
    cells = [a for a in Page(page(told)).having("td") if (a.get("title") or "").startswith("fail, divergence")]
    assert ["s1", "s1", "s2", "s2", "s6", f"s{SHADES}"] == [cell["class"] for cell in cells]
    assert f"fail, divergence 2: 9 of 1,000,000,000 cases. {DIVERGENCES[2]}" == cells[1]["title"]


def test_the_page_gives_every_numbers_sentence() -> None:
    """And why a number was not seen."""
    made = Page(page(report(result())))
    assert [] == [sentence for sentence in DIVERGENCES.values() if sentence not in made.text]
    assert "No single transition shows it: it takes a server that is short of memory." in made.text


def test_a_page_has_no_section_on_what_was_not_run() -> None:
    """One section for each part that was."""
    told = [report(), report(plants=PLANTS), report(mutants=MUTANTS), report(result()), FULL]
    assert [0, 1, 1, 3, 6] == [len(Page(page(one)).having("section")) for one in told]


def test_a_page_with_no_difference_says_so() -> None:
    """A layer of calls that all agree has no matrix."""
    agreed = result(seen=Counter(), cases_of=Counter(), tried=Counter({"resume": 5_000}))
    assert "No case showed any." in page(report(agreed))
    assert "resume (5,000)." in Page(page(report(agreed))).text


def _palettes() -> list[dict[str, str]]:
    """The colours of the light page and of the dark one."""
    css = (resources.files("emqlab.parity.telling") / "page.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--(\w[\w-]*): (#[0-9a-f]+)", part)) for part in re.findall(r":root \{(.*?)\}", css, re.S)
    )
    return [light, {**light, **dark}]


def _luminance(colour: str) -> float:
    """The relative luminance (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance) of ``#rgb`` or ``#rrggbb``."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", _palettes(), ids=["light", "dark"])
def test_every_text_can_be_read(palette: dict[str, str]) -> None:
    """A contrast of 4.5 at least, of whatever is written on whatever is under it."""
    under = {"paper": "ink ink2 job write no", "soft": "ink ink2", "pen": "ink ink2", "no-soft": "ink no"}
    pairs = [(ground, text) for ground, texts in under.items() for text in texts.split()]
    pairs += [(f"s{shade}", f"t{shade}") for shade in range(1, SHADES + 1)]
    poor = {pair: _contrast(palette[pair[0]], palette[pair[1]]) for pair in pairs}
    assert {} == {pair: ratio for pair, ratio in poor.items() if ratio < 4.5}


@pytest.mark.parametrize("palette", _palettes(), ids=["light", "dark"])
def test_more_cases_stand_out_more(palette: dict[str, str]) -> None:
    """Each shade is further from the paper than the one before it."""
    ratios = [_contrast(palette["paper"], palette[f"s{shade}"]) for shade in range(1, SHADES + 1)]
    assert all(less < more for less, more in pairwise([1.0, *ratios]))
