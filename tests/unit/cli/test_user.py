"""`dpsql user …`: tokens are printed once, alone on standard output."""

import dpsql


def test_a_user_comes_gets_another_token_and_goes(run, clinic):
    code, token, err = run("user", "add", "ana", "--role", "analyst")
    assert (code, "once" in err) == (0, True)
    assert run("user", "list")[1] == "ana\tanalyst\n"
    assert run("user", "add", "ana", "--role", "owner")[0] == 6
    _, other, _ = run("user", "token", "ana")
    assert other != token
    with dpsql.open_ledger(clinic) as keeper:
        assert keeper.user_of(token.strip()) is None
        assert keeper.user_of(other.strip()).name == "ana"
    assert run("user", "remove", "ana")[0] == 0
    assert run("user", "list")[1] == ""
    assert run("user", "remove", "ana")[0] == 6
