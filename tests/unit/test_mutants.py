"""tools/mutations.py and mutants.py: which changes are made of a source, and what counts as noticed."""

from pathlib import Path

import pytest

from tests.kits.rows import read_rows
from tests.kits.scripts import script

ROOT = Path(__file__).parents[2]


tool, runs = script("mutations"), script("mutants")

SOURCE = '''"""Words: 1 < 2."""
LIMIT: Final = 7  # ε is two bytes


def f(x: Literal[3], *, cap: int = 5) -> Literal[4]:
    """Words: 1 < 2."""
    if x < cap and not x.odd:
        raise BadParameter(f"{x + 1}", why="1", fix="2")
    check(x)
    return g(x, cap=cap) if x.known else replace(x, kept=True, strict=False)


def g(x, *, must, cap=None):
    return BadParameter("a" + "b", why=x + 1, fix="c")


class A:
    def __repr__(self):
        return 1 + 2
'''


CHANGED = "replace(x, kept=True, strict=False)"


def changes(text):
    return {(each.before, each.after) for each in tool.mutants(text, file="f.py", defaults=defaults(text))}


def defaults(text):
    return tool.defaults_in([tool.ast.parse(text)])


def test_what_is_changed_and_what_is_not():
    assert changes(SOURCE) == {
        ("7", "6"),
        ("7", "8"),
        ("5", "4"),
        ("5", "6"),
        ("x < cap", "x <= cap"),
        ("x < cap and (not x.odd)", "x < cap or not x.odd"),
        ("x < cap and (not x.odd)", "x < cap"),
        ("x < cap and (not x.odd)", "not x.odd"),
        ("x < cap and (not x.odd)", "not (x < cap and (not x.odd))"),
        ("not x.odd", "x.odd"),
        ("raise BadParameter(f'{x + 1}', why='1', fix='2')", "pass"),
        ("check(x)", "pass"),
        (f"g(x, cap=cap) if x.known else {CHANGED}", f"{CHANGED} if x.known else g(x, cap=cap)"),
        ("g(x, cap=cap)", "g(x)"),
        (CHANGED, "replace(x, strict=False)"),
        (CHANGED, "replace(x, kept=True)"),
        ("True", "False"),
    }


@pytest.mark.parametrize(("before", "after"), read_rows(__file__, "one part of an expression is another"))
def test_one_part_of_an_expression_is_another(before, after):
    assert (before, after) in changes(f"x = {before}")


def test_every_change_is_made_at_its_place_and_compiles():
    lines = SOURCE.splitlines()
    for each in tool.mutants(SOURCE, file="f.py", defaults=defaults(SOURCE)):
        made = each.applied(SOURCE).splitlines()
        assert [number for number, line in enumerate(made, 1) if line != lines[number - 1]] == [each.line]
        compile(each.applied(SOURCE), "f.py", "exec")


def test_a_seed_draws_the_same_changes_again_and_a_larger_count_more_of_them():
    sources = {"b.py": SOURCE, "a.py": "y = 3\n"}
    few, more = (tool.drawn(sources, seed="a1", count=count) for count in (5, 12))
    assert (len(few), more[:5]) == (5, few)
    assert tool.drawn(dict(reversed(sources.items())), seed="a1", count=12) == more
    assert tool.drawn(sources, seed="a2", count=12) != more


def test_a_test_that_fails_by_itself_catches_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "ROOT", tmp_path / "project")
    runs.ROOT.mkdir()
    (runs.ROOT / "src").mkdir()
    (runs.ROOT / "a.py").write_text("y = 3\n")
    copy = runs.Copy(tmp_path / "copy")
    failing = {"y = (4)\n": ["t/a.py::broken", "t/a.py::notices"], "y = 3\n": ["t/a.py::broken"]}

    def first(*tests):
        found = failing[(tmp_path / "copy" / "a.py").read_text()]
        named = [each for each in tests if "::" in each and not each.startswith("--")]
        return next((each for each in found if f"--deselect={each}" not in tests and each in (named or found)), None)

    monkeypatch.setattr(copy, "_failing", first)
    _, changed = tool.mutants("y = 3\n", file="a.py", defaults={})
    assert copy.caught_by(changed, ["t"]) == "t/a.py::notices"
    failing["y = (4)\n"].remove("t/a.py::notices")
    assert copy.caught_by(changed, ["t"]) is None


def test_marks_stand_before_the_statement():
    inner = "    @d\n    def g():\n        return y + 1\n    return g\n"
    text = f"y = 3\n\n\ndef f(x):\n    'Doc.'\n{inner}\n\ndef h(): return 1\n"
    found = tool.marked(text, {0: 1, 1: 8, 2: 9, 3: 12, 4: 7})
    expected = text.replace("        return y", "        __import__('reached').by(1)\n        return y")
    expected = expected.replace("    return g", "    __import__('reached').by(2)\n    return g")
    assert found == expected.replace("    @d", "    __import__('reached').by(4)\n    @d")
    compile(found, "f.py", "exec")


def test_a_condition_after_elif_is_marked_before_the_if():
    text = "def f(x):\n    if x:\n        x = 1\n    elif x + 1:\n        x = 2\n    return x\n"
    found = tool.marked(text, {1: 4, 2: 5})
    expected = text.replace("    if x:", "    __import__('reached').by(1)\n    if x:")
    assert found == expected.replace("        x = 2", "        __import__('reached').by(2)\n        x = 2")
    compile(found, "f.py", "exec")


def test_tests_that_come_by_are_tried_before_the_rest_of_the_room(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "ROOT", tmp_path)
    source = tmp_path / "src/dpsql/plan/price.py"
    room = tmp_path / "tests/unit/plan"
    for folder in (source.parent, room):
        folder.mkdir(parents=True)
    source.write_text("def f(x):\n    return x + 1\n")
    (room / "test_price.py").write_text("")
    changed = next(tool.mutants(source.read_text(), file="src/dpsql/plan/price.py", defaults={}))
    near, other = "tests/unit/plan/test_price.py", "tests/unit/plan/test_seal.py"
    assert runs._stages(changed, {near, other, "tests/ux/test_1.py"}, ["tests/unit", "tests/ux"]) == [
        [near], [other], ["tests/ux/test_1.py"], ["tests/unit/plan/", f"--ignore={near}", f"--ignore={other}"],
    ]  # fmt: skip
    assert runs._stages(changed, {""}, ["tests"]) == [
        [near], ["tests/unit/plan/", f"--ignore={near}"], ["tests", "--ignore=tests/unit/plan/"],
    ]  # fmt: skip


def test_quick_tests_of_every_file_that_comes_by_are_tried_first():
    """In turn, as long as their seconds last; one that cannot be named to pytest is left to its file."""
    seconds = {f"t/test_a.py::f[{each}]": 1.0 for each in range(9)} | {"t/test_b.py::g": 3.0, "t/test_b.py::h": 2.0}
    strange = {"t/test_c.py::f[a\\nb]", "t/test_c.py", ""}
    chosen = runs._quick(seconds.keys() | strange, seconds | {"t/test_c.py::f[a\\nb]": 0.1, "t/test_d.py::far": 0.1})
    assert chosen == ["t/test_a.py::f[0]", "t/test_a.py::f[1]", "t/test_b.py::h", "t/test_b.py::g"]
    assert sum(seconds[each] for each in chosen) <= runs.QUICK
