"""`dpsql freeze` and `dpsql unfreeze`: logged, with a reason."""

import pytest

import dpsql
from dpsql.cli.main import main


def test_freeze_and_unfreeze(run, clinic):
    code, out, err = run("freeze", "--reason", "DPIA review")
    assert (code, out, "unfreeze" in err) == (0, "", True)
    with dpsql.open_ledger(clinic) as keeper:
        assert keeper.frozen == "DPIA review"
    assert "every question is refused: DPIA review" in run("audit")[1]
    assert run("unfreeze", "--reason", "seen")[0] == 0
    with dpsql.open_ledger(clinic) as keeper:
        assert keeper.frozen is None
    shown = run("ledger", "show")[1]
    assert "reason=DPIA review" in shown
    assert "reason=seen" in shown


@pytest.mark.parametrize("reason", ["", "two\nlines", "x" * 500])
def test_a_reason_can_be_read(run, reason):
    assert run("freeze", "--reason", reason)[0] == 2


def test_a_reason_must_be_given(clinic, capsys):
    with pytest.raises(SystemExit):
        main(["freeze", "--policy", str(clinic)])
    assert "--reason" in capsys.readouterr().err
