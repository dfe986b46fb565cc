"""\\more tells what a closer answer costs, and buys it where they say so."""

import os
import re
from fractions import Fraction

import pytest

from dpsql.cli.shell.asking import ask
from dpsql.cli.shell.commands import Wish, more, read_wish
from dpsql.errors import BadParameter, NothingStored
from tests.kits.refusals import raised

COUNT = "SELECT COUNT(*) AS n FROM people"


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        ("", Wish()),
        ("42", Wish(release=42)),
        ("#42 --within 5", Wish(release=42, within=Fraction(5))),
        ("--cost 0.5 7", Wish(release=7, cost=Fraction(1, 2))),
    ],
)
def test_what_is_wished(words, wish):
    assert read_wish(words) == wish


@pytest.mark.parametrize("words", ["x", "1 2", "--within", "--within 0", "--within 1 --cost 1", "'", "--within -3"])
def test_what_is_no_wish(words):
    raised(BadParameter, lambda: read_wish(words))


def margin(scene):
    return scene.shell.last["n"][0].margin


def test_half_the_margin_unless_they_say_otherwise(scene):
    ask(scene.shell, COUNT)
    before, paid = margin(scene), scene.shell.asker.budget.spent
    scene.answers = ["y"]
    more(scene.shell, "")
    (question,) = scene.asked
    assert question.startswith(f"To go from ± {before} to ± ")
    assert margin(scene) <= before / 2
    charged = scene.shell.asker.budget.spent - paid
    (told,) = re.findall(r" costs (\d+\.\d{2,}) more; 0\.95 is left\. ", question)
    assert charged <= Fraction(told) < charged + Fraction(1, 10**6)


@pytest.mark.parametrize(
    "said", ["", " -- everybody", " COST 0.02 -- everybody; COST 3", " /* COST 1 */", " CONFIDENCE 0.9 -- x\n"]
)
def test_what_was_said_behind_the_question_is_no_hindrance(scene, said):
    ask(scene.shell, f"{COUNT}{said}")
    before = margin(scene)
    scene.answers = ["y"]
    more(scene.shell, f"--within {before / 4}")
    assert scene.asked[0].startswith(f"To go from ± {before} to ")
    assert margin(scene) <= before / 4


def test_enter_buys_nothing(scene):
    ask(scene.shell, COUNT)
    paid = scene.shell.asker.budget.spent
    scene.answers = [""]
    more(scene.shell, "--cost 0.2")
    assert scene.asked[0].endswith("[y/N] ")
    assert scene.shell.asker.budget.spent == paid
    assert "Not bought." in scene.said()
    scene.shell.screen.size = lambda: os.terminal_size((40, 24))
    scene.answers = [""]
    more(scene.shell, "--cost 0.2")
    assert " ".join(scene.asked[1].split()) == scene.asked[0].strip()
    assert max(map(len, scene.asked[1].rstrip().split("\n"))) <= 40


def test_a_margin_that_is_stored_is_free_and_a_release_is_one_of_ones_own(scene):
    ask(scene.shell, COUNT)
    more(scene.shell, f"--within {margin(scene)}")
    assert scene.asked == []
    assert "as close as that already" in scene.said()
    ask(scene.shell, f"{COUNT} WHERE age > 3 COST 0.02")
    release = scene.shell.last.release
    ask(scene.shell, "SELECT SUM(age) AS s FROM people")
    scene.answers = ["y"]
    more(scene.shell, f"{release} --cost 0.1")
    assert scene.shell.last.columns == ("n",)
    raised(BadParameter, lambda: more(scene.shell, "999999"), match="no release #999999 of yours")


def test_nothing_asked_and_nothing_stored(scene):
    raised(BadParameter, lambda: more(scene.shell, ""), match="nothing was asked yet")
    scene.shell.last_sql = COUNT
    raised(NothingStored, lambda: more(scene.shell, ""))
    ask(scene.shell, "SELECT AVG(age) AS a FROM people")
    scene.answers = ["n"]
    more(scene.shell, "")
    (question,) = scene.asked
    assert question.startswith("A closer answer costs ")
