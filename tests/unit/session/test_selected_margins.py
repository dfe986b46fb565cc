"""Margins where released values decide which rows are shown: their sizes, from the exact laws, and who has them.

How often they hold is a matter of tests/statistical/test_selected_rows.py; nothing here is left to chance.
"""

import itertools
import math
import pickle
import random
import time
from dataclasses import replace
from fractions import Fraction
from functools import cache

import mpmath
import pandas as pd
import pytest

from dpsql.catalog.types import SqlType
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import DRAWS, NoisySlotLaw, band
from dpsql.session import boxes
from dpsql.session.boxes import _step
from dpsql.session.noisy import UncertainComparison
from dpsql.session.plausible import Fixed
from dpsql.session.render import ROWS, is_doubtful
from dpsql.sql.finish import SEEN_AT_ONCE
from dpsql.sql.intervals import Interval
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Sorted
from dpsql.testing.fixed import fixed_noise
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.released import call, finish, released_table, told, whole, window

GROUPS = 40
CONFIDENCE = Fraction(19, 20)

KEY, HALF, N, S = (ColumnRef(number, SqlType.INTEGER) for number in (1, 2, 3, 4))
GAUSSIAN = DiscreteGaussianLaw(sigma_squared=Fraction(900))
LAPLACE = DiscreteLaplaceLaw(scale=Fraction(25))
COUNTS = NoisySlotLaw(law=GAUSSIAN, grain=Fraction(1))
SUMS = NoisySlotLaw(law=DiscreteGaussianLaw(sigma_squared=Fraction(40_000)), grain=Fraction(1))
VALUES = tuple((200 + 37 * group % 400, 5000 - 113 * group) for group in range(GROUPS))


def answered(*outputs, values=VALUES, counts=COUNTS, sums=SUMS, **rest):
    """The columns of an answer over rows with two keys: their number, and whether it is odd."""
    keys = [(row, row % 2) for row in range(len(values))]
    cells = told(released_table((KEY, HALF), ((N, counts), (S, sums)), keys, values), finish(KEY, *outputs, **rest))
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

    @pytest.mark.parametrize("rows", [1, 2, 3, 1000, 2**16 - 1])
    @pytest.mark.parametrize("largest", [1, 2**60 + 100, 10**-9, 2**53 - 1])
    def test_ends_are_multiples_of_a_step_that_floating_point_adds_up_exactly(self, rows, largest):
        """However they cancel out, partial sums are below 2**53 steps."""
        ends = {row: Interval(-Fraction(largest), Fraction(largest)) for row in range(rows)}
        assert rows * Fraction(largest) + rows * Fraction(2) ** _step(ends) <= 2**53 * Fraction(2) ** _step(ends)

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


def _case(*arguments):
    return Apply("case", arguments, SqlType.INTEGER)


JUMPS = {
    "equal": (_case(call("eq", N, whole(300)), whole(1000), whole(0)), lambda n: 1000 * (n == 300)),
    "different": (_case(call("ne", N, whole(300)), whole(1000), whole(0)), lambda n: 1000 * (n != 300)),
    "listed": (_case(call("in", N, whole(7), whole(300)), whole(1), whole(0)), lambda n: int(n in (7, 300))),
    "between": (
        _case(call("and", call("ge", N, whole(299)), call("le", N, whole(301))), whole(5), whole(0)),
        lambda n: 5 * (299 <= n <= 301),
    ),
    "outside": (
        _case(call("or", call("lt", N, whole(300)), call("gt", N, whole(300))), whole(5), whole(0)),
        lambda n: 5 * (n != 300),
    ),
    "not": (_case(call("not", call("eq", N, whole(300))), whole(0), whole(5)), lambda n: 5 * (n == 300)),
    "second branch": (
        _case(call("lt", N, whole(300)), whole(1), call("eq", N, whole(300)), whole(2), whole(1)),
        lambda n: 1 + (n == 300),
    ),
    "rest": (call("mod", N, whole(100)), lambda n: n % 100),
    "square": (call("mul", call("sub", N, whole(300)), call("sub", N, whole(300))), lambda n: (n - 300) ** 2),
    "power": (call("power", call("sub", N, whole(300)), whole(2)), lambda n: (n - 300) ** 2),
    "truth as a number": (call("to_integer", call("eq", N, whole(300))), lambda n: int(n == 300)),
    "replaced": (call("coalesce", call("nullif", N, whole(300)), whole(1000)), lambda n: 1000 if n == 300 else n),
    "quotient": (
        call("div", whole(1000), call("nullif", call("sub", N, whole(300)), whole(0))),
        lambda n: None if n == 300 else 1000 / (n - 300),
    ),
    "spike": (
        call("exp", call("div", call("mul", call("sub", N, whole(300)), call("sub", whole(300), N)), whole(100))),
        lambda n: math.exp(-((n - 300) ** 2) / 100),
    ),
    "logarithm": (call("ln", call("sub", N, whole(299))), lambda n: None if n <= 299 else math.log(n - 299)),
    "floor": (call("floor", call("div", N, whole(100))), lambda n: n // 100),
    "sign": (call("sign", call("sub", N, whole(300))), lambda n: (n > 300) - (n < 300)),
}


def _holds(cell, truth):
    """No value and no interval claim nothing; an interval claims a value."""
    return cell is None or cell.margin is None or (truth is not None and cell.low <= truth <= cell.high)


class TestWhatJumps:
    """Values that a rare one of the plausible numbers decides. Coverage is summed up from the law: nothing is drawn."""

    @pytest.mark.parametrize("name", JUMPS)
    @pytest.mark.parametrize("truth", [300, 299, 301, 350])
    def test_the_interval_holds_for_every_truth(self, name, truth):
        expression, meaning = JUMPS[name]
        reach = range(truth - 1000, truth + 1001, 5)  # every fifth number: σ is 200
        (cells,) = answered(expression, counts=SUMS, values=tuple((n, 0) for n in reach))
        held = [_holds(cell, meaning(truth)) for cell in cells]
        weights = [mpmath.exp(-mpmath.mpf((n - truth) ** 2) / 80_000) for n in reach]
        missed = sum(weight for weight, holds in zip(weights, held, strict=True) if not holds)
        assert missed / sum(weights) <= 0.05

    @pytest.mark.parametrize("step", ["greatest", "round", "clamp", "half"])
    def test_steps_of_several_numbers_hold_together(self, step):
        """8 counts at a limit were all pushed to one side of it: their sum held in 87 % of answers."""
        terms = {
            "greatest": lambda number: call("greatest", call("sub", number, whole(300)), whole(0)),
            "round": lambda number: call("round", number, whole(-2)),
            "clamp": lambda number: call("clamp", call("sub", number, whole(300)), whole(0), whole(9)),
            "half": lambda number: call("div", call("greatest", call("sub", number, whole(300)), whole(0)), whole(2)),
        }
        values = ((300, 300), (330, 270), (360, 390))
        (cells,) = answered(call("add", terms[step](N), terms[step](S)), values=values)
        of_n, of_s = simultaneous(GAUSSIAN, 2), simultaneous(SUMS.law, 2)
        meaning = {
            "greatest": lambda n: max(n - 300, 0),
            "round": lambda n: round(n, -2),
            "clamp": lambda n: min(max(n - 300, 0), 9),
            "half": lambda n: max(n - 300, 0) / 2,
        }[step]
        for cell, (n, s) in zip(cells, values, strict=True):
            assert cell.low == meaning(n - of_n) + meaning(s - of_s)
            assert cell.high == meaning(n + of_n) + meaning(s + of_s)

    def test_squares_of_several_numbers_hold_together(self):
        """Both are truly 300, and both are released 1.9 standard deviations above it."""
        squares = [call("mul", call("sub", each, whole(300)), call("sub", each, whole(300))) for each in (N, S)]
        (cells,) = answered(call("sqrt", call("add", *squares)), values=((357, 680),))
        assert cells[0].low <= 0

    def test_a_ratio_claims_nothing_where_its_divisor_may_be_zero(self):
        ratio = call("div", N, call("nullif", S, whole(0)))
        near, far = answered(ratio, values=((1000, 30), (1000, 5000)))[0]
        assert near.margin is None
        assert far.low < 0.2 < far.high

    def test_a_share_of_many_small_groups_keeps_its_margin(self):
        """Noises cancel out in the sum: it is far from 0, though the widths of all groups together are not."""
        share = call("div", call("to_double", N), window("sum", N))
        (cells,) = answered(share, values=tuple((1000 if row < 3 else 20, 0) for row in range(200)))
        assert all(cell.margin is not None and cell.margin < 0.05 for cell in cells)

    def test_quotients_within_quotients_are_looked_at_once(self):
        """Each was computed anew for every one around it: 14 of them took seconds."""
        nested = call("to_double", N)
        for _ in range(18):
            nested = call("div", call("to_double", S), call("add", nested, whole(1)))
        began = time.process_time()
        answered(nested, values=((900, 5000),))
        assert time.process_time() - began < 2

    def test_a_condition_that_no_noise_can_turn_is_decided(self):
        """40 rows of which the first is far below 300, the second near it, the third far above."""
        values = ((10, 0), (310, 0), (900, 0))
        (cells,) = answered(_case(call("gt", N, whole(300)), whole(1000), whole(0)), values=values)
        assert [(cell.value, cell.low, cell.high) for cell in cells] == [(0, 0, 0), (1000, 0, 1000), (1000, 1000, 1000)]

    def test_a_condition_of_keys_leaves_one_result(self):
        """By an even key the count, else the sum, which is far larger."""
        chosen = _case(call("eq", HALF, whole(0)), N, call("gt", N, whole(-(10**6))), S, whole(0))
        (cells,) = answered(chosen)
        margins = {parity: {cell.margin for cell in cells[parity::2]} for parity in (0, 1)}
        assert margins == {0: {simultaneous(GAUSSIAN, 2)}, 1: {simultaneous(SUMS.law, 2)}}

    def test_a_value_that_may_be_missing_decides_nothing(self):
        """n / (n − 300) is NULL where n is 300: neither it nor its opposite is then true."""
        missing = call("gt", call("div", N, call("nullif", call("sub", N, whole(300)), whole(0))), whole(-(10**9)))
        (cells,) = answered(_case(missing, whole(1), call("not", missing), whole(2), whole(3)), values=((310, 0),))
        assert (cells[0].low, cells[0].high) == (1, 3)


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
    @cases(__file__, "rest=", "wide=")
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
    rows = pd.DataFrame({"id": range(300), "g": [n % 30 for n in range(300)], "v": [n % 9 for n in range(300)]})
    words = {"person": "id", "unique": True, "bounds": {"g": (0, 29), "v": (0, 8)}}
    return owner_of(rows, "t", **words, epsilon=1000, max_keys=100, delta=1e-6, cost_per_query=1).grant(
        "ana", budget=1000
    )


class TestPrices:
    BARE = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"

    def test_within_buys_the_margin_for_all_groups(self, analyst):
        dear, cheap = (analyst.query(f"{self.BARE}{rest} WITHIN 9") for rest in (" ORDER BY n DESC LIMIT 3", ""))
        assert dear.cost.epsilon > 1.3 * cheap.cost.epsilon
        assert dear.margins["n"] <= 9
        assert {cell.margin for cell in dear.run()["n"]} == {dear.margins["n"]}
        assert "for all 30 groups at once" in str(dear.explain())

    def test_a_free_repeat_in_another_order_has_its_own_margins(self, analyst):
        once = self.BARE.replace("GROUP BY", "WHERE v < 7 GROUP BY")
        bare = analyst.sql(f"{once} LIMIT 3", epsilon=0.1)
        top = analyst.sql(f"{once} ORDER BY n DESC LIMIT 3", max_cost=0, epsilon=0.1)
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


@pytest.mark.parametrize("function", ["lag", "first_value", "min"])
def test_a_quotient_by_another_row_has_no_interval_where_that_may_be_0(function):
    """Growth over the month before: the noise of 30 is above 59 with 5 %, for 2 rows at once above 68."""
    order = (Sorted(by=KEY),) if function != "min" else ()
    growth = call("div", N, window(function, N, order=order))
    for first, shown in ((1, False), (40, False), (-50, False), (400, True), (-400, True)):
        (cells,) = answered(growth, values=((first, 0), (900, 0)))
        assert (cells[1].margin is not None) == shown, first


class TestCalculatingWithThem:
    """Numbers that noise has helped to choose are no surer after a calculation, or after a journey."""

    AVERAGE = call("div", S, call("greatest", call("to_double", N), whole(1)))
    BOTH = call("gt", call("add", N, S), whole(0))

    @pytest.mark.parametrize("outputs", [(N, S), (N, S, call("add", N, S)), (AVERAGE,), (AVERAGE, N)])
    def test_no_calculation_makes_a_margin_smaller(self, outputs):
        for cell in [column[0] for column in answered(*outputs, having=self.BOTH)]:
            for moved in (cell + 0, 0 + cell, cell * 1, -cell, cell / 1, pickle.loads(pickle.dumps(cell)) * 1):
                assert moved.margin >= cell.margin
                assert moved.margin <= cell.margin * (1 + 1e-9) + 2

    def test_an_exact_factor_scales_the_interval(self):
        for cell in answered(self.AVERAGE, **TOP)[0]:
            tripled = 7 - cell * 3
            assert (tripled.low, tripled.high) == pytest.approx((7 - 3 * cell.high, 7 - 3 * cell.low), rel=1e-12)

    def test_the_size_of_what_may_be_0_may_be_0(self):
        """Of equal numbers 1 in 8 showed an interval that began above 0, and a quotient by it then had one too."""
        equal = tuple((300 + row % 3, 4000 + 17 * row) for row in range(GROUPS))
        (cells,) = answered(S, values=equal, **(TOP | {"order_by": (Sorted(by=S, descending=True),)}))
        for one, other in itertools.permutations(cells, 2):
            away = abs(one - other)
            assert away.low == 0
            assert away.high == max(abs((one - other).low), abs((one - other).high))
            assert (1 / away).margin is None
            square = away * away
            assert square.low <= 0 <= square.value <= square.high
            assert (1 / square).margin is None
        far = abs(cells[0] - 9000)
        assert (far.low, far.high) == (9000 - cells[0].high, 9000 - cells[0].low)

    def test_a_copy_knows_for_how_many_groups_it_holds(self):
        """Its plausible values were drawn for one group before, and those of a product lay too near."""
        (cells,) = answered(self.AVERAGE, **TOP)
        for cell in cells:
            copied = pickle.loads(pickle.dumps(cell))
            assert copied.interval.outputs == cell.interval.outputs > 1
            there, here = copied * copied, cell * cell
            assert there.low <= here.low
            assert here.high <= there.high <= 2 * here.high

    def test_values_drawn_for_less_lie_farther_apart(self):
        level = Fraction(9999, 10_000)
        rule, usual = (band(count=DRAWS, confidence=each) for each in (level, CONFIDENCE))
        kept = Fixed((4.0, None, 7.0), 5.0, CONFIDENCE)
        assert kept.plausible(usual) == [4.0, None, 7.0]
        low, missing, high = kept.plausible(rule)
        assert missing is None
        assert (5 - low, high - 5) == pytest.approx((math.log(1e-4) / math.log(8 / 998), 2 * (5 - low)))


def test_a_remainder_has_no_interval_where_its_divisor_may_be_0():
    """The remainder is smaller than both numbers, but there is none by 0: the truth may be NULL."""
    for divisor, shown in ((1, False), (40, False), (400, True)):
        (cells,) = answered(call("mod", whole(1000), N), values=((divisor, 0),))
        assert (cells[0].margin is not None) == shown, divisor


def test_two_points_are_equal_or_not_and_wider_intervals_may_be():
    two, three, wide = (Interval(Fraction(low), Fraction(high)) for low, high in ((2, 2), (3, 3), (1, 2)))
    assert boxes._equal(two, two) == {True}
    assert boxes._equal(two, three) == boxes._equal(wide, three) == {False}
    assert boxes._equal(wide, two) == {True, False}
