"""A uniform number known by its first bits. Scripted bits; no chance involved."""

from fractions import Fraction

from dpsql.randomness.uniform import LazyUniform
from tests.kits.cases import cases

WORD = 2**64


class Script:
    """Gives fixed bits, in order, and notes how many were asked for at a time."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def bits(self, count):
        self.asked.append(count)
        return self.answers.pop(0)


def third(bits):
    """Integers around 2**bits / 3."""
    return 2**bits // 3, 2**bits // 3 + 1


@cases(__file__, "words=", "below=")
def test_more_bits_are_drawn_until_the_bounds_decide(words, below):
    source = Script(*words)
    assert LazyUniform(source).is_below(third) is below
    assert source.answers == []
    assert source.asked == [64] * len(words)


def test_every_answer_is_about_the_same_number():
    """Bits drawn for one question are known in the next: 1/3 + 2**-70 is above 1/3, and below 1/3 + 2**-60."""
    uniform = LazyUniform(Script(WORD // 3, WORD // 3 + 2**58))
    assert uniform.is_below(third) is False
    wider = Fraction(1, 3) + Fraction(1, 2**60)
    assert uniform.is_below(lambda bits: (int(wider * 2**bits), int(wider * 2**bits) + 1)) is True
    assert uniform.is_below(third) is False


def test_an_answer_may_be_anything_but_none():
    """0 and False are answers."""
    source = Script(5, 7)
    assert LazyUniform(source, bits=128).decided(lambda known, bits: 0 if bits > 128 else None) == 0
    assert source.asked == [128, 64]
    assert LazyUniform(Script(5)).decided(lambda known, bits: (known, bits)) == (5, 64)
