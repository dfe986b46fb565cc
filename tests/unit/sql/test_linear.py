"""Linear forms against the expressions they stand for, evaluated at random points."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpsql.catalog.types import SqlType
from dpsql.sql.finish import LinearForm, linear_form
from dpsql.sql.scalars import Apply, ColumnRef, Constant
from tests.kits.cases import cases

SLOTS = {1, 2, 3}
N, M, S = (ColumnRef(number, SqlType.DOUBLE) for number in (1, 2, 3))
KEY = ColumnRef(9, SqlType.DOUBLE)


def number(value):
    return Constant(value, SqlType.INTEGER if isinstance(value, int) else SqlType.DOUBLE)


def call(function, *arguments):
    return Apply(function, arguments, SqlType.DOUBLE)


def evaluated(scalar, at):
    """What the expression means, by a second, plain implementation."""
    match scalar:
        case ColumnRef():
            return at[scalar.id]
        case Constant():
            return Fraction(scalar.value)
    values = [evaluated(argument, at) for argument in scalar.arguments]
    match scalar.function:
        case "add":
            return values[0] + values[1]
        case "sub":
            return values[0] - values[1]
        case "mul":
            return values[0] * values[1]
        case "div":
            return values[0] / values[1]
        case "neg":
            return -values[0]
    return values[0]


LEAVES = (
    st.sampled_from([N, M, S]) | st.integers(-9, 9).map(number) | st.fractions(-3, 3, max_denominator=7).map(number)
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul", "div"]), inner, inner).map(lambda parts: call(*parts)),
        st.tuples(st.sampled_from(["neg", "to_double"]), inner).map(lambda parts: call(*parts)),
    ),
    max_leaves=12,
)
POINTS = st.fixed_dictionaries({slot: st.fractions(-50, 50, max_denominator=9) for slot in SLOTS})


@given(EXPRESSIONS, POINTS)
def test_a_form_equals_its_expression_everywhere(scalar, point):
    form = linear_form(scalar, SLOTS)
    if form is not None:
        value = form.constant + sum(weight * point[slot] for slot, weight in form.weights.items())
        assert value == evaluated(scalar, point)
        assert all(form.weights.values())


def test_a_sum_of_slots_and_constants():
    scalar = call("sub", call("mul", number(100), call("to_double", N)), call("div", call("neg", M), number(4)))
    assert linear_form(scalar, SLOTS) == LinearForm(constant=Fraction(0), weights={1: Fraction(100), 2: Fraction(1, 4)})


def test_a_slot_less_itself_has_no_noise():
    assert linear_form(call("sub", N, N), SLOTS) == LinearForm(constant=Fraction(0), weights={})


def test_a_product_with_something_that_cancels_is_linear():
    nothing = call("sub", N, N)
    assert linear_form(call("mul", nothing, M), SLOTS) == LinearForm(constant=Fraction(0), weights={})


@cases(__file__, "scalar=")
def test_anything_else_has_no_form(scalar):
    assert linear_form(scalar, SLOTS) is None
