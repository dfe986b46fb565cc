"""What a newcomer runs first: the stories, the examples, and examples/hospital as its README says: made, priced,
asked."""

import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.cli.main import main

HOSPITAL = Path(__file__).parents[2] / "examples" / "hospital"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example") / "hospital"
    shutil.copytree(HOSPITAL, folder, ignore=shutil.ignore_patterns("*.duckdb*"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["make_data.py"])  # an argument of pytest would be the file it writes over
        runpy.run_path(str(folder / "make_data.py"), run_name="__main__")
    return folder


def test_every_question_is_priced_and_answered(hospital, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # paths are seen from the policy, not from here
    assert main(["plan", "--policy", str(hospital / "dpsql.toml"), str(hospital / "questions.sql")]) == 0
    verdicts = capsys.readouterr().out.splitlines()
    assert len(verdicts) == 5
    assert all('"verdict": "accepted"' in verdict for verdict in verdicts)
    with dpsql.open(hospital / "dpsql.toml") as owner:
        ana = owner.analyst("ana@example.org")
        answers = [ana.sql(sql) for sql in (hospital / "questions.sql").read_text().split(";")[:-1]]
    assert [float(answer.cost.epsilon) for answer in answers] == [0.05, 0.05, 0.05, 0.05, 0]
    assert [row[0] for row in answers[-1]] == ["maternity", "medicine", "surgery"]


def test_the_answers_are_about_these_data(hospital):
    """6000 patients; the noise of 1/ε = 20 is beyond 500 less often than once in 10^10."""
    with duckdb.connect(str(hospital / "hospital.duckdb"), read_only=True) as database:
        ((truth,),) = database.execute("SELECT COUNT(*) FROM patients").fetchall()
    assert truth == 6000
    with dpsql.open(hospital / "dpsql.toml") as owner:
        (cell,) = owner.analyst("ana@example.org").sql("SELECT COUNT(*) FROM patients").rows[0]
    assert abs(cell.value - 6000) < 500


ROOT = Path(__file__).parent.parent.parent


def test_make_demo_tells_the_attack_to_its_end_without_waiting(command):
    (line,) = re.findall(r"^\t@?\$\(DEMO\)/bin/dpsql (demo.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    told = command(shlex.split(line)).out
    assert "Bob" in told
    assert "±" in told


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
