"""The policy against the engine's schema: names, types, people. Nothing here reads a row."""

from dataclasses import replace
from pathlib import Path

import pytest

from counted_calls import growth
from dpsql.catalog.check import all_mistakes, checked
from dpsql.catalog.load import load, loads
from dpsql.catalog.model import Bounds, EngineColumn, EngineTable, KeyKind, PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.errors import BadPolicy
from tests.kits.cases import cases
from tests.kits.refusals import raised

ROOT = Path(__file__).parents[3]
READ_AS = {
    "BOOLEAN": SqlType.BOOLEAN,
    "INTEGER": SqlType.INTEGER,
    "BIGINT": SqlType.INTEGER,
    "DOUBLE": SqlType.DOUBLE,
    "DECIMAL(9,2)": SqlType.DOUBLE,
    "VARCHAR": SqlType.TEXT,
    "UUID": SqlType.TEXT,
    "DATE": SqlType.DATE,
    "TIMESTAMP": SqlType.TIMESTAMP,
}


def problems(read, engine):
    """Everything that is wrong, as the errors that the owner gets."""
    return tuple(mistake.as_error(read.written) for mistake in all_mistakes(read, engine))


def table(name: str, /, **columns: str) -> EngineTable:
    return EngineTable(
        name=name,
        columns=tuple(
            EngineColumn(name=column, type=READ_AS.get(kind), engine_type=kind) for column, kind in columns.items()
        ),
    )


def schema(*tables: EngineTable) -> dict[str, EngineTable]:
    return {each.name: each for each in tables}


def policy(body: str):
    return loads(f'version = 1\nsource.url = "memory:"\n{body}', name="p.toml")


def refusal(body: str, *tables: EngineTable) -> str:
    read = policy(body)
    error = raised(BadPolicy, lambda: checked(read, schema(*tables)))
    assert error.what == problems(read, schema(*tables))[0].what
    return error.what


def column(said: str, kind: str):
    body = f'[table.t]\nperson = "p"\n[table.t.columns]\nc = {{ {said} }}'
    return checked(policy(body), schema(table("t", p="BIGINT", c=kind))).policy.tables["t"].columns["c"]


HOSPITAL = schema(
    table("patients", patient_id="BIGINT", name="VARCHAR", age="INTEGER", city="VARCHAR", sex="VARCHAR", flu="BOOLEAN"),
    table(
        "Visits",
        Patient_ID="BIGINT",
        visit_id="BIGINT",
        ward="VARCHAR",
        charge="DOUBLE",
        diagnosis="VARCHAR",
        day="DATE",
    ),
    table("prescriptions", visit_id="BIGINT", drug="VARCHAR", days="INTEGER", picture="BLOB"),
    table("wards", ward="VARCHAR", floor="INTEGER", plan="BLOB"),
    table("unrelated", x="BLOB"),
)


class TestNames:
    def test_the_hospital_fits(self):
        read = load(ROOT / "examples" / "hospital" / "dpsql.toml")
        assert problems(read, HOSPITAL) == ()
        catalog = checked(read, HOSPITAL)
        assert set(catalog.schema) == set(catalog.policy.tables) == {"patients", "visits", "prescriptions", "wards"}
        assert catalog.schema["visits"] is HOSPITAL["Visits"]
        assert catalog.policy.tables["visits"].source == "Visits"
        assert catalog.policy.tables["visits"].columns["charge"].type is SqlType.DOUBLE
        assert catalog.policy.tables["patients"].columns["flu"].type is SqlType.BOOLEAN

    def test_a_public_table_is_open(self):
        """Without declared columns: all that can be read, and only those whose name is no riddle."""
        wards = checked(load(ROOT / "examples" / "hospital" / "dpsql.toml"), HOSPITAL).policy.tables["wards"]
        expected = {"ward": SqlType.TEXT, "floor": SqlType.INTEGER}
        assert {name: said.type for name, said in wards.columns.items()} == expected
        riddle = table("w", a="INTEGER", A="INTEGER", B="DATE")
        assert list(checked(policy("[table.w]\npublic = true"), schema(riddle)).policy.tables["w"].columns) == ["b"]
        some = checked(policy("[table.w]\npublic = true\ncolumns.B = {}"), schema(table("w", b="DATE", c="DATE")))
        assert list(some.policy.tables["w"].columns) == ["b"]

    def test_a_private_table_is_not(self):
        body = '[table.t]\nperson = "p"'
        catalog = checked(policy(body), schema(table("t", p="BIGINT", name="VARCHAR")))
        assert list(catalog.policy.tables["t"].columns) == ["p"]
        assert catalog.policy.tables["t"].columns["p"].type is SqlType.INTEGER
        alone = checked(policy('[table.t]\nunit = "row"'), schema(table("t", name="VARCHAR")))
        assert alone.policy.tables["t"].columns == {}

    def test_missing_names(self):
        body = '[table.visits]\nperson = "p"\n[table.visits.columns]\ncharge = {}'
        assert refusal(body, table("visit", p="BIGINT")) == (
            "p.toml:3 table.visits: the engine has no table visits. Did you mean visit?"
        )
        assert refusal(body, table("visits", p="BIGINT", charges="DOUBLE")) == (
            "p.toml:6 table.visits.columns.charge: visits has no column charge. Did you mean charges?"
        )
        assert refusal(body, table("visits", q="BIGINT", charge="DOUBLE")) == (
            "p.toml:4 table.visits.person: visits has no column p"
        )

    def test_another_name_in_the_engine(self):
        body = '[table.t]\nsource = "Main.Visits"\nperson = "p"'
        assert (
            checked(policy(body), schema(table("main.visits", p="BIGINT"))).policy.tables["t"].source == "main.visits"
        )

    def test_names_that_differ_in_case_only(self):
        body = '[table.t]\nperson = "p"\ncolumns.x = {}'
        assert "differ in upper and lower case only" in refusal(
            body, table("t", p="DATE", x="DATE"), table("T", p="DATE")
        )
        assert "differ in upper and lower case only" in refusal(body, table("t", p="DATE", x="DATE", X="DATE"))
        assert "differ in upper and lower case only" in refusal(body, table("t", p="DATE", x="DATE", P="DATE"))
        assert checked(policy(body), schema(table("t", p="DATE", x="DATE", y="DATE", Y="DATE")))

    def test_a_list_of_things_to_do(self):
        body = (
            '[table.t]\nperson = "p"\nrows_per_person = 2\n[table.t.columns]\na = { bounds = [0, 1] }\nb = {}\n'
            'c = { keys = [1] }\n[table.u]\nperson = "q"\n[table.v]\nperson_via = "x -> t.y"'
        )
        found = problems(policy(body), schema(table("t", p="BIGINT", a="VARCHAR", c="VARCHAR"), table("u", q="DATE")))
        assert [str(error).split(": ")[0] for error in found] == [
            "DP501  p.toml:7 table.t.columns.a.bounds",
            "DP501  p.toml:8 table.t.columns.b",
            "DP501  p.toml:9 table.t.columns.c.keys",
            "DP501  p.toml:11 table.u.person",
            "DP501  p.toml:12 table.v",
        ]


class TestTypes:
    @pytest.mark.parametrize(
        ("said", "kind"),
        [('type = "int"', "INTEGER"), ('type = "text"', "UUID"), ('type = "decimal"', "DECIMAL(9,2)"), ("", "DATE")],
    )
    def test_agree(self, said, kind):
        assert column(said, kind).type is READ_AS[kind]

    @pytest.mark.parametrize(("said", "kind"), [("boolean", "INTEGER"), ("integer", "DOUBLE"), ("date", "TIMESTAMP")])
    def test_disagree(self, said, kind):
        with pytest.raises(BadPolicy, match=r"p.toml:6 table.t.columns.c.type: declared as .*, but the engine says"):
            column(f'type = "{said}"', kind)

    @pytest.mark.parametrize("said", ["", "hidden = true", "bounds = [0, 1]", 'type = "text"'])
    def test_a_type_that_is_not_read(self, said):
        raised(BadPolicy, lambda: column(said, "BLOB"), match=r"p.toml:6 table.t.columns.c: its type BLOB is not read")

    @cases(__file__, "said=", "kind", "low=", "high=")
    def test_bounds_that_fit(self, said, kind, low, high):
        found = column(f"bounds = {said}", kind).bounds
        assert found == Bounds(low=low, high=high)
        assert (type(found.low), type(found.high)) == (type(low), type(high))

    @cases(__file__, "said=", "kind")
    def test_bounds_that_do_not(self, said, kind):
        with pytest.raises(BadPolicy, match=r"p.toml:6 table.t.columns.c.bounds: do not fit a column of type"):
            column(f"bounds = {said}", kind)

    @cases(__file__, "said", "kind", "values=")
    def test_keys_that_fit(self, said, kind, values):
        found = column(f"keys = {said}", kind).keys
        assert found == PublicKeys(values=values)
        assert [type(value) for value in found.values] == [type(value) for value in values]

    @cases(__file__, "said=", "kind")
    def test_keys_that_do_not(self, said, kind):
        raised(BadPolicy, lambda: column(f"keys = {said}", kind), match=r"p.toml:6 table.t.columns.c.(keys|bounds): ")

    @pytest.mark.parametrize("kind", ["BOOLEAN", "INTEGER", "VARCHAR", "DATE", "TIMESTAMP"])
    def test_private_keys_of_every_other_type(self, kind):
        assert column('keys = "private"', kind).keys is KeyKind.PRIVATE

    @pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP"])
    def test_calendars(self, kind):
        assert column('keys = "calendar", bounds = ["2024-01-01", "2024-01-31"]', kind).keys is KeyKind.CALENDAR


class TestPeople:
    TWO = '[table.a]\nperson = "p"\n[table.b]\nperson = "q"\n'
    VIA = '[table.a]\nperson = "p"\n[table.b]\nperson_via = "x -> a.k"\n'

    def test_one_type_everywhere(self):
        assert checked(policy(self.TWO), schema(table("a", p="BIGINT"), table("b", q="BIGINT")))
        what = refusal(self.TWO, table("a", p="BIGINT"), table("b", q="INTEGER"))
        assert what == "p.toml:6 table.b.person: its type is INTEGER, but BIGINT in a"
        assert "VARCHAR" in refusal(self.TWO, table("a", p="UUID"), table("b", q="VARCHAR"))

    def test_public_tables_have_nobody(self):
        body = f"[table.w]\npublic = true\n{self.TWO}"
        assert checked(policy(body), schema(table("w", x="DATE"), table("a", p="BIGINT"), table("b", q="BIGINT")))

    def test_an_engine_that_does_not_name_its_types(self):
        tables = [
            EngineTable(name=name, columns=(EngineColumn(name=column, type=SqlType.TEXT),))
            for name, column in ("ap", "bq")
        ]
        assert checked(policy(self.TWO), schema(*tables))
        assert "its type is DATE, but text in a" in refusal(self.TWO, tables[0], table("b", q="DATE"))

    def test_several_columns_in_the_same_order(self):
        body = '[table.a]\nperson = ["x", "y"]\n[table.b]\nperson = ["y", "x"]'
        assert checked(policy(body), schema(table("a", x="DATE", y="DATE"), table("b", x="DATE", y="DATE")))
        assert "BIGINT, DATE in a" in refusal(body, table("a", x="BIGINT", y="DATE"), table("b", x="BIGINT", y="DATE"))

    @pytest.mark.parametrize("kind", ["DOUBLE", "DECIMAL(9,2)"])
    def test_decimal_numbers_name_nobody(self, kind):
        assert f"a.p is of type {kind}, which cannot name a person" in refusal(
            '[table.a]\nperson = "p"', table("a", p=kind)
        )
        assert "cannot name a person" in refusal(self.VIA, table("a", p="DATE", k=kind), table("b", x=kind))

    def test_a_person_of_a_type_that_is_not_read(self):
        """It may be the person, hidden or not, but nothing can be said about its values."""
        tables = (table("a", p="BIT", k="BLOB"), table("b", x="BLOB"))
        for said in ("", "[table.a.columns]\np = { hidden = true }\nk = {}"):
            assert checked(policy(self.VIA + said), schema(*tables)).policy.tables["a"].columns["p"].type is None
        for said in ('type = "text"', "bounds = [0, 1]", 'keys = ["x"]'):
            with pytest.raises(BadPolicy, match="BIT is not read"):
                checked(policy(f"{self.VIA}[table.a.columns]\np = {{ {said} }}"), schema(*tables))
        nameless = EngineTable(name="a", columns=(EngineColumn(name="p", type=None),))
        assert "type unknown" in refusal('[table.a]\nperson = "p"', nameless)

    def test_paths_join_columns_of_one_type(self):
        assert checked(policy(self.VIA), schema(table("a", p="DATE", k="BIGINT"), table("b", x="BIGINT")))
        what = refusal(self.VIA, table("a", p="DATE", k="BIGINT"), table("b", x="VARCHAR"))
        assert what == "p.toml:6 table.b.person_via: x is of type VARCHAR, but the key of a of BIGINT"
        assert refusal(self.VIA, table("b", x="DATE")) == "p.toml:3 table.a: the engine has no table a"
        assert refusal(self.VIA, table("a", p="DATE"), table("b", x="DATE")).startswith(
            "p.toml:6 table.b.person_via: a has no column k"
        )
        assert refusal(self.VIA, table("a", p="DATE", k="DATE"), table("b", y="DATE")).startswith(
            "p.toml:6 table.b.person_via: b has no column x"
        )


class TestPoliciesBuiltInPython:
    """Nobody read them line by line, so the rules of the file are applied here."""

    READ = policy('[table.a]\nperson = "p"\n[table.b]\nperson_via = "x -> a.k"')
    TABLES = schema(table("a", p="DATE", k="DATE"), table("b", x="DATE"))

    def refused(self, **changes) -> str:
        return raised(BadPolicy, lambda: checked(replace(self.READ, written=None, **changes), self.TABLES)).what

    def test_paths_are_followed(self):
        short = replace(self.READ.tables["b"], person=())
        built = replace(self.READ, tables={"a": self.READ.tables["a"], "b": short}, written=None)
        assert checked(built, self.TABLES) == checked(self.READ, self.TABLES)

    def test_rules_are_kept(self):
        a, b = self.READ.tables["a"], self.READ.tables["b"]
        assert self.refused(tables={"b": b}) == "table.b.person_via: the path leads to a, which is not declared"
        assert self.refused(tables={"a": replace(a, public=True)}) == "table.a: public, and yet with a person"
        public = replace(a, public=True, person=())
        assert self.refused(tables={"a": replace(public, unit_row=True)}).endswith("yet with a person")
        assert self.refused(tables={"a": a, "b": replace(b, public=True)}).endswith("yet with a person")
        assert self.refused(tables={"a": replace(a, person=())}).startswith("table.a: must have exactly one way")
        assert self.refused(tables={"a": replace(a, unit_row=True)}).startswith("table.a: must have exactly one way")
        assert self.refused(tables={"a": replace(a, rows_per_person=0)}).startswith("table.a.rows_per_person: ")
        assert self.refused(tables={"A": a}) == "table.A: filed under another name than a"
        assert self.refused(tables={"A": replace(a, name="A")}) == "table.A: filed under another name than a"
        assert self.refused(tables={"a": replace(a, name="A")}) == "table.a: filed under another name than a"

    def test_a_wrong_path_is_told_once(self):
        lost = replace(self.READ.tables["b"], path=(replace(self.READ.tables["b"].path[0], table="c"),))
        found = problems(
            replace(self.READ, tables={**self.READ.tables, "b": lost}),
            schema(table("a", p="DATE"), table("b", x="BIT")),
        )
        assert [str(error).split(": ")[0] for error in found] == ["DP501  p.toml:6 table.b.person_via"]

    def test_values_are_read_again(self):
        a = self.READ.tables["a"]
        for said, place in [
            ({"bounds": Bounds(low=2, high=1)}, "bounds: "),
            ({"bounds": Bounds(low=0, high=float("nan"))}, "bounds: "),
            ({"keys": PublicKeys(values=())}, "keys: "),
            ({"keys": PublicKeys(values=("a", 1.5))}, "keys: "),
        ]:
            columns = {"p": replace(a.columns["p"], **said)}
            what = self.refused(tables={"a": replace(a, columns=columns)})
            assert what.startswith(f"table.a.columns.p.{place}")


def test_the_work_grows_in_proportion_to_the_tables():
    def checking(number):
        body = "".join(f'[table.t{each}]\nperson = "p"\n' for each in range(number))
        tables = schema(*(table(f"t{each}", p="BIGINT") for each in range(number)))
        views = {f"v{each}": frozenset({f"v{each + 1}"}) for each in range(number)}
        read = policy(body)
        return lambda: checked(read, tables, views=views)

    works = {number: checking(number) for number in (50, 100, 200)}
    assert growth(lambda number: works[number](), 50) < 2.2
