"""dpsql.open: which source, which ledger, which data version; and that one source has one ledger."""

import os
import shutil
import stat

import duckdb
import pandas as pd
import pytest

import dpsql
from asked_clinic import edited
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.errors import BadPolicy, EngineFailed, LedgerBroken, NoSource, NotPermitted
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.session import opening
from dpsql.session.opening import bound_ledger, ledger_beside, mark_beside
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

COUNT = "SELECT COUNT(*) FROM people"
POLICY = """
version = 1
[source]
url = "duckdb://data/clinic.duckdb"
[person]
relation = "add_remove"
[promise]
epsilon = 4
delta = 0
[defaults]
cost_per_query = 1
[table.people]
person = "id"
unique = true
columns = { age = { bounds = [0, 110] } }
[table.wards]
public = true
[[grant]]
to = "ana"
budget = 3
"""


@pytest.fixture
def clinic(tmp_path):
    """The path of a policy, its source in a folder below."""
    (tmp_path / "clinic" / "data").mkdir(parents=True)
    with duckdb.connect(str(tmp_path / "clinic" / "data" / "clinic.duckdb")) as database:
        database.execute(
            "CREATE TABLE people AS SELECT range AS id, CAST(range % 90 AS INTEGER) AS age FROM range(500)"
        )
        database.execute("CREATE TABLE wards (ward BIGINT)")
    policy = tmp_path / "clinic" / "dpsql.toml"
    policy.write_text(POLICY)
    return policy


def asked(policy, sql=COUNT, **options):
    with dpsql.open(policy, **options) as owner:
        return owner.analyst("ana").sql(sql)


def refused(policy, *errors, **options):
    return raised(errors or NotPermitted, lambda: asked(policy, **options)).what


class TestOneLedger:
    def test_it_is_kept_beside_the_source(self, clinic, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert asked(clinic).cost.epsilon == 1
        endings = ("", ".ledger", ".ledger-id", ".ledger.key", ".ledger.turns")
        found = sorted(file.name for file in (clinic.parent / "data").iterdir())
        assert found == [f"clinic.duckdb{ending}" for ending in endings]
        assert asked(clinic).cost.epsilon == 0

    def test_a_copied_policy_and_another_path_to_the_source_find_it(self, clinic, tmp_path):
        asked(clinic)
        copy = tmp_path / "copy.toml"
        copy.write_text(POLICY.replace("data/clinic.duckdb", "clinic/data/clinic.duckdb"))
        assert asked(copy).cost.epsilon == 0
        with dpsql.open(copy) as owner:
            assert owner.budget.spent == 1
        asked(clinic)
        (tmp_path / "link.duckdb").symlink_to(clinic.parent / "data" / "clinic.duckdb")
        copy = tmp_path / "copy.toml"
        copy.write_text(POLICY.replace("data/clinic.duckdb", "link.duckdb"))
        assert asked(copy).cost.epsilon == 0

    def test_the_whole_folder_may_move(self, clinic, tmp_path):
        asked(clinic)
        shutil.move(clinic.parent, tmp_path / "elsewhere")
        assert asked(tmp_path / "elsewhere" / "dpsql.toml").cost.epsilon == 0

    def test_a_second_one_is_refused_and_not_made(self, clinic, tmp_path):
        asked(clinic)
        what = refused(clinic, ledger=tmp_path / "fresh.db")
        assert str(clinic.parent / "data" / "clinic.duckdb.ledger") in what
        assert not (tmp_path / "fresh.db").exists()
        other = SqliteLedger(tmp_path / "other.db")
        other.close()
        assert other.id in refused(clinic, ledger=tmp_path / "other.db")

    def test_one_that_is_gone_is_missed(self, clinic):
        asked(clinic)
        for name in ("clinic.duckdb.ledger", "clinic.duckdb.ledger.key"):
            (clinic.parent / "data" / name).unlink()
        assert "there was one" in refused(clinic)
        assert not (clinic.parent / "data" / "clinic.duckdb.ledger").exists()

    def test_one_in_another_place_is_remembered_too(self, clinic, tmp_path):
        asked(clinic, ledger=tmp_path / "far.db")
        assert str(tmp_path / "far.db") in refused(clinic)
        edited(clinic, "[person]", 'ledger_file = "../far.db"\n[person]')
        assert asked(clinic).cost.epsilon == 0

    def test_the_policy_may_name_it(self, clinic, tmp_path):
        asked(clinic, ledger=tmp_path / "far.db")
        ledger = SqliteLedger(tmp_path / "far.db")
        ledger.close()
        (clinic.parent / "data" / "clinic.duckdb.ledger-id").unlink()
        edited(clinic, "[person]", f'ledger = "{ledger.id}"\n[person]')
        assert ledger.id in refused(clinic)  # there is none beside the source
        SqliteLedger(clinic.parent / "data" / "clinic.duckdb.ledger").close()
        assert ledger.id in refused(clinic)
        assert asked(clinic, ledger=tmp_path / "far.db").cost.epsilon == 0

    def test_a_mark_that_cannot_be_read_is_no_leave(self, clinic):
        asked(clinic)
        (clinic.parent / "data" / "clinic.duckdb.ledger-id").write_bytes(b"\xff")
        assert "cannot be read" in refused(clinic, LedgerBroken)

    def test_a_ledger_beside_a_ledger_is_no_sense(self, tmp_path):
        with pytest.raises(dpsql.BadParameter, match="ledger="):
            dpsql.open(tmp_path / "ledger.db", ledger=tmp_path / "other.db")

    def test_nothing_is_made_where_there_is_no_source(self, clinic):
        (clinic.parent / "data" / "clinic.duckdb").unlink()
        refused(clinic, NoSource)
        assert list((clinic.parent / "data").iterdir()) == []

    def test_a_copy_of_a_policy_with_a_relative_address_is_told_where_it_looks(self, clinic, tmp_path):
        copy = tmp_path / "elsewhere" / "dpsql.toml"
        copy.parent.mkdir()
        copy.write_text(clinic.read_text())
        assert "the folder of the policy" in raised(NoSource, lambda: dpsql.open(copy), match="elsewhere").fix


class TestWhomThePromiseIsAbout:
    @cases(__file__, "before", "after")
    def test_a_changed_file_is_refused(self, clinic, before, after):
        asked(clinic)
        edited(clinic, before, after)
        if "other" in after:
            policy = clinic.read_text()
            start = policy.index("[table.other]")
            clinic.write_text(policy[:start] + policy[policy.index("[table.wards]") :])
        raised(BadPolicy, lambda: dpsql.open(clinic), match="the promise of this ledger")

    @cases(__file__, "before", "after=")
    def test_everything_else_may_change(self, clinic, before, after):
        asked(clinic)
        edited(clinic, before, after)
        assert asked(clinic, "SELECT SUM(age) FROM people").cost.epsilon > 0


class TestDataVersions:
    def test_the_ledger_keeps_it(self, tmp_path):
        def again():
            return owner_of(9, path=tmp_path / "ledger.db", epsilon=5)

        with again() as owner:
            owner.grant("ana", budget=5).sql(COUNT, epsilon=1)
            owner.new_data_version("2")
            owner.grant("ana", budget=5).sql(COUNT, epsilon=1)
        with again() as owner:
            assert owner.catalog.policy.data_version == "2"
            assert owner.grant("ana", budget=5).query(COUNT, epsilon=1).cost.epsilon == 0
            assert owner.budget.spent == 2

    def test_the_file_says_it_where_it_does(self, clinic):
        asked(clinic)
        with dpsql.open(clinic) as owner:
            owner.new_data_version("2")
        assert asked(clinic).cost.epsilon == 1
        edited(clinic, "[person]", 'data_version = "1"\n[person]')
        with pytest.raises(NotPermitted, match="data version 1 was before"):  # its answers are of other data
            asked(clinic)
        edited(clinic, 'data_version = "1"', 'data_version = "2"')
        assert asked(clinic).cost.epsilon == 0
        edited(clinic, 'data_version = "2"', 'data_version = "1 again"')
        assert asked(clinic).cost.epsilon == 1
        with dpsql.open(clinic) as owner, pytest.raises(NotPermitted, match="policy file says"):
            owner.new_data_version("3")


class TestLimits:
    @pytest.fixture
    def large(self, clinic):
        with duckdb.connect(str(clinic.parent / "data" / "clinic.duckdb")) as database:
            database.execute(
                "CREATE OR REPLACE TABLE people AS SELECT range AS id, 1::INTEGER AS age FROM range(4000000)"
            )
        return clinic

    @pytest.mark.parametrize("written", [True, False])
    def test_a_statement_is_stopped_and_stays_charged(self, large, written):
        if written:
            edited(large, "[person]", "timeout = 0.01\n[person]")
        with dpsql.open(large, timeout=None if written else 0.01, threads=1) as owner:
            ana = owner.analyst("ana")
            with pytest.raises(EngineFailed, match="did not finish this statement"):
                ana.sql("SELECT SUM(age) FROM people WHERE ABS(age) > 0")
            assert owner.budget.spent == ana.budget.spent == 1
        large.write_text(POLICY)
        with dpsql.open(large) as owner:
            owner.analyst("ana").sql("SELECT SUM(age) FROM people WHERE ABS(age) > 0")
            assert owner.budget.spent == 1  # the same payment

    @pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "5"])
    def test_a_timeout_is_a_time(self, clinic, timeout):
        raised(dpsql.BadParameter, lambda: dpsql.open(clinic, timeout=timeout))


def test_the_number_an_analyst_is_told_leads_the_owner_to_the_kind_of_failure(monkeypatch):
    """And to nothing the engine says, which may quote a row."""
    told = []
    with dpsql.open(":memory:", on_failure=lambda *said: told.append(said)) as owner:
        people = pd.DataFrame({"id": range(9), "name": "canary5550199"})
        owner.register("people", people, person="id", unique=True, columns=["name"])
        owner.promise(epsilon=1)
        analyst = owner.grant("ana", budget=1)
        cast = "SELECT COUNT(CAST(name AS INTEGER)) FROM people"
        run = DuckdbEngine.run
        monkeypatch.setattr(DuckdbEngine, "run", lambda self, sql, **more: run(self, cast, parameters=()))
        error = raised(EngineFailed, lambda: analyst.sql("SELECT COUNT(*) FROM people", epsilon=1))
    assert told == [(error.trace_id, "ConversionException")]
    assert error.trace_id in str(error)
    assert "canary" not in f"{error} {error.as_json()} {told}"
    assert "Conversion" not in f"{error} {error.as_json()}"


def test_a_policy_file_takes_the_same_words(clinic):
    """The function reaches the engine of a file too, and what cannot be called is refused before anything is opened."""
    told = []
    with dpsql.open(clinic, on_failure=lambda *said: told.append(said)) as owner, pytest.raises(EngineFailed):
        owner._engine.run_public("SELECT nothing")
    assert [kind for _, kind in told] == ["BinderException"]
    raised(dpsql.BadParameter, lambda: dpsql.open(clinic, on_failure="log.txt"), match="on_failure")


def test_machines_share_a_ledger_in_postgresql(clinic, postgres, monkeypatch):
    """The policy names the variable that holds the address; the password stands in no file and no message."""
    monkeypatch.setenv("LEDGER_URL", postgres.room())
    edited(
        clinic,
        'url = "duckdb://data/clinic.duckdb"',
        'url = "duckdb://data/clinic.duckdb"\nledger_url = "${LEDGER_URL}"\nledger_key = "shared.key"',
    )
    first = asked(clinic)
    assert asked(clinic).rows == first.rows
    assert (clinic.parent / "shared.key").exists()
    mark = (clinic.parent / "data" / "clinic.duckdb.ledger-id").read_text()
    assert "postgresql" not in mark
    assert "shared.key" in mark
    with dpsql.open_ledger(clinic) as keeper:
        assert keeper.audit().holds
        with pytest.raises(NotPermitted, match="not open as a file"):
            keeper.backup(clinic.parent / "copy.db", with_key=False)
    raised(NotPermitted, lambda: dpsql.restore_ledger(clinic.parent / "copy.db", clinic), match="PostgreSQL")
    (clinic.parent / "shared.key").rename(clinic.parent / "elsewhere.key")
    raised(NotPermitted, lambda: asked(clinic), match="there was one")


@pytest.mark.parametrize(
    "words",
    ['ledger_url = "postgresql://x"', 'ledger_key = "k"', 'ledger_url = "u"\nledger_key = "k"\nledger_file = "f"'],
)
def test_a_ledger_is_a_file_or_has_an_address_and_a_key(clinic, words):
    edited(clinic, "[person]", f"{words}\n[person]")
    raised(BadPolicy, lambda: dpsql.open(clinic), match="belong together")


def test_the_limits_of_a_policy_hold_for_its_engine(clinic):
    edited(clinic, "[person]", 'memory_limit = "100MiB"\nthreads = 1\n[person]')
    settings = "SELECT current_setting('memory_limit'), current_setting('threads')"
    with dpsql.open(clinic) as owner:
        assert owner._engine.run_public(settings) == [("100.0 MiB", 1)]
    with dpsql.open(clinic, memory_limit="200MiB", threads=2) as owner:
        assert owner._engine.run_public(settings) == [("200.0 MiB", 2)]
    assert dpsql.policy_limits(clinic).memory_limit == "100MiB"


# One source, one ledger: what is written beside the data, and what happens where nothing can be.


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "clinic.duckdb"
    path.parent.mkdir()
    path.touch()
    return path


def opened(place, *, named=None, source=None):
    ledger = bound_ledger(place, named=named, source=source)
    ledger.close()
    return ledger.id


def test_the_mark_says_which_ledger_and_where(source, tmp_path):
    ledger = opened(tmp_path / "l.db", source=source)
    before = os.umask(0)
    try:
        assert opened(tmp_path / "l.db", source=source) == ledger
        (mark := mark_beside(source)).unlink()
        opened(tmp_path / "l.db", source=source)
    finally:
        os.umask(before)
    assert stat.S_IMODE(mark.stat().st_mode) == 0o600  # for its owner only
    assert mark.read_text().splitlines() == [ledger, str(tmp_path / "l.db")]
    assert (ledger_beside(source).name, ledger_beside(source).parent) == ("clinic.duckdb.ledger", source.parent)


def test_a_ledger_that_moved_is_still_the_same(source, tmp_path):
    ledger = opened(tmp_path / "l.db", source=source)
    for name in ("l.db", "l.db.key"):
        (tmp_path / name).rename(tmp_path / "data" / name)
    assert opened(tmp_path / "data" / "l.db", source=source) == ledger


def test_two_that_come_at_once_agree_on_one(source, tmp_path, monkeypatch):
    """The other one writes its mark after this one has looked, and before it writes."""
    first = []
    right = opening._mark

    def slow(*place):
        monkeypatch.setattr(opening, "_mark", right)
        first.append(opened(tmp_path / "first.db", source=source))
        right(*place)

    monkeypatch.setattr(opening, "_mark", slow)
    error = raised(NotPermitted, lambda: opened(tmp_path / "second.db", source=source))
    assert first[0] in error.what


def test_where_nothing_can_be_written_the_policy_alone_can_tell(source, tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError

    monkeypatch.setattr(opening, "create_private", refused)
    ledger = opened(tmp_path / "l.db", source=source)
    assert not mark_beside(source).exists()
    raised(NotPermitted, lambda: opened(tmp_path / "m.db", named=ledger, source=source), match=ledger)
    assert opened(tmp_path / "l.db", named=ledger, source=source) == ledger


def test_a_source_that_is_no_file_has_no_mark(tmp_path):
    ledger = opened(tmp_path / "l.db")
    assert sorted(os.listdir(tmp_path)) == ["l.db", "l.db.key"]
    raised(NotPermitted, lambda: opened(tmp_path / "l.db", named="another"), match="names the ledger")
    assert opened(tmp_path / "l.db", named=ledger) == ledger
