"""THE SCALAR ALLOW-LIST. One family, one file; an entry knows its types, its range and its text on each engine."""

from dpsql.sql.functions.casts import clean
from dpsql.sql.functions.constants import bound_values, interval_between, print_constant
from dpsql.sql.functions.function import Function
from dpsql.sql.functions.table import FUNCTIONS, apply, interval_of, parts_of, print_scalar, refined, together
from dpsql.sql.functions.windows import WINDOW_FUNCTIONS, WindowFunction, print_window, windowed

__all__ = [
    "FUNCTIONS",
    "WINDOW_FUNCTIONS",
    "Function",
    "WindowFunction",
    "apply",
    "bound_values",
    "clean",
    "interval_between",
    "interval_of",
    "parts_of",
    "print_constant",
    "print_scalar",
    "print_window",
    "refined",
    "together",
    "windowed",
]
