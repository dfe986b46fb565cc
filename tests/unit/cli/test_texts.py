"""Files of statements and policies as editors save them: with a byte order mark, in another encoding, empty."""

import io
import sys

import pytest

from asked_clinic import COUNT, declared
from dpsql.cli.main import main


@pytest.fixture
def policy(tmp_path):
    return declared(tmp_path)


@pytest.mark.parametrize("command", ["-f", "plan"])
@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"\xef\xbb\xbf" + COUNT.encode(), 0, ""),
        ("SELECT 'Genève'".encode("latin1"), 2, "iconv -f LATIN1 -t UTF-8"),
        (COUNT.encode("utf-16"), 2, "iconv -f UTF-16 -t UTF-8"),
    ],
)
def test_a_file_of_statements(policy, tmp_path, capsys, command, content, code, words):
    (tmp_path / "some.sql").write_bytes(content)
    file = str(tmp_path / "some.sql")
    asked = ["plan", file, "--policy", str(policy)] if command == "plan" else [str(policy), "-f", file]
    assert main(asked) == code
    told = capsys.readouterr()
    assert words in " ".join(told.err.split())
    assert '"refused"' not in told.out


@pytest.mark.parametrize("text", ["", "\n", "-- nothing yet\n", "\ufeff", ";"])
def test_a_text_without_a_statement_says_so(policy, tmp_path, capsys, monkeypatch, text):
    (tmp_path / "some.sql").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    for words in (["-f", str(tmp_path / "some.sql")], ["-f", "-"]):
        assert main([str(policy), *words]) == 3
        assert "there is no statement to answer" in capsys.readouterr().err


def test_standard_input_in_another_encoding(policy, capsys, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO("SELECT 'Genève'".encode("latin1")), encoding="utf-8", errors="surrogateescape")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main([str(policy), "-f", "-"]) == 2
    assert "standard input is not UTF-8 text, at character 12" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "it is empty"), (b" \n", "dpsql init duckdb://FILE"), (b"# Gen\xe8ve", "iconv -f LATIN1 -t UTF-8")],
)
def test_a_policy_that_cannot_be_read(tmp_path, capsys, content, words):
    (tmp_path / "dpsql.toml").write_bytes(content)
    assert main([str(tmp_path / "dpsql.toml"), "-c", COUNT]) == 8
    assert words in " ".join(capsys.readouterr().err.split())


def test_odd_ways_to_say_something(policy, capsys):
    policy.write_bytes(b"\xef\xbb\xbf" + policy.read_bytes())
    assert main([str(policy), "-c", COUNT]) == 0
    assert main(["grant", "--budget", "5", "--policy", str(policy)]) == 2
    assert "dpsql grant ana --budget 5" in capsys.readouterr().err
