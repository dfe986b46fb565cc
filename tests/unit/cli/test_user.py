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


def test_a_token_names_the_grant_that_pays(run):
    assert run("user", "add", "mia", "--role", "analyst", "--grant", "lab")[0] == 0
    assert run("user", "list")[1] == "mia\tanalyst\tlab\n"
    assert run("user", "token", "mia")[0] == 0
    assert run("user", "list")[1] == "mia\tanalyst\tlab\n"
    assert run("user", "token", "mia", "--grant", "class")[0] == 0
    assert run("user", "list")[1] == "mia\tanalyst\tclass\n"
    assert "grant=class" in run("ledger", "show")[1].splitlines()[-1]
    assert run("user", "token", "mia", "--grant", "mia")[0] == 0
    assert run("user", "list")[1] == "mia\tanalyst\n"
    code, _, err = run("user", "add", "dominik", "--role", "auditor", "--grant", "lab")
    assert code == 2
    assert "a token of dominik, auditor, does not name the grant lab" in err
