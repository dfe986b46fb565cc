"""The magics in a shell of IPython, as a cell runs them."""

import threading

import pandas
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import dpsql
from tests.kits.cases import cases

COUNT = "SELECT COUNT(*) AS n FROM people"
BY_CITY = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"


@pytest.fixture(scope="module")
def shell():
    config = Config()
    config.HistoryManager.enabled = False
    return InteractiveShell(config=config)


@pytest.fixture(scope="module")
def owner():
    with dpsql.open(":memory:", threads=1) as owner:
        frame = pandas.DataFrame({"id": range(400), "age": [30] * 400, "city": ["Basel", "Bern"] * 200})
        owner.register(
            "people", frame, person="id", unique=True, hidden=["id"],
            bounds={"age": (0, 100)}, keys={"city": ["Basel", "Bern"]},
        )  # fmt: skip
        owner.promise(epsilon=500)
        owner.defaults(cost_per_query=1, max_keys=10, noise="laplace")
        yield owner


@pytest.fixture
def ana(shell, owner, request):
    """A new grant for every test: what another test has asked is not known to it."""
    shell.user_ns["ana"] = ana = owner.grant(f"ana of {request.node.name}", budget=10)
    shell.run_line_magic("reload_ext", "dpsql")
    shell.run_line_magic("dpsql", "ana")
    return ana


@pytest.fixture
def cell(shell, ana):
    """What running a cell gives: the value and what it shows."""

    def run(source):
        with capture_output() as shown:
            done = shell.run_cell(source)
        return done, shown

    return run


def test_a_line_answers(cell, ana):
    done, shown = cell(f"%sql {COUNT}")
    assert done.success
    assert isinstance(done.result, dpsql.Answer)
    assert ana.budget.spent == 1
    assert "cost 1.00" in shown.stdout


def test_a_cell_answers_within_what_it_says(cell, ana):
    done, _ = cell(f"%%sql --within 40 --confidence 0.9\n{BY_CITY}\n")
    assert [each.margin <= 40 for each in done.result["n"]] == [True, True]
    assert done.result.confidence * 10 == 9
    assert ana.budget.spent < 1  # ±40 is wider than what 1 buys


@pytest.mark.parametrize("option", ["--cost 0.5", "--epsilon 0.5", "--epsilon=0.5"])
def test_a_price_can_be_said(cell, ana, option):
    done, _ = cell(f"%sql {option} {COUNT}  -- a comment of SQL")
    assert done.success
    assert float(ana.budget.spent) == 0.5


def test_a_limit_stops_before_anything_is_spent(cell, ana):
    done, _ = cell(f"%sql --max-cost 0.5 {COUNT}")
    assert done.error_in_exec.code == "DP202"
    assert ana.budget.spent == 0


@pytest.mark.parametrize(
    "source", [f"%sql flu << {COUNT}", f"%%sql flu <<\n{COUNT}", f"%%sql flu << --cost 1\n{COUNT}"]
)
def test_an_answer_goes_into_a_variable_and_its_price_is_told(cell, shell, source):
    done, _ = cell(source)
    assert repr(done.result) == "flu: 1 row · cost 1.00"
    assert shell.user_ns["flu"].columns == ("n",)


def test_price_and_explanation_are_free(cell, ana):
    price, _ = cell(f"%sqlcost --epsilon 2 {BY_CITY}")
    assert dict(price.result)["cost"] == "2"
    explained, _ = cell(f"%%sqlexplain\n{BY_CITY}")
    assert "PROMISE" in str(explained.result)
    budget, _ = cell("%budget")
    assert budget.result.left == 10
    assert ana.budget.spent == 0


def test_what_is_set_in_a_cell_holds_in_the_next(cell, ana):
    cell("%sql SET dp.epsilon = 0.25")
    cell(f"%sql {COUNT}")
    assert float(ana.budget.spent) == 0.25


def test_of_several_statements_all_are_shown_and_the_last_is_the_answer(cell, shell, ana):
    done, shown = cell(f"%%sql both << --max-cost 0.3\nSET dp.epsilon = 0.25;\n{COUNT};\n{BY_CITY};\n")
    assert done.success
    assert "dp.epsilon" in shown.stdout
    assert shown.stdout.count("cost 0.25") == 2
    assert shell.user_ns["both"].columns == ("city", "n")
    assert float(ana.budget.spent) == 0.5
    done, _ = cell(f"%%sql --within 90\nSET dp.confidence = 0.9; {COUNT} -- all")
    assert done.result.confidence * 10 == 9
    done, shown = cell(f"%%sql --within 5\n{COUNT}; {BY_CITY}")
    assert "said of several questions" in shown.stdout
    assert float(ana.budget.spent) == 0.5


def test_a_refusal_is_shown_as_text_and_the_cell_fails(cell, ana):
    done, shown = cell("%sql SELECT * FROM people")
    assert done.error_in_exec.code == "DP101"
    for word in ("DP101", "Why", "Fix"):
        assert word in shown.stdout
    assert "Traceback" not in shown.stdout
    assert "magics.py" not in shown.stdout


@cases(__file__, "source=", "said")
def test_mistakes_are_told_and_cost_nothing(cell, ana, source, said):
    done, shown = cell(source)
    assert isinstance(done.error_in_exec, dpsql.DpsqlError)
    assert said in shown.stdout
    assert ana.budget.spent == 0


def test_braces_and_dollars_of_sql_are_left_alone(cell, shell):
    shell.user_ns["x"] = "Bern"
    done, shown = cell("%sql SELECT COUNT(*) AS n FROM people WHERE city = '{x}$x'")
    assert done.success, shown.stdout


def test_another_sql_magic_stays_and_ours_is_said(cell, shell, ana):
    shell.run_line_magic("unload_ext", "dpsql")
    shell.register_magic_function(lambda line: "theirs", magic_kind="line", magic_name="sql")
    try:
        _, shown = cell("%load_ext dpsql\n%dpsql ana")
        assert "%%dpsql" in shown.stdout
        assert cell("%sql SELECT 1")[0].result == "theirs"
        assert cell(f"%%dpsql\n{COUNT}")[0].result.columns == ("n",)
        shell.run_line_magic("unload_ext", "dpsql")
        assert "sql" in shell.magics_manager.magics["line"]
        assert "budget" not in shell.magics_manager.magics["line"]
    finally:
        del shell.magics_manager.magics["line"]["sql"]


def test_an_answer_is_drawn_with_its_margins(cell, ana):
    done, shown = cell(f"%%sql --plot\n{BY_CITY}")
    assert isinstance(done.result, dpsql.Answer)
    assert "n by city" in shown.stdout
    cell(f"%sql cities << {BY_CITY}")
    spent = ana.budget.spent
    for line in ("cities", "bar cities", "dot cities"):
        done, _ = cell(f"%sqlplot {line}")
        assert "Basel" in repr(done.result)
        assert "±" in repr(done.result)
    assert cell("%sqlplot pie cities")[0].error_in_exec.code == "DP410"
    assert ana.budget.spent == spent


def test_over_a_socket_it_is_the_same(cell, shell, owner, tmp_path, monkeypatch):
    owner.grant("bob", budget=10)
    monkeypatch.setenv("DPSQL_TOKEN", owner.keeper.admit("bob", role="analyst"))
    server, ready = dpsql.SocketServer(owner, tmp_path / "door"), threading.Event()
    serving = threading.Thread(target=server.serve, kwargs={"ready": ready.set})
    serving.start()
    try:
        assert ready.wait(60)
        done, _ = cell(f"%dpsql unix:{tmp_path}/door")
        assert repr(done.result).startswith("connected as bob")
        assert dict(cell(f"%sqlcost --epsilon 2 {BY_CITY}")[0].result)["cost"] == "2"
        assert "PROMISE" in str(cell(f"%sqlexplain {BY_CITY}")[0].result)
        done, _ = cell(f"%%sql cities << --within 40\n{BY_CITY}")
        assert repr(done.result).startswith("cities: 2 rows · cost 0.")
        assert list(shell.user_ns["cities"].df()["city"]) == ["Basel", "Bern"]
        assert "Basel" in shell.user_ns["cities"]._repr_html_()
        assert "±" in repr(cell("%sqlplot cities")[0].result)
        refused, shown = cell("%sql SELECT * FROM people")
        assert refused.error_in_exec.code == "DP101"
        assert "Traceback" not in shown.stdout
        assert "of 10.00" in repr(cell("%budget")[0].result)
        cell("%dpsql ana")
    finally:
        server.stop()
        serving.join()


def test_the_demo_is_connected_to_by_its_name(cell, shell):
    done, _ = cell("%dpsql demo")
    assert repr(done.result).startswith("connected as ana: Budget(")
    cell("%sql flu << SELECT COUNT(*) AS n FROM patients WHERE flu")
    assert shell.user_ns["flu"].release is not None
    done, _ = cell("%dpsql nowhere.txt")
    assert done.error_in_exec.code == "DP410"
    assert cell("%sql SELECT COUNT(*) AS n FROM patients WHERE flu")[0].success  # the connection before stays


def test_without_a_connection_the_way_to_one_is_said(cell, shell):
    shell.run_line_magic("reload_ext", "dpsql")
    done, shown = cell(f"%sql {COUNT}")
    assert done.error_in_exec.code == "DP602"
    assert "%dpsql demo" in shown.stdout
