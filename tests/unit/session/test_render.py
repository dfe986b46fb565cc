"""Tables on a screen and in a notebook, by hand."""

from dataclasses import replace
from datetime import date, datetime

from dpsql.session.render import boxed, is_doubtful, printable, remarks
from tests.kits.cases import cases
from tests.kits.released import noisy


def test_a_table():
    rows = [
        ("Basel", noisy(2611, 15), noisy(41.23, 0.28)),
        ("Aarau", noisy(17, 15), noisy(38.2, 40.3)),
        (None, noisy(-4, 15), None),
    ]
    assert boxed(["city", "n", "age"], rows, ["3 rows"]) == "\n".join(
        [
            "┌───────┬──────────────┬──────────────┐",
            "│ city  │            n │          age │",
            "├───────┼──────────────┼──────────────┤",
            "│ Basel │ 2\u2009611 ± 15   │ 41.2 ± 0.3   │",
            "│ Aarau │    17 ± 15   │   38 ±  41 ⚠ │",
            "│ NULL  │    -4 ± 15 ⚠ │         NULL │",
            "└───────┴──────────────┴──────────────┘",
            "3 rows",
        ]
    )


def test_no_rows_and_plain_values():
    rows = [(True, 5, 1.5, date(2024, 5, 17), datetime(2024, 5, 17, 10, 30), "x")]
    assert boxed(["a", "b", "c", "d", "e", "f"], rows, []).splitlines()[3] == (
        "│ true │ 5 │ 1.5 │ 2024-05-17 │ 2024-05-17 10:30:00 │ x │"
    )
    assert boxed(["n"], [], ["0 rows"]).splitlines()[-2:] == ["└───┘", "0 rows"]
    # Of the terminal: 東 takes two places, a combining accent none.
    lines = boxed(["k"], [("東京",), ("Zu\u0308rich",), ("abc",)], []).splitlines()
    assert lines[3:6] == ["│ 東京   │", "│ Zu\u0308rich │", "│ abc    │"]


@cases(__file__, "text=", "wanted")
def test_no_key_steers_the_terminal(text, wanted):
    assert printable(text) == wanted
    assert wanted in boxed([text], [(text,)], [])


def test_long_answers_are_cut():
    lines = boxed(["n"], [(number,) for number in range(100)], ["100 rows"]).splitlines()
    assert lines[-2:] == ["… 40 more rows", "100 rows"]
    assert len(lines) == 3 + 60 + 1 + 2


def test_doubt():
    assert not is_doubtful(noisy(15, 14))
    assert is_doubtful(noisy(15, 15))
    assert not is_doubtful(noisy(0, 0))
    assert is_doubtful(replace(noisy(15, 1), doubtful=True))
    assert is_doubtful(noisy(14, 15))
    assert is_doubtful(noisy(-14, 15))
    assert is_doubtful(noisy(14, None))
    assert not is_doubtful(noisy(0, 0))
    assert not is_doubtful(5)


def test_remarks():
    assert remarks([("a", noisy(100, 15))], percent="95") == "1 row · ± is 95 %"
    assert remarks([], percent="95") == "0 rows"
    assert remarks([("a",), ("b",)], percent="95") == "2 rows"
    doubtful = remarks([(noisy(1, 15),)] * 2, percent="90")
    assert doubtful == "2 rows · ± is 90 % · ⚠ the noise may be all there is: do not use these cells"
