"""Every format says the same of an answer: its numbers, their margins, and nothing that a reader would run. A notebook
shows it escaped, said aloud, doubtful cells hatched, with a bar for the budget."""

import csv
import io
import json
import re
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from html.parser import HTMLParser

import pyarrow.ipc
import pyarrow.parquet
import pytest

import dpsql
from dpsql.errors import BadParameter, MissingExtra
from dpsql.session import tables
from dpsql.session.answer_value import Cost
from dpsql.session.budget import Budget
from dpsql.session.formats import all_doubtful, answer_page, formats, formatted, summary, table_page, without_symbols
from dpsql.session.noisy import Estimate
from tests.kits.refusals import raised
from tests.kits.released import answer_of, noisy

BASEL = dpsql.Estimate(value=2611, margin=15, low=2596, high=2626)
NOISE = dpsql.Estimate(value=-4, margin=15, low=-19, high=11)
UNKNOWN = dpsql.Estimate(value=3.5, margin=None, low=None, high=None)
ROWS = (("Basel", date(2024, 1, 1), BASEL), ("=1+1", None, NOISE))


def answer(columns=("city", "day", "n"), rows=ROWS, **said):
    return answer_of(columns, rows, **said)


def test_a_table_has_every_row_and_no_footer():
    lines = formatted(answer(columns=("n",), rows=[(n,) for n in range(200)]), "table").splitlines()
    assert len(lines) == 204
    assert formatted(answer(), "table").endswith("┘\n")
    assert "2\u2009611 ± 15" in formatted(answer(), "table")


@pytest.mark.parametrize("form", [form for form in formats if not formats[form].is_binary])
def test_plain_tables_are_ascii(form):
    text = formatted(answer(), form, plain=True)
    assert text.isascii()
    if form in ("table", "markdown"):
        assert "2611 plus or minus 15" in text
        assert "-4 plus or minus 15 (doubtful)" in text


def test_csv_has_the_ends_of_intervals_and_no_formulas():
    rows = list(csv.reader(io.StringIO(formatted(answer(), "csv"))))
    assert rows == [
        ["city", "day", "n", "n_low", "n_high"],
        ["Basel", "2024-01-01", "2611", "2596", "2626"],
        ["'=1+1", "", "-4", "-19", "11"],
    ]
    assert formatted(answer(), "csv", intervals="none").splitlines()[1] == "Basel,2024-01-01,2611"
    asked = answer(columns=("x", "x_low", "x_low_2"), rows=((BASEL, NOISE, 7),))
    rows = list(csv.reader(io.StringIO(formatted(asked, "csv"))))
    assert dict(zip(*rows, strict=True)) == {
        "x": "2611",
        "x_low_3": "2596",
        "x_high": "2626",
        "x_low": "-4",
        "x_low_low": "-19",
        "x_low_high": "11",
        "x_low_2": "7",
    }
    assert list(asked.df(intervals="columns")) == rows[0]


def test_json_has_value_low_high_and_margin_in_each_cell_whatever_the_numbers_are():
    told = json.loads(formatted(answer(notes=("a note",), head="#3:ab"), "json"))
    assert told["columns"] == ["city", "day", "n"]
    assert told["rows"][0] == {
        "city": "Basel",
        "day": "2024-01-01",
        "n": {"value": 2611, "low": 2596, "high": 2626, "margin": 15, "doubtful": False},
    }
    assert told["rows"][1]["n"]["doubtful"]
    assert (told["cost"], told["release"], told["notes"]) == ({"epsilon": 0.05, "delta": 0.0}, 42, ["a note"])
    assert (told["confidence"], told["budget"], told["ledger"]) == (0.95, None, "#3:ab")
    odd = answer(columns=("a", "a", "b"), rows=[(float("nan"), float("inf"), datetime(2024, 1, 2, 3, 4))])
    (row,) = json.loads(formatted(odd, "json"), parse_constant=pytest.fail)["rows"]
    assert row == {"a": "nan", "a_2": "inf", "b": "2024-01-02T03:04:00"}
    told = [json.loads(line) for line in formatted(answer(), "jsonl", intervals="columns").splitlines()]
    assert told[1] == {"city": "=1+1", "day": None, "n": -4, "n_low": -19, "n_high": 11}
    assert json.loads(formatted(answer(), "jsonl", intervals="none").splitlines()[0])["n"] == 2611


def test_parquet_and_arrow_keep_numbers_as_numbers(monkeypatch):
    parquet = pyarrow.parquet.read_table(io.BytesIO(formatted(answer(), "parquet")))
    arrow = pyarrow.ipc.open_file(formatted(answer(), "arrow")).read_all()
    for table in (parquet, arrow):
        assert table.column_names == ["city", "day", "n", "n_low", "n_high"]
        assert table.column("n").to_pylist() == [2611, -4]
    monkeypatch.setattr(tables, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    assert "pip install pyarrow" in raised(MissingExtra, lambda: formatted(answer(), "parquet"), match="pyarrow").fix


def test_what_is_no_format_and_what_a_format_cannot():
    assert "csv" in raised(BadParameter, lambda: formatted(answer(), "xml"), match="'xml' is no format").fix
    raised(BadParameter, lambda: formatted(answer(), "csv", intervals="inline"), match="'inline' in csv")
    text = formatted(answer(columns=("a|b",), rows=[("<b>|[x](y)\n*",)]), "markdown")
    assert text.splitlines() == [r"| a\|b |", "| --- |", r"| &lt;b\>\|\[x\](y)\\n\* |"]


def test_what_explanations_and_records_look_like():
    told = answer(columns=("explanation",), rows=[("ρ = 1 → ± 3",), ("\x1b[2J",)], is_text=True, release=None)
    assert formatted(told, "table") == "ρ = 1 → ± 3\n\\x1b[2J\n"
    assert formatted(told, "table", plain=True) == "rho = 1 -> plus or minus 3\n\\x1b[2J\n"
    assert summary(told) == []
    assert formatted(answer(), "records").splitlines() == [
        "── row 1",
        "city  Basel",
        "day   2024-01-01",
        "n     2\u2009611 ± 15",
        "── row 2",
        "city  =1+1",
        "day   NULL",
        "n     -4 ± 15 ⚠",
    ]
    assert formatted(answer(rows=[]), "records") == ""
    assert "\x1b" not in formatted(answer(columns=("a\x1b",), rows=[("b\x1b\n",)]), "records")


def test_what_it_cost_and_what_is_left():
    paid = answer(budget=Budget(total=Fraction(5), spent=Fraction(3, 2)), notes=("age counts within 0 and 110",))
    meaning, cost, note = summary(paid)
    assert meaning.startswith("2 rows · ± is 95 %")
    assert cost == "cost 0.05 · budget ▰▰▰▰▰▰▰▱▱▱ 3.50 of 5.00 left · release #42"
    assert note == "note: age counts within 0 and 110"
    assert all(line.isascii() for line in summary(paid, plain=True))
    again = answer(cost=Cost(epsilon=Fraction(0)))
    assert summary(again)[1] == "cost 0.00 · told again for nothing: release #42"


@pytest.mark.parametrize(
    ("rows", "all_of_them"),
    [([(NOISE,)], True), ([(NOISE,), (BASEL,)], False), ([(UNKNOWN,)], True), ([("Basel",)], False), ([], False)],
)
def test_whether_every_number_is_doubtful(rows, all_of_them):
    assert all_doubtful([answer(columns=("n",), rows=rows)]) is all_of_them


def test_what_shows_no_margin_is_doubtful_unless_a_cell_beside_it_is_not():
    note = "big is computed from noisy numbers and shows no margin"
    assert all_doubtful([answer(columns=("big",), rows=((True,),), notes=(note,))])
    assert not all_doubtful([answer(columns=("big", "n"), rows=((True, BASEL),), notes=(note,))])
    assert all_doubtful([answer(columns=("big", "n"), rows=((True, NOISE),), notes=(note,))])
    assert not all_doubtful([answer(columns=("big",), rows=((True,),), notes=("another note",))])


def test_symbols_become_words_and_names_stay():
    assert without_symbols("ε²/2, Δ₂, ½, ρ ≠ ∞") == "epsilon^2/2, Delta_2, 1/2, rho != infinity"
    assert (
        without_symbols("Zürich: ε ≤ 1, n ±60, … ± 3")
        == "Zürich: epsilon <= 1, n plus or minus 60, ... plus or minus 3"
    )


def test_a_text_is_a_text_in_every_form_for_people():
    told = answer(columns=("explanation",), rows=[("one",), ("two",)], is_text=True, release=None)
    assert formatted(told, "markdown") == "    one\n    two\n"
    assert formatted(told, "records") == formatted(told, "table")


def test_a_fraction_of_a_key_is_a_number_in_json():
    assert json.loads(formatted(answer(columns=("x",), rows=[(Fraction(1, 2),)]), "json"))["rows"] == [{"x": 0.5}]


EVIL = "<img src=x onerror=alert(1)>\"'\x1b[31m"


def shown(*rows, columns=("city", "n"), **said):
    return answer_of(columns, rows, release=4, **said)


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_no_key_no_name_and_no_note_is_markup():
    page = shown((EVIL, noisy(5, 1)), columns=(EVIL, "n"), notes=(EVIL,))._repr_html_()
    tags = Tags(page)
    assert tags.open == []
    assert {tag for tag, _ in tags.found} <= {"table", "thead", "tbody", "tr", "th", "td", "div", "span"}
    assert all(set(attributes) <= {"style", "role", "aria-label", "scope"} for _, attributes in tags.found)
    assert "\x1b" not in page


def test_numbers_are_said_aloud():
    page = shown(("Basel", noisy(2611, 15)), ("Bern", noisy(17, 40)), ("Chur", noisy(17, None)))._repr_html_()
    assert 'aria-label="2611 plus or minus 15">2\u2009611 ± 15</span>' in page
    assert 'aria-label="17 plus or minus 40, too noisy to use">17 ± 40 ⚠</span>' in page
    assert "plus or minus an unknown margin" in page


def test_doubt_is_hatched_and_marked_and_no_colour_is_fixed():
    page = table_page(("n",), [(noisy(17, 40),), (noisy(2611, 15),)])
    assert page.count("repeating-linear-gradient") == 1
    assert not re.search(r"(?<![-\w])color:|#[0-9a-f]{3,6}\b", page)


def test_the_budget_is_a_bar_with_words():
    budget = Budget(total=Fraction(2), spent=Fraction(1, 2), outlook="about 9 more queries")
    page = shown(("Basel", noisy(5, 1)), budget=budget)._repr_html_()
    assert 'value="0.750"' in page
    assert "cost 0.05 · 1.50 of 2.00 left · release #4" in page
    assert "about 9 more queries" in budget._repr_html_()
    assert Budget(total=Fraction(1), spent=Fraction(3))._repr_html_().count('value="0.000"') == 1
    again = replace(shown(("Basel", noisy(5, 1))), cost=Cost(epsilon=Fraction(0)))
    assert "told again for nothing: release #4" in again._repr_html_()
    assert "told again for nothing: release #4" in str(again)


def test_a_client_sees_the_same_table_and_long_answers_are_cut():
    served = Estimate(value=2611, margin=15, low=2596, high=2626)
    assert table_page(("n",), [(served,)]) == table_page(("n",), [(noisy(2611, 15),)])
    page = table_page(("n",), [(number,) for number in range(100)])
    assert page.count("<tr>") == 61
    assert "… 40 more rows" in page


def test_a_question_shows_its_price_before_it_is_run(ana):
    before = ana.budget.spent
    page = ana.query(
        "SELECT city AS \"<b>\", COUNT(*) AS n FROM patients WHERE city <> '<i>' GROUP BY city"
    )._repr_html_()
    assert "would cost 0.05, with 1.00 of 1.00 left" in page
    assert "<li>n ± 21</li>" in page
    assert "<i>" not in page
    assert Tags(page).open == []
    assert ana.budget.spent == before
    assert "would cost nothing" in ana.query("SELECT COUNT(*) FROM wards")._repr_html_()


def test_an_explanation_opens_section_by_section(ana):
    page = ana.explain('SELECT COUNT(*) AS "<i>" FROM patients')._repr_html_()
    tags = Tags(page)
    assert tags.open == []
    assert "<details open><summary>Promise</summary>" in page
    assert "<details><summary>Derivation</summary>" in page
    assert "<summary>Expected error (95 %)</summary>" in page
    assert [tag for tag, _ in tags.found].count("details") >= 6
    assert {tag for tag, _ in tags.found} == {"details", "summary", "pre"}
    assert "&lt;i&gt; ± 21" in page


def test_private_questions_are_explained_in_turn_as_text_and_lines_stay_lines(ana):
    sql = "WITH w AS PRIVATE (SELECT city, COUNT(*) AS c FROM patients GROUP BY city) SELECT MAX(c) AS m FROM w"
    page = ana.explain(sql)._repr_html_()
    assert Tags(page).open == []
    assert "PRIVATE QUESTION 1" in page
    inner = 'SELECT city AS "<i>\x1b[31m\u202eö", COUNT(*) AS c FROM patients GROUP BY city'
    explanation = ana.explain(f"WITH w AS PRIVATE ({inner}) SELECT MAX(c) AS m FROM w")
    assert "PRIVATE QUESTION 1: SELECT city AS" in explanation.text()
    assert "\x1b" not in explanation.text() + explanation._repr_html_()
    assert "<i>" not in explanation._repr_html_()
    assert explanation.text(ascii=True).isascii()
    assert answer_page(ana.sql("EXPLAIN PRIVACY SELECT COUNT(*) FROM patients")).startswith("<pre>PROMISE")
