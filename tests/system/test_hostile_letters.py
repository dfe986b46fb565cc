"""No character of a name, a key, a text or a path steers the terminal of whoever reads it; files keep it as it is.

`dpsql.safe_text.printable` is the one place where it is escaped, and `say` of the command line the one way to standard
error. Each way out is tried with escape sequences, controls, marks that turn text around and ends of lines.
"""

import traceback
from contextlib import suppress
from pathlib import Path
from unicodedata import category

import pandas
import pytest

import dpsql
from asked_clinic import POLICY, asked, back, declared
from dpsql.cli.main import main
from dpsql.dbapi import Error, connect

BAD = "\x1b]0;owned\x07\x9b31m\r\u202e\u2028\u200b"
STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
CLI = Path(dpsql.__file__).parent / "cli"


def steering(text: str) -> set[str]:
    return {char for char in text if category(char) in STEERING} - {"\n"}


@pytest.fixture(scope="module")
def ana():
    places = range(60)
    rows = {"who": places, f"n{BAD}": [each % 3 for each in places], "city": [f"{BAD}{each % 2}" for each in places]}
    words = {"bounds": {f"n{BAD}": (0, 3)}, "keys": {"city": [f"{BAD}0", f"{BAD}1"]}, "groups_per_person": 1}
    with dpsql.open(":memory:") as owner:
        registered = owner.register("people", pandas.DataFrame(rows), person="who", unique=True, **words)
        assert not steering(f"{registered}{registered!r}")
        owner.promise(epsilon=100, delta=1e-6)
        owner.defaults(cost_per_query=1, max_keys=100)
        yield owner.grant("ana", budget=50), owner


SQL = f'SELECT city, SUM("n{BAD}") AS "of{BAD}" FROM people GROUP BY city'


def test_answers_plans_and_audits_in_python(ana):
    analyst, owner = ana
    answer, query = analyst.sql(SQL), analyst.query(SQL)
    assert answer.rows[0][0] == f"{BAD}0"  # as it is
    texts = [str(answer), repr(answer), answer._repr_html_(), repr(query), str(query.explain()), str(query.cost)]
    texts += [str(owner.audit()), repr(owner.audit()), *dpsql.summary(answer), *map(str, owner.keeper.rows())]
    texts += [str(dpsql.formatted(answer, form)) for form in ("table", "records", "markdown")]
    for text in texts:
        assert text
        assert not steering(text)


@pytest.mark.parametrize(
    "sql", [f"SELECT {BAD}", f'SELECT COUNT(*) FROM "{BAD}"', f'SELECT COUNT(*) FROM people WHERE "{BAD}" = 1']
)
def test_errors_of_python_and_of_the_database_interface(ana, sql):
    with pytest.raises(dpsql.DpsqlError) as refused:
        ana[0].sql(sql)
    assert not steering("".join(traceback.format_exception_only(refused.value)))
    with pytest.raises(Error) as raised:
        connect(ana[0]).cursor().execute(sql)
    assert not steering(str(raised.value))


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    kept = asked(tmp_path_factory.mktemp("clinic"))
    back(kept)
    return kept


ARGUMENTS = [
    ("check", f"--{BAD}"),
    ("config", BAD),
    (f"no{BAD}",),
    ("check", "--policy", f"{BAD}.toml"),
    ("POLICY", "--as", f"ana{BAD}", "-c", "SELECT 1"),
    ("POLICY", "-c", f'SELECT COUNT(*) FROM "{BAD}"'),
    ("grant", BAD, "--budget", "1", "--policy", "POLICY"),
    ("user", "add", BAD, "--role", "analyst", "--policy", "POLICY"),
    ("freeze", "--reason", BAD, "--policy", "POLICY"),
    ("ledger", "show", "--policy", "POLICY"),
    ("ledger", "restore", BAD, "--policy", "POLICY"),
    ("ledger", "backup", f"FOLDER/{BAD}", "--policy", "POLICY"),
    ("audit", "--report", f"FOLDER/{BAD}.md", "--policy", "POLICY"),
    ("table", "show", BAD, "--policy", "POLICY"),
    ("budget", "show", "--policy", "POLICY"),
    ("doctor", "--policy", f"{BAD}.toml"),
]


@pytest.mark.parametrize(
    "words",
    ARGUMENTS,
    ids=lambda words: (
        f"{words[0][:6]} {words[1][:8]}".encode("unicode_escape").decode() if len(words) > 1 else "command"
    ),
)
def test_the_command_line(policy, tmp_path, capsys, words):
    with suppress(SystemExit):
        main([word.replace("POLICY", str(policy)).replace("FOLDER", str(tmp_path)) for word in words])
    out, err = capsys.readouterr()
    assert out + err
    assert not steering(out + err)


def test_policies_with_such_names(policy, tmp_path, capsys):
    written = "".join(f"\\U{ord(char):08X}" for char in BAD)
    for more in (
        f'["{written}"]\nx = 1\n',
        f'[table."{written}"]\nperson = "{written}"\n',
        f'[[grant]]\nto = "{written}"\nbudget = 1\n',
    ):
        bad = tmp_path / "bad.toml"
        bad.write_text(f"{policy.read_text()}\n{more}")
        for words in (("check",), ("doctor",), ("table", "list")):
            main([*words, "--policy", str(bad)])
            out, err = capsys.readouterr()
            assert not steering((out + err).expandtabs())


def test_a_person_of_such_a_name(tmp_path, capsys):
    """Its name stands in the words of the promise, which several commands print."""
    written = "".join(f"\\U{ord(char):08X}" for char in BAD)
    bad = declared(tmp_path, POLICY.replace('name = "patient"', f'name = "who{written}"'))
    assert written in bad.read_text()
    for words in (("policy", "apply"), ("budget", "show"), ("ledger", "show"), ("audit",)):
        main([*words, "--policy", str(bad)])
        out, err = capsys.readouterr()
        assert out + err
        assert not steering(out + err), words


def test_there_is_one_way_to_standard_error():
    """Of the commands: what the shell and the progress line write themselves is escaped there."""
    own = {"manner.py": 1, "demo.py": 1}  # `say` itself; a pause in constant words
    found = {path.name: path.read_text().count("file=sys.stderr") for path in CLI.glob("*.py")}
    assert {name: number for name, number in found.items() if number} == own
