"""What is wrong with a command line, a file or a disk is said in words, ends with its code, and loses nothing."""

import io
import os
import resource
import subprocess
import sys
from contextlib import contextmanager, suppress

import pytest

import dpsql
from asked_clinic import COUNT, declared
from dpsql.cli.main import main
from tests.kits.cases import cases

ASK = [sys.executable, "-m", "dpsql.cli.main", "-c", COUNT]


@pytest.fixture
def policy(tmp_path):
    return declared(tmp_path)


def asked(capsys, *words):
    """The exit code, and what was said; an error has a reason and a way out."""
    code = main(["-c", COUNT, *map(str, words)])
    found = capsys.readouterr()
    assert found.out == ""
    assert "Why" in found.err
    assert "Fix" in found.err
    assert "Traceback" not in found.err
    return code, found.err


def spent(policy):
    """What Ana has paid, from a ledger that verifies."""
    with dpsql.open_ledger(policy) as keeper:
        keeper.verify()
    with dpsql.connect(policy) as ana:
        return ana.budget.spent


@cases(__file__, "before", "after", "code=", "said")
def test_a_policy_that_cannot_be_used_and_data_that_are_not_there(policy, capsys, before, after, code, said):
    policy.write_text(policy.read_text().replace(before, after))
    files = sorted(policy.parent.iterdir())
    found, err = asked(capsys, policy)
    assert found == code
    assert said in err
    assert sorted(policy.parent.iterdir()) == files  # and no ledger was made


def test_bytes_that_are_no_text_and_a_folder(policy, capsys):
    policy.write_bytes(b"\xff\xfe")
    assert asked(capsys, policy)[0] == 8
    policy.unlink()
    policy.mkdir()
    assert asked(capsys, policy)[0] == 8


@cases(__file__, "target", "code=", "said")
def test_a_target_that_leads_nowhere(tmp_path, monkeypatch, capsys, target, code, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSQL_TOKEN", "t")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found, err = asked(capsys, target)
    assert found == code
    assert said in err


def test_a_server_without_a_token_is_not_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("DPSQL_TOKEN", raising=False)
    code, err = asked(capsys, f"unix:{tmp_path}/door")
    assert code == 6
    assert "DPSQL_TOKEN" in err


def test_a_missing_driver_names_the_pip_command(policy, capsys, monkeypatch):
    shared = 'ledger_url = "postgresql://localhost/ledger"\nledger_key = "key"'
    policy.write_text(policy.read_text().replace("[person]", f"{shared}\n[person]"))
    monkeypatch.setitem(sys.modules, "psycopg", None)
    code, err = asked(capsys, policy)
    assert code == 2
    assert "pip install" in err
    assert "psycopg[binary]" in err


def test_a_terminal_without_utf_8_reads_every_word(tmp_path):
    """A name that is not ASCII is shown by the number of its letter; everything of ours is in words."""
    policy = declared(tmp_path)
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    questions = [
        "-c",
        'SELECT COUNT(*) AS "Zürich" FROM people',
        "-c",
        f"EXPLAIN PRIVACY {COUNT}",
        "-c",
        "SELECT id FROM people WHERE 'ü' = 'ü'",
    ]
    done = subprocess.run([*ASK, *questions, str(policy)], capture_output=True, env=ascii_only, check=False)
    out, err = done.stdout.decode("ascii"), done.stderr.decode("ascii")
    assert done.returncode == 4, err
    assert "plus or minus" in out
    assert "Z\\xfcrich" in out
    assert "\\u" not in out + err  # no sign of ours is shown by its number
    assert "DP101" in err


@pytest.mark.parametrize("words", [["help", "DP103"], ["help", "M2"], ["--help"], ["explain", COUNT]])
def test_help_is_in_words_where_there_are_no_signs(tmp_path, monkeypatch, words):
    policy = declared(tmp_path)
    with io.TextIOWrapper(io.BytesIO(), encoding="ascii") as out, suppress(SystemExit):
        monkeypatch.setattr(sys, "stdout", out)
        try:
            main([*words, str(policy)] if words[0] == "explain" else words)
        finally:
            out.flush()
            told = out.buffer.getvalue().decode("ascii")
            assert len(told) > 100
            assert "\\x" not in told
            assert "\\u" not in told


def test_whoever_closes_the_pipe_pays_for_no_further_answer(policy):
    others = [word for n in range(3) for word in ("-c", f"SELECT COUNT(*) FROM people WHERE id <> {n} COST 0.1")]
    with subprocess.Popen([*ASK, *others, str(policy)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        run.stdout.close()
        said = run.stderr.read()
    assert run.returncode == 0
    assert b"Traceback" not in said
    assert spent(policy) == 1  # the first was charged before it was told; it is stored, and free when asked again


@contextmanager
def full_disk(bytes_of_a_file):
    """No file of this process grows beyond it, as on a disk without room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_of_a_file, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_under_the_ledger_tells_nothing_and_loses_nothing(tmp_path, capsys, command):
    """With little room the charge fails, and nothing is charged; with more, what is to be stored after it, and that is
    told for nothing when it is asked again."""
    paid = []
    for room in (24_000, 42_000):
        (tmp_path / str(room)).mkdir()
        policy = declared(tmp_path / str(room))
        assert spent_before_asking(policy) == 0
        with full_disk(room):
            code, err = asked(capsys, policy)
        assert code == 9
        assert "DP901  the ledger could not be written or read: its disk is full" in err
        assert "asked again it is told for nothing" in err
        assert "make room on the disk" in err
        assert "restore" not in err  # the ledger is whole
        paid.append(spent(policy))
        assert "value" in command(["-c", COUNT, "--format", "json", str(policy)]).out
        assert spent(policy) == 1  # once, whenever it was paid
    assert paid == [0, 1]


def spent_before_asking(policy):
    with dpsql.connect(policy) as ana:
        return ana.budget.spent


@pytest.mark.parametrize("before", [None, "what stood there\n"])
def test_a_full_disk_under_the_result_leaves_what_stood_there(tmp_path, capsys, before):
    """The demo keeps its data and its ledger in memory: the result alone needs the disk."""
    out = tmp_path / "answer.csv"
    if before is not None:
        out.write_text(before)
    with full_disk(5):
        code = main(["-c", "SELECT COUNT(*) FROM patients", "--output", str(out), "--format", "csv", "demo"])
    assert code == 2
    err = capsys.readouterr().err
    assert "answer.csv cannot be written: File too large" in err
    assert "told for nothing" in err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == (
        {} if before is None else {out.name: before}
    )


def test_a_folder_that_is_not_there_is_found_out_before_anything_is_paid(policy, capsys, tmp_path):
    code, err = asked(capsys, policy, "--output", tmp_path / "none" / "x.csv")
    assert code == 2
    assert "No such file or directory" in err
    assert spent_before_asking(policy) == 0
