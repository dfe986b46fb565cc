"""`dpsql budget …`: what is left, and what was paid."""


def test_show(run):
    assert run("budget", "show") == (
        0,
        "promise       3 of 4 left, 1 spent\nana           2 of 3 left, 1 spent\n",
        "",
    )


def test_history(run):
    code, out, _ = run("budget", "history", "--of", "ana")
    assert (code, len(out.splitlines())) == (0, 1)
    assert "cost=1" in out
    assert "SELECT" not in out
    assert run("budget", "history", "--of", "bob")[1] == ""
