"""`dpsql -c`: results on standard output, everything else beside it, and an end that scripts understand."""

import csv
import io
import json
import re
import sys
from fractions import Fraction

import pandas
import pyarrow.parquet
import pytest

import dpsql
from asked_clinic import COUNT
from dpsql.cli.main import main
from dpsql.errors import FrozenLedger, LedgerBroken, NotPermitted, OutOfTime
from in_this_process import serving
from tests.kits.cases import cases
from tests.kits.owners import owner_of


@pytest.fixture(scope="module")
def clinic():
    """The owner of fifty people, in memory."""
    rows = pandas.DataFrame({"id": range(50)})
    with owner_of(rows, person="id", unique=True, epsilon=1000, cost_per_query=1, noise="laplace") as owner:
        yield owner


@pytest.fixture
def ana(clinic, request):
    """Somebody new for each test, who may spend 3."""
    return clinic.grant(f"ana of {request.node.name}", budget=3)


@pytest.fixture
def ask(ana, capsys, monkeypatch):
    """The exit code, and what is said on both ways out. Where it is asked is a matter of other tests: here it is Ana,
    whatever the target."""
    monkeypatch.setattr(dpsql, "connect", lambda *_, **__: ana)

    def ask(*words):
        code = main([*map(str, words), "clinic.toml"])
        found = capsys.readouterr()
        return code, found.out, found.err

    return ask


def left(ana):
    return float(ana.budget.left)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def types(monkeypatch):
    """Somebody in front of a terminal, who types this."""

    def types(text="", stdin=Terminal):
        monkeypatch.setattr(sys, "stdin", stdin(text))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setenv("TERM", "dumb")

    return types


def test_json_has_all_of_it_errors_are_json_too_and_what_is_left_also_of_a_repeat(ask):
    code, out, err = ask("-c", COUNT, "--format", "json")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert (told["cost"]["epsilon"], told["budget"]) == (1, {"left": 2, "total": 3})
    assert json.loads(ask("-c", COUNT, "--format", "json")[1])["budget"] == told["budget"]
    assert set(told["rows"][0]["COUNT(*)"]) >= {"value", "low", "high", "margin"}
    code, out, err = ask("-c", "SELECT id FROM people", "--format", "json")
    assert (code, out) == (4, "")
    assert set(json.loads(err)) == {"code", "title", "where", "why", "fix", "try", "docs"}


def test_without_pyarrow_nothing_is_paid(ask, ana, tmp_path, monkeypatch):
    before = left(ana)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for form in ("parquet", "arrow"):
        code, _, err = ask("-c", COUNT, "--format", form, "--output", str(tmp_path / "answer"))
        assert code == 2
        assert "pip install pyarrow" in err
    assert left(ana) == before
    assert list(tmp_path.iterdir()) == []


def test_the_table_is_the_result_and_the_price_is_said_beside_it(ask):
    code, out, err = ask("-c", COUNT)
    assert code == 0
    assert "±" in out
    assert "cost" not in out
    assert "cost 1.00 · budget" in err
    assert "2.00 of 3.00 left" in err


def test_a_machine_reads_the_result_alone(ask):
    code, out, err = ask("-c", f"{COUNT.replace('(*)', '(*) AS n')}", "--format", "csv")
    head, (value, low, high) = list(csv.reader(io.StringIO(out)))
    assert (code, head) == (0, ["n", "n_low", "n_high"])
    assert float(low) < float(value) < float(high)
    assert "cost 1.00" in err
    assert ask("-c", COUNT, "--format", "csv", "--quiet")[2] == ""


def test_several_statements_share_what_was_set_and_the_first_error_ends_them(ask, ana):
    code, out, err = ask(
        "-c", "-- first\nSET dp.epsilon = 0.5", "-c", f"{COUNT}; {COUNT};", "-c", "SELECT x FROM people", "-c", COUNT
    )
    assert code == 3
    assert out.count("┌") == 2  # what is set is no result
    assert "dp.epsilon is 0.5" in err
    assert "cost 0.50" in err
    assert "told again for nothing" in err
    assert "DP401" in err
    assert left(ana) == 2.5


def test_questions_from_a_file_and_from_standard_input(ask, tmp_path, monkeypatch):
    (tmp_path / "q.sql").write_text(f"{COUNT}; SHOW dp.epsilon;")
    code, out, _ = ask("-f", tmp_path / "q.sql", "--format", "jsonl")
    count, shown = map(json.loads, out.splitlines())
    assert (code, list(count), shown["name"]) == (0, ["COUNT(*)"], "dp.epsilon")
    monkeypatch.setattr(sys, "stdin", io.StringIO(COUNT))
    assert ask("--format", "jsonl")[1] == out.splitlines(keepends=True)[0]  # stored: the very same numbers
    assert ask("-f", tmp_path / "none.sql")[0] == 2


def test_a_file_of_one_table_takes_one_answer(ask, ana, tmp_path):
    words = ["-c", f"SET dp.epsilon = 0.5; {COUNT}", "--format", "parquet", "--output", tmp_path / "n.parquet"]
    assert ask(*words, "-c", COUNT)[0] == 2
    assert left(ana) == 3
    assert ask(*words)[0] == 0
    assert pyarrow.parquet.read_table(tmp_path / "n.parquet").num_rows == 1


def test_a_dry_run_spends_nothing(ask, ana):
    code, out, _ = ask("-c", COUNT, "--dry-run")
    assert code == 0
    assert "would cost   1 of 3.00 left" in out
    # Laplace noise of scale 1 stays within ln 20 = 2.996 in 95 % of all cases; whole numbers within 3
    assert "margin       COUNT(*) ± 3" in out
    assert left(ana) == 3
    ask("-c", COUNT)
    assert "nothing: it is stored" in ask("-c", COUNT, "--dry-run")[1]


def test_a_limit_of_the_price_is_code_5_and_spends_nothing(ask, ana):
    code, out, err = ask("-c", COUNT, "--max-cost", "0.5")
    assert (code, out) == (5, "")
    assert "DP202" in err
    assert left(ana) == 3
    assert "± 30" in ask("-c", COUNT, "--within", "30")[1]
    assert "cost 0.25" in ask("-c", "SELECT COUNT(*) AS m FROM people WHERE id > 3", "--epsilon", "0.25")[2]


@pytest.mark.parametrize("words", [["--within", "0"], ["--within", "x"], ["--epsilon", "-1"], ["--max-cost", "nan"]])
def test_numbers_that_are_none_are_code_2(ask, words):
    code, out, err = ask("-c", COUNT, *words)
    assert (code, out) == (2, "")
    assert "DP410" in err


def test_only_noise_is_code_10_where_that_is_asked_for(ask):
    """Noise goes beyond such a margin once in 10⁹ times, and fifty people stand out of it."""
    noisy = ["-c", "SELECT COUNT(*) FROM people WHERE id < 0", "--confidence", "0.999999999"]
    assert ask(*noisy, "--strict-accuracy")[0] == 10
    assert ask(*noisy)[0] == 0
    assert ask(*noisy, "-c", COUNT, "--strict-accuracy")[0] == 0


def test_plain_is_ascii_on_both_ways_out_and_whoever_is_no_terminal_gets_the_name_as_it_is(ask):
    code, out, err = ask("-c", COUNT, "-c", f"EXPLAIN PRIVACY {COUNT}", "--plain")
    assert code == 0
    assert (out + err).isascii()
    assert "plus or minus" in out
    assert ask("-c", "SELECT id FROM people", "--plain")[2].isascii()
    _, out, _ = ask("-c", STEERING, "--format", "csv")
    assert next(csv.reader(io.StringIO(out)))[0] == "n\x1b]0;x\x07\u202e"


def test_the_same_over_a_socket(clinic, ana, tmp_path, command, monkeypatch):
    monkeypatch.setenv("DPSQL_TOKEN", clinic.keeper.admit(ana.name, role="analyst"))

    def ask(*words):
        return command([*words, f"unix:{tmp_path / 'door'}"])

    with serving(clinic, tmp_path / "door"):
        first = ask("-c", COUNT, "--format", "json")
        again = ask("-c", f"SET dp.epsilon = 1; {COUNT}")
        priced = ask("-c", COUNT, "--dry-run")
    assert json.loads(first.out)["cost"]["epsilon"] == 1
    assert "told again for nothing: release" in again.err
    assert "nothing: it is stored" in priced.out


def test_an_answer_is_drawn_into_a_file_or_below_the_table(ask, tmp_path, ana):
    assert ask("-c", COUNT, "--plot", tmp_path / "n.svg")[0] == 0
    assert (tmp_path / "n.svg").read_text().startswith("<?xml")
    code, out, _ = ask("-c", COUNT, "--plot", "-", "--plain")
    assert code == 0
    assert out.isascii()
    assert len(out.splitlines()) > 6  # the table has five
    assert left(ana) == 2


@pytest.mark.parametrize(
    "words", [["--plot", "n.doc"], ["--plot", "-", "--format", "csv"], ["--plot", "n.svg", "-c", COUNT]]
)
def test_what_cannot_be_drawn_costs_nothing(ask, ana, words):
    assert ask("-c", COUNT, *words)[0] == 2
    assert left(ana) == 3


def test_a_picture_that_nothing_here_draws_costs_nothing(ask, ana, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = ask("-c", COUNT, "--plot", tmp_path / "n.png")
    assert (code, out) == (2, "")
    assert "DP420" in err
    assert left(ana) == 3
    assert ask("-c", COUNT, "--plot", tmp_path / "n.txt")[0] == 0


STEERING = COUNT.replace("(*)", '(*) AS "n\x1b]0;x\x07\u202e"')


@pytest.mark.parametrize("words", [["--dry-run"], *(["--format", form] for form in ("csv", "json", "jsonl", "table"))])
def test_no_name_steers_the_terminal(ask, monkeypatch, words):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, err = ask("-c", STEERING, *words)
    assert code == 0
    assert not set(out + err) & set("\x1b\x07\u202e\r")
    assert "n\\" in out  # it is shown by its number


@cases(__file__, "words=", "typed=", "code=", "spent=")
def test_on_a_terminal_a_price_that_was_not_said_is_asked_for(ask, ana, types, words, typed, code, spent):
    types(typed)
    assert ask("-c", COUNT, *words)[0] == code
    assert (left(ana) < 3) is spent


@pytest.mark.parametrize(("typed", "spent"), [("n\n", False), ("y\n", True)])
def test_a_margin_in_the_question_itself_is_asked_for_too(ask, ana, types, typed, spent):
    types(typed)
    _, _, err = ask("-c", f"{COUNT} WITHIN 60")
    # Laplace noise of scale s stays within s · ln 20 in 95 % of all cases: ± 60 costs about ln 20 / 60 = 0.0499
    assert re.search(r"Costs 0\.0(49|50)\d* of your budget; 3\.00 is left\. Run\? \[Y/n\]", err)
    assert (left(ana) < 3) is spent


def test_ctrl_c_at_a_price_says_that_nothing_was_spent(ask, ana, types):
    class Pressed(Terminal):
        def readline(self, *_):
            raise KeyboardInterrupt

    types(stdin=Pressed)
    code, _, err = ask("-c", COUNT, "--epsilon", "0.7")
    assert code == 130
    assert "Run? [Y/n]" in err
    assert "The question was not asked, and nothing was spent on it" in err
    assert "charged" not in err
    assert left(ana) == 3


@pytest.mark.parametrize("told", [Fraction(7, 10), Fraction(1, 10)])
def test_a_price_that_has_changed_since_it_was_told_is_not_paid(types, ask, ana, monkeypatch, told):
    """Also one that was so small that nobody was asked."""
    types("y\n")
    monkeypatch.setattr("dpsql.session.analyst.Analyst.cost", lambda *_, **__: told)
    code, _, err = ask("-c", COUNT)
    assert code == 5
    assert "DP202" in err
    assert left(ana) == 3


def test_on_a_terminal_invented_rows_need_no_consent(ask, ana, types):
    types()
    code, out, _ = ask("-c", "SIMULATE SELECT * FROM people LIMIT 3", "--format", "csv")
    assert (code, out.splitlines()[0], len(out.splitlines())) == (0, "id,invented", 4)
    assert ask("-c", "SELECT * FROM people")[0] == 4
    assert left(ana) == 3


@pytest.mark.parametrize(("words", "price"), [(["--max-cost", "0.01"], "0.01"), (["--max-cost", "0.5"], "0.5")])
def test_what_is_proposed_on_a_terminal_is_within_what_was_allowed(ask, types, words, price):
    types()
    _, _, err = ask("-c", "SELECT MAX(id) FROM people COST 2", *words)
    assert re.search(rf"Try .*SELECT COUNT.* COST {price}$", err, re.MULTILINE)
    _, _, err = ask("-c", "SELECT COUNT(*) FROM peopl COST 2", *words)
    assert re.search(rf"Try .*FROM people COST {price}$", err, re.MULTILINE)


def test_on_a_terminal_what_is_too_dear_is_proposed_at_a_price_that_can_be_paid(ask, types):
    types()
    assert re.search(r"Try .*SELECT COUNT.* COST \d", ask("-c", "SELECT MAX(id) FROM people COST 5")[2])


@pytest.mark.parametrize("words", [[], ["--max-cost", "2"]])
@pytest.mark.parametrize("error", [LedgerBroken, FrozenLedger, NotPermitted, OutOfTime])
def test_what_had_no_price_when_it_was_looked_for_is_not_paid(types, ask, ana, monkeypatch, error, words):
    def refused(*_, **__):
        raise error("not now", why="as a test", fix="none")

    types()
    monkeypatch.setattr("dpsql.session.analyst.Analyst.cost", refused)
    code, _, err = ask("-c", COUNT, *words)
    assert code == 5
    assert "DP202" in err
    assert left(ana) == 3


def test_ctrl_c_while_the_engine_works_is_code_130(ask, monkeypatch):
    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpsql.session.analyst.Analyst.sql", pressed)
    code, out, err = ask("-c", COUNT, "-c", COUNT)
    assert (code, out) == (130, "")
    assert err.count("stays charged") == 1


@pytest.mark.parametrize(
    ("words", "target", "source"),
    [([], "x/clinic/dpsql.toml", "clinic"), (["--plain"], "x/other.toml", "other"), ([], "demo", "demo")],
)
def test_without_a_question_a_terminal_gets_the_shell(ana, monkeypatch, words, target, source):
    """The shell itself is driven through a terminal elsewhere; here, what it is handed."""
    handed = {}

    def run(asker, **said):
        handed.update(said, price=float(asker.cost(COUNT)), name=asker.name)
        return 7

    monkeypatch.setattr(dpsql, "connect", lambda *_, **__: ana)
    monkeypatch.setattr("dpsql.cli.shell.run", run)
    monkeypatch.setattr(sys, "stdin", Terminal())
    assert main(["--epsilon", "0.25", "--no-history", *words, target]) == 7
    assert (handed["source"], handed["plain"], handed["history"]) == (source, bool(words), False)
    assert (handed["price"], handed["name"]) == (0.25, ana.name)


def test_what_may_be_spent_holds_also_where_the_shell_connects_again(clinic, ana, tmp_path, monkeypatch):
    monkeypatch.setenv("DPSQL_TOKEN", clinic.keeper.admit(ana.name, role="analyst"))
    monkeypatch.setattr(sys, "stdin", Terminal())
    seen = []

    def run(asker, *, reconnect, **_):
        with reconnect() as again:
            for each in (asker, again):
                seen.append([(name, value) for name, value, _ in each.sql("SHOW ALL").rows])
        return 0

    monkeypatch.setattr("dpsql.cli.shell.run", run)
    with serving(clinic, tmp_path / "door"):
        target = f"unix:{tmp_path / 'door'}"
        assert main(["--max-cost", "0.5", "--epsilon", "0.25", "--confidence", "0.9", target]) == 0
    first, again = map(dict, seen)
    assert (float(first["dp.max_cost"]), float(first["dp.epsilon"]), float(first["dp.confidence"])) == (0.5, 0.25, 0.9)
    assert again == first


def test_what_belongs_to_a_question_is_not_passed_over(ask, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal())
    code, _, err = ask("--dry-run")
    assert code == 2
    assert "--dry-run was said, and no question" in err
