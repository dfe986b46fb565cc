"""The attack on Bob and the tour: what is told is what happens. How a story is told: in eighty columns, in plain
letters, to somebody who is waited for, or to nobody."""

import math
import re
from fractions import Fraction

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.demonstration import attack, hospital, tour
from dpsql.demonstration.attack import right_guesses
from dpsql.demonstration.stage import Page, Stage, Trial, refusal, typed
from dpsql.errors import InternalError
from tests.kits.owners import owner_of

REPEATS = 10  # of the hundred: each is planned anew, and a hundred take a second


@pytest.fixture(scope="module")
def pages():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(attack, "REPEATS", REPEATS)
        return {page.title: "\n\n".join(page.blocks) for page in attack.pages(Stage())}


def page(pages, beginning):
    (found,) = [text for title, text in pages.items() if title.startswith(beginning)]
    return found


def test_it_fits_a_terminal(pages):
    assert max(len(line) for text in pages.values() for line in Stage().fitted(text).split("\n")) <= 80
    plain = [line for text in pages.values() for line in Stage(plain=True).fitted(text).split("\n")]
    assert max(map(len, plain)) <= 80
    assert all(map(str.isascii, plain))


def test_exact_counts_reveal_bob(pages):
    """C014: two exact counts reveal Bob; two noisy ones do not. The exact ones, of the rows themselves."""
    patients = hospital.invented()["patients"]
    ill = sum(row[-1] for row in patients)
    others = sum(row[-1] for row in patients if row[1] != "Bob")
    told = page(pages, "Exact")
    assert f"{ill} - {others} = 1: Bob has flu" in told
    assert re.findall(r"(\d+)$", told, re.MULTILINE)[:2] == [str(ill), str(others)]


def test_noisy_counts_have_the_margin_of_their_price(pages):
    """The smallest m with Pr[|noise| > m] = 2 p^(m+1) / (1+p) <= 5 %, p = exp(-1/2)."""
    p = math.exp(-0.5)
    margin = next(m for m in range(100) if 2 * p ** (m + 1) / (1 + p) <= 0.05)
    told = page(pages, "The same two")
    answers = [int(value) for value in re.findall(rf"(-?\d+) ± {margin}$", told, re.MULTILINE)]
    assert len(answers) == 2
    difference = re.search(r"The difference is (-?\d+) ± (\d+)\.", told)
    assert int(difference[1]) == answers[0] - answers[1]
    # The smallest m that holds 95 % of the difference of two such noises, by the sum that defines its law.
    pmf = {x: (1 - p) / (1 + p) * p ** abs(x) for x in range(-80, 81)}
    law = [sum(pmf[x] * pmf.get(x - d, 0) for x in pmf) for d in range(30)]
    assert int(difference[2]) == next(m for m in range(30) if law[0] + 2 * sum(law[1 : m + 1]) >= 0.95)


def test_the_law_that_is_drawn_and_scored_is_the_one_the_pipeline_uses():
    with hospital.opened() as owner:
        told = owner.grant("ana", budget=1).explain(attack.EVERYBODY, epsilon=attack.EPSILON).as_json()
    ((noise,),) = [[slot["noise"] for slot in step["slots"]] for step in told["steps"]]
    assert noise["law"] == "discrete laplace"
    assert Fraction(noise["scale"]) == 1 / attack.EPSILON


def test_the_limits_are_bayes_rule_rounded_up_and_the_reader_chooses_a_budget(pages):
    told = page(pages, "Why it works")
    limits = [math.ceil(10_000 / (1 + math.exp(-epsilon))) / 100 for epsilon in (0.5, 1)]
    assert limits == [62.25, 73.11]
    assert [float(limit) for limit in re.findall(r"([\d.]+) % at\s+most", told)] == limits
    assert "right 56% of the time" in told
    assert "at most 57.45 %" in attack.promised("0.3")  # 1 / (1 + exp(-0.3)) = 0.57444…, rounded up
    assert attack.promised("-1").startswith("DP410")
    assert attack.promised("much").startswith("DP410")


def test_repeats_are_free_and_identical(pages):
    told = page(pages, "Patience")
    assert re.search(r"different answers +1\n", told)
    assert re.search(r"paid for them +0\.00$", told, re.MULTILINE)
    assert f"{right_guesses(epsilon=attack.EPSILON, repeats=REPEATS):.0%} of the time" in told
    assert attack.REPEATS == 100


def test_other_words_are_stopped_by_the_ledger(pages):
    told = page(pages, "Other words")
    (value,) = re.findall(r"and name <> 'Bob' +(-?\d+) ±", page(pages, "The same two"), re.IGNORECASE)
    assert re.search(rf"^    {value} ± 6   cost 0\.00$", told, re.MULTILINE)
    assert "\nDP201  this answer costs 0.05, more than your grant has left: 0\n" in told


def test_side_doors_are_closed(pages):
    told = page(pages, "Side doors")
    assert "DP601" not in told  # no error of the engine
    assert "groups with fewer than about" in told
    assert f"│ {hospital.BOBS_OWN}" not in told
    assert "│ asthma" in told  # thousands have it
    assert "DP101" in told
    assert "DP305" in told
    assert "filtering by name is not allowed" in page(pages, "Now you are the owner: hide")


def test_the_owner_sees_the_promise(pages):
    told = page(pages, "Now you are the owner: choose")
    rows = re.findall(r"^ +([\d.]+) +at most +([\d.]+) % sure +± (\d+)$", told, re.MULTILINE)
    assert [float(row[0]) for row in rows] == [0.1, 0.5, 1, 3, 5]
    for epsilon, most, _ in rows:
        assert float(most) == math.ceil(10_000 / (1 + math.exp(-float(epsilon)))) / 100
    assert "a 50–50 guess about any one patient becomes at most 73.11 %" in told


def test_the_two_worlds_overlap():
    """What both have in common of two such laws, one apart: all but (1-p)/(1+p), and what lies beyond the picture."""
    p = math.exp(-0.5)
    ill, healthy = ([point.mark.value for point in series.points] for series in attack.two_worlds(1000).series)
    assert sum(map(min, ill, healthy)) == pytest.approx(1 - (1 - p) / (1 + p), abs=0.02)
    assert ill.index(max(ill)) == healthy.index(max(healthy)) + 1


# How often the attacker is right: against sums that were written down by their definition.

HALF = Fraction(1, 2)


def by_definition(*, epsilon, repeats):
    """The law of the sum of the differences by convolution, and the guess by the likelier side."""
    reach = math.ceil(60 / epsilon)
    one = np.exp(-float(epsilon) * np.abs(np.arange(-reach, reach + 1)))
    one = one / one.sum()
    law = np.ones(1)
    for _ in range(2 * repeats):
        law = np.convolve(law, one)
    off = np.arange(len(law)) - len(law) // 2
    return law[2 * off < repeats].sum() + law[2 * off == repeats].sum() / 2


@pytest.mark.parametrize(
    ("epsilon", "repeats"), [(HALF, 1), (HALF, 2), (HALF, 3), (Fraction(1, 10), 4), (Fraction(2), 5), (HALF, 100)]
)
def test_it_is_what_the_definition_says(epsilon, repeats):
    assert right_guesses(epsilon=epsilon, repeats=repeats) == pytest.approx(
        by_definition(epsilon=epsilon, repeats=repeats), rel=1e-9
    )


def test_the_figures_of_the_story():
    """By hand for one round: with p = exp(-1/2), two noises agree with probability (1-p)²(1+p²) / ((1+p)²(1-p²))."""
    p = math.exp(-0.5)
    agree = (1 - p) ** 2 * (1 + p * p) / ((1 + p) ** 2 * (1 - p * p))
    assert right_guesses(epsilon=HALF, repeats=1) == pytest.approx((1 + agree) / 2, rel=1e-9)
    assert f"{right_guesses(epsilon=HALF, repeats=1):.0%}" == "56%"
    normal = math.erf(50 / math.sqrt(2 * 200 * 2 * p / (1 - p) ** 2))  # a sum of 200 is nearly normal
    assert right_guesses(epsilon=HALF, repeats=100) == pytest.approx((1 + normal) / 2, abs=1e-3)
    assert f"{right_guesses(epsilon=HALF, repeats=100):.0%}" == "90%"


# The tour: what is told is what happens, and it fits.


@pytest.fixture(scope="module")
def toured():
    with dpsql.demo() as ana:
        return list(tour.pages(ana, Stage())), ana.budget.spent


def text(page):
    return "\n".join(page.blocks)


def test_the_tour_answers_repeats_prices_and_refuses(toured):
    (_, first, again, closer, refused, explained), spent = toured
    assert "cost 0.05 " in text(first)
    assert "cost 0.00 " in text(again)
    assert text(first).partition("cost")[0] == text(again).partition("cost")[0]  # the same numbers
    assert "± 10 │" in text(closer)
    assert "DP101" in text(refused)
    assert "  Try   SELECT city, COUNT(*) FROM patients GROUP BY city" in text(refused)
    assert "one patient adds between 0 and 6" in text(explained)
    assert 0 < spent < 0.4  # most of the budget is left for whoever goes on
    (_, _, _, closer, *_), _ = toured
    prose, asked = closer.blocks
    price = prose.partition("reads no data: ")[2].partition(" here")[0]
    assert f"cost {price} " in asked


def test_it_is_told_in_eighty_columns(toured, capsys):
    Stage().tell(toured[0])
    assert max(map(len, capsys.readouterr().out.split("\n"))) <= 80
    with dpsql.demo() as ana:
        plain = Stage(plain=True)
        plain.tell(tour.pages(ana, plain))
    out = capsys.readouterr().out
    assert out.isascii()
    assert max(map(len, out.split("\n"))) <= 80
    assert "plus or minus" in out


# How a story is told.


def test_prose_is_wrapped_and_blocks_stay_as_they_are():
    long = "word " * 40
    fitted = Stage().fitted(f"  Why   {long}\n    short\nnote: {long}\n    b  {long}")
    lines = fitted.split("\n")
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith(" " * 8 + "word")
    assert "    short" in lines
    assert [line[: line.index("word")] for line in lines if line.startswith(("note", "    b"))] == ["note: ", "    b  "]
    assert " " * 6 + "word" in fitted
    assert " " * 7 + "word" in fitted


def test_plain_letters_are_all_ascii_fit_and_none_is_lost():
    told = Stage(plain=True).fitted("ε ± 5 · " * 30 + "日本")
    assert told.isascii()
    assert max(map(len, told.split("\n"))) <= 80
    assert Stage(plain=True).fitted("Zürich") != Stage(plain=True).fitted("Zärich")
    assert "?" not in Stage(plain=True).fitted("Zürich")


@pytest.mark.parametrize("heard", [None, "\n", "x\n", "\x1b[2J\n"])
def test_each_page_waits_for_the_next(capsys, heard):
    asked = []

    def hear(words):
        asked.append(words)
        return heard

    Stage(hear=hear).tell([Page(title="One", blocks=("text",)), Page(title="Two", blocks=("text",))])
    told = capsys.readouterr().out
    assert "2. Two" in told
    assert "\x1b" not in told
    assert asked == ["[Enter] next page, q skips the rest: "]  # between pages, and not before the first


def test_what_is_typed_goes_on_below_itself():
    rows = duckdb.sql("SELECT 1 AS ward_id")
    with owner_of(rows, "wards", public=True, columns="all", epsilon=1, cost_per_query=0.1) as owner:
        ana = owner.grant("ana", budget=1)
        lines = typed(ana, "SELECT " + ", ".join(f"column_{n}" for n in range(20))).split("\n")
        assert lines[0].startswith("ana> SELECT")
        assert all(line.startswith("     column") for line in lines[1:])
        assert max(map(len, lines)) <= 80
        with pytest.raises(InternalError, match="this was answered"):
            refusal(ana, "SELECT COUNT(*) FROM wards")


def test_a_trial_goes_on_until_nothing_is_typed(capsys):
    typed_in = iter(["one\n", "two\n", "\n"])
    trial = Trial(asks="What? ", tell=lambda heard: f"<{heard}>")
    page = Page(title="One", blocks=("text",), trial=trial)
    Stage(hear=lambda words: next(typed_in)).tell([page])
    assert capsys.readouterr().out.split()[-2:] == ["<one>", "<two>"]
    Stage().tell([page])  # nobody is there
    assert "<" not in capsys.readouterr().out


@pytest.mark.parametrize("enough", ["q\n", " Q \n", "\\q\n"])
@pytest.mark.parametrize("before", [0, 1])
def test_whoever_has_seen_enough_skips_the_rest_at_any_pause(capsys, enough, before):
    """The end of a page, and something to try: the two pauses there are."""
    typed_in = iter(["\n"] * before + [enough])
    trial = Trial(asks="What? ", tell=lambda heard: f"<{heard}>")
    pages = [
        Page(title="One", blocks=("text",)),
        Page(title="Two", blocks=("text",), trial=trial),
        Page(title="Three", blocks=("text",)),
    ]
    Stage(hear=lambda words: next(typed_in)).tell(pages)
    told = capsys.readouterr().out
    assert ("2. Two" in told) == (before == 1)
    assert "3. Three" not in told
    assert "<" not in told
