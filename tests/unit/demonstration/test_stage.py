"""How a story is told: eighty columns, plain letters, somebody who is waited for, or nobody."""

import duckdb
import pytest

from dpsql.demonstration.stage import Page, Stage, Trial, refusal, typed
from dpsql.errors import InternalError
from tests.kits.owners import owner_of


def test_prose_is_wrapped_and_blocks_stay_as_they_are():
    long = "word " * 40
    fitted = Stage().fitted(f"  Why   {long}\n    short\nnote: {long}\n    b  {long}")
    lines = fitted.split("\n")
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith(" " * 8 + "word")
    assert "    short" in lines
    assert [line[: line.index("word")] for line in lines if line.startswith(("note", "    b"))] == ["note: ", "    b  "]
    assert " " * 6 + "word" in fitted
    assert " " * 7 + "word" in fitted


def test_plain_letters_are_all_ascii_fit_and_none_is_lost():
    told = Stage(plain=True).fitted("ε ± 5 · " * 30 + "日本")
    assert told.isascii()
    assert max(map(len, told.split("\n"))) <= 80
    assert Stage(plain=True).fitted("Zürich") != Stage(plain=True).fitted("Zärich")
    assert "?" not in Stage(plain=True).fitted("Zürich")


@pytest.mark.parametrize("heard", [None, "\n", "x\n", "\x1b[2J\n"])
def test_each_page_waits_for_the_next(capsys, heard):
    asked = []

    def hear(words):
        asked.append(words)
        return heard

    Stage(hear=hear).tell([Page(title="One", blocks=("text",)), Page(title="Two", blocks=("text",))])
    told = capsys.readouterr().out
    assert "2. Two" in told
    assert "\x1b" not in told
    assert asked == ["[Enter] next page, q skips the rest: "]  # between pages, and not before the first


def test_what_is_typed_goes_on_below_itself():
    rows = duckdb.sql("SELECT 1 AS ward_id")
    with owner_of(rows, "wards", public=True, columns="all", epsilon=1, cost_per_query=0.1) as owner:
        ana = owner.grant("ana", budget=1)
        lines = typed(ana, "SELECT " + ", ".join(f"column_{n}" for n in range(20))).split("\n")
        assert lines[0].startswith("ana> SELECT")
        assert all(line.startswith("     column") for line in lines[1:])
        assert max(map(len, lines)) <= 80
        with pytest.raises(InternalError, match="this was answered"):
            refusal(ana, "SELECT COUNT(*) FROM wards")


def test_a_trial_goes_on_until_nothing_is_typed(capsys):
    typed_in = iter(["one\n", "two\n", "\n"])
    trial = Trial(asks="What? ", tell=lambda heard: f"<{heard}>")
    page = Page(title="One", blocks=("text",), trial=trial)
    Stage(hear=lambda words: next(typed_in)).tell([page])
    assert capsys.readouterr().out.split()[-2:] == ["<one>", "<two>"]
    Stage().tell([page])  # nobody is there
    assert "<" not in capsys.readouterr().out


@pytest.mark.parametrize("enough", ["q\n", " Q \n", "\\q\n"])
@pytest.mark.parametrize("before", [0, 1])
def test_whoever_has_seen_enough_skips_the_rest_at_any_pause(capsys, enough, before):
    """The end of a page, and something to try: the two pauses there are."""
    typed_in = iter(["\n"] * before + [enough])
    trial = Trial(asks="What? ", tell=lambda heard: f"<{heard}>")
    pages = [
        Page(title="One", blocks=("text",)),
        Page(title="Two", blocks=("text",), trial=trial),
        Page(title="Three", blocks=("text",)),
    ]
    Stage(hear=lambda words: next(typed_in)).tell(pages)
    told = capsys.readouterr().out
    assert ("2. Two" in told) == (before == 1)
    assert "3. Three" not in told
    assert "<" not in told
