"""`dpsql audit`: the statement on standard output, a report in a file, 9 where something does not hold."""

import pytest

from dpsql.session.audit_walk import Walk


def test_the_statement(run):
    code, out, err = run("audit")
    assert (code, err) == (0, "")
    for words in ("chain intact", "one patient", "kept: 1 spent", "1/1 prices derived again", "refused 0"):
        assert words in out
    # 1 / (1 + e^-4) = 0.98201…, rounded up
    assert "a 50–50 guess about any one patient becomes at most 98.3%" in out


@pytest.mark.parametrize(("name", "mark"), [("report.md", "# Audit"), ("report.html", "<!DOCTYPE html>")])
def test_a_report_is_written_without_texts_unless_they_are_asked_for(run, tmp_path, name, mark):
    code, _, err = run("audit", "--report", tmp_path / name)
    text = (tmp_path / name).read_text()
    assert (code, str(tmp_path / name) in err) == (0, True)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert text.startswith(mark)
    assert "SELECT" not in text
    run("audit", "--texts", "--report", tmp_path / name)
    assert "SELECT" in (tmp_path / name).read_text()


@pytest.mark.parametrize("name", ["report.pdf", "nowhere/report.md"])
def test_a_report_that_cannot_be_written(run, tmp_path, name):
    code, _, err = run("audit", "--report", tmp_path / name)
    assert code == 2
    assert name in err


def test_a_broken_ledger_is_not_audited(run, broken):
    code, out, err = run("audit")
    assert (code, out) == (9, "")
    assert "DP901" in err


def test_a_price_that_differs_is_code_9(run, monkeypatch):
    monkeypatch.setattr(Walk, "_derived", lambda *_: (None, "another price"))
    code, out, _ = run("audit")
    assert code == 9
    assert "0/1 prices" in out
    assert "another price" in out
