"""What a notebook shows: escaped, said aloud, doubtful cells hatched, a bar for the budget."""

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

from dpsql.session.answer_value import Cost
from dpsql.session.budget import Budget
from dpsql.session.formats import answer_page, table_page
from dpsql.session.noisy import Estimate
from tests.kits.released import answer_of, noisy

EVIL = "<img src=x onerror=alert(1)>\"'\x1b[31m"


def answer(*rows, columns=("city", "n"), **said):
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
    page = answer((EVIL, noisy(5, 1)), columns=(EVIL, "n"), notes=(EVIL,))._repr_html_()
    tags = Tags(page)
    assert tags.open == []
    assert {tag for tag, _ in tags.found} <= {"table", "thead", "tbody", "tr", "th", "td", "div", "span"}
    assert all(set(attributes) <= {"style", "role", "aria-label", "scope"} for _, attributes in tags.found)
    assert "\x1b" not in page


def test_numbers_are_said_aloud():
    page = answer(("Basel", noisy(2611, 15)), ("Bern", noisy(17, 40)), ("Chur", noisy(17, None)))._repr_html_()
    assert 'aria-label="2611 plus or minus 15">2\u2009611 ± 15</span>' in page
    assert 'aria-label="17 plus or minus 40, too noisy to use">17 ± 40 ⚠</span>' in page
    assert "plus or minus an unknown margin" in page


def test_doubt_is_hatched_and_marked_and_no_colour_is_fixed():
    page = table_page(("n",), [(noisy(17, 40),), (noisy(2611, 15),)])
    assert page.count("repeating-linear-gradient") == 1
    assert not re.search(r"(?<![-\w])color:|#[0-9a-f]{3,6}\b", page)


def test_the_budget_is_a_bar_with_words():
    budget = Budget(total=Fraction(2), spent=Fraction(1, 2), outlook="about 9 more queries")
    page = answer(("Basel", noisy(5, 1)), budget=budget)._repr_html_()
    assert 'value="0.750"' in page
    assert "cost 0.05 · 1.50 of 2.00 left · release #4" in page
    assert "about 9 more queries" in budget._repr_html_()
    assert Budget(total=Fraction(1), spent=Fraction(3))._repr_html_().count('value="0.000"') == 1
    again = replace(answer(("Basel", noisy(5, 1))), cost=Cost(epsilon=Fraction(0)))
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
