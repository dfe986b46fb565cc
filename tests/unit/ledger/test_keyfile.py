"""A key has its name whole or not at all, and of several made at once there is one: also without hard links."""

import os
import time
from functools import partial
from pathlib import Path

import pytest

from dpsql.ledger import keyfile
from tests.kits.ledger_cases import at_once


def refuse(*_):
    raise PermissionError("no hard links here")


@pytest.fixture(params=["hard links", "no hard links"])
def folder(request, tmp_path, monkeypatch):
    """On a disk where renaming takes its time, so that others get in between where they can."""

    def rename_slowly(file, target):
        time.sleep(0.02)
        return rename(file, target)

    rename = Path.rename
    monkeypatch.setattr(Path, "rename", rename_slowly)
    if request.param == "no hard links":
        monkeypatch.setattr(os, "link", refuse)
    return tmp_path


def test_of_keys_created_at_once_one_gets_the_name_and_stays(folder):
    path, created = folder / "key", []

    def create(content):
        if keyfile.create_private(path, content):
            created.append(content)

    at_once(partial(create, bytes([number]) * 32) for number in range(4))
    assert created == [keyfile.read_key(path)]
    assert os.listdir(folder) == ["key"]


def test_a_key_that_several_name_at_once_gets_its_name_once(folder):
    path = folder / "key"
    key = keyfile.create_key(path, ledger="1")
    at_once([partial(keyfile.name_key, path, ledger="1")] * 4)
    assert keyfile.read_key(path) == key
    assert os.listdir(folder) == ["key"]


def test_a_process_that_is_killed_before_a_key_has_its_name_leaves_neither_key_nor_lock(tmp_path, monkeypatch):
    path = tmp_path / "key"
    monkeypatch.setattr(os, "link", refuse)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", lambda *_: os._exit(9))
        child = os.fork()
        if not child:
            keyfile.create_private(path, bytes(32))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not path.exists()
    assert keyfile.create_private(path, bytes([1]) * 32)
    assert keyfile.read_key(path) == bytes([1]) * 32


def test_a_key_that_is_gone_gets_no_name(folder):
    keyfile.name_key(folder / "key", ledger="1")
    assert os.listdir(folder) == []


def test_a_system_that_opens_no_folders_writes_keys_too(tmp_path, monkeypatch):
    monkeypatch.setattr(keyfile, "_POSIX", False)
    monkeypatch.setattr(os, "link", refuse)
    assert keyfile.create_private(tmp_path / "key", bytes(32))
    assert not keyfile.create_private(tmp_path / "key", bytes([1]) * 32)
    assert keyfile.read_key(tmp_path / "key") == bytes(32)
