"""Margins where released values decide which rows are shown: their sizes, from the exact laws, and who has them.

How often they hold is a matter of tests/statistical/test_selected_rows.py; nothing here is left to chance.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from functools import cache

import mpmath
import pandas as pd
import pytest

import dpsql
from dpsql.catalog.types import SqlType
from dpsql.engines.desk import Desk
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.session.noisy import UncertainComparison
from dpsql.session.release import released
from dpsql.session.released_rows import ReleasedSlot, ReleasedTable
from dpsql.session.render import ROWS, is_doubtful
from dpsql.sql.finish import SEEN_AT_ONCE, Finish, OutputColumn
from dpsql.sql.functions import apply
from dpsql.sql.intervals import EVERYTHING
from dpsql.sql.relations import Column
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Sorted, Windowed
from dpsql.testing.fixed import fixed_noise

GROUPS = 40
CONFIDENCE = Fraction(19, 20)
KEY, HALF, N, S = (ColumnRef(number, SqlType.INTEGER) for number in (1, 2, 3, 4))
GAUSSIAN = DiscreteGaussianLaw(sigma_squared=Fraction(900))
LAPLACE = DiscreteLaplaceLaw(scale=Fraction(25))
COUNTS = NoisySlotLaw(law=GAUSSIAN, grain=Fraction(1))
SUMS = NoisySlotLaw(law=DiscreteGaussianLaw(sigma_squared=Fraction(40_000)), grain=Fraction(1))
VALUES = tuple((200 + 37 * group % 400, 5000 - 113 * group) for group in range(GROUPS))


def call(function, *arguments):
    return apply(function, arguments, proved=lambda _: EVERYTHING)


def whole(value):
    return Constant(value, SqlType.INTEGER)


def window(function, *arguments, by=(), order=(), type_=SqlType.INTEGER):
    return Windowed(function=function, arguments=arguments, partition_by=by, order_by=order, frame="", type=type_)


def answered(*outputs, values=VALUES, counts=COUNTS, sums=SUMS, **rest):
    """The columns of an answer over rows with two keys: their number, and whether it is odd."""
    laid = ReleasedTable(
        keys=tuple(Column(id=each.id, name="", type=each.type) for each in (KEY, HALF)),
        slots=tuple(
            ReleasedSlot(column=Column(id=each.id, name="", type=each.type), place=place, law=law)
            for place, (each, law) in enumerate(((N, counts), (S, sums)))
        ),
        key_rows=tuple((row, row % 2) for row in range(len(values))),
        values=values,
    )
    done = Finish(outputs=tuple(OutputColumn(name="", expression=each) for each in (KEY, *outputs)), **rest)
    cells = released(laid, done, confidence=CONFIDENCE, desk=Desk(), receipt=1)
    return list(zip(*cells, strict=True))[1:]


LARGEST = (Sorted(by=N, descending=True),)
TOP = {"order_by": LARGEST, "limit": 10}


@cache
def simultaneous(law, outputs: int) -> int:
    """The smallest m with Pr[|Z| <= m]^outputs >= 95 %, from the definition of the law alone."""
    if isinstance(law, DiscreteLaplaceLaw):
        weight = lambda z: mpmath.exp(-mpmath.mpf(z) / int(law.scale))  # noqa: E731
    else:
        weight = lambda z: mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * int(law.sigma_squared)))  # noqa: E731
    terms = list(itertools.takewhile(lambda term: term > mpmath.mpf(10) ** -30, map(weight, itertools.count())))
    total = 2 * sum(terms) - terms[0]
    inside = list(itertools.accumulate([terms[0], *(2 * term for term in terms[1:])]))
    return next(m for m, part in enumerate(inside) if (part / total) ** outputs >= mpmath.mpf(19) / 20)


class TestHowWideTheyAre:
    @pytest.mark.parametrize("law", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])
    def test_one_column_has_the_exact_quantile_of_all_groups(self, law):
        (cells,) = answered(N, counts=NoisySlotLaw(law=law, grain=Fraction(1)), **TOP)
        assert {cell.margin for cell in cells} == {simultaneous(law, GROUPS)}
        assert {cell.groups for cell in cells} == {GROUPS}

    def test_two_columns_hold_together(self):
        """The largest of 2 · 40 independent noises: wider than one column alone."""
        counts, sums = answered(N, S, having=call("gt", call("add", N, S), whole(0)))
        assert {cell.margin for cell in counts} == {simultaneous(GAUSSIAN, 2 * GROUPS)}
        assert {cell.margin for cell in sums} == {simultaneous(SUMS.law, 2 * GROUPS)}
        assert simultaneous(GAUSSIAN, 2 * GROUPS) > simultaneous(GAUSSIAN, GROUPS)

    def test_the_same_noise_twice_is_not_counted_twice(self):
        once, twice, none = answered(N, call("mul", N, whole(-2)), call("sub", N, N), **TOP)
        assert {cell.margin for cell in once} == {simultaneous(GAUSSIAN, GROUPS)}
        assert {cell.margin for cell in twice} == {2 * simultaneous(GAUSSIAN, GROUPS)}
        assert {cell.margin for cell in none} == {0}

    def test_a_sum_beside_its_parts_shares_what_may_fail(self):
        """A sum depends on both: the union bound costs less than 1 % over three independent noises."""
        counts, _, both = answered(N, S, call("add", N, S), having=call("gt", call("add", N, S), whole(0)))
        least = simultaneous(GAUSSIAN, 3 * GROUPS)
        assert least <= counts[0].margin <= 1.01 * least + 1
        of_sum = simultaneous(DiscreteGaussianLaw(sigma_squared=Fraction(40_900)), 3 * GROUPS)
        assert of_sum <= both[0].margin <= 1.01 * of_sum + 1
        (alone,) = answered(call("add", N, S), having=call("gt", call("add", N, S), whole(0)))
        assert alone[0].margin <= 1.01 * simultaneous(DiscreteGaussianLaw(sigma_squared=Fraction(40_900)), GROUPS)

    def test_other_noise_is_no_part_of_it(self):
        counts, sums = answered(N, S, **TOP)
        assert {cell.margin for cell in counts} == {simultaneous(GAUSSIAN, GROUPS)}
        assert {(cell.margin, cell.groups) for cell in sums} == {(simultaneous(SUMS.law, 1), 1)}

    def test_an_average_is_the_image_of_its_box(self):
        """S / GREATEST(N, 1), as averages are made: no truth in the box has a divisor near 1."""
        average = call("div", S, call("greatest", call("to_double", N), whole(1)))
        (cells,) = answered(average, **TOP)
        of_n, of_s = (simultaneous(law, 2 * GROUPS) for law in (GAUSSIAN, SUMS.law))
        largest = sorted(VALUES, key=lambda value: -value[0])[:10]
        for cell, (n, s) in zip(cells, largest, strict=True):
            corners = [Fraction(s + a, n + b) for a in (-of_s, of_s) for b in (-of_n, of_n)]
            assert (cell.low, cell.high) == pytest.approx((float(min(corners)), float(max(corners))), rel=1e-12)

    def test_greatest_and_least_keep_the_margin(self):
        """What the note about counts below 0 proposes costs no margin."""
        plain, above, below = answered(
            N, call("greatest", N, whole(0)), call("least", N, whole(10**6)), values=VALUES, **TOP
        )
        for cell, other in itertools.chain(zip(plain, above, strict=True), zip(plain, below, strict=True)):
            assert (other.low, other.high) == (cell.low, cell.high)
        few = tuple((n - 150, s) for n, s in VALUES)
        (near,) = answered(call("greatest", N, whole(0)), values=few, having=call("lt", N, whole(100)))
        assert {cell.low for cell in near} == {0}

    @pytest.mark.parametrize(("function", "chosen"), [("greatest", max), ("least", min)])
    def test_noise_chooses_the_largest_number_of_a_row(self, function, chosen):
        """Nothing chooses rows here; of 20 equal counts plausible values around the largest held in 6 of 10 answers."""
        (cells,) = answered(call(function, N, S))
        of_n, of_s = (simultaneous(law, 2) for law in (GAUSSIAN, SUMS.law))
        for cell, (n, s) in zip(cells, VALUES, strict=True):
            assert (cell.low, cell.high) == (chosen(n - of_n, s - of_s), chosen(n + of_n, s + of_s))
            assert cell.groups == 1

    @pytest.mark.parametrize("function", ["sum", "avg"])
    @pytest.mark.parametrize("leaning", ["abs", "greatest", "case", "mul"])
    def test_windows_over_what_leans_to_one_side_hold_for_all_groups(self, function, leaning):
        """Of 40 groups of truly 300 the distances to 300 are all 0, and every noisy one is larger."""
        distance = call("sub", N, whole(300))
        leaning_to = {
            "abs": lambda: call("abs", distance),
            "greatest": lambda: call("greatest", distance, whole(0)),
            "case": lambda: Apply("case", (call("gt", N, whole(300)), whole(1), whole(0)), SqlType.INTEGER),
            "mul": lambda: call("mul", distance, distance),
        }
        noisy = tuple((300 + (-30, 30)[group % 2], s) for group, (_, s) in enumerate(VALUES))
        type_ = SqlType.DOUBLE if function == "avg" else SqlType.INTEGER
        (cells,) = answered(window(function, leaning_to[leaning](), type_=type_), values=noisy)
        assert all(cell.margin is None or cell.low <= 0 <= cell.high for cell in cells)

    def test_exact_weights_and_conditions_do_not_lean(self):
        """Noise of 40 rows cancels out: within 10 % of 1.96 standard deviations, and not the sum of 40 margins."""
        odd = Apply("case", (call("eq", HALF, whole(1)), N, whole(0)), SqlType.INTEGER)
        weighted, some = answered(window("sum", call("mul", N, KEY)), window("sum", odd))
        assert weighted[0].margin == pytest.approx(1.96 * 30 * sum(k * k for k in range(GROUPS)) ** 0.5, rel=0.1)
        assert some[0].margin == pytest.approx(1.96 * 30 * (GROUPS / 2) ** 0.5, rel=0.1)

    def test_windows_over_large_numbers_that_cancel_out_are_rounded_outwards(self):
        """Doubles near 2**60 are 256 apart, and a margin here is 4."""
        fine = NoisySlotLaw(law=DiscreteGaussianLaw(sigma_squared=Fraction(1)), grain=Fraction(1))
        noisy = tuple((sign * (2**60 + 100 + 3 * group), 0) for group in range(5) for sign in (1, -1))
        margin = simultaneous(fine.law, 10)
        sums, largest = answered(
            window("sum", N), window("max", N), counts=fine, values=noisy, having=call("ne", N, whole(0))
        )
        for ends in itertools.product((-margin, margin), repeat=3):
            truth = [n + end for (n, _), end in zip(noisy, itertools.cycle(ends), strict=False)]
            assert all(cell.low <= sum(truth) <= cell.high for cell in sums)
            assert all(cell.low <= max(truth) <= cell.high for cell in largest)

    def test_a_distance_can_be_zero(self):
        (cells,) = answered(call("abs", call("sub", N, whole(VALUES[0][0]))))
        margin = simultaneous(GAUSSIAN, 1)
        assert (cells[0].low, cells[0].high) == (0, margin)

    def test_case_says_nothing_about_the_truth(self):
        """It is shown as noise was large: the interval goes below what the condition says."""
        shown = Apply("case", (call("gt", N, whole(500)), N, Constant(None, SqlType.INTEGER)), SqlType.INTEGER)
        (cells,) = answered(shown, **TOP)
        margin = simultaneous(GAUSSIAN, GROUPS)
        near = [cell for cell in cells if cell is not None and cell.value < 500 + margin]
        assert near
        assert all((cell.low, cell.high) == (cell.value - margin, cell.value + margin) for cell in near)

    def test_whole_numbers_of_scaled_counts_hold_fractions(self):
        """A scaled count is a fraction that is shown rounded: arithmetic of whole numbers must not pass over it."""
        fine = NoisySlotLaw(
            law=DiscreteGaussianLaw(sigma_squared=Fraction(2_000_000)), grain=Fraction(1, 1024), rounded=True
        )
        values = tuple((1024 * n + 1 + 37 * n % 1024, s) for n, s in VALUES)
        (cells,) = answered(call("greatest", call("add", N, whole(1)), whole(0)), counts=fine, values=values, **TOP)
        margin = Fraction(simultaneous(fine.law, GROUPS), 1024)
        largest = sorted(values, key=lambda value: -value[0])[:10]
        assert all(
            cell.low <= 1 + Fraction(n, 1024) - margin and 1 + Fraction(n, 1024) + margin <= cell.high
            for cell, (n, _) in zip(cells, largest, strict=True)
        )


class TestWindows:
    def test_the_largest_lies_between_the_largest_ends(self):
        (cells,) = answered(window("max", N))
        margin, largest = simultaneous(GAUSSIAN, GROUPS), max(n for n, _ in VALUES)
        assert {(cell.low, cell.high, cell.groups) for cell in cells} == {(largest - margin, largest + margin, GROUPS)}

    @pytest.mark.parametrize("function", ["rank", "dense_rank", "row_number"])
    @pytest.mark.parametrize("by", [(), (HALF,)], ids=["all", "by key"])
    @pytest.mark.parametrize("descending", [False, True])
    def test_ranks_hold_for_every_truth_in_the_box(self, function, by, descending):
        """Also where nothing is left out: noise decides which place is shown."""
        order = (Sorted(by=N, descending=descending),)
        (cells,) = answered(window(function, by=by, order=order))
        margin, chance = simultaneous(GAUSSIAN, GROUPS), random.Random(5)
        truths = [
            [n + chance.choice((-margin, 0, margin, chance.randint(-margin, margin))) for n, _ in VALUES]
            for _ in range(60)
        ]
        truths += [[300] * GROUPS] * all(abs(n - 300) <= margin for n, _ in VALUES)
        for truth in truths:
            for cell, rank in zip(cells, _ranks(truth, function, halves=bool(by), descending=descending), strict=True):
                assert cell.low <= rank <= cell.high
        assert min(cell.high - cell.low for cell in cells) < (GROUPS // 2 if by else GROUPS) - 2

    @pytest.mark.parametrize("function", ["first_value", "last_value", "lag", "sum"])
    def test_no_margin_is_claimed_where_noise_orders_the_rows(self, function):
        """FIRST_VALUE(n) OVER (ORDER BY n DESC) is a maximum: plausible values around it would never hold the truth."""
        (cells,) = answered(window(function, N, order=LARGEST))
        assert {cell.margin for cell in cells if cell is not None} == {None}

    def test_sums_over_what_may_be_null_have_no_margin(self):
        """A truth that the condition leaves out adds nothing; the interval of a number says nothing about that."""
        shown = Apply("case", (call("gt", N, whole(500)), N, Constant(None, SqlType.INTEGER)), SqlType.INTEGER)
        sums, largest = answered(window("sum", shown), window("max", shown), **TOP)
        assert {cell.margin for cell in (*sums, *largest)} == {None}

    @pytest.mark.parametrize("function", ["rank", "dense_rank", "row_number"])
    def test_ranks_by_what_may_be_null_have_no_margin(self, function):
        """NULL stands before or after all numbers, wherever the interval of the number is."""
        shown = Apply("case", (call("gt", N, whole(500)), N, Constant(None, SqlType.INTEGER)), SqlType.INTEGER)
        (cells,) = answered(window(function, order=(replace(LARGEST[0], by=shown),)))
        assert {cell.margin for cell in cells} == {None}

    def test_an_average_can_be_a_maximum(self):
        average = call("div", S, call("greatest", call("to_double", N), whole(1)))
        each, most = answered(average, window("max", average, type_=SqlType.DOUBLE), having=call("gt", N, whole(0)))
        assert most[0].low == pytest.approx(max(cell.low for cell in each))
        assert most[0].high == pytest.approx(max(cell.high for cell in each))


def _ranks(truth, function, *, halves, descending):
    found = []
    for row, value in enumerate(truth):
        part = [(other, place) for place, other in enumerate(truth) if not halves or place % 2 == row % 2]
        ahead = [other for other, _ in part if (other > value if descending else other < value)]
        ties = sum(other == value and place < row for other, place in part)
        found.append(1 + {"rank": len(ahead), "dense_rank": len(set(ahead)), "row_number": len(ahead) + ties}[function])
    return found


class TestWhoHasThem:
    @pytest.mark.parametrize(
        ("rest", "wide"),
        [
            ({}, False),
            ({"limit": 10}, False),
            ({"order_by": (Sorted(by=KEY),), "limit": 10}, False),
            ({"order_by": (Sorted(by=S),), "limit": 10}, False),
            ({"order_by": (Sorted(by=KEY), Sorted(by=N)), "limit": 10}, True),
            ({"order_by": (Sorted(by=call("neg", N)),), "limit": 10}, True),
            ({"order_by": LARGEST, "offset": 3}, True),
            ({"order_by": LARGEST, "limit": GROUPS}, True),  # a long answer: its first rows are seen
            ({"order_by": LARGEST}, True),
            ({"having": call("gt", KEY, whole(3))}, False),
            ({"having": call("or", call("gt", N, whole(300)), call("eq", KEY, whole(3)))}, True),
            ({"qualify": call("le", window("rank", order=LARGEST), whole(5))}, True),
            ({"qualify": call("le", window("row_number", order=(Sorted(by=KEY),)), whole(5))}, False),
            ({"distinct": True}, True),  # the second key is not shown
        ],
    )
    def test_what_decides_is_read_from_the_query(self, rest, wide):
        (cells,) = answered(N, **rest)
        assert {cell.groups for cell in cells} == {GROUPS if wide else 1}

    def test_a_short_answer_in_order_shows_all_its_rows(self):
        (few,) = answered(N, values=VALUES[:SEEN_AT_ONCE], order_by=LARGEST)
        (more,) = answered(N, values=VALUES[: SEEN_AT_ONCE + 1], order_by=LARGEST)
        assert few[0].margin == simultaneous(GAUSSIAN, 1)
        assert more[0].margin == simultaneous(GAUSSIAN, SEEN_AT_ONCE + 1)
        assert ROWS >= SEEN_AT_ONCE

    def test_a_picture_draws_these_intervals(self):
        """Of a long answer the first bars, each with its own interval."""
        with fixed_noise(seed=3, i_know_this_is_not_private=True) as ana:
            answer = ana.sql("SELECT age, COUNT(*) AS n FROM patients GROUP BY age ORDER BY n DESC")
        marks = answer.plot().chart.marks
        assert len(marks) == SEEN_AT_ONCE < len(answer.rows)
        assert [(mark.low, mark.high) for mark in marks] == [(n.low, n.high) for _, n in answer.rows[:SEEN_AT_ONCE]]
        assert {n.groups for _, n in answer.rows} == {len(answer.rows)}

    def test_rows_that_noise_chose_are_compared_as_such(self):
        """The first and the last of forty: which they are was chosen by noise, so that their margins add up."""
        (cells,) = answered(N, values=((400, 0),) * GROUPS, order_by=LARGEST)
        first, last = cells[0], cells[-1]
        margin = simultaneous(GAUSSIAN, GROUPS)
        assert (first - last).margin == 2 * margin
        assert (first - first).margin == 0
        assert (first + 2 * last - last).margin == 2 * margin
        assert (first / last).groups == GROUPS**2
        (near,) = answered(N, values=((400, 0), (400 + 2 * margin, 0), *VALUES[2:]), having=call("gt", N, whole(0)))
        with pytest.warns(UncertainComparison):
            assert near[1] > near[0]


@pytest.fixture(scope="module")
def analyst():
    owner = dpsql.open(":memory:")
    rows = pd.DataFrame({"id": range(300), "g": [n % 30 for n in range(300)], "v": [n % 9 for n in range(300)]})
    owner.register("t", rows, person="id", unique=True, bounds={"g": (0, 29), "v": (0, 8)})
    owner.promise(epsilon=1000, delta=1e-6)
    owner.defaults(max_keys=100, cost_per_query=1)
    return owner.grant("ana", budget=1000)


class TestPrices:
    BARE = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"

    def test_within_buys_the_margin_for_all_groups(self, analyst):
        dear, cheap = (analyst.query(f"{self.BARE}{rest} WITHIN 9") for rest in (" ORDER BY n DESC LIMIT 3", ""))
        assert dear.cost.epsilon > 1.3 * cheap.cost.epsilon
        assert dear.margins["n"] <= 9
        assert {cell.margin for cell in dear.run()["n"]} == {dear.margins["n"]}
        assert "for all 30 groups at once" in str(dear.explain())

    def test_a_free_repeat_in_another_order_has_its_own_margins(self, analyst):
        bare = analyst.sql(f"{self.BARE} LIMIT 3")
        top = analyst.sql(f"{self.BARE} ORDER BY n DESC LIMIT 3", max_cost=0)
        single, wide = bare["n"][0], top["n"][0]
        assert (single.groups, wide.groups) == (1, 30)
        assert wide.margin > 1.3 * single.margin

    def test_the_plan_knows_the_margins_of_several_columns(self, analyst):
        query = analyst.query(
            "SELECT g, COUNT(*) AS n, SUM(v) AS s, COUNT(*) + SUM(v) AS b FROM t GROUP BY g HAVING COUNT(*) > -SUM(v)"
        )
        answer = query.run()
        for name in ("n", "s", "b"):
            assert {cell.margin for cell in answer[name]} == {query.margins[name]}


def test_a_sum_below_zero_of_values_that_are_never_negative_is_doubtful():
    """At a confidence of 1 % the whole interval of nearly every such sum is on one side of 0."""
    seen = set()
    with fixed_noise(seed=3, i_know_this_is_not_private=True) as ana:
        for age in range(8):
            rows = f"FROM patients WHERE name = 'nobody' AND age > {age}"
            answer = ana.sql(f"SELECT SUM(age) AS s, SUM(age - 110) AS less {rows}", confidence=0.01)
            ((total, less),) = answer.rows
            if total.high < 0 or total.low > 0:
                assert is_doubtful(total) == (total.high < 0)
                assert any(note.startswith("a sum below 0") for note in answer.notes) == (total.high < 0)
                seen.add(total.high < 0)
            if less.high < 0:
                assert not is_doubtful(less)
    assert seen == {True, False}
