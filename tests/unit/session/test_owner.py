"""The owner: what may be declared, when, and that a refused declaration leaves nothing behind."""

import inspect
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest

import dpsql
from dpsql.catalog.declare import TableWords
from dpsql.errors import BadName, BadParameter, BadPolicy, NoSource, NotPermitted
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

PEOPLE = pd.DataFrame({"id": range(50), "home": [n // 2 for n in range(50)], "age": range(50)})
WARDS = pd.DataFrame({"ward": [1, 2], "beds": [10, 20]})
COUNT = "SELECT COUNT(*) FROM people"


@pytest.fixture
def opened(tmp_path):
    """Owners of one ledger file, one after the other, all closed afterwards."""
    owners = []

    def open_again():
        for owner in owners:
            owner.close()
        owners.append(dpsql.open(tmp_path / "ledger.db"))
        return owners[-1]

    yield open_again
    for owner in owners:
        owner.close()


def begun(owner, *, person="id", relation="add_remove", **more):
    owner.person(relation=relation)
    owner.register("people", PEOPLE, **({} if "public" in more or "unit" in more else {"person": person}),
                   bounds={"age": (0, 110)}, rows_per_person=1, **more)  # fmt: skip
    owner.promise(epsilon=10, delta=0)
    owner.defaults(cost_per_query=1)
    return owner.grant("ana", budget=10)


class TestWhomThePromiseIsAbout:
    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"person": "home"}, 'table people was `person = "id"` and is now `person = "home"`'),
            ({"unit": "row"}, 'table people was `person = "id"` and is now `unit = "row"`'),
            ({"relation": "change_one"}, "the relation was `add_remove` and is now `change_one`"),
        ],
    )
    def test_it_cannot_change_between_two_openings(self, opened, change, told):
        begun(opened()).sql(COUNT)
        assert told in raised(BadPolicy, lambda: begun(opened(), **change)).what
        assert begun(opened()).sql(COUNT).cost.epsilon == 0

    def test_a_private_table_does_not_become_public(self, opened):
        begun(opened()).sql(COUNT)
        owner = opened()
        owner.register("PEOPLE", PEOPLE, public=True, columns=["age"])
        raised(BadPolicy, lambda: owner.promise(epsilon=10, delta=0), match="public = true")
        raised(BadPolicy, lambda: owner.grant("ana", budget=10), match="public = true")
        # The ledger holds the promise already: granting is enough to be held to it.
        begun(opened()).sql(COUNT)
        owner = opened()
        owner.register("people", PEOPLE, person="home", columns=["age"])
        raised(BadPolicy, lambda: owner.grant("ana", budget=10), match="home")

    def test_a_wrong_person_column_is_corrected_before_anything_was_spent(self, opened):
        begun(opened())
        assert begun(opened(), person="home").sql(COUNT).cost.epsilon == 1
        raised(BadPolicy, lambda: begun(opened()), match="home")
        owner = opened()
        begun(owner, person="home")
        assert all(row.agrees for row in owner.audit())

    def test_a_table_that_was_public_stays_so(self, opened):
        """Exact answers from it are not charged, so that nobody knows whether there were any."""
        owner = opened()
        owner.register("people", PEOPLE, public=True, columns=["age"])
        owner.promise(epsilon=10, delta=0)
        raised(BadPolicy, lambda: begun(opened()), match="public = true")

    def test_a_plan_made_before_a_correction_is_not_charged(self, tmp_path):
        """Two processes at one ledger: the first has planned when the second corrects the person."""
        with dpsql.open(tmp_path / "ledger.db") as one, dpsql.open(tmp_path / "ledger.db") as other:
            planned = begun(one).query(COUNT)
            right = begun(other, person="home")
            raised(BadPolicy, lambda: planned.answered(), match="home")
            assert right.budget.spent == 0
            assert right.sql(COUNT).cost.epsilon == 1

    def test_it_cannot_change_under_a_running_promise(self, opened):
        owner = opened()
        analyst = begun(owner)
        raised(BadPolicy, lambda: owner.person(relation="change_one"), match="change_one")
        assert owner.catalog.policy.person.relation.value == "add_remove"
        assert analyst.sql(COUNT).cost.epsilon == 1

    def test_tables_columns_bounds_and_budgets_may_be_added(self, opened):
        begun(opened(), columns=["home"]).sql(COUNT)
        owner = opened()
        owner.register("people", PEOPLE, person="id", bounds={"age": (0, 50), "home": (0, 9)}, rows_per_person=3)
        owner.register("wards", WARDS, public=True, columns="all")
        owner.register("staff", PEOPLE, person="id", columns=["age"], rows_per_person=1)
        owner.promise(epsilon=10, delta=0)
        analyst = owner.grant("ana", budget=9)
        assert analyst.sql("SELECT COUNT(*) FROM staff", epsilon=1).cost.epsilon == 1
        assert [row[0] for row in analyst.sql("SELECT beds FROM wards ORDER BY beds", epsilon=1)] == [10, 20]
        owner = opened()
        owner.register("wards", WARDS, person="ward", columns=["beds"])
        raised(BadPolicy, lambda: owner.grant("ana", budget=9), match="wards")

    def test_another_promise_leaves_the_owner_as_before(self, opened):
        owner = opened()
        analyst = begun(owner)
        raised(dpsql.BadParameter, lambda: owner.promise(epsilon=20, delta=0))
        assert owner.catalog.policy.promise.epsilon == 10
        assert analyst.sql(COUNT).cost.epsilon == 1


class TestRegister:
    @cases(__file__, "words=", "error=")
    def test_a_refused_table_leaves_nothing_behind(self, words, error):
        with dpsql.open(":memory:") as owner:
            raised(error, lambda: owner.register("people", PEOPLE, **words))
            assert not owner.catalog.policy.tables
            owner.register("people", PEOPLE, person="id")
            assert list(owner.catalog.policy.tables) == ["people"]

    def test_a_second_table_of_one_name_leaves_the_first_and_a_mistyped_word_is_told(self):
        with dpsql.open(":memory:") as owner:
            raised(BadPolicy, lambda: owner.register("a", PEOPLE, person="id", bound={}), match="Did you mean bounds")
            owner.register("people", PEOPLE, person="id")
            raised(NoSource, lambda: owner.register("people", WARDS, public=True))
            assert owner.catalog.schema["people"].columns[0].name == "id"

    def test_types_have_their_other_names_too(self):
        with dpsql.open(":memory:") as owner:
            owner.register("people", PEOPLE.astype(str), person="id", types={"age": "int"}, bounds={"age": (0, 110)})
            assert owner.catalog.policy.tables["people"].columns["age"].type.value == "integer"

    def test_a_csv_file_is_text_but_for_what_is_declared(self, tmp_path):
        file = tmp_path / "stays.csv"
        file.write_text("id,nights,ward\n1,3,a\n2,?,b\n3,,a\n")
        with dpsql.open(":memory:") as owner:
            with pytest.raises(BadPolicy, match="bounds"):
                owner.register("stays", file, person="id", types={"nights": "text"}, bounds={"nights": (0, 60)})
            owner.register("stays", file, person="id", bounds={"nights": (0, 60)})
            columns = owner.catalog.policy.tables["stays"].columns
            assert {name: column.type.value for name, column in columns.items()} == {"id": "text", "nights": "integer"}
            owner.promise(epsilon=9, delta=0)
            analyst = owner.grant("ana", budget=9)
            with pytest.raises(BadName):  # typed or not, a column that nothing names is not declared
                analyst.query("SELECT COUNT(*) FROM stays WHERE ward = 'a'", epsilon=1)


class TestWhatIsSaidLater:
    def test_defaults_data_versions_and_tables_reach_analysts_already_granted(self):
        with dpsql.open(":memory:") as owner:
            analyst = begun(owner)
            kept = analyst.query(COUNT)
            owner.defaults(cost_per_query=3)
            assert analyst.query(COUNT).cost.epsilon == 3
            assert kept.run().cost.epsilon == 3  # it is planned anew
        with dpsql.open(":memory:") as owner:
            analyst = begun(owner)
            with pytest.raises(BadPolicy):
                owner.defaults(cost_per_query=11)  # more than the promise
            assert analyst.query(COUNT).cost.epsilon == 1

    def test_a_new_data_version_reaches_analysts_already_granted(self):
        with dpsql.open(":memory:") as owner:
            analyst = begun(owner)
            analyst.sql(COUNT)
            assert analyst.query(COUNT).cost.epsilon == 0
            owner.new_data_version("2")
            assert analyst.query(COUNT).cost.epsilon == 1

    def test_tables_reach_analysts_already_granted(self):
        with dpsql.open(":memory:") as owner:
            analyst = begun(owner)
            owner.register("wards", WARDS, public=True, columns="all")
            assert len(analyst.sql("SELECT beds FROM wards")) == 2


def test_nobody_asks_before_the_promise_or_without_a_grant():
    with dpsql.open(":memory:") as owner:
        owner.register("people", PEOPLE, person="id")
        raised(dpsql.BadParameter, lambda: owner.grant("ana", budget=1), match="before the promise")
    with dpsql.open(":memory:") as owner:
        raised(NotPermitted, lambda: owner.analyst("bob"), match="no promise")
        owner.promise(epsilon=1)
        raised(NotPermitted, lambda: owner.analyst("bob"), match="bob has no grant")


NAN = float("nan")


class TestTheRulesOfTheFileHoldHereToo:
    @cases(__file__, "word", "words=", "told")
    def test_what_the_file_refuses_is_refused(self, opened, word, words, told):
        owner = opened()
        begun(owner)
        before = owner.catalog
        assert told in raised(BadPolicy, lambda: getattr(owner, word)(**words)).what
        assert owner.catalog == before
        raised(NotPermitted, lambda: owner._ledger.account("bob"), match="no grant")

    def test_a_grant_is_limited_to_a_table_named_alone_and_by_its_last_day(self, opened):
        owner = opened()
        begun(owner)
        owner.register("wards", WARDS, public=True, columns=["beds"])
        analyst = owner.grant("bob", budget=1, tables="People", expires="2999-01-01")
        assert (analyst.place.grant.tables, analyst.place.grant.expires) == (("people",), date(2999, 1, 1))
        assert analyst.sql(COUNT).cost.epsilon == 1
        assert owner.grant("eve", budget=1, tables={"people", "wards"}).sql("SELECT SUM(beds) FROM wards").rows == (
            (30,),
        )
        with pytest.raises(BadParameter, match="ends on 2026-01-01 has ended already"):
            owner.grant("old", budget=1, expires="2026-01-01")

    def test_words_that_are_not_said_stay_as_they_are(self, opened):
        owner = opened()
        begun(owner)
        owner.person(name="pupil")
        owner.defaults(mode="choose", confidence=0.9)
        owner.defaults(noise="laplace")
        policy = owner.catalog.policy
        assert (policy.person.name, policy.person.relation.value) == ("pupil", "add_remove")
        assert (policy.defaults.mode.value, policy.defaults.noise.value) == ("choose", "laplace")
        assert (policy.defaults.cost_per_query, policy.defaults.confidence) == (1, Fraction(9, 10))

    def test_a_grant_under_a_promise_of_an_earlier_opening_is_held_to_it(self, opened):
        begun(opened())
        owner = opened()
        owner.register("people", PEOPLE, person="id", columns=["age"])
        raised(BadPolicy, lambda: owner.grant("bob", budget=11), match="at most promise")
        assert owner.grant("bob", budget=10).budget.total == 10


def test_the_promise_in_words_says_what_delta_leaves_open(opened):
    """1/(1 + e^-2) = 0.8808, rounded up."""
    words = "Whatever is asked, for ever: a 50–50 guess about any one person becomes at most 88.08 %"
    assert opened().promise(epsilon=2, delta=1e-6) == f"{words}, apart from δ (ε = 2, δ = 1e-06)."
    with dpsql.open(":memory:") as owner:
        assert owner.promise(epsilon=2, delta=0) == f"{words} (ε = 2, δ = 0)."


def test_help_lists_every_word_of_a_table_in_a_line_of_its_own():
    lines = [line.split() for line in inspect.getdoc(dpsql.Owner.register).splitlines()]
    told = [words[0] for words in lines if len(words) > 1 and words[0] in TableWords.__annotations__]
    assert told == list(TableWords.__annotations__)


class TestColumnsOfPythonObjects:
    """What pandas before 3 makes of text. The declaration says what they are; no value does."""

    @staticmethod
    def frame():
        return pd.DataFrame(
            {
                "id": range(40),
                "city": pd.Series(["Basel", "Bern"] * 20, dtype=object),
                "note": pd.Series([{"any": "thing"}, ["else"]] * 20, dtype=object),
            }
        )

    def test_listed_texts_say_that_a_column_is_text(self):
        words = {"person": "id", "unique": True, "keys": {"city": ["Basel", "Bern"]}}
        with owner_of(self.frame(), **words, epsilon=10, cost_per_query=10, max_keys=10) as owner:
            rows = owner.grant("ana", budget=10).sql("SELECT city, COUNT(*) FROM people GROUP BY city").rows
        assert [row[0] for row in rows] == ["Basel", "Bern"]
        assert all(10 < row[1].value < 30 for row in rows)  # 20 each; ε is 10, so one in e^90 is further away

    @pytest.mark.parametrize("words", [{"keys": {"city": "private"}}, {"columns": ["CITY"]}, {"hidden": ["city"]}])
    def test_what_a_declared_one_is_must_be_said(self, words):
        with dpsql.open(":memory:") as owner:
            with pytest.raises(NoSource, match="city") as caught:
                owner.register("people", self.frame(), person="id", unique=True, **words)
            assert 'types={"city": "text"}' in caught.value.fix
            owner.register("people", self.frame(), person="id", unique=True, types={"city": "text"}, **words)

    @pytest.mark.parametrize(
        ("words", "named"),
        [
            ({"person": "city"}, "city"),
            ({"person_via": "city -> homes.city -> id"}, "city"),
            ({"person": "id", "keys": {"city": ["Basel"]}, "columns": "all"}, "note"),
        ],
    )
    def test_so_must_what_the_person_is_and_what_all_declares(self, words, named):
        with dpsql.open(":memory:") as owner:
            raised(NoSource, lambda: owner.register("people", self.frame(), **words), match=named)

    def test_the_fix_names_words_that_work(self):
        frame = pd.DataFrame(
            {
                "id": [1],
                "day": pd.Series([date(2025, 1, 1)], dtype=object),
                "fee": pd.Series([Decimal("1.5")], dtype=object),
            }
        )
        with dpsql.open(":memory:") as owner:
            owner.register("fees", frame, person="id", types={"day": "date", "fee": "double"})
            expected = {"BIGINT", "DATE", "DOUBLE"}
            assert {column.engine_type for column in owner._engine.schema()["fees"].columns} == expected
