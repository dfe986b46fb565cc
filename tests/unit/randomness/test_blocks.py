"""No decision of the block sampler rests on an inexact number: every table entry and every stage against 60 digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import InternalError
from dpsql.randomness import SYSTEM
from dpsql.randomness.blocks import BlockSampler, Exponent, _invert
from dpsql.testing.fixed import SeededSource
from tests.kits.cases import cases
from tests.kits.refusals import raised

mpmath.mp.dps = 60


def laplace_law(scale: Fraction) -> tuple[Exponent, int]:
    shift = max(int(scale / 16).bit_length() - 1, 0)
    return Exponent(square=Fraction(0), linear=1 / scale, shift=shift), int(46 * scale / 2**shift) + 2


def gaussian_law(sigma: int) -> tuple[Exponent, int]:
    shift = max((sigma // 32).bit_length() - 1, 0)
    return Exponent(square=Fraction(1, 2 * sigma**2), linear=Fraction(0), shift=shift), (77 * sigma >> shift + 3) + 2


LAWS = [
    laplace_law(Fraction(1, 3)), laplace_law(Fraction(10)), laplace_law(Fraction(1001, 7)),
    laplace_law(Fraction(10**9)), laplace_law(Fraction(2**43)),
    gaussian_law(1), gaussian_law(10), gaussian_law(100), gaussian_law(10**6), gaussian_law(2**40),
]  # fmt: skip


def real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def true_weight(law: Exponent, cell: int) -> mpmath.mpf:
    """exp(-exponent) of the first value of a cell, from the definition of the law alone."""
    x = abs(law.value(cell, 0))
    return mpmath.exp(-(real(law.square) * x * x + real(law.linear) * x))


def true_bounds(law: Exponent, blocks: int) -> list[mpmath.mpf]:
    """Pr[cell < j] for all j, summed until nothing is left at 60 digits."""
    weights = []
    while len(weights) < 2 * blocks or weights[-1] > mpmath.mpf(10) ** -58:
        weights.append(true_weight(law, len(weights)))
    total, sums = mpmath.fsum(weights), [mpmath.mpf(0)]
    for weight in weights[: 2 * blocks]:
        sums.append(sums[-1] + weight)
    return [value / total for value in sums]


@pytest.fixture(scope="module", params=LAWS, ids=str)
def built(request):
    law, blocks = request.param
    return BlockSampler.build(law, blocks=blocks), true_bounds(law, blocks)


def test_the_64_bit_bounds_enclose_the_distribution_function(built):
    sampler, true = built
    for low, high, value in zip(sampler.lower, sampler.upper, true, strict=True):
        assert low <= value * 2**64 <= high
        assert high - low <= 3


def test_every_decided_guide_entry_is_the_cell_of_its_whole_interval(built):
    sampler, true = built
    beyond = 2 * sampler.blocks
    decided = 0
    for look, cell in enumerate(sampler.guide.tolist()):
        if cell != beyond:
            decided += 1
            assert true[cell] <= mpmath.mpf(look) / 2**16
            assert mpmath.mpf(look + 1) / 2**16 <= true[cell + 1]
    assert decided > 0.9 * 2**16  # otherwise the table would be sound and useless


def test_the_16_bit_thresholds_accept_only_what_every_value_of_the_cell_accepts(built):
    sampler, _ = built
    law, last = sampler.law, (1 << sampler.law.shift) - 1
    for cell in range(0, 2 * sampler.blocks, 7):
        least = mpmath.exp(-real(law.excess(cell, last)))
        assert int(sampler.threshold[cell]) <= 2**16 * least


def test_the_fixed_point_stage_encloses_the_acceptance_probability(built):
    sampler, _ = built
    law = sampler.law
    if law.shift == 0:
        assert law.excess(5, 0) == 0  # one value a cell: always accepted
        return
    source = SeededSource(7)
    cells = np.array([source.bits(40) % (2 * sampler.blocks) for _ in range(400)] + [2 * sampler.blocks - 1] * 3)
    lows = np.array([source.bits(law.shift) for _ in range(400)] + [0, 1, 2**law.shift - 1])
    surely, possibly = sampler._acceptance(cells, lows)
    for cell, low, least, most in zip(cells.tolist(), lows.tolist(), surely.tolist(), possibly.tolist(), strict=True):
        true = mpmath.exp(-real(law.excess(cell, low))) * 2**32
        assert least <= true <= most
        gamma = real(law.excess(cell, low))
        assert most - least <= 2**32 * gamma**3 / 6 + 64  # tight, so that little is left to the exact stage


def test_excess_is_the_difference_of_exponents():
    law = Exponent(square=Fraction(1, 50), linear=Fraction(1, 7), shift=3)
    for cell in range(12):
        for low in range(8):
            x, start = abs(law.value(cell, low)), abs(law.value(cell, 0))
            wanted = law.square * (x**2 - start**2) + law.linear * (x - start)
            assert law.excess(cell, low) == wanted >= 0


@given(shift=st.integers(0, 6), x=st.integers(-10_000, 10_000))
def test_every_integer_has_exactly_one_cell_and_low(shift, x):
    law = Exponent(square=Fraction(0), linear=Fraction(1), shift=shift)
    y = x if x >= 0 else -1 - x
    cell, low = 2 * (y >> shift) + (x < 0), y & ((1 << shift) - 1)
    assert law.value(cell, low) == x


class Script:
    """A source that plays back given bits, then fails: the test knows every uniform number to the last bit."""

    def __init__(self, *values: int) -> None:
        self.left = list(values)

    def bits(self, count: int) -> int:
        value = self.left.pop(0)
        assert value < 2**count
        return value

    def words(self, count: int):
        raise AssertionError("scripted draws are single ones")


@settings(max_examples=40, deadline=None)
@given(
    which=st.integers(0, len(LAWS) - 1),
    step=st.integers(0, 200),
    offset=st.integers(-3, 3),
    more=st.integers(0, 2**64 - 1),
)
def test_numbers_on_a_bound_are_settled_by_more_bits(which, step, offset, more):
    """Uniform numbers within a few units of a 64-bit bound go through the exact stage and land in the true cell."""
    law, blocks = LAWS[which]
    sampler = BlockSampler.build(law, blocks=blocks)
    edge = sampler.lower[1 + step % (2 * blocks)]
    word = min(max(edge + offset, 0), 2**64 - 1)
    cell = sampler._cell(word, Script(more, 2**63, 2**63, 2**63))
    weights = [true_weight(law, j) for j in range(cell + 2)]
    rest, j = mpmath.mpf(0), cell + 2
    while (weight := true_weight(law, j)) > mpmath.mpf(10) ** -55:
        rest, j = rest + weight, j + 1
    total = mpmath.fsum(weights) + rest
    u = (mpmath.mpf(word) * 2**64 + more) / mpmath.mpf(2) ** 128
    tiny = mpmath.mpf(2) ** -126
    assert mpmath.fsum(weights[:cell]) / total <= u + tiny
    assert u - tiny <= mpmath.fsum(weights[: cell + 1]) / total


def test_the_tail_has_no_end():
    """No 64 bits settle the last cells; more bits find them, inside the tables and however far beyond."""
    law, blocks = laplace_law(Fraction(10))
    sampler = BlockSampler.build(law, blocks=blocks)
    ones = 2**64 - 1
    near = sampler._cell(ones, Script(0, *[2**63] * 4))
    far = sampler._cell(ones, Script(ones, ones, 0, *[2**63] * 4))
    assert far >= 2 * blocks
    # Pr[cell >= j] = exp(-(j // 2) / t) · …: about 64·ln 2·t cells a side for every 64 ones.
    assert math.isclose(near / 2, 64 * math.log(2) * 10, rel_tol=0.03)
    assert math.isclose(far / 2, 192 * math.log(2) * 10, rel_tol=0.03)


def test_vector_draws_use_the_tail_too():
    """A source of nothing but ones drives the vector path into the exact stage and still ends in a value."""

    class Ones:
        calls = 0

        def words(self, count):
            return np.full(count, 2**64 - 1, dtype=np.uint64)

        def bits(self, count):
            self.calls += 1
            return 2**count - 1 if self.calls < 4 else 0

    law, blocks = laplace_law(Fraction(10))
    values = BlockSampler.build(law, blocks=blocks)._propose(3, Ones())
    assert np.abs(values).max() >= blocks


def test_more_draws_than_a_chunk_come_out_whole():
    law, blocks = gaussian_law(1000)
    sampler = BlockSampler.build(law, blocks=blocks)
    for size in (0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 200_001):
        assert len(sampler.draws(size=size, source=SYSTEM)) == size


def test_vector_and_single_draws_agree_when_given_the_same_uniform_numbers():
    """For one value a cell, the 64 bits behind a vector draw give the same value to the single-draw code."""
    law, blocks = laplace_law(Fraction(25))
    sampler = BlockSampler.build(law, blocks=blocks)
    look = SeededSource(3).words(4096).view(np.uint16)

    class Replay:
        def __init__(self):
            self.first = True

        def words(self, count):
            if self.first:
                self.first = False
                return look.view(np.uint64)[:count]
            return np.zeros(count, dtype=np.uint64)  # the bits after the first 16 are all 0

        def bits(self, count):
            return 0

    values = sampler._propose(len(look), Replay())
    single = [law.value(sampler._cell(int(first) << 48, Script(*[0] * 8)), 0) for first in look]
    assert values.tolist() == single


@cases(__file__, "law=", "blocks=")
def test_tables_that_could_overflow_are_never_built(law, blocks):
    raised(InternalError, lambda: BlockSampler.build(law, blocks=blocks))


def test_inversion_on_the_bounds():
    """A cell is named only where it surely holds the interval: equality on the left is inside, on the right not."""
    lower, upper = np.array([0, 10, 20], dtype=np.uint64), np.array([0, 11, 21], dtype=np.uint64)
    first = np.array([0, 9, 9, 10, 11, 19, 19, 20, 21, 40], dtype=np.uint64)
    last = np.array([9, 9, 10, 10, 11, 19, 20, 20, 21, 40], dtype=np.uint64)
    cell, decided = _invert(lower, upper, first, last)
    assert decided.tolist() == [True, True, False, False, True, True, False, False, False, False]
    assert cell.tolist() == [0, 0, 2, 2, 1, 1, 2, 2, 2, 2]


class Planted:
    """A source whose uniform numbers the test chose: 16 bits each for cell and toss, the bits of low, then the rest.

    The rest, of cells and of tosses, is asked for where `slow` says so.
    """

    def __init__(self, cells: list[int], tosses: list[int], lows: list[int], shift: int, slow: list[bool]) -> None:
        halves = [[word >> 48 for word in words] for words in (cells, tosses)]
        if shift <= 16:
            first = [*halves[0], *halves[1], *(low << (16 - shift) for low in lows)]
            self.left = [np.array(first, dtype=np.uint16)]
        else:
            wide = np.array([low << (32 - shift) for low in lows], dtype=np.uint32)
            self.left = [np.array(halves[0] + halves[1], dtype=np.uint16), wide]
        for words in (cells, tosses):
            rest = [(word << 16) % 2**64 for word, asked in zip(words, slow, strict=True) if asked]
            self.left.append(np.array(rest, dtype=np.uint64))

    def words(self, count: int):
        """The planted array, filled up to whole words."""
        array = self.left.pop(0)
        raw = array.tobytes()
        return np.frombuffer(raw.ljust(8 * count, b"\0"), dtype=np.uint64)

    def bits(self, count: int) -> int:
        return 2 ** (count - 1)  # whatever is asked beyond 64 bits: one half


def planted_proposals(sampler: BlockSampler, true: list[mpmath.mpf], count: int):
    """Uniform numbers at the edge of acceptance, in random cells: (cell word, toss word, low, is it accepted)."""
    source, law = SeededSource(11), sampler.law
    for number in range(count):
        cell = number % 4 if number < 40 else source.bits(30) % min(200, 2 * sampler.blocks)
        low = (1 << law.shift) - 1 if number % 3 == 0 else source.bits(law.shift)
        inside = true[cell] + (true[cell + 1] - true[cell]) * mpmath.mpf(source.bits(30) + 1) / (2**30 + 2)
        edge = mpmath.exp(-real(law.excess(cell, low))) * 2**64
        away = source.bits(3) - 4 if number % 2 else (source.bits(2) - 2) << 50  # by integers, or by fixed point
        toss = min(int(edge) + away, 2**64 - 1)
        yield cell, int(inside * 2**64), toss, low, mpmath.mpf(toss) + 0.5 < edge


def test_vector_proposals_are_decided_as_the_real_numbers_decide(built):
    """Cell, acceptance and value of proposals whose toss lies within four units of 2**-64 of its limit."""
    sampler, true = built
    if not 0 < sampler.law.shift <= 32:
        assert sampler.law.shift in (0, 39, 35)  # without low bits, or with those of a third request: tested elsewhere
        return
    planted = list(planted_proposals(sampler, true, 400))
    cells, words, tosses, lows, accepted = map(list, zip(*planted, strict=True))
    slow = [t >> 48 >= int(sampler.threshold[sampler.guide[w >> 48]]) for w, t in zip(words, tosses, strict=True)]
    assert sum(slow) > 200
    values = sampler._propose(len(planted), Planted(words, tosses, lows, sampler.law.shift, slow))
    kept = [(cell, low) for cell, low, yes in zip(cells, lows, accepted, strict=True) if yes]
    assert values.tolist() == [sampler.law.value(cell, low) for cell, low in kept]
    assert 0.2 < len(values) / len(planted) < 0.8
