"""What others can read or write of the files behind a policy is named, with the command that ends it."""

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import dpsql
from asked_clinic import asked, back
from dpsql.cli import serve
from dpsql.cli.main import main
from dpsql.session import exposure
from dpsql.session.exposure import exposures
from tests.kits.refusals import raised

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes of POSIX systems")


@pytest.fixture(scope="module")
def made():
    """A clinic with a ledger, in a folder that everybody may enter; those of pytest are closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    kept = asked(folder)
    back(kept)
    yield kept
    shutil.rmtree(folder)


@pytest.fixture
def policy(made, monkeypatch):
    """The same with every mode as it should be."""
    folder = made.parent
    monkeypatch.setenv("DPSQL_STATE", str(folder / "state"))
    (folder / "state" / "anchors").mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    for each in folder.rglob("*"):
        each.chmod(0o700 if each.is_dir() else 0o600)
    return made


def named(policy):
    return [
        (each.what, each.path.name, each.group, each.readable, each.writable) for each in dpsql.exposed_files(policy)
    ]


def ledger_of(policy):
    (found,) = policy.parent.glob("*.ledger")
    return found


def test_what_is_open_to_nobody_else_is_not_named(policy):
    assert named(policy) == []


def test_everything_that_can_be_read_or_written_is_named_once(policy):
    ledger = ledger_of(policy)
    key, data = ledger.with_name(f"{ledger.name}.key"), ledger.with_suffix("")
    anchors = policy.parent / "state" / "anchors"
    ledger.chmod(0o644)
    key.chmod(0o604)
    data.chmod(0o666)
    anchors.parent.chmod(0o755)
    anchors.chmod(0o757)
    assert named(policy) == [
        ("the ledger", ledger.name, None, True, False),
        ("the key of the ledger", key.name, None, True, False),
        ("the folder of anchors", "anchors", None, True, True),
        ("the data file", data.name, None, True, True),
    ]


def test_a_folder_in_which_others_replace_files_is_named_unless_it_is_sticky(policy):
    policy.parent.chmod(0o777)
    assert named(policy) == [("the folder", policy.parent.name, None, False, True)]
    policy.parent.chmod(0o1777)
    assert named(policy) == []


def test_what_lies_behind_a_closed_folder_is_not_open(policy):
    ledger_of(policy).chmod(0o666)
    policy.parent.chmod(0o750)
    assert named(policy) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to another group")
def test_a_group_counts_unless_it_is_that_of_the_owner_alone(policy):
    ledger = ledger_of(policy)
    ledger.chmod(0o660)
    assert named(policy) == []  # root:root
    os.chown(ledger, -1, 12345)
    try:
        assert named(policy) == [("the ledger", ledger.name, "12345", True, True)]
    finally:
        os.chown(ledger, -1, os.getegid())


def test_check_and_doctor_name_it_and_fail_where_it_can_be_written(policy, capsys, command):
    data = ledger_of(policy).with_suffix("")
    before = main(["check", "--policy", str(policy)])
    assert (before, main(["doctor", "--policy", str(policy)])) == (0, 0)
    assert "open to their owner alone" in capsys.readouterr().out
    data.chmod(0o644)
    assert main(["check", "--policy", str(policy)]) == 0
    assert f"note: the data file {data} can be read by every user of this machine: chmod o-r" in capsys.readouterr().err
    assert "??  files" in command(["doctor", "--policy", str(policy)]).out
    data.chmod(0o622)
    assert "left to do: the data file" in command(["check", "--policy", str(policy)], 8).err
    assert main(["doctor", "--policy", str(policy)]) != 0
    assert "NO  files" in capsys.readouterr().out


def test_serve_names_it_before_it_listens(policy, capsys, monkeypatch):
    data = ledger_of(policy).with_suffix("")
    data.chmod(0o644)
    monkeypatch.setattr(dpsql, "policy_limits", lambda policy: 1 / 0)
    raised(ZeroDivisionError, lambda: serve.run(argparse.Namespace(policy=str(policy))))
    assert f"warning: the data file {data} can be read by every user" in capsys.readouterr().err


def test_a_key_that_others_can_read_is_refused(policy, capsys):
    ledger = ledger_of(policy)
    ledger.with_name(f"{ledger.name}.key").chmod(0o640)
    raised(dpsql.DpsqlError, lambda: dpsql.open_ledger(policy), match="can be read by others")


def test_where_files_have_no_owners_nothing_is_said_of_them(tmp_path, monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("dpsql.session.exposure.os.name", "nt")
        found = exposures(None, tmp_path)
    assert found == ()


def test_an_owner_without_a_name_is_no_group(tmp_path, monkeypatch):
    """The number of a user is no name of a group, so that the group is named."""

    def nobody(number):
        raise KeyError(number)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.setattr("grp.getgrgid", lambda number: SimpleNamespace(gr_name="staff"))
    (tmp_path / "f").touch(mode=0o600)
    (tmp_path / "f").chmod(0o660)
    found = (tmp_path / "f").stat()
    assert ("staff", found.st_gid) in list(exposure._audiences(found))
