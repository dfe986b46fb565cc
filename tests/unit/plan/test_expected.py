"""Margins before running: hand formulas and brute force over the laws of the noise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from explain_plans import CHANGE_ONE, planned, told_again

from dpsql.catalog.model import Mode, Noise
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.plan.expected import Certainty, Expectation, expected
from tests.kits.cases import cases


def only(sql: str, **how) -> Expectation:
    (column,) = expected(planned(sql, **how))
    return column


def laplace(scale: float, *, step: int = 1, reach: int = 60) -> np.ndarray:
    """The probabilities of step · X around 0, X discrete Laplace: far enough out to lose nothing that matters."""
    x = np.arange(-int(reach * scale), int(reach * scale) + 1)
    weights = np.exp(-np.abs(x) / scale)
    spread = np.zeros((len(x) - 1) * step + 1)
    spread[::step] = weights / weights.sum()
    return spread


def convolved(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The law of a sum, by Fourier transform; exact to about 1e-15."""
    size = len(first) + len(second) - 1
    return np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size), size)


def margin_of(probabilities: np.ndarray) -> int:
    """The smallest m with 95 % between -m and m."""
    middle = len(probabilities) // 2
    inside = probabilities[middle] + np.cumsum(probabilities[middle + 1 :] + probabilities[middle - 1 :: -1])
    return int(np.argmax(inside >= 0.95)) + 1


class TestOneMarginForAllRows:
    @pytest.mark.parametrize(
        ("sql", "how", "margin"),
        [
            # one row per patient: sensitivity 1, scale 1/0.05 = 20, and 20 · ln 20 = 59.9
            ("SELECT COUNT(*) FROM patients", {}, 60),
            ("SELECT COUNT(*) FROM patients", {}, margin_of(laplace(20))),
            ("SELECT COUNT(*) FROM patients", {"cost": Fraction(1, 10)}, margin_of(laplace(10))),
            ("SELECT COUNT(*) * 2 + 7 FROM patients", {}, 120),
            ("SELECT -COUNT(*) / 4 FROM patients", {}, 15),
            ("SELECT COUNT(*) - COUNT(*) FROM patients", {}, 0),
            ("SELECT COUNT(*) FROM visits", {}, margin_of(laplace(6 * 20))),
            # under change_one with a public number of rows an average is a sum over a known number
            ("SELECT AVG(weight) FROM samples", {"catalog": CHANGE_ONE}, Fraction(margin_of(laplace(8 * 20)), 1000)),
        ],
    )
    def test_laplace(self, sql, how, margin):
        column = only(sql, **how)
        assert (column.certainty, column.margin) == (Certainty.MARGIN, margin)

    def test_a_count_over_groups(self):
        """Six rows in each of three groups."""
        (key, count) = expected(planned("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"))
        assert (key.certainty, key.margin) == (Certainty.KEY, None)
        assert count.margin == margin_of(laplace(18 * 20))
        assert only("SELECT COUNT(*) AS n FROM patients").text == "n ± 60"

    def test_a_sum_on_a_grain(self):
        """2000 · 6 / 0.05 · ln 20, in steps of 2^-10; the law of the grains is continuous at this scale."""
        column = only("SELECT SUM(charge) FROM visits")
        assert abs(float(column.margin) - 240_000 * math.log(20)) < 0.01
        assert column.margin * 2**10 == int(column.margin * 2**10)
        assert column.cause == "charge within 0 and 2\u2009000 × 6 rows of one patient"

    def test_two_slots(self):
        """ε is shared, so each has scale 40; the law of the sum, at most half a percent too wide."""
        column = only("SELECT COUNT(*) + SUM(flu) FROM patients")
        smallest = margin_of(convolved(laplace(40, reach=30), laplace(40, reach=30)))
        assert smallest <= column.margin <= 1.005 * smallest + 1

    def test_gaussian(self):
        """ρ = 0.05 of the grant: σ = sqrt(L2²/2ρ), the margin about 1.96 σ."""
        plan = planned("SELECT COUNT(*) FROM visits", gaussian=True, noise=Noise.GAUSSIAN)
        sigma = math.sqrt(36 / (2 * plan.terms.gaussian_rho))
        (column,) = expected(plan)
        assert column.margin == pytest.approx(1.959964 * sigma, abs=1)

    def test_scaled_counts_are_rounded(self):
        """Half a unit more than the noise, in steps of 1/1024."""
        plan = planned("SELECT ward, COUNT(*) FROM visits GROUP BY ward", gaussian=True, mode=Mode.SCALE)
        column = expected(plan)[1]
        sigma = 6 * math.sqrt(3 / (2 * plan.terms.gaussian_rho))
        assert float(column.margin) == pytest.approx(1.959964 * sigma + 0.5, rel=1e-4)
        assert ((column.margin - Fraction(1, 2)) * 1024).denominator == 1


class TestAverages:
    SQL = "SELECT AVG(age) AS a FROM patients"

    def test_number_over_count(self):
        """Two slots: the centred sum has sensitivity 55, so scale 55 · 2/0.05 = 2200."""
        column = only(self.SQL)
        assert column.certainty is Certainty.PER_COUNT
        assert column.margin is None
        assert column.over_count == margin_of(laplace(2200))
        assert column.per_count == f"± {margin_of(laplace(2200)):,} / n".replace(",", "\u2009")

    def test_wherever_the_average_lies(self):
        """At a bound the error is (e − 55 f)/(N + f): the law of e − 55 f by brute force."""
        column = only(self.SQL)
        smallest = margin_of(convolved(laplace(2200, reach=20), laplace(40, step=55, reach=20)))
        assert smallest <= column.over_count_at_most <= 1.005 * smallest + 1

    def test_examples_follow_the_public_size(self):
        column = only(self.SQL)
        assert [count for count, _ in column.examples] == [6000, 600]
        assert all(margin == column.over_count / count for count, margin in column.examples)
        grouped = expected(planned("SELECT city, AVG(age) FROM patients GROUP BY city"))[1]
        assert [count for count, _ in grouped.examples] == [1500, 150]
        assert only("SELECT AVG(charge) FROM visits").examples == ()

    def test_moved_and_scaled(self):
        twice = only("SELECT AVG(age) * 2 + 1 FROM patients")
        assert twice.over_count == 2 * only(self.SQL).over_count
        assert only("SELECT AVG(age) / 10 FROM patients").over_count == only(self.SQL).over_count / 10
        assert only("SELECT -AVG(age) FROM patients").over_count == only(self.SQL).over_count
        assert only("SELECT CLAMP(AVG(age), 20, 60) FROM patients").over_count == only(self.SQL).over_count

    def test_text(self):
        column = Expectation(
            name="age",
            certainty=Certainty.PER_COUNT,
            over_count=Fraction(550),
            examples=((2600, Fraction(550, 2600)), (500, Fraction(550, 500))),
        )
        assert column.text == "age ± 550 / n (± 0.22 if n = 2\u2009600; ± 1.1 if n = 500)"


class TestNoMarginYet:
    @cases(__file__, "shown")
    def test_by_simulation(self, shown):
        column = only(f"SELECT {shown} AS x FROM patients")
        assert column.certainty is Certainty.SIMULATED
        assert column.margin is None
        assert column.per_count is None
        assert column.text == "x ± by simulation when it runs"
        assert column.noisy

    def test_not_a_number(self):
        column = only("SELECT COUNT(*) > 10 FROM patients")
        assert column.certainty is Certainty.DERIVED
        assert not column.noisy

    def test_keys_and_constants(self):
        columns = expected(planned("SELECT city, UPPER(city), 1, COUNT(*) FROM patients GROUP BY city"))
        assert [column.certainty.value for column in columns] == ["key", "key", "exact", "margin"]
        assert [column.noisy for column in columns] == [False, False, False, True]

    def test_public_tables_are_exact(self):
        columns = expected(planned("SELECT ward, COUNT(*) FROM wards GROUP BY ward"))
        assert {column.certainty for column in columns} == {Certainty.EXACT}
        assert {column.margin for column in columns} == {0}


def test_a_stored_answer_keeps_its_own_noise():
    plan = planned("SELECT COUNT(*) FROM patients")
    known = told_again(plan, law=DiscreteLaplaceLaw(scale=Fraction(2)))
    assert expected(known)[0].margin == margin_of(laplace(2))
