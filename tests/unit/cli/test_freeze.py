"""`dpsql freeze` and `dpsql unfreeze`: logged, with a reason."""

import dpsql
from dpsql.cli.main import main
from tests.kits.refusals import raised


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


def test_a_reason_is_given_and_can_be_read(run, clinic, capsys):
    for reason in ("", "two\nlines", "x" * 500):
        assert run("freeze", "--reason", reason)[0] == 2
    raised(SystemExit, lambda: main(["freeze", "--policy", str(clinic)]))
    assert "--reason" in capsys.readouterr().err
