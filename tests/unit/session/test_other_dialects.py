"""What analysts of other tools write: the refusal marks it, says how it is written here, and its rewrite works."""

import time

import pytest

import dpsql
from dpsql.errors import NotUnderstood
from dpsql.sql.other_dialects import in_other_words, with_our_calls


@pytest.fixture(scope="module")
def ana():
    with dpsql.demo() as analyst:
        yield analyst


def refusal(ana, sql):
    with pytest.raises(dpsql.DpsqlError) as caught:
        ana.query(sql)
    assert caught.value.why
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    ("sql", "marked", "rewrite"),
    [
        ("SELECT TOP 3 city, COUNT(*) AS n FROM patients GROUP BY city ORDER BY n DESC", "SELECT TOP 3",
         "SELECT city, COUNT(*) AS n FROM patients GROUP BY city ORDER BY n DESC LIMIT 3"),
        ("SELECT TOP (3) city, COUNT(*) FROM patients GROUP BY city COST 0.1", "SELECT TOP (3)",
         "SELECT city, COUNT(*) FROM patients GROUP BY city LIMIT 3 COST 0.1"),
        ("SELECT TOP 3 PERCENT city, COUNT(*) FROM patients GROUP BY city", "SELECT TOP 3 PERCENT", None),
        ("SELECT AVG(charge) / SAFE_DIVIDE(SUM(charge), 2) FROM visits", "SAFE_DIVIDE(SUM(charge), 2)",
         "SELECT AVG(charge) / ((SUM(charge)) / (2)) FROM visits"),
        ("SELECT COUNT(*) FROM visits WHERE day > DATE('now')", "DATE('now')", None),
        ("SELECT AVG(`a``ge`) FROM patients", "`a`", None),
        ("SELECT `city`, COUNT(*) FROM `patients` GROUP BY `city`", "`city`",
         "SELECT city, COUNT(*) FROM patients GROUP BY city"),
        ("SELECT COUNT(*) FROM [patients] WHERE [age] > 3", "[patients]",
         "SELECT COUNT(*) FROM patients WHERE age > 3"),
        ("SELECT COUNT(*) FROM patients WHERE city = ‘Bern’", "‘Bern’",
         "SELECT COUNT(*) FROM patients WHERE city = 'Bern'"),
        ("SELECT COUNT(*) AS “all of them” FROM patients", "“all of them”",
         'SELECT COUNT(*) AS "all of them" FROM patients'),
        ("SELECT COUNT(*) FROM patients WHERE age ≥ 65 AND city <> '≥'", "≥",
         "SELECT COUNT(*) FROM patients WHERE age >= 65 AND city <> '≥'"),
        ("SELECT COUNT(*) FROM patients p LEFT ANTI JOIN visits v ON p.patient_id = v.patient_id WHERE p.flu",
         "LEFT ANTI JOIN visits",
         ("SELECT COUNT(*) FROM patients p WHERE p.flu AND NOT EXISTS (SELECT 1 FROM visits v "
          "WHERE p.patient_id = v.patient_id)")),
        ("SELECT COUNT(*) FROM patients SEMI JOIN visits USING (patient_id)", "SEMI JOIN visits",
         ("SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM visits WHERE patients.patient_id = "
          "visits.patient_id)")),
        ("SELECT city, AVG(age), sex FROM patients GROUP BY ALL", "GROUP BY ALL",
         "SELECT city, AVG(age), sex FROM patients GROUP BY 1, 3"),
        ("SELECT COUNT(*) FROM patients WITH (NOLOCK)", "patients WITH (NOLOCK)", "SELECT COUNT(*) FROM patients"),
        ("SELECT COUNT(*) FROM patients WITH (READPAST)", "patients WITH (READPAST)", "SELECT COUNT(*) FROM patients"),
        ("SELECT COUNT(*) FROM [patients] WHERE city = '[old town]'", "[patients]",
         "SELECT COUNT(*) FROM patients WHERE city = '[old town]'"),
        ("SELECT COUNT(*) FROM [patients] WHERE city IN ['Bern', 'Chur']", "[patients]", None),
        ("SELECT city, COUNT(*) FROM patients WHERE city <> 'LIMIT 1, 2' GROUP BY city LIMIT 1, 2", "LIMIT 1, 2",
         "SELECT city, COUNT(*) FROM patients WHERE city <> 'LIMIT 1, 2' GROUP BY city LIMIT 2 OFFSET 1"),
        ("SELECT city, COUNT(*) FROM patients GROUP BY city LIMIT 1, 2", "LIMIT 1, 2",
         "SELECT city, COUNT(*) FROM patients GROUP BY city LIMIT 2 OFFSET 1"),
        ("SELECT DATE_TRUNC(v.day, MONTH) AS m, COUNT(*) FROM visits v GROUP BY m", "DATE_TRUNC(v.day, MONTH)",
         "SELECT DATE_TRUNC('month', v.day) AS m, COUNT(*) FROM visits v GROUP BY m"),
        ("SELECT DATE_TRUNC(day, MONTH) AS m, COUNT(*) FROM visits GROUP BY m", "DATE_TRUNC(day, MONTH)", None),
        ("SELECT AVG(DATE_DIFF(CURRENT_DATE(), v.day, DAY)) FROM visits v", "DATE_DIFF(CURRENT_DATE(), v.day, DAY)",
         "SELECT AVG(DATE_DIFF('day', v.day, CURRENT_DATE)) FROM visits v"),
        ("SELECT COUNT(*) FROM visits WHERE day >= DATEADD(month, -3, GETDATE())", "DATEADD(month, -3, GETDATE())",
         "SELECT COUNT(*) FROM visits WHERE day >= CURRENT_DATE - INTERVAL 3 MONTH"),
        ("SELECT COUNT(*) FROM visits WHERE day >= DATE_SUB('2025-05-05', INTERVAL 30 DAY)",
         "DATE_SUB('2025-05-05', INTERVAL 30 DAY)",
         "SELECT COUNT(*) FROM visits WHERE day >= '2025-05-05' - INTERVAL 30 DAY"),
        ("SELECT SAFE_DIVIDE(SUM(charge), COUNT(*)) FROM visits", "SAFE_DIVIDE(SUM(charge), COUNT(*))",
         "SELECT ((SUM(charge)) / (COUNT(*))) FROM visits"),
        ("SELECT IFF(age > 30, 'a,b', 'c') AS g, COUNT(*) FROM patients GROUP BY 1", "IFF(age > 30, 'a,b', 'c')",
         "SELECT IF(age > 30, 'a,b', 'c') AS g, COUNT(*) FROM patients GROUP BY 1"),
        ("SELECT ISNULL(city, '?') AS c, COUNT(*) FROM patients GROUP BY ISNULL(city, '?')", "ISNULL(city, '?')",
         "SELECT COALESCE(city, '?') AS c, COUNT(*) FROM patients GROUP BY COALESCE(city, '?')"),
        ("DESCRIBE patients", "DESCRIBE patients", "SELECT * FROM dp.columns WHERE table_name = 'patients'"),
        ("SHOW COLUMNS FROM Patients;", "SHOW COLUMNS FROM Patients;",
         "SELECT * FROM dp.columns WHERE table_name = 'patients'"),
        ("SELECT COUNT(*) FROM patients WITHIN 5%", "WITHIN 5%", None),
        ("SELECT COUNT(*) FROM patients WITHIN 5 PERCENT", "WITHIN 5 PERCENT", None),
        ("SELECT COUNT(*) FROM {{ ref('patients') }}", "{{ ref('patients') }}", None),
        ("SELECT COUNT(*) FROM patients WHERE city = %(city)s", "%(city)s", None),
        ("\\d patients", "\\d patients", None),
        ("SELECT COUNT(*) FROM information_schema.tables", "information_schema.tables", None),
        ("SELECT city, COUNT(*) FROM patients GROUP BY ROLLUP(city)", "ROLLUP(city)", None),
        ("SELECT * EXCEPT (name) FROM patients", "* EXCEPT (name)", None),
        ("SELECT COUNT(*) FROM patients TABLESAMPLE (10 PERCENT)", "TABLESAMPLE (10 PERCENT)", None),
        ("SELECT DISTINCT ON (city) * FROM patients", "DISTINCT ON (city)", None),
        ("SELECT DATE_TRUNC(day, WEEK) AS w, COUNT(*) FROM visits GROUP BY w", "DATE_TRUNC(day, WEEK)", None),
    ],
)  # fmt: skip
def test_it_is_marked_and_written_as_it_is_here(ana, sql, marked, rewrite):
    error = refusal(ana, sql)
    assert sql[slice(*error.at)] == marked
    assert error.try_sql == rewrite
    if rewrite is not None:
        ana.query(rewrite)


def test_a_share_of_the_answer_is_no_margin(ana):
    error = refusal(ana, "SELECT COUNT(*) FROM patients WITHIN 5%")
    assert "not a share of the answer" in error.what
    assert "WITHIN 50" in error.fix


def test_typographic_quotes_inside_of_text_are_text(ana):
    ana.query("SELECT COUNT(*) FROM patients WHERE city = 'the ‘old’ town'")
    error = refusal(ana, "SELECT COUNT(*) FROM patients WHERE town = 'the ‘old’ town'")
    assert error.what == "there is no column town in patients"


def test_a_mistake_elsewhere_keeps_its_own_words(ana):
    """A column may be called top, and a function of ours stay as it is."""
    error = refusal(ana, "SELECT COUNT(*) AS top, DATE_TRUNC('month', day) FROM visits GROUP BY 2 HAVING nothing > 3")
    assert "nothing" in error.what


@pytest.mark.parametrize(
    "call", ["FIRST_VALUE(city)", "AGE(day)", "DECODE(city, 'a', 1)", "WIDTH_BUCKET(age, 0, 9, 3)"]
)
def test_what_is_not_alike_is_not_guessed(ana, call):
    assert "did you mean" not in refusal(ana, f"SELECT {call} FROM visits JOIN patients USING (patient_id)").fix


@pytest.mark.parametrize("depth", [40, 2_000])
def test_calls_nested_too_deep_keep_their_refusal(ana, depth):
    error = refusal(ana, f"SELECT SUM({'IFF(flu, 1, ' * depth}0{')' * depth}) FROM patients")
    assert "write IF(" not in error.fix


@pytest.mark.parametrize(
    ("start", "filling", "end"),
    [
        ("SELECT TOP", " ", "x FROM t"),
        ("SELECT 1 FROM t", " ", "; WITH (NOLOCK)"),
        ("/*", "a", "*/ SELECT 1 FROM t WITH (NOLOCK)"),
        ("SELECT 1 FROM p SEMI JOIN q", " ", "x y"),
        ("SELECT 1 FROM p", " ", "SEMI JOIN q x y"),
        ("SELECT `", "`", ""),
        ("", "CUBE (", ""),
    ],
)
def test_advice_takes_no_longer_than_its_text_is_long(start, filling, end):
    """Milliseconds; seconds where a pattern looks at the rest of the text from each place of it."""
    text = f"{start}{filling * (19_500 // len(filling))}{end}"
    began = time.process_time()
    in_other_words(NotUnderstood("a", why="b", fix="c", at=(0, 1)), text)
    assert time.process_time() - began < 0.8


def test_calls_within_calls_are_rewritten_once():
    """Of 18 calls without an equal here the innermost was rewritten 2^18 times."""
    text = f"{'DATEPART(' * 18}ISNULL(a, b){')' * 18}"
    began = time.process_time()
    assert with_our_calls(text) == text.replace("ISNULL", "COALESCE")
    assert time.process_time() - began < 0.8
