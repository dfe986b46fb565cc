"""The list of what is left to do, and marks taken out of a file whose every other byte stays."""

import os
import stat

import pytest

import dpsql
from dpsql.errors import BadParameter, BadPolicy
from tests.kits.refusals import raised


@pytest.fixture
def policy(clinic, tmp_path):
    path = tmp_path / "dpsql.toml"
    dpsql.suggest_policy(clinic, output=path)
    return path


def places(review):
    return {task.place: task for task in review.tasks}


def test_every_mark_is_a_task_with_its_line(policy):
    review = dpsql.PolicyFile(policy).review()
    lines = policy.read_text().split("\n")
    assert [task.line for task in review.tasks] == [n for n, line in enumerate(lines, start=1) if "# CONFIRM" in line]
    assert review.complete is None
    found = places(review)
    assert found["visits.charge"].what.startswith("needs bounds")
    assert "confirm  age = { bounds = [0, 110] }  (from the name: age)" in found["patients.age"].what
    assert found["log"].what.startswith("needs a person")
    assert list(review.lines())[-1].startswith(f"{len(review.tasks)} things left. Nothing can be queried")


def test_mistakes_stand_beside_what_waits_also_those_that_only_the_engine_shows(policy):
    text = (
        policy.read_text()
        .replace("age = { bounds = [0, 110] }", 'age = { keys = ["a"] }')
        .replace("charge = {}", "charg = {}")
    )
    policy.write_text(text.replace("cost_per_query = 0.05", "cost_per_query = 7"))
    found = places(dpsql.PolicyFile(policy).review())
    assert found["visits.charg"].what.startswith("needs bounds")  # first things first: it waits to be decided
    confirmed = dpsql.PolicyFile(policy).confirm(
        "patients", "visits", "prescriptions", "log", "promise", "defaults", everything=True
    )
    assert (confirmed.left, confirmed.undecided) == (0, ())
    found = places(dpsql.PolicyFile(policy).review())
    assert "Did you mean charge?" in found["visits.charg"].what
    assert "is not a value of a column of type integer" in found["patients.age.keys"].what
    assert "at most promise.epsilon" in found["defaults.cost_per_query"].what
    assert all(task.is_mistake for task in found.values())


def test_notes_that_are_no_mistakes(policy):
    policy.write_text(policy.read_text().replace("epsilon = 1.0", "epsilon = 8"))
    notes = "\n".join(dpsql.PolicyFile(policy).review().notes)
    assert "becomes at most 99.97 %" in notes  # 1 / (1 + e^-8)
    assert "visits: without bounds nobody can sum ward_id, charge" in notes
    assert "patients: not declared, so that nobody can ask about them: photo, size" in notes
    assert "not declared, so that nobody can ask about them: shown" in notes


def test_a_source_out_of_reach_leaves_the_list_of_the_file(policy):
    policy.write_text(policy.read_text().replace("clinic.duckdb", "none.duckdb"))
    review = dpsql.PolicyFile(policy).review()
    assert review.unreachable.code == "DP602"
    assert "visits.charge" in places(review)
    policy.write_text('version = 1\nsource.url = "memory:"\n')
    assert places(dpsql.PolicyFile(policy).review())["promise"].what.startswith("is missing")


def test_marks_are_taken_out_by_table_column_and_section(policy):
    def left():
        return sum("# CONFIRM" in line for line in policy.read_text().split("\n"))

    file, before = dpsql.PolicyFile(policy), left()
    done = file.confirm("visits.charge")
    assert [line.split("  ")[1:] for line in done.lines] == [["visits.charge", "charge = {}"]]
    assert (left(), done.left) == (before - 1, before - 1)
    assert len(file.confirm("VISITS").lines) == 8
    assert len(file.confirm("promise", "defaults").lines) == 6
    assert file.confirm("visits").lines == ()
    assert "visits\tperson = patient_id\tconfirmed" in file.tables()
    rest = file.confirm(everything=True)
    assert (len(rest.lines), rest.left) == (before - 15 - left(), left())
    assert all("  needs " in line for line in rest.undecided)
    assert len(rest.undecided) == left() > 0


def test_everything_leaves_what_nobody_has_decided_and_nothing_named_is_nothing(policy):
    file, before = dpsql.PolicyFile(policy), policy.read_bytes()
    raised(BadParameter, lambda: file.confirm(), match="nothing is named")
    assert policy.read_bytes() == before
    done = file.confirm("visits.charge", everything=True)
    waiting = [line for line in policy.read_text().split("\n") if "# CONFIRM" in line]
    assert all("# CONFIRM needs " in line for line in waiting)
    assert done.left == len(done.undecided) == len(waiting)
    assert any("promise.epsilon  needs your decision" in line for line in done.undecided)
    assert any("visits.charge" in line for line in done.lines)
    named = file.confirm("promise.epsilon", "visits.rows_per_person")  # as they are listed
    assert [line.split("  ")[1] for line in named.lines] == ["promise.epsilon", "visits.rows_per_person"]
    assert file.review().complete is None


def test_everything_else_stays(policy):
    text = "\ufeff" + policy.read_text().replace("\n", "\r\n")
    policy.write_bytes(text.encode())
    os.chmod(policy, 0o640)
    dpsql.PolicyFile(policy).confirm("wards")
    after = policy.read_bytes().decode()
    assert stat.S_IMODE(policy.stat().st_mode) == 0o640
    changed = [(a, b) for a, b in zip(text.split("\n"), after.split("\n"), strict=True) if a != b]
    assert [b for _, b in changed] == ["public = true\r"]
    assert changed[0][0].startswith("public = true  # CONFIRM ")
    assert [path.name for path in policy.parent.iterdir()] == ["dpsql.toml"]


def test_the_file_behind_a_link_is_confirmed(policy, tmp_path):
    real = tmp_path / "policies" / "clinic.toml"
    real.parent.mkdir()
    policy.rename(real)
    policy.symlink_to("policies/clinic.toml")
    dpsql.PolicyFile(policy).confirm(everything=True)
    assert policy.is_symlink()
    assert "CONFIRM from" not in real.read_text()
    assert [path.name for path in real.parent.iterdir()] == ["clinic.toml"]


def test_what_is_not_in_the_file_is_refused(policy):
    before = policy.read_bytes()
    for name in ("visit", "none.charge", "grant"):
        with pytest.raises(BadParameter, match="has no table"):
            dpsql.PolicyFile(policy).confirm("patients", name)
    raised(BadParameter, lambda: dpsql.PolicyFile(policy).table("visit"), match=r"Did you mean visits\?")
    assert policy.read_bytes() == before
    raised(BadPolicy, lambda: dpsql.PolicyFile(policy.parent / "none.toml").review(), match="cannot be read")


def test_a_table_is_shown_as_it_stands(policy):
    shown = dpsql.PolicyFile(policy).table("wards")
    lines = policy.read_text().split("\n")
    at = lines.index("[table.wards]")
    assert list(shown) == [f"{n + 1:>4}  {lines[n]}" for n in (at, at + 1)]


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\u2029"])
def test_a_comment_may_hold_other_ends_of_lines(policy, end):
    text = policy.read_text().replace("[table.wards]", f"# one{end}two{end}three\n[table.wards]")
    policy.write_text(text)
    rows = text.split("\n")
    at = rows.index("[table.wards]")
    assert list(dpsql.PolicyFile(policy).table("wards")) == [f"{n + 1:>4}  {rows[n]}" for n in (at, at + 1)]
    policy.write_bytes(text.replace("\n", "\r\n").encode())
    assert list(dpsql.PolicyFile(policy).table("wards")) == [f"{n + 1:>4}  {rows[n]}" for n in (at, at + 1)]
