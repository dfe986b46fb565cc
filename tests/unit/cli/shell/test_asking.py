"""What is paid in a shell was agreed to; Ctrl-C stops what runs, and nothing is cut off in the middle of a payment."""

import _thread
import threading
from fractions import Fraction

import pytest

import dpsql
from dpsql.cli.shell import asking
from dpsql.cli.shell.asker import Offer
from dpsql.cli.shell.asking import Stopped, ask, interruptible
from dpsql.cli.shell.loop import answer
from dpsql.errors import BudgetExhausted, EngineFailed, OverLimit, RowLevel
from in_this_process import serving
from tests.kits.refusals import raised

COUNT = "SELECT COUNT(*) AS n FROM people"


def spent(scene):
    return scene.shell.asker.budget.spent


def test_an_ordinary_question_is_not_asked_about_and_one_that_does_not_fit_is_refused(scene):
    ask(scene.shell, COUNT)
    assert scene.asked == []
    assert spent(scene) == Fraction(1, 20)
    assert "cost 0.05 · budget" in scene.said()
    raised(BudgetExhausted, lambda: ask(scene.shell, f"{COUNT} COST 2"))
    assert scene.asked == []
    raised(RowLevel, lambda: interruptible(scene.shell, lambda: scene.shell.asker.sql("SELECT age FROM people")))


@pytest.mark.parametrize(("said", "paid"), [("", True), ("Y", True), ("yes", True), ("n", False), ("x", False)])
def test_a_dear_question_is_paid_where_they_say_so(scene, said, paid):
    scene.answers = [said]
    ask(scene.shell, f"{COUNT} COST 0.3")
    margin = scene.shell.asker.query(f"{COUNT} COST 0.3").margins["n"]
    assert scene.asked == [f"Costs 0.30 of your budget (margin ± {margin}); 1.00 is left. Run? [Y/n] "]
    assert (spent(scene) > 0) is paid
    assert ("Nothing was spent." in scene.said()) is not paid


def test_leaving_the_question_is_a_no_and_ctrl_c_buys_nothing(scene, monkeypatch):
    ask(scene.shell, f"{COUNT} WITHIN 500")
    assert len(scene.asked) == 1

    def pressed(asker, sql):
        _thread.interrupt_main()
        return Offer(cost=Fraction(1, 20), margins={})

    monkeypatch.setattr(asking, "offered", pressed)
    raised(Stopped, lambda: ask(scene.shell, COUNT))
    assert spent(scene) == 0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("offered", lambda asker, sql: Offer(cost=Fraction(1, 100), margins={})),  # it has become dearer since
        ("first_word", lambda sql: "SHOW"),  # as if a way to ask were forgotten here
    ],
)
def test_what_was_not_told_is_not_paid(scene, monkeypatch, name, told):
    monkeypatch.setattr(asking, name, told)
    raised(OverLimit, lambda: ask(scene.shell, COUNT))
    assert spent(scene) == 0


def test_a_repeat_is_free_and_says_of_what(scene):
    ask(scene.shell, COUNT)
    release = scene.shell.last.release
    scene.said()
    scene.shell.ask_above = Fraction(0)
    ask(scene.shell, COUNT)
    text = scene.said()
    assert scene.asked == []
    assert f"told again for nothing: release #{release}" in text
    assert "0.95 of 1.00 left" in text


def test_a_refusal_is_written_down_once(owner, scene):
    raised(RowLevel, lambda: ask(scene.shell, "SELECT age FROM people"))
    written = [row for row in owner.keeper.rows() if row.as_json()["who"] == scene.shell.asker.name]
    assert [row.as_json()["kind"] for row in written] == ["grant", "refuse"]


def test_explanations_and_settings_are_free_and_are_no_last_question(scene):
    ask(scene.shell, COUNT)
    for sql in (f"EXPLAIN PRIVACY {COUNT}", "SET dp.epsilon = 0.1", f"DRY RUN {COUNT} COST 0.9", "SHOW ALL"):
        ask(scene.shell, sql)
    assert (scene.asked, scene.shell.last_sql, spent(scene)) == ([], COUNT, Fraction(1, 20))


def test_ctrl_c_interrupts_until_the_work_has_ended_and_what_ends_all_the_same_is_told(scene, monkeypatch):
    stopped = threading.Event()
    monkeypatch.setattr(type(scene.shell.asker), "interrupt", lambda asker: stopped.set())

    def work():
        _thread.interrupt_main()
        assert stopped.wait(30)
        return "told"

    def failing():
        raise EngineFailed(work(), why="w", fix="f")

    raised(Stopped, lambda: interruptible(scene.shell, failing))
    stopped.clear()
    assert interruptible(scene.shell, work, paid=True) == "told"
    stopped.clear()
    raised(Stopped, lambda: interruptible(scene.shell, work))  # a price that is not wanted any more


def test_a_lost_connection_is_made_again(owner, scene_of, tmp_path):
    owner.grant("bea", budget=1)
    token = owner.keeper.admit("bea", role="analyst")

    def connected():
        return dpsql.connect(socket=tmp_path / "door", token=token)

    with serving(owner, tmp_path / "door"):
        scene = scene_of(connected())
        scene.shell.reconnect = connected
        answer(scene.shell, f"{COUNT};")
        assert "cost 0.05 · budget" in scene.said()
        scene.shell.asker.interrupt()
        answer(scene.shell, f"{COUNT};")
        assert "Connected again." in scene.said()
        answer(scene.shell, f"{COUNT};")
        assert "told again for nothing" in scene.said()
        scene.shell.asker.close()


def test_the_limits_of_the_start_hold_in_a_connection_that_is_made_again(owner, scene_of, tmp_path):
    owner.grant("cleo", budget=1)
    token = owner.keeper.admit("cleo", role="analyst")
    opened = []

    def connected():
        opened.append(dpsql.connect(socket=tmp_path / "door", token=token))
        opened[-1].sql("SET dp.max_cost = 0.1")
        return opened[-1]

    with serving(owner, tmp_path / "door"):
        scene = scene_of(connected())
        scene.shell.reconnect = connected
        for _ in range(2):
            scene.shell.asker.interrupt()
            answer(scene.shell, f"{COUNT};")
        assert scene.shell.asker is opened[2]
        assert [each._lines.connection.fileno() < 0 for each in opened] == [True, True, False]  # none is left open
        scene.said()
        answer(scene.shell, f"{COUNT} COST 0.15;")
        assert "max_cost 0.1" in scene.said()
        assert spent(scene) == 0
        scene.shell.asker.close()
