"""A budget as a bar for a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from html import escape


def meter_page(left: Fraction, total: Fraction) -> str:
    """A bar as full as a budget is; the words beside it say the same."""
    share = float(max(Fraction(0), min(Fraction(1), left / total))) if total > 0 else 0.0
    return f'<meter min="0" max="1" value="{share:.3f}" aria-label="left of the budget">{share:.0%}</meter>'


def budget_page(left: Fraction, total: Fraction, words: Iterable[str]) -> str:
    """A bar, and the words of a budget."""
    return f"<div>{meter_page(left, total)} {escape(' · '.join(filter(None, words)))}</div>"
