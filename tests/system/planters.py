"""Classic mistakes as patches of one function each."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from dpsql.catalog.key_lists import declared_list
from dpsql.catalog.model import PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.plan import price
from dpsql.privacy.unit import Neighbours
from dpsql.session import answer
from dpsql.sql import (
    bound,
    caps,
    emit,
    inner,
    joins,
    people,
    person_windows,
    rewrite,
    scans,
    sources,
    subqueries,
    unions,
)
from dpsql.sql.aggregates.registry import MEASURES
from dpsql.sql.intervals import EVERYTHING
from dpsql.sql.relations import Filter, Group, Numbers, Project, Total, ids, ref, refs
from dpsql.sql.rewrite import Builder
from dpsql.sql.scalars import Apply, Constant

from hospital import Hospital

KNOWN: list[tuple[object, Hospital]] = []
"""The rows behind each catalogue that was opened."""
Planter = Callable[[pytest.MonkeyPatch], None]
FORMS = inner.FORMS["duckdb"]


def instead(place: object, name: str) -> Callable[[Callable[..., object]], Planter]:
    """A function that is planted in place of another one, which it is given first."""

    def planter(change: Callable[..., object]) -> Planter:
        def plant(patch: pytest.MonkeyPatch) -> None:
            honest = getattr(place, name)
            patch.setattr(place, name, lambda *given, **named: change(honest, *given, **named))

        return plant

    return planter


# -------------------------------------------------------------------------------------------------- subqueries


@instead(subqueries, "grouped_by_person")
def person_left_out(honest, source, outputs, notes):
    """Groups of a subquery that several people share."""
    values = honest(source, outputs, notes)
    group = values.input.input
    by = tuple(number for number in group.by if number not in source.owner)
    owners = [column for column in group.columns if column.id in source.owner]
    smallest = tuple(Total(function="own_min", argument=ref(column)) for column in owners)
    columns = (*(column for column in group.columns if column.id not in source.owner), *owners)
    shared = replace(group, by=by, columns=columns, totals=(*group.totals, *smallest))
    return replace(values, input=replace(values.input, input=shared))


@instead(joins, "_kept")
def public_rows_kept(honest, pairs, condition, kept, other, notes):
    """The wrong side of an outer join stays: rows that nobody is in."""
    source = honest(pairs, condition, kept, other, notes)
    join = source.relation
    return replace(source, relation=replace(join, left=join.right, right=join.left))


@instead(joins, "_kept")
def owner_of_the_missing_side(honest, pairs, condition, kept, other, notes):
    return replace(honest(pairs, condition, kept, other, notes), owner=other.owner)


@instead(unions, "united")
def owner_by_its_place(honest, branches, notes, at):
    """The first column of a union, because it is the person in the first branch."""
    whole, _, columns = honest(branches, notes, at)
    return whole, (columns[0].id,), columns


@instead(unions, "_in_place")
def branch_without_owner(honest, branch, shown, notes):
    """One branch of a union says that its rows are somebody's."""
    project = honest(branch, shown, notes)
    return replace(project, expressions=(Constant(7, SqlType.INTEGER), *project.expressions[1:]))


def partners_of_anybody(patch):
    """EXISTS compares what the analyst writes, and not the owners."""
    patch.setattr(joins, "within_one_person", lambda scalar, left, right: scalar)


def not_in_as_sql_has_it(patch):
    """One NULL among the others, and NOT IN is true for nobody."""
    patch.setattr(
        joins,
        "_not_different",
        lambda part, source, others, tied: Apply(
            "not", (Apply("is_false", (part,), SqlType.BOOLEAN),), SqlType.BOOLEAN
        ),
    )
    partners_of_anybody(patch)


@instead(joins, "united")
def owner_of_one_side(honest, branches, notes, at):
    """Of a FULL JOIN: rows that the left does not have are given to nobody."""
    whole, owner, shown = honest(branches, notes, at)
    first, second = whole.branches
    missing = Constant(None, second.columns[0].type)
    second = replace(second, expressions=(missing, *second.expressions[1:]))
    return replace(whole, branches=(first, second)), owner, shown


@instead(people, "_added")
def fractions_added_up(_, aggregate, argument, notes):
    """Inside a person, where the order of rows would decide the last digits."""
    return Total(function="own_sum", argument=argument), lambda column: column, EVERYTHING


def window_over_everybody(patch):
    """A window whose partition is not the person."""
    honest = person_windows.framed
    patch.setattr(person_windows, "framed", lambda call, at, notes: replace(honest(call, at, notes), partition_by=()))


def ties_as_the_engine_likes(patch):
    patch.setattr(person_windows, "settled", lambda call, columns: call)


def ranks_taken_for_numbers(patch):
    """Several rows of a person may be the first: one is counted on."""
    patch.setattr(caps, "rows_left", lambda relation, owner: 1)


@instead(person_windows.PersonWindows, "_sum")
def running_fractions(_, self, call, at):
    """A running sum of doubles, whose last digits depend on the order of rows that are tied."""
    return self._column(call, EVERYTHING, EVERYTHING, self.notes.declared(call.arguments[0]))


# ------------------------------------------------------------------------------------------------ the rewriter


def no_clamp(patch):
    patch.setattr(inner, "clamp_whole", lambda value, *, low, high: value)


@instead(inner, "clamp_whole")
def no_row_cap(honest, value, *, low, high):
    whole_person = isinstance(value, Apply) and value.function == "or_zero"
    return value if whole_person else honest(value, low=low, high=high)


def _choosing(patch, change):
    honest = rewrite.chosen_groups

    def planted(relation, build, *, groups):
        return change(honest, relation, build, groups)

    patch.setattr(rewrite, "chosen_groups", planted)


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


@instead(rewrite, "_measurement")
def having_in_the_engine(honest, bounded, keys, numbers):
    statement = honest(bounded, keys, numbers)
    few = inner.at_most(ref(statement.values[0]), 0)
    relation = statement.relation
    return replace(statement, relation=Filter(input=relation, condition=few, columns=relation.columns))


@instead(rewrite, "_by_key")
def zero_groups_missing(honest, *arguments):
    relation = honest(*arguments)
    return replace(relation, input=replace(relation.input, outer=False))


@instead(rewrite, "_side_by_side")
def null_where_nobody_is(_, parts, values):
    return Project(input=parts[0], columns=values, expressions=refs(values))


@instead(answer, "rewrite")
def keys_as_they_are(honest, bounded):
    """Private keys are measured without having been selected."""
    if not bounded.private_keys:
        return honest(bounded)
    build = Builder(bounded, Numbers(bounded.free))
    found = Group(input=build.base().relation, by=ids(build.keys), columns=build.keys, totals=())
    keys = Project(input=found, columns=build.like(build.keys), expressions=refs(build.keys))
    measurement = rewrite._measurement(bounded, keys, build.numbers)
    return rewrite.Measuring(bounded=bounded, measurement=measurement, key_count=None)


@instead(rewrite, "_few_values")
def any_number_of_values(honest, own, rows, value, *, cap, pairs):
    return honest(own, rows, value, cap=cap, pairs=pairs).input.input


def nobody_is_somebody(patch):
    """Rows whose person is NULL are kept, as if they were one person's."""
    patch.setattr(inner, "known", lambda a: inner.TRUE)


def not_scaled(patch):
    patch.setattr(rewrite, "_scaled", lambda build, pairs, slots: pairs)


def norm_in_doubles(patch):
    """Sums of doubles depend on the order of rows, and round."""
    patch.setattr(inner, "squared", lambda value: Apply("squared", (value,), SqlType.DOUBLE))
    patch.setitem(FORMS, "squared", lambda parts: f"(CAST({parts[0]} AS DOUBLE) * {parts[0]})")


# ---------------------------------------------------------------------------------- the resolver, bound, the price


@instead(sources, "subquery")
def owner_by_name(honest, *arguments):
    """Above a subquery the owner is whatever column is called like the person."""
    source = honest(*arguments)
    named = [column.id for table in source.scope.tables for column in table.columns if column.name == "patient_id"]
    return replace(source, owner=tuple(named[:1]) or source.owner)


def owners_not_equated(patch):
    patch.setattr(joins, "within_one_person", lambda scalar, left, right: scalar)


def conversions_seen_through(patch):
    """CAST(a.person AS …) = CAST(b.person AS …) passes for equal owners, and nothing else equates them."""
    honest = joins.equated

    def planted(part, left, right):
        sides = tuple(
            side.arguments[0] if isinstance(side, Apply) and side.function.startswith("to_") else side
            for side in part.arguments
        )
        return honest(replace(part, arguments=sides), left, right)

    patch.setattr(joins, "equated", planted)
    owners_not_equated(patch)


def tied_by_name(patch):
    """A column that is called like the person passes for the person, and nothing else equates the owners."""
    honest = joins._tied

    def planted(scalar, left, right, notes):
        for side in (left, right):
            for table in side.scope.tables:
                for column in table.columns:
                    if column.name == "patient_id":
                        notes.know(replace(notes.columns[column.id], origin=(side.tables[0], column.name)))
        return honest(scalar, left, right, notes)

    patch.setattr(joins, "_tied", planted)
    owners_not_equated(patch)


@instead(sources, "_table")
def privacy_of_the_name(honest, item, known, notes):
    """A common table that is called like a public table passes for it."""
    source = honest(item, known, notes)
    declared = notes.catalog.policy.tables.get(item.name[-1].name)
    return replace(source, private=False, owner=()) if declared is not None and declared.public else source


@instead(sources, "_table")
def tables_hide_common_tables(honest, item, known, notes):
    """A name means the declared table, although a common table of that name is nearer."""
    declared = len(item.name) == 1 and item.name[0].name in notes.readable
    return honest(item, sources.NOTHING if declared else known, notes)


@instead(scans, "_scan")
def private_passes_for_public(honest, table, notes, *, owned):
    scan, visible = honest(table, notes, owned=owned)
    return replace(scan, private=False), visible


def path_to_anybody(patch):
    """The joins along a path to the person pair everything with everything."""
    patch.setattr(scans, "all_equal", lambda left, right: inner.TRUE)


@instead(bound, "domains_of")
def keys_from_the_data(_, query, *, max_keys):
    """The plan lists the keys that the table holds when it is made, and treats them as public."""
    (rows,) = (rows for catalog, rows in KNOWN if catalog is query.catalog)
    found = PublicKeys(values=tuple(row[4] for row in rows.tables["visits"]))
    return tuple(declared_list(found, key.expression.type) for key in query.keys)


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
        honest = getattr(bound, name)

        def planted(slot, *, groups, neighbours, grouped, honest=honest):
            return honest(slot, groups=groups, neighbours=Neighbours.ADD_REMOVE, grouped=grouped)

        patch.setattr(bound, name, planted)


@instead(price, "_laplace")
def price_not_shared(honest, bounded, *, epsilon):
    """Each of several slots gets noise for the whole price."""
    noises, event = honest(bounded, epsilon=epsilon)
    laws = [DiscreteLaplaceLaw(scale=noise.carried.law.scale / len(noises)) for noise in noises]
    thin = [replace(noise, carried=replace(noise.carried, law=law)) for noise, law in zip(noises, laws, strict=True)]
    return tuple(thin), event


# ------------------------------------------------------------------------------------------------ the printer


def form(name: str, form: Callable[[list[str]], str]) -> Planter:
    return lambda patch: patch.setitem(FORMS, name, form)


unclamped = form("clamp_whole", lambda parts: parts[0])
converted_first = form("grains", lambda parts: f"CAST(round({parts[0]} * {parts[5]}) AS BIGINT)")
rank_below = form("at_most", lambda parts: f"({parts[0]} <= {parts[1]} + 1)")


@instead(emit._Printer, "_read")
def wrong_owner(honest, printer, scan, column, source):
    return '"points"' if column.id in scan.raw else honest(printer, scan, column, source)


@instead(emit._Printer, "_group")
def no_empty_row(honest, printer, group):
    return honest(printer, group) + ("" if group.by else " HAVING count(*) > 0")


@instead(emit._Printer, "_join")
def inner_join(honest, printer, join, needed):
    return honest(printer, join, needed).replace("LEFT JOIN", "JOIN")


@instead(emit._Printer, "_group")
def grouped_by_collation(honest, printer, group):
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
