"""Text that came from data, made harmless, and its width."""

from dpsql.charts.letters import cut, in_ascii, padded, width
from dpsql.safe_text import html_text, printable


def test_nothing_steers_the_terminal():
    assert printable("a\x1b[31m\u202eb\nc") == "a\\x1b[31m\\u202eb\\nc"
    assert printable("Zürich 東京 ±") == "Zürich 東京 ±"


def test_nothing_is_markup():
    assert html_text("<b a=\"1\" c='2'>&\n\x1b") == "&lt;b a=&quot;1&quot; c=&#x27;2&#x27;&gt;&amp;\\n\\x1b"
    assert html_text("a\x1b\n<b>", lines=True) == "a\\x1b\n&lt;b&gt;"


def test_width_in_columns():
    assert width("東京") == 4
    assert width("e\u0301") == 1
    assert padded("東", 4) == "東  "
    assert padded("a", 3, right=True) == "  a"


def test_what_is_too_wide_is_cut():
    assert cut("Basel", 5) == "Basel"
    assert cut("Baselland", 5) == "Base…"
    assert cut("東京都", 5) == "東京…"
    assert cut("Baselland", 5, end="~") == "Base~"
    assert cut("x" * 1_000_000, 5) == "xxxx…"


def test_ascii_has_words_for_every_sign_and_numbers_for_letters():
    assert in_ascii("2\u2009611 ± 15 ⚠ ▰▱ ε ≤ 1 …") == "2611 plus or minus 15 (doubtful) #. epsilon <= 1 ..."
    assert in_ascii("Zürich") == "Z\\xfcrich"
