"""The policy file: every key accepted, refused with its line, and never anything but BadPolicy."""

import tomllib
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsql.catalog.load import KEYS, load, loads
from dpsql.catalog.model import Bounds, Grant, KeyKind, Mode, Noise, PathStep, Policy, Promise, PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.engines.registry import ENGINES
from dpsql.errors import BadPolicy
from dpsql.privacy.unit import Neighbours
from tests.kits.cases import cases
from tests.kits.refusals import raised

ROOT = Path(__file__).parents[3]
EXAMPLE = (ROOT / "examples" / "hospital" / "dpsql.toml").read_text(encoding="utf-8")
HEAD = 'version = 1\nsource.url = "memory:"\n'  # two lines: what follows starts on line 3
PROMISE = "[promise]\nepsilon = 5\ndelta = 1e-6\n"


def policy(body: str) -> Policy:
    return loads(HEAD + body, name="p.toml")


def refusal(body: str, *, head: str = HEAD) -> str:
    error = raised(BadPolicy, lambda: loads(head + body, name="p.toml"))
    assert error.code == "DP501"
    assert error.why
    assert error.fix
    return error.what


def table(body: str):
    return policy(f"[table.t]\n{body}").tables["t"]


def column(body: str):
    return table(f'person = "p"\ncolumns.c = {{ {body} }}').columns["c"]


class TestFiles:
    def test_the_hospital_loads(self):
        hospital = load(ROOT / "examples" / "hospital" / "dpsql.toml")
        assert hospital.promise == Promise(
            epsilon=Fraction(5), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6)
        )
        assert hospital.defaults.cost_per_query == Fraction(1, 20)
        assert hospital.tables["prescriptions"].path == (
            PathStep(columns=("visit_id",), table="visits", to_columns=("visit_id",)),
        )
        assert hospital.tables["prescriptions"].person == ("patient_id",)
        assert hospital.tables["visits"].columns["day"].bounds == Bounds(low=date(2024, 1, 1), high=date(2026, 12, 31))
        assert hospital.tables["wards"].public
        assert hospital.grants == (
            Grant(
                to="ana@example.org",
                budget=Fraction(1),
                max_per_query=Fraction(1, 2),
                tables=("patients", "visits", "wards"),
                expires=date(2099, 1, 1),
            ),
        )

    def test_a_byte_order_mark_is_no_part_of_the_policy(self, tmp_path):
        file = tmp_path / "dpsql.toml"
        file.write_bytes(b"\xef\xbb\xbf" + EXAMPLE.encode())
        assert load(str(file)) == loads(EXAMPLE, name="x")

    @pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
    def test_a_file_that_cannot_be_read(self, tmp_path, content):
        file = tmp_path / "dpsql.toml"
        if content:
            file.write_bytes(content)
        error = raised(BadPolicy, lambda: load(file), match=r"dpsql\.toml: the policy cannot be read")
        assert ("dpsql init duckdb://FILE" in error.fix) == (content is None)

    def test_a_directory(self, tmp_path):
        raised(BadPolicy, lambda: load(tmp_path), match="cannot be read")

    def test_the_message_names_the_file_as_it_was_given(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("dpsql.toml").write_text("version = 2\n")
        error = raised(BadPolicy, lambda: load("dpsql.toml"))
        assert error.what.startswith("dpsql.toml:1 version: ")
        assert str(error).startswith("DP501  dpsql.toml:1 version: ")


class TestTheReferencePage:
    PAGE = (ROOT / "docs" / "reference" / "policy.md").read_text(encoding="utf-8")

    def example(self) -> str:
        return self.PAGE.partition("```toml\n")[2].partition("```")[0]

    def test_its_example_loads(self):
        found = loads(self.example(), name="policy.md", environment={"CLINIC_FOLDER": "/srv/data"})
        assert found.source == "duckdb:///srv/data/clinic.duckdb"
        assert found.source.partition(":")[0] in ENGINES
        assert found.tables["visits"].source == "clinic_visits_2026"

    def test_its_example_uses_every_key(self):
        """Complete: no key of the format is left out of the example, but the ones that exclude it."""
        read = tomllib.loads(self.example())
        used = {
            "": set(read),
            "table": {key for section in read["table"].values() for key in section},
            "grant": {key for section in read["grant"] for key in section},
            "column": {
                key
                for section in read["table"].values()
                for said in section.get("columns", {}).values()
                for key in said
            },
            **{kind: set(read[kind]) for kind in ("source", "person", "promise", "defaults")},
        }
        assert {kind: set(keys) - used[kind] for kind, keys in KEYS.items() if set(keys) - used[kind]} == {
            "source": {"ledger_url", "ledger_key"},  # instead of ledger_file
            "table": {"rows_public"},  # needs the other relation
        }

    @pytest.mark.parametrize("kind", [kind for kind in KEYS if kind])
    def test_every_key_has_a_row(self, kind):
        titles = {"table": "[table.NAME]", "column": "[table.NAME.columns]", "grant": "[[grant]]"}
        section = self.PAGE.partition(f"## `{titles.get(kind, f'[{kind}]')}`\n")[2].partition("\n## ")[0]
        documented = [line.split("|")[1].strip(" `") for line in section.splitlines() if line.startswith("| `")]
        assert documented == list(KEYS[kind])


class TestTop:
    @pytest.mark.parametrize("version", ["2", "true", '"1"', "1.5"])
    def test_another_version(self, version):
        assert refusal(f'version = {version}\nsource.url = "x"', head="").startswith("p.toml:1 version: ")

    def test_missing_keys(self):
        assert refusal("", head="# nothing\n") == "p.toml:1 version: is missing"
        assert refusal("", head="version = 1\n[source]\n") == "p.toml:2 source.url: is missing"
        assert refusal("", head="\nversion = 1\n").startswith("p.toml:1 source.url: is missing")

    @cases(__file__, "body", "place=", "hint=")
    def test_an_unknown_key(self, body, place, hint):
        what = refusal(body)
        assert what.startswith(f"{place}unknown key")
        assert (f"Did you mean {hint}?" in what) == bool(hint)

    @pytest.mark.parametrize("name", ["source", "person", "promise", "defaults", "table"])
    def test_a_section_that_is_none(self, name):
        head = "version = 1\n" + ('source.url = "x"\n' if name != "source" else "\n")
        assert refusal(f"\n{name} = 3\n", head=head) == f"p.toml:4 {name}: is a whole number, not a section"

    @cases(__file__, "what", "body", "start")
    def test_refused_at_its_line(self, what, body, start):
        assert refusal(body).startswith(start)


class TestSource:
    def test_the_environment_fills_the_address(self):
        text = 'version = 1\n[source]\nurl = "postgresql://${USER_X}:${WORD}@host/db"'
        found = loads(text, name="p", environment={"USER_X": "ana", "WORD": "s3cret"})
        assert found.source == "postgresql://ana:s3cret@host/db"
        assert "s3cret" not in repr(found)

    def test_the_process_has_an_environment(self, monkeypatch):
        monkeypatch.setenv("DPSQL_TEST_URL", "memory:")
        assert loads('version = 1\nsource.url = "${DPSQL_TEST_URL}"', name="p").source == "memory:"

    @cases(__file__, "url", "words")
    def test_an_address_that_is_none(self, url, words):
        with pytest.raises(BadPolicy) as caught:
            loads(f"version = 1\n[source]\n\nurl = {url}", name="p.toml", environment={"EMPTY": "", "A": "x"})
        assert caught.value.what.startswith("p.toml:4 source.url: ")
        assert words in caught.value.what

    def test_labels(self):
        assert policy("").data_version is None
        assert policy("").ledger_file is None
        assert policy('source.ledger_file = "../l.db"').ledger_file == "../l.db"
        assert policy("").ledger is None
        found = policy('source.ledger = "L1"\nsource.data_version = "2026-10"')
        assert (found.ledger, found.data_version) == ("L1", "2026-10")

    def test_a_time_limit(self):
        assert policy("").timeout is None
        assert policy("source.timeout = 0.5").timeout == Fraction(1, 2)
        for value in ("0", "-1", "nan", "inf", "'5'", "true", "86401"):
            assert refusal(f"source.timeout = {value}").startswith("p.toml:3 source.timeout: ")

    def test_memory_and_threads_are_bounded_by_the_policy(self):
        assert (policy("").memory_limit, policy("").threads) == (None, None)
        found = policy('source.memory_limit = "1.5 GiB"\nsource.threads = 2')
        assert (found.memory_limit, found.threads) == ("1.5 GiB", 2)
        for value in ('"much"', "4", '"0GB"', '"-1GB"', '""'):
            assert refusal(f"source.memory_limit = {value}").startswith("p.toml:3 source.memory_limit: ")
        for value in ("0", "-1", "1.5", '"2"', "1025", "true"):
            assert refusal(f"source.threads = {value}").startswith("p.toml:3 source.threads: ")


class TestPerson:
    def test_what_holds_unless_written(self):
        person = policy("").person
        expected = ("person", "", Neighbours.ADD_REMOVE, 1)
        assert (person.name, person.label, person.relation, person.group_size) == expected

    def test_all_keys(self):
        person = policy('[person]\nname = "patient"\nlabel = "L"\nrelation = "change_one"\ngroup_size = 4').person
        expected = ("patient", "L", Neighbours.CHANGE_ONE, 4)
        assert (person.name, person.label, person.relation, person.group_size) == expected

    @cases(__file__, "line")
    def test_refused_persons(self, line):
        key = line.split()[0]
        assert refusal(f"[person]\n# a comment\n{line}").startswith(f"p.toml:5 person.{key}: ")


class TestPromise:
    def test_none(self):
        assert policy("").promise is None

    def test_numbers_are_exact(self):
        promise = policy("[promise]\nepsilon = 0.1\ndelta = 1e-6").promise
        assert promise == Promise(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6))

    def test_all_keys(self):
        promise = policy(
            '[promise]\nepsilon = 1_0.5\ndelta = 0\ndelta_prime = 0.0\nper = "forever"\nacross = "all analysts"'
        ).promise
        assert promise == Promise(epsilon=Fraction(21, 2), delta=Fraction(0), delta_prime=Fraction(0))

    def test_a_basic_account_keeps_no_delta_back(self):
        promise = policy('[promise]\nepsilon = 1\ndelta = 1e-6\naccounting = "basic"').promise
        assert (promise.delta, promise.delta_prime) == (Fraction(1, 10**6), 0)

    @pytest.mark.parametrize(
        ("word", "renewals"), [("forever", 0), ("year", 1), ("quarter", 4), ("month", 12), ("week", 53), ("day", 366)]
    )
    def test_a_window_says_how_often_a_year_may_renew_it(self, word, renewals):
        """53 weeks touch a year, and leap years have 366 days."""
        assert policy(f'[promise]\nepsilon = 1\ndelta = 0\nper = "{word}"').promise.per.renewals == renewals

    @cases(__file__, "key", "value")
    def test_refused_promises(self, key, value):
        lines = {"epsilon": "1", "delta": "1e-6", key: value}
        body = "[promise]\n" + "\n".join(f"{name} = {said}" for name, said in lines.items())
        line = 4 + list(lines).index(key)
        assert refusal(body).startswith(f"p.toml:{line} promise.{key}: ")

    def test_huge_numbers_are_refused_at_once(self):
        assert refusal(f"[promise]\nepsilon = {'9' * 5000}\ndelta = 0").startswith(
            "p.toml:1: not TOML: a number has too many"
        )


class TestDefaults:
    def test_no_privacy_parameter_has_one(self):
        defaults = policy("").defaults
        assert defaults.confidence == Fraction(19, 20)
        assert [
            defaults.cost_per_query,
            defaults.selection_share,
            defaults.delta_per_query,
            defaults.max_keys,
            defaults.mode,
            defaults.noise,
        ] == [None] * 6

    def test_all_keys(self):
        defaults = policy(
            f"{PROMISE}[defaults]\ncost_per_query = 5.0\nconfidence = 0.9\n"
            "selection_share = 0.25\ndelta_per_query = 5e-7\nmax_keys = 10\nmode = 'scale'\nnoise = 'gaussian'"
        ).defaults
        assert defaults.cost_per_query == 5
        assert defaults.confidence == Fraction(9, 10)
        assert defaults.selection_share == Fraction(1, 4)
        assert defaults.delta_per_query == Fraction(1, 2 * 10**6)
        assert (defaults.max_keys, defaults.mode, defaults.noise) == (10, Mode.SCALE, Noise.GAUSSIAN)

    @cases(__file__, "line")
    def test_refused_defaults(self, line):
        key = line.split()[0]
        assert refusal(f"{PROMISE}[defaults]\n{line}").startswith(f"p.toml:7 defaults.{key}: ")

    def test_without_a_promise(self):
        defaults = policy("[defaults]\ndelta_per_query = 1e-9\ncost_per_query = 99").defaults
        assert (defaults.delta_per_query, defaults.cost_per_query) == (Fraction(1, 10**9), 99)

    def test_the_reserve_is_not_for_queries(self):
        spent = "[defaults]\ndelta_per_query = 1e-6"
        assert "promise.delta_prime" in refusal(f"{PROMISE}{spent}")
        assert policy(f"{PROMISE}delta_prime = 0\n{spent}").defaults.delta_per_query == Fraction(1, 10**6)


class TestTables:
    def test_each_way_to_a_person(self):
        assert table("public = true").public
        assert table('unit = "row"').unit_row
        assert table('person = "P"').person == ("p",)
        assert table('person = "p"\nunit = "person"').person == ("p",)
        assert table('person = ["Country", "number"]').person == ("country", "number")

    def test_naming_a_person_column_declares_it(self):
        assert set(table('person = ["a", "B"]\ncolumns.c = {}').columns) == {"a", "b", "c"}
        assert table('person = "a"\ncolumns.A = { hidden = true }').columns["a"].hidden

    @cases(__file__, "body=")
    def test_exactly_one_way_to_a_person(self, body):
        place = "6 table.t.unit" if body.endswith('"person"') and "public" in body else "4 table.t"
        assert refusal(f"\n[table.t]\n{body}").startswith(f"p.toml:{place}: ")

    def test_the_error_of_a_table_without_a_person_teaches(self):
        error = raised(BadPolicy, lambda: policy("[table.log]"))
        assert error.what == "p.toml:3 table.log: no person column"
        for word in ("person = ", "person_via = ", "public = true"):
            assert word in error.fix

    def test_all_keys(self):
        found = table(
            'source = "Main Visits"\nperson = "p"\nrows = 7\nrows_per_person = 6\nrows_per_group = 2\n'
            "groups_per_person = 3\nunique = false\nconfirmed = true"
        )
        assert (found.name, found.source, found.rows) == ("t", "Main Visits", 7)
        assert (found.rows_per_person, found.rows_per_group, found.groups_per_person) == (6, 2, 3)
        assert not found.unique

    @pytest.mark.parametrize(
        ("said", "size"),
        [("6000", 6000), ('"about 6000"', 6000), ('"about 6_000"', 6000), ('"about 1,250,000"', 1250000)],
    )
    def test_a_public_size(self, said, size):
        assert table(f'person = "p"\nrows = {said}').rows == size

    def test_names_fold(self):
        found = policy('[table.Visits]\nperson = "p"\n[table.Visits.columns]\nCharge = { bounds = [0, 1] }')
        assert list(found.tables) == ["visits"]
        assert found.tables["visits"].name == "visits"
        assert found.tables["visits"].source == "Visits"
        assert found.tables["visits"].columns["charge"].name == "charge"

    def test_only_ascii_letters_fold(self):
        found = policy('[table."É"]\nperson = "p"\n[table."é"]\nperson = "p"')
        assert list(found.tables) == ["É", "é"]

    @cases(__file__, "line")
    def test_wrong_types(self, line):
        key = line.split()[0]
        way = "" if key in {"person", "person_via", "public"} else 'person = "p"'
        assert refusal(f"[table.t]\n{way}\n{line}").startswith(f"p.toml:5 table.t.{key}: ")

    @pytest.mark.parametrize(
        "line",
        ["unique = true", "rows_public = true", "rows_per_person = 1", "rows_per_group = 1", "groups_per_person = 1"],
    )
    def test_nobody_is_in_a_public_table(self, line):
        assert refusal(f"[table.t]\npublic = true\n{line}").startswith(
            f"p.toml:5 table.t.{line.split()[0]}: has no meaning"
        )

    def test_a_column_without_duplicates(self):
        assert table("public = true\ncolumns.id.unique = true").columns["id"].unique

    def test_unique(self):
        assert table('person = "p"\nunique = true\nrows_per_person = 1').unique

    def test_public_row_counts(self):
        change = '[person]\nrelation = "change_one"\n'
        said = policy(f'{change}[table.t]\nunit = "row"\nrows = 4\nrows_public = true').tables["t"]
        assert (said.rows, said.rows_public) == (4, True)

    @pytest.mark.parametrize("name", ["dp", "DP", '"dp.budget"', '"Dp.x"'])
    def test_a_reserved_name(self, name):
        assert "the name dp is reserved" in refusal(f'[table.{name}]\nperson = "p"')
        assert policy('[table.dpx]\nperson = "p"').tables["dpx"]

    @pytest.mark.parametrize("name", ['""', '" "', '"a\\u0000b"'])
    def test_a_name_that_is_none(self, name):
        assert refusal(f'[table.{name}]\nperson = "p"').startswith("p.toml:3 table.")


class TestPaths:
    BEDS = '[table.beds]\nperson = "patient_id"\n'

    def test_one_step(self):
        long = policy(f'{self.BEDS}[table.t]\nperson_via = "bed -> beds.Bed_Id -> patient_id"').tables["t"]
        assert long.path == (PathStep(columns=("bed",), table="beds", to_columns=("bed_id",)),)
        assert long.person == ("patient_id",)
        assert list(long.columns) == ["bed"]
        for written in (
            "bed->beds.bed_id",
            "t.bed -> beds.bed_id -> beds.patient_id",
            '\\"bed\\" -> BEDS.\\"bed_id\\"',
        ):
            assert policy(f'{self.BEDS}[table.t]\nperson_via = "{written}"').tables["t"] == long

    def test_several_steps(self):
        body = (
            '[table.lineitem]\nperson_via = "lineitem.order_id -> orders.id -> customer -> customers.id -> who"\n'
            '[table.orders]\nperson_via = "customer -> customers.id"\n[table.customers]\nperson = "who"'
        )
        found = policy(body).tables["lineitem"]
        assert found.path == (
            PathStep(columns=("order_id",), table="orders", to_columns=("id",)),
            PathStep(columns=("customer",), table="customers", to_columns=("id",)),
        )
        assert found.person == ("who",)
        short = body.replace(" -> customer -> customers.id -> who", "")
        middle = body.replace("id -> who", "id")
        assert short != body
        assert middle != body
        assert policy(short).tables == policy(middle).tables == policy(body).tables

    def test_composite_steps(self):
        body = (
            '[table.t]\nperson_via = "(a, b) -> u.(C, d) -> (x, y)"\n[table.u]\nperson = ["x", "y"]\n'
            '[table.v]\nperson_via = "( e ) -> t.(k)"'
        )
        found = policy(body).tables
        assert found["t"].path == (PathStep(columns=("a", "b"), table="u", to_columns=("c", "d")),)
        assert found["t"].person == found["v"].person == ("x", "y")
        assert found["v"].path == (PathStep(columns=("e",), table="t", to_columns=("k",)), *found["t"].path)

    @cases(__file__, "written", "words")
    def test_refused_paths(self, written, words):
        others = '[table.open]\npublic = true\n[table.rows]\nunit = "row"\n'
        others += '[table.stays]\nperson_via = "bed -> beds.bed_id"\n'
        what = refusal(f"[table.t]\n\nperson_via = '{written}'\n{self.BEDS}{others}")
        assert what.startswith("p.toml:5 table.t.person_via: ")
        assert words in what

    def test_a_long_circle(self):
        body = (
            '[table.a]\nperson_via = "x -> b.y"\n[table.b]\nperson_via = "x -> c.y"\n[table.c]\nperson_via = "x -> a.y"'
        )
        assert "circle: a -> b -> c -> a" in refusal(body)

    def test_paths_end_at_the_person_of_their_tables(self):
        """Rows of the table between vanish with its own person; another end would give the rows two owners."""
        body = '[table.t]\nperson_via = "a -> u.b -> c -> v.d -> p"\n[table.u]\nperson = "q"\n[table.v]\nperson = "p"'
        assert "does not follow the person of u, which is q" in refusal(body)
        assert "does not follow the person of u, which is q" in refusal(body.replace("v.d -> p", "v.d"))


class TestColumns:
    def test_nothing(self):
        found = column("")
        expected = ("c", None, None, None, False, False)
        assert (found.name, found.type, found.bounds, found.keys, found.hidden, found.not_null) == expected

    @cases(__file__, "said", "kind")
    def test_types(self, said, kind):
        assert column(f'type = "{said}"').type is SqlType(kind)

    @cases(__file__, "said", "low=", "high=")
    def test_bounds(self, said, low, high):
        found = column(f"bounds = {said}").bounds
        assert found == Bounds(low=low, high=high)
        assert (type(found.low), type(found.high)) == (type(low), type(high))

    @cases(__file__, "said", "values=")
    def test_public_keys(self, said, values):
        assert column(f"keys = {said}").keys == PublicKeys(values=values)

    def test_other_keys_and_flags(self):
        assert column('keys = "private"').keys is KeyKind.PRIVATE
        found = column('keys = "calendar", bounds = ["2024-01-01", "2024-02-01"], nulls = "never"')
        assert found.keys is KeyKind.CALENDAR
        assert found.not_null
        assert column('hidden = true, nulls = "ignore"').hidden
        assert not column('nulls = "ignore"').not_null

    @cases(__file__, "said")
    def test_refused_columns(self, said):
        key = said.split()[0]
        body = f'[table.t]\nperson = "p"\n[table.t.columns]\n# c is next\nc = {{ {said} }}'
        assert refusal(body).startswith(f"p.toml:7 table.t.columns.c.{key}: ")


class TestGrants:
    TABLE = '[table.t]\nperson = "p"\n'

    def grants(self, body: str):
        return policy(f"{PROMISE}{self.TABLE}{body}").grants

    def test_all_keys(self):
        assert self.grants(
            '[[grant]]\nto = "ana"\ntables = ["T"]\nbudget = 5\nmax_per_query = 0.5\nexpires = "2027-01-01"'
        ) == (
            Grant(to="ana", tables=("t",), budget=Fraction(5), max_per_query=Fraction(1, 2), expires=date(2027, 1, 1)),
        )

    def test_the_least(self):
        expected = (Grant(to="ana", budget=Fraction(1, 10)), Grant(to="bob", budget=Fraction(1)))
        assert self.grants('[[grant]]\nto = "ana"\nbudget = 0.1\n[[grant]]\nto = "bob"\nbudget = 1') == expected

    @cases(__file__, "lines=", "key")
    def test_refused(self, lines, key):
        what = refusal(f"{PROMISE}{self.TABLE}[[grant]]\nto='x'\nbudget=1\n[[grant]]\n" + "\n".join(lines))
        written = [index for index, line in enumerate(lines) if key and line.startswith(key[1:])]
        assert what.startswith(f"p.toml:{12 + written[0] if written else 11} grant[2]{key}: ")

    def test_the_whole_budget_at_once(self):
        (grant,) = self.grants('[[grant]]\nto = "ana"\nbudget = 1\nmax_per_query = 1.0')
        assert grant.max_per_query == grant.budget == 1


class TestSyntax:
    @cases(__file__, "text=", "line=")
    def test_not_toml(self, text, line):
        error = raised(BadPolicy, lambda: loads(text, name="p.toml"))
        assert error.what.startswith(f"p.toml:{line}: not TOML: ")


WORDS = st.sampled_from(
    [
        *(key for keys in KEYS.values() for key in keys),
        *"\"'[]{}=,.#\n 0\\\x00\ufeffé\ud800\t",
        *('"""', "[[", "]]", "->", "nan", "-inf", "-1", "1e400", "1e99999999999999999999", "0x" + "f" * 6000),
        *("true", "false", "''", "[]", "{}", "2024-01-01", "07:00:00"),
        *("${X}", "[a.b]", "[[grant]]\n", "person = 'x'\n", "\r\n"),
    ]
)
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), WORDS | st.text(max_size=5)), min_size=1, max_size=6)


class TestAnything:
    @given(EDITS)
    @example([(0.0, 0, "")])
    def test_a_damaged_file_is_a_policy_or_a_bad_policy(self, edits):
        text = EXAMPLE
        for where, cut, word in edits:
            start = int(where * len(text))
            text = text[:start] + word + text[start + cut :]
        self.judge(text)

    @given(st.lists(st.tuples(st.integers(0, 200), WORDS), min_size=1, max_size=8))
    def test_a_line_moved_or_changed(self, edits):
        lines = EXAMPLE.splitlines()
        for where, word in edits:
            place = where % len(lines)
            key, equals, _ = lines[place].partition("=")
            lines[place] = f"{key}{equals} {word}" if equals else word
            lines.append(lines.pop((where * 7) % len(lines)))
        self.judge("\n".join(lines))

    @given(st.text(max_size=60) | st.lists(WORDS, max_size=20).map("".join))
    def test_any_text(self, text):
        self.judge(text)
        self.judge(HEAD + text)

    def judge(self, text: str) -> None:
        try:
            found = loads(text, name="p.toml")
        except BadPolicy as error:
            place, _, _ = error.what.partition(" ")
            number = int(place.removeprefix("p.toml:").rstrip(":"))
            assert 1 <= number <= text.count("\n") + 1
            str(error).encode("utf-8", "surrogatepass")
        else:
            assert isinstance(found, Policy)
            assert replace(found) == found
