"""Classic mistakes, planted one at a time: each is refused by `seal` before anything is paid, or seen by the audit.

Where a mistake is one that `seal` refuses, most are planted a second time with `seal` made blind, so that the audit is
known to see them by itself. What is printed wrongly cannot be seen by `seal`, which reads relations: there the audit is
the only net. Every check is also made without the bug, and passes.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import duckdb
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from hospital import badly_behaved, opened  # noqa: E402

import dpsql  # noqa: E402
from dpsql.accounting.triple import FREE, triple  # noqa: E402
from dpsql.catalog.types import SqlType  # noqa: E402
from dpsql.errors import InternalError  # noqa: E402
from dpsql.mechanisms import table as mechanisms_table  # noqa: E402
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw  # noqa: E402
from dpsql.plan import price  # noqa: E402
from dpsql.plan.seal import Sealed  # noqa: E402
from dpsql.privacy.exact import Exact  # noqa: E402
from dpsql.privacy.unit import Neighbours  # noqa: E402
from dpsql.session import answer  # noqa: E402
from dpsql.session.steps import drawn  # noqa: E402
from dpsql.sql import contributions, emit, functions, inner, rewrite, sources  # noqa: E402
from dpsql.sql.aggregates.registry import MEASURES  # noqa: E402
from dpsql.sql.contributions import Builder, ids, ref, refs  # noqa: E402
from dpsql.sql.relations import Filter, Group, Project  # noqa: E402
from dpsql.sql.scalars import Apply  # noqa: E402
from dpsql.sql.slots import SlotKind  # noqa: E402
from dpsql.testing.noiseless import exact_steps  # noqa: E402
from dpsql.testing.replay import excesses, replayed  # noqa: E402
from dpsql.testing.seeded import SeededSource  # noqa: E402

SALT = 987654321
Planter = Callable[[pytest.MonkeyPatch], None]
FORMS = inner.FORMS["duckdb"]
NOBODY_HERE = next(person for person in range(1, 41) if person not in {v[0] for v in badly_behaved().tables["visits"]})
"""Somebody who is a patient without a visit."""


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A mistake, a question it spoils, and who catches it."""

    title: str
    plant: Planter
    sql: str
    seal: bool = False
    """`seal` refuses the plan."""
    audit: str | None = None
    """What the audit says when `seal` does not look."""
    people: tuple[int, ...] = (41, 43, 44)
    options: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.title


# ------------------------------------------------------------------------------------------------ the rewriter


def no_clamp(patch):
    patch.setattr(inner, "clamp_whole", lambda value, *, low, high: value)


def no_row_cap(patch):
    honest = inner.clamp_whole

    def planted(value, *, low, high):
        whole_person = isinstance(value, Apply) and value.function == "or_zero"
        return value if whole_person else honest(value, low=low, high=high)

    patch.setattr(inner, "clamp_whole", planted)


def _choosing(patch, change):
    """`chosen_groups`, which two modules know by name."""
    honest = contributions.chosen_groups

    def planted(relation, build, *, groups):
        return change(honest, relation, build, groups)

    for module in (contributions, rewrite):
        patch.setattr(module, "chosen_groups", planted)


def one_group_too_many(patch):
    _choosing(patch, lambda honest, relation, build, groups: honest(relation, build, groups=groups + 1))


def all_groups(patch):
    _choosing(patch, lambda honest, relation, build, groups: relation)


def order_by_value(patch):
    """The groups with the smallest contribution first, instead of by hash."""

    def change(honest, relation, build, groups):
        chosen = honest(relation, build, groups=groups)
        ranked = replace(chosen.input, order=(ref(relation.columns[-1]), *refs(build.keys)))
        return replace(chosen, input=ranked)

    _choosing(patch, change)


def having_in_the_engine(patch):
    honest = rewrite._measurement

    def planted(bounded, keys):
        statement = honest(bounded, keys)
        few = inner.at_most(ref(statement.values[0]), 0)
        relation = statement.relation
        return replace(statement, relation=Filter(input=relation, condition=few, columns=relation.columns))

    patch.setattr(rewrite, "_measurement", planted)


def zero_groups_missing(patch):
    honest = rewrite._by_key

    def planted(*arguments):
        relation = honest(*arguments)
        return replace(relation, input=replace(relation.input, outer=False))

    patch.setattr(rewrite, "_by_key", planted)


def null_where_nobody_is(patch):
    def planted(parts, values):
        return Project(input=parts[0], columns=values, expressions=refs(values))

    patch.setattr(rewrite, "_side_by_side", planted)


def keys_as_they_are(patch):
    """Private keys are measured without having been selected."""
    honest = rewrite.rewrite

    def planted(bounded):
        if not bounded.private_keys:
            return honest(bounded)
        build = Builder(bounded)
        found = Group(input=build.base(), by=ids(build.keys), columns=build.keys, totals=())
        keys = Project(input=found, columns=build.like(build.keys), expressions=refs(build.keys))
        return rewrite.Rewritten(bounded=bounded, measurement=rewrite._measurement(bounded, keys))

    patch.setattr(answer, "rewrite", planted)


def any_number_of_values(patch):
    honest = rewrite._few_values

    def planted(own, rows, value, *, cap, pairs):
        return honest(own, rows, value, cap=cap, pairs=pairs).input.input

    patch.setattr(rewrite, "_few_values", planted)


def nobody_is_somebody(patch):
    """Rows whose person is NULL are kept, as if they were one person's."""
    patch.setattr(inner, "known", lambda a: inner.TRUE)


def not_scaled(patch):
    patch.setattr(contributions, "_scaled", lambda build, pairs, slots: pairs)


def norm_in_doubles(patch):
    """Sums of doubles depend on the order of rows, and round."""
    patch.setattr(inner, "squared", lambda value: Apply("squared", (value,), SqlType.DOUBLE))
    patch.setitem(FORMS, "squared", lambda parts: f"(CAST({parts[0]} AS DOUBLE) * {parts[0]})")


# ---------------------------------------------------------------------------------- the resolver, bound, the price


def owner_by_name(patch):
    """Above a subquery the owner is whatever column is called like the person."""
    honest = sources._subquery

    def planted(*arguments):
        source = honest(*arguments)
        named = [column.id for table in source.scope.tables for column in table.columns if column.name == "patient_id"]
        return replace(source, owner=tuple(named[:1]) or source.owner)

    patch.setattr(sources, "_subquery", planted)


def owners_not_equated(patch):
    honest = sources._met

    def planted(left, right, scalar, notes, at):
        honest(left, right, scalar, notes, at)
        return scalar

    patch.setattr(sources, "_met", planted)


def sum_without_zero(patch):
    """A person's sum inside C·[lo, hi], although nobody has to be there."""
    honest = MEASURES["sum"]

    def planted(subject):
        measured = honest(subject)
        slots = tuple(
            replace(slot, low=slot.cap * slot.grain.low, high=slot.cap * slot.grain.high) for slot in measured.slots
        )
        return replace(measured, slots=slots)

    patch.setitem(MEASURES, "sum", planted)


def one_neighbour_instead_of_two(patch):
    for name in ("slot_l1", "slot_l2_squared"):
        honest = getattr(price, name)

        def planted(slot, *, groups, neighbours, grouped, honest=honest):
            return honest(slot, groups=groups, neighbours=Neighbours.ADD_REMOVE, grouped=grouped)

        patch.setattr(price, name, planted)


def price_not_shared(patch):
    """Each of several slots gets noise for the whole price."""
    honest = price._laplace

    def planted(bounded, *, epsilon):
        noises, event = honest(bounded, epsilon=epsilon)
        laws = [DiscreteLaplaceLaw(scale=noise.carried.law.scale / len(noises)) for noise in noises]
        thin = [
            replace(noise, carried=replace(noise.carried, law=law)) for noise, law in zip(noises, laws, strict=True)
        ]
        return tuple(thin), event

    patch.setattr(price, "_laplace", planted)


# ------------------------------------------------------------------------------------------------ the printer


def _form(name: str, form: Callable[[list[str]], str]) -> Planter:
    return lambda patch: patch.setitem(FORMS, name, form)


def _printer(method: str, change: Callable[..., str]) -> Planter:
    def plant(patch):
        honest = getattr(emit._Printer, method)
        patch.setattr(emit._Printer, method, lambda self, *arguments: change(honest, self, *arguments))

    return plant


def _wrong_owner(honest, printer, scan, column, source):
    return '"points"' if column.id in scan.raw else honest(printer, scan, column, source)


def _no_empty_row(honest, printer, group):
    return honest(printer, group) + ("" if group.by else " HAVING count(*) > 0")


def _inner_join(honest, printer, join, needed):
    return honest(printer, join, needed).replace("LEFT JOIN", "JOIN")


def _grouped_by_collation(honest, printer, group):
    """'Flu' and 'flu' are one group, labelled by the one that comes first."""
    text = honest(printer, group)
    if not group.by:
        return text
    columns = group.columns[: len(group.by)]
    names = [printer.name(column.id) for column in columns]
    texts = [column.type is SqlType.TEXT for column in columns]
    shown = [f"min({name}) AS {name}" if is_text else name for name, is_text in zip(names, texts, strict=True)]
    by = [f"lower({name})" if is_text else name for name, is_text in zip(names, texts, strict=True)]
    inside = text.removeprefix(f"SELECT {', '.join(names)}").removesuffix(f" GROUP BY {', '.join(names)}")
    return f"SELECT {', '.join(shown)}{inside} GROUP BY {', '.join(by)}"


UNCLAMPED = _form("clamp_whole", lambda parts: parts[0])
CONVERTED_FIRST = _form("grains", lambda parts: f"CAST(round({parts[0]} * {parts[5]}) AS BIGINT)")
RANK_BELOW = _form("at_most", lambda parts: f"({parts[0]} <= {parts[1]} + 1)")
COUNT_OF = "SELECT diagnosis, COUNT(*) FROM visits WHERE diagnosis IN ('flu', 'nor this') GROUP BY diagnosis"
BY_WARD = "SELECT ward_id, COUNT(*) FROM visits GROUP BY ward_id"
CHOOSE = {"mode": "choose"}
TOO_FAR = "more than their noise was priced for"

BUGS = [
    Bug(title="no clamp", plant=no_clamp, sql="SELECT SUM(charge) FROM visits", seal=True, audit=TOO_FAR),
    Bug(title="no clamp is printed", plant=UNCLAMPED, sql="SELECT SUM(charge) FROM visits", audit=TOO_FAR),
    Bug(title="no row cap", plant=no_row_cap, sql="SELECT COUNT(*) FROM visits", seal=True, audit=TOO_FAR),
    Bug(
        title="values are converted before they are bounded",
        plant=CONVERTED_FIRST,
        sql="SELECT SUM(charge) FROM visits",
        audit="rows decide",
    ),
    Bug(title="one group too many", plant=one_group_too_many, sql=BY_WARD, seal=True, audit=TOO_FAR, options=CHOOSE),
    Bug(title="one group too many is printed", plant=RANK_BELOW, sql=BY_WARD, audit=TOO_FAR, options=CHOOSE),
    Bug(
        title="a person behind any number of private keys",
        plant=all_groups,
        sql="SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
        seal=True,
        audit="behind more keys",
    ),
    Bug(title="groups by value instead of by hash", plant=order_by_value, sql=BY_WARD, seal=True, options=CHOOSE),
    Bug(
        title="HAVING in the engine",
        plant=having_in_the_engine,
        sql=f"{COUNT_OF} HAVING COUNT(*) <= 0",
        seal=True,
        audit="keys differ",
    ),
    Bug(title="empty groups missing", plant=zero_groups_missing, sql=COUNT_OF, seal=True, audit="keys differ"),
    Bug(title="empty groups missing in print", plant=_printer("_join", _inner_join), sql=COUNT_OF, audit="keys differ"),
    Bug(
        title="no row for an empty table",
        plant=_printer("_group", _no_empty_row),
        sql="SELECT COUNT(*) FROM visits WHERE diagnosis = 'nor this'",
        audit="keys differ",
    ),
    Bug(
        title="NULL where nobody is",
        plant=null_where_nobody_is,
        sql="SELECT SUM(charge) FROM visits WHERE diagnosis = 'nor this'",
        seal=True,
        audit="rows decide",
    ),
    Bug(
        title="private keys as they are",
        plant=keys_as_they_are,
        sql="SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
        seal=True,
        audit="keys differ",
    ),
    Bug(
        title="labels by collation",
        plant=_printer("_group", _grouped_by_collation),
        sql="SELECT diagnosis FROM visits GROUP BY diagnosis",
        audit="behind more keys",
    ),
    Bug(
        title="any number of different values",
        plant=any_number_of_values,
        sql="SELECT COUNT(DISTINCT points) FROM visits",
        seal=True,
        audit=TOO_FAR,
    ),
    Bug(title="nobody is somebody", plant=nobody_is_somebody, sql="SELECT COUNT(*) FROM visits", seal=True),
    Bug(
        title="the owner by its name",
        plant=owner_by_name,
        sql="SELECT COUNT(*) FROM (SELECT points AS patient_id FROM visits) AS v",
        seal=True,
        audit=TOO_FAR,
    ),
    Bug(
        title="another owner is printed",
        plant=_printer("_read", _wrong_owner),
        sql="SELECT COUNT(*) FROM visits",
        audit=TOO_FAR,
    ),
    Bug(
        title="a join of different people",
        plant=owners_not_equated,
        sql="SELECT COUNT(*) FROM stays s JOIN beds b ON s.bed_id = b.bed_id",
        seal=True,
        audit=TOO_FAR,
        options={"rows": 4},
    ),
    Bug(
        title="a sum that cannot be zero",
        plant=sum_without_zero,
        sql="SELECT SUM(ward_id) FROM visits",
        seal=True,
        audit=TOO_FAR,
        people=(NOBODY_HERE,),
        options={"relation": "change_one"},
    ),
    Bug(
        title="replacing a person priced as removing one",
        plant=one_neighbour_instead_of_two,
        sql="SELECT SUM(points) FROM visits",
        seal=True,
        options={"relation": "change_one"},
    ),
    Bug(
        title="every slot at the whole price",
        plant=price_not_shared,
        sql="SELECT COUNT(*), SUM(charge) FROM visits",
        seal=True,
        audit=TOO_FAR,
        options={"noise": "laplace"},
    ),
    Bug(
        title="not scaled into the ball",
        plant=not_scaled,
        sql="SELECT ward_id, SUM(charge) FROM visits GROUP BY ward_id",
        seal=True,
        audit=TOO_FAR,
        options={"mode": "scale"},
    ),
    Bug(title="the norm in doubles", plant=norm_in_doubles, sql=BY_WARD, seal=True, options={"mode": "scale"}),
]


@cache
def analyst(person: int | None, options: tuple[tuple[str, object], ...]) -> dpsql.Analyst:
    hospital = badly_behaved() if person is None else badly_behaved().without(person)
    return opened(hospital, **dict(options))


def complaints(bug: Bug) -> Iterator[str]:
    """What the audit says about a question. Replacing a person: the one of many rows against each of the others."""
    options = tuple(bug.options.items())
    base = 41 if bug.options.get("relation") == "change_one" else None
    whole = replayed(analyst(base, options), bug.sql, salt=SALT)
    assert whole.sealed is not None, whole.verdict
    for person in bug.people:
        if person != base:
            forced = () if whole.failed else whole.recorded
            yield from excesses(whole, replayed(analyst(person, options), bug.sql, salt=SALT, forced=forced))


def blind(plan, _catalog):
    """A seal that believes every plan."""
    return Sealed(plan=plan, price=sum((triple(step.event) for step in plan.steps), FREE))


@pytest.mark.parametrize("bug", BUGS, ids=str)
def test_nobody_complains_without_the_bug(bug):
    assert list(complaints(bug)) == []


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.seal], ids=str)
def test_seal_refuses_the_plan_and_nothing_is_paid(bug, monkeypatch):
    ana = analyst(None, tuple(bug.options.items()))
    before = ana.place.ledger.account().spent
    bug.plant(monkeypatch)
    with pytest.raises(InternalError, match="two derivations|derived twice"):
        ana.sql(bug.sql)
    assert ana.place.ledger.account().spent == before


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.audit], ids=str)
def test_the_audit_complains(bug, monkeypatch):
    bug.plant(monkeypatch)
    if bug.seal:
        monkeypatch.setattr(answer, "seal", blind)
    found = list(complaints(bug))
    assert any(bug.audit in complaint for complaint in found), found


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.audit and not bug.seal], ids=str)
def test_what_is_printed_wrongly_is_beyond_the_seal(bug, monkeypatch):
    """Why the audit is needed: these plans are sealed."""
    bug.plant(monkeypatch)
    assert analyst(None, tuple(bug.options.items())).query(bug.sql).sealed.price.delta >= 0


# ------------------------------------------------------------------------------- the ball, where every grain counts

M, U = 83_739_041, 102_558_961
"""3·M² = 2·U² + 1. Three amounts of U scaled to the norm √2·U are M less 10^-9 each: a double rounds them to M, and
three times M is one grain beyond the ball."""


def claims(person: bool) -> dpsql.Analyst:
    """One person with the largest amount in three groups, of which two count: a corner of the ball's surface."""
    plain = duckdb.connect()
    plain.execute("CREATE TABLE claims (person BIGINT, kind VARCHAR, amount BIGINT)")
    plain.execute("INSERT INTO claims VALUES (2, 'a', 5)")
    if person:
        plain.execute(f"INSERT INTO claims VALUES (1, 'a', {U}), (1, 'b', {U}), (1, 'c', {U})")
    owner = dpsql.open(":memory:")
    owner.register(
        "claims",
        plain,
        person="person",
        bounds={"amount": (-U, U)},
        keys={"kind": ["a", "b", "c", "d"]},
        rows_per_person=1,
        groups_per_person=2,
    )
    plain.close()
    owner.promise(epsilon=10, delta=1e-6)
    owner.defaults(cost_per_query=1, max_keys=10, mode="scale")
    return owner.grant("ana", budget=10)


CORNER = "SELECT kind, SUM(amount) FROM claims GROUP BY kind"


def corner() -> list[str]:
    whole = replayed(claims(True), CORNER, salt=SALT)
    assert whole.sealed is not None, whole.verdict
    return list(excesses(whole, replayed(claims(False), CORNER, salt=SALT)))


def test_the_corner_of_the_ball_is_inside():
    assert 3 * M * M == 2 * U * U + 1
    assert corner() == []


@pytest.mark.parametrize("name", ["no slack", "the norm in single precision"])
def test_the_audit_sees_one_grain_beyond_the_ball(name, monkeypatch):
    if name == "no slack":
        honest = FORMS["factor"]
        monkeypatch.setitem(FORMS, "factor", lambda parts: honest(parts).replace(repr(inner.SLACK), "1.0"))
    else:
        monkeypatch.setitem(FORMS, "squared", lambda parts: f"pow(CAST(CAST({parts[0]} AS FLOAT) AS DOUBLE), 2)")
    assert any(TOO_FAR in complaint for complaint in corner())


# ---------------------------------------------------------------------- the order of rows, and numbers that are wrong


def order_tells(sql: str, *, mode: str | None = None) -> bool:
    """Whether the same noise on the same rows in another order makes another release."""
    ana = analyst(None, (("mode", mode),))
    sealed = ana.query(sql).sealed
    exact = exact_steps(sealed, ana.place.engine, salt=SALT)
    for step, found in zip(sealed.plan.steps, exact, strict=True):
        one = drawn(step, Exact(list(found.rows)), SeededSource(5))
        for seed in range(3):
            rows = random.Random(seed).sample(found.rows, len(found.rows))
            if drawn(step, Exact(rows), SeededSource(5)) != one:
                return True
    return False


ORDERED = (BY_WARD, "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis")


@pytest.mark.parametrize("sql", ORDERED)
def test_the_order_of_the_engine_tells_nothing(sql):
    assert not order_tells(sql)


@pytest.mark.parametrize("sql", ORDERED)
def test_the_order_of_the_engine_would_be_noticed(sql, monkeypatch):
    monkeypatch.setattr(mechanisms_table, "delivery_order", lambda key: 0)
    assert order_tells(sql)


def bounded_visits(rows: int = 6) -> tuple[int, int, int]:
    """COUNT(charge), Σ clamped charges and Σ w·(charge − middle) by hand: per person, in grains of 2^-10.

    2^-10 is the largest power of two below 2000/2^20; the middle of 0 and 2000 is 1000.
    """
    charges: dict[object, list[int]] = {}
    for person, _, charge, *_ in badly_behaved().tables["visits"]:
        if person is not None and charge is not None and abs(charge) < float("inf"):
            inside = min(max(Fraction(charge), 0), 2000) * 1024
            charges.setdefault(person, []).append(math.floor(inside + Fraction(1, 2)))
    count = sum(min(len(own), rows) for own in charges.values())
    added = sum(min(sum(own), rows * 2000 * 1024) for own in charges.values())
    centred = 0
    for own in charges.values():
        total = sum(grains - 1000 * 1024 for grains in own)
        centred += total if len(own) <= rows else int(Fraction(total * rows, len(own)))
    return count, added, centred


def engine_visits() -> tuple[int, int, int]:
    ana = analyst(None, ())
    (step,) = exact_steps(
        ana.query("SELECT COUNT(charge), SUM(charge), AVG(charge) FROM visits").sealed, ana.place.engine, salt=SALT
    )
    (row,) = step.rows
    return row


def test_bounded_numbers_are_those_computed_by_hand():
    assert engine_visits() == bounded_visits()


def test_nan_and_infinity_that_pass_would_be_noticed(monkeypatch):
    """They are moved into the bounds like every number, so that nobody is hurt; but they are no numbers."""
    monkeypatch.setattr(functions, "clean", lambda scalar: scalar)
    assert all(ours != theirs for ours, theirs in zip(engine_visits(), bounded_visits(), strict=True))


def test_an_average_that_is_not_weighted_would_be_noticed(monkeypatch):
    """It is still clamped to what one person may add, so that nobody is hurt; but the average is not one."""
    monkeypatch.setattr(inner, "down_weighted", lambda total, count, cap: total)
    ours, theirs = engine_visits(), bounded_visits()
    assert ours[:2] == theirs[:2]
    assert ours[2] != theirs[2]
