"""Limits for a policy, found privately: an ordinary question, paid for by the owner, and what follows from its answer.

The question counts people by their largest value on a grid that everybody knows. Whatever is proposed is computed from
the released counts alone, so that it may be written into a policy that everybody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import ceil
from operator import add
from typing import Final, TypeAlias

from dpsql.accounting.account import admitted_by_all
from dpsql.catalog.model import Catalog, Defaults, TablePolicy
from dpsql.catalog.names import did_you_mean, folded
from dpsql.catalog.spelling import Value, quoted, toml
from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.errors import BadKey, BadName, BadType, BudgetExhausted, NotSupported, Unbounded
from dpsql.require import Number, require_epsilon, require_open_unit
from dpsql.session.analyst import Analyst
from dpsql.session.answer_value import Answer
from dpsql.session.budget import Budget
from dpsql.session.digits import shown_amount, shown_percent, shown_up
from dpsql.session.inquiry import charged, together
from dpsql.session.noisy import Noisy
from dpsql.session.query import Query
from dpsql.session.refusing import RefusalsIgnored
from dpsql.session.shortfall import too_dear, weighs
from dpsql.session.terms import stated


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPlace:
    """Where the owner asks, and where that is tried before."""

    planning: Analyst
    """Plans and prices, and answers nothing."""
    asking: Callable[[], Analyst]
    """Opens the account of the owner where there is none yet."""

    @property
    def catalog(self) -> Catalog:
        return self.planning.place.catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """What was asked, what was told, and what that has taken from the promise."""

    queries: Sequence[Query]
    answers: Sequence[Answer]
    taken: Fraction


Planned: TypeAlias = Callable[[Analyst, str], list[Query]]
"""The questions of a suggestion from this place, with this noise."""
NOISES: Final = ("laplace", "gaussian")
"""Laplace noise leaves the account open for whatever comes later, and takes its price where sums of ε are ahead. Where
those of ρ are, it may take more, and Gaussian noise takes its price."""


def bought_for(owner: OwnPlace, planned: Planned, spend: Fraction) -> Bought:
    """All questions are answered, or none is asked; no more than said is taken from the promise."""
    noise = _noise(owner.planning, planned, spend)
    queries = planned(owner.asking(), noise)
    taken = _taken(queries)
    if taken is None or taken > spend:  # somebody has spent something since
        raise _unpaid(queries, spend)
    answers = [query.answered() for query in queries]
    paid = any(answer.cost.epsilon for answer in answers)
    return Bought(queries=queries, answers=answers, taken=taken if paid else Fraction(0))


def _noise(place: Analyst, planned: Planned, spend: Fraction) -> str:
    """The first that can be paid for within what was said; one that is stored, before that."""
    first = planned(place, NOISES[0])
    plans = {NOISES[0]: first}
    for noise in NOISES[1:]:
        with RefusalsIgnored():  # not every account grants it
            plans[noise] = planned(place, noise)
    fitting = [noise for noise, queries in plans.items() if (taken := _taken(queries)) is not None and taken <= spend]
    if not fitting:
        raise _unpaid(first, spend)
    return min(fitting, key=lambda noise: sum(query.is_charged for query in plans[noise]))


def _taken(queries: Sequence[Query]) -> Fraction | None:
    """What all of them together take from the promise, as it counts; None where it cannot pay for them."""
    event = together(charged(sealed for query in queries for sealed in query.inquiry.payments))
    if event is None:
        return Fraction(0)
    accounts = queries[0].place.accounts
    if not admitted_by_all(event, accounts):
        return None
    return accounts[0].charged(event).spent_epsilon - accounts[0].spent_epsilon


def _unpaid(queries: Sequence[Query], spend: Fraction) -> BudgetExhausted:
    """Why they are not asked."""
    accounts, taken = queries[0].place.accounts, _taken(queries)
    left = Budget.under(accounts)
    what = f"this costs {shown_amount(spend)}, and of the promise {left.shown} is left"
    if spend <= left.left and taken is None:
        first, promise = queries[0].inquiry, accounts[:1]
        what = too_dear(first, promise) if len(queries) == 1 else f"{what}; {weighs(first, promise)}"
    elif taken is not None:
        what = f"for {shown_amount(spend)} this would take {shown_up(taken)} of the promise: it counts in ρ by now"
    return BudgetExhausted(
        what,
        why="a suggestion is paid for like every answer; nothing was spent",
        fix="spend less, or declare what you know without asking",
    )


_WRONG: Final = Fraction(1, 100)
"""How often any place of the grid where nobody is may be taken for one where somebody is."""
_WHOLE: Final = (*(Fraction(step * 10**power) for power in range(9) for step in (1, 2, 5)), Fraction(10**9))
_PARTS: Final = tuple(Fraction(step, 10**power) for power in (3, 2, 1) for step in (1, 2, 5))
_NUMBERS: Final = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)


_NOBODY: Final = "nothing stands out from the noise at this price"
_CUT_OFF: Final = "the end of the grid, which cuts off larger values that were seen"
_HIDDEN: Final = "at this price noise may hide as many as are seen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One line of a policy, and what it rests on."""

    name: str
    """bounds, rows_per_person or keys."""
    value: tuple[Value | Fraction, ...] | int | None
    """None: at this price nothing stands out from the noise."""
    meaning: str
    spent: Fraction
    """Taken from the promise, as it counts; 0 where the same was asked before."""
    releases: tuple[int, ...]
    """Where the released counts are in the ledger."""
    unseen: int
    """So many people at one place, or fewer, the noise may have hidden."""
    lacking: str = _NOBODY
    """Where there is no value: why."""
    beyond: bool = False
    """Too many for the rest are beyond the end of the grid: it is proposed, and cuts them off."""

    @property
    def written(self) -> str | None:
        """As it stands in a policy."""
        if isinstance(self.value, tuple):
            return f"{self.name} = [{', '.join(map(_in_toml, self.value))}]"
        return None if self.value is None else f"{self.name} = {self.value}"

    def __str__(self) -> str:
        paid = f"spent {shown_up(self.spent)}, ledger {', '.join(f'#{number}' for number in self.releases)}"
        if self.written is None:
            return f"# no {self.name}: {self.lacking}; {paid}"
        return f"{self.written}  # private estimate: {self.meaning}, {paid}"


def _in_toml(value: Value | Fraction) -> str:
    """A key or a bound."""
    return shown_amount(value) if isinstance(value, Fraction) else toml(value)


def suggested_bounds(owner: OwnPlace, column: str, *, spend: Number, share: Number) -> Suggestion:
    """Bounds within which all values of this share of the people lie, or about so many. Asked for the largest value of
    each and, where the type has negative numbers, for the smallest one too, at half of the price each."""
    table, name = _column(owner.catalog, column)
    engine = next(each for each in owner.catalog.schema[table.name].columns if folded(each.name) == name)
    type_ = table.columns[name].type or engine.type
    if type_ not in NUMERIC:
        raise BadType(
            f"no bounds are looked for in {column}",
            why="bounds are looked for among numbers, and this is a column of another type",
            fix="name a column of numbers; the first and the last day are usually known without looking",
        )
    grid = _WHOLE if type_ is SqlType.INTEGER else (*_PARTS, *_WHOLE)
    signs = (1,) if engine.low is not None and engine.low >= 0 else (1, -1)
    found = [_counted(_values(table, name, sign), grid, sign=sign) for sign in signs]
    bought = _paid(owner, found, spend, share)
    answers = bought.answers
    sides = sum(_end(answer, grid, outside=Fraction(0)).point > 0 for answer in answers)  # where anybody is seen
    ends = [_end(answer, grid, outside=(1 - stated(share)) / max(1, sides)) for answer in answers]
    high, low = ends[0], ends[1] if len(ends) > 1 else _NOTHING
    value = (-low.point, high.point) if high.point or low.point else (Fraction(0), grid[0])
    return _suggestion(
        "bounds", value, bought, ends, f"about {shown_percent(stated(share))} % of the {_whose(table, owner.catalog)}"
    )


def suggested_rows(owner: OwnPlace, table: str, *, spend: Number, share: Number) -> Suggestion:
    """As many rows as this share of the people have at most, or about so many."""
    policy = _table(owner.catalog, table)
    if policy.unit_row or policy.path:
        raise NotSupported(
            f"rows_per_person is not looked for in {table}",
            why="its rows are protected one by one" if policy.unit_row else "its rows do not name their person",
            fix="name a table that has the column of its person; for others, declare what you know",
        )
    people = ", ".join(map(quoted, policy.person))
    source = f"SELECT {people}, COUNT(*) AS v FROM {quoted(policy.name)} GROUP BY {people}"
    grid = tuple(map(Fraction, _NUMBERS))
    bought = _paid(owner, [_counted(source, grid, sign=1)], spend, share)
    end = _end(bought.answers[0], grid, outside=1 - stated(share))
    person = owner.catalog.policy.person.name
    meaning = f"about {shown_percent(stated(share))} % of the {person}s seen have no more rows"
    return _suggestion("rows_per_person", max(1, int(end.point)), bought, [end], meaning)


def suggested_keys(owner: OwnPlace, column: str, *, spend: Number) -> Suggestion:
    """The groups of a column with private keys that enough people have, to be listed from then on."""
    table, name = _column(owner.catalog, column)
    key = quoted(name)
    require_epsilon(spend=spend)
    question = f"SELECT {key} AS found, COUNT(*) AS people FROM {quoted(table.name)} GROUP BY {key}"

    def planned(place: Analyst, noise: str) -> list[Query]:
        return [place.query(question, epsilon=stated(spend), noise=noise)]

    if planned(owner.planning, NOISES[0])[0].sealed.plan.people is None:
        raise NotSupported(
            f"no keys are looked for in {column}",
            why="its groups are known without looking",
            fix=f'where they are not, declare {name} = {{ keys = "private" }} first',
        )
    bought = bought_for(owner, planned, stated(spend))
    (query,), (answer,) = bought.queries, bought.answers
    people = query.sealed.plan.people or Fraction(0)
    keys = tuple(cell for cell in answer["found"] if cell is not None and not isinstance(cell, Noisy))
    person = owner.catalog.policy.person.name
    return Suggestion(
        name="keys",
        value=keys or None,
        meaning=f"those that more than about {people} {person}s have",
        spent=bought.taken,
        releases=() if answer.release is None else (answer.release,),
        unseen=int(people),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How far values reach on one side of 0."""

    point: Fraction
    found: bool
    """Anybody stands out from the noise."""
    beyond: bool
    unseen: int
    people: int = 0
    """About so many are seen at all places together."""
    outside: int = 0
    """So many may be beyond the point, at most: those seen there, and those that noise may hide."""


_NOTHING: Final = _End(point=Fraction(0), found=False, beyond=False, unseen=0)


def _suggestion(
    name: str, value: tuple[Fraction, Fraction] | int, bought: Bought, ends: Sequence[_End], meaning: str
) -> Suggestion:
    people, outside = max(end.people for end in ends), sum(end.outside for end in ends)
    found, beyond = any(end.found for end in ends), any(end.beyond for end in ends)
    return Suggestion(
        name=name,
        value=value if found and (beyond or outside < people) else None,
        meaning=f"{_CUT_OFF if beyond else meaning}; up to {outside} of about {people} may lie beyond",
        lacking=_HIDDEN if found else _NOBODY,
        spent=bought.taken,
        releases=tuple(answer.release for answer in bought.answers if answer.release is not None),
        unseen=max(end.unseen for end in ends),
        beyond=beyond,
    )


def _table(catalog: Catalog, name: str) -> TablePolicy:
    table = catalog.policy.tables.get(folded(name))
    if table is None:
        raise BadName(
            f"there is no table {name}{did_you_mean(name, catalog.policy.tables)}",
            why="what is not declared cannot be asked about",
            fix="name a declared table, or declare it first",
        )
    if table.public:
        raise NotSupported(
            f"{name} is public",
            why="nobody is in it: its limits are told exactly, for nothing",
            fix=f"ask for them: SELECT MIN(x), MAX(x) FROM {name}",
        )
    return table


def _column(catalog: Catalog, written: str) -> tuple[TablePolicy, str]:
    table, point, column = written.rpartition(".")
    if not point:
        raise BadName(f"{written} is no column", why="a column is in a table", fix="write it as visits.charge")
    policy, name = _table(catalog, table), folded(column)
    if name not in policy.columns:
        raise BadName(
            f"there is no column {column} in {table}{did_you_mean(column, policy.columns)}",
            why="what is not declared cannot be asked about",
            fix=f"name a declared column, or declare it first: [table.{table}.columns] {column} = {{}}",
        )
    return policy, name


def _values(table: TablePolicy, name: str, sign: int) -> str:
    """The largest value of each person, or the smallest; single rows where those are protected, or lead to a person."""
    column = quoted(name)
    if table.unit_row or table.path:
        return f"SELECT {column} AS v FROM {quoted(table.name)}"
    people = ", ".join(map(quoted, table.person))
    extreme = "MAX" if sign > 0 else "MIN"
    return f"SELECT {people}, {extreme}({column}) AS v FROM {quoted(table.name)} GROUP BY {people}"


def _whose(table: TablePolicy, catalog: Catalog) -> str:
    if table.unit_row or table.path:
        return f"{'rows' if table.unit_row else 'values'} seen lie within"
    return f"{catalog.policy.person.name}s seen have all their values within"


def _counted(source: str, grid: Sequence[Fraction], *, sign: int) -> str:
    """How many people there are at each place of the grid: 0 up to zero, then up to each point, then beyond."""
    compared, beyond = ("<=", ">") if sign > 0 else (">=", "<")
    points = (Fraction(0), *grid)
    places = [f"WHEN v {compared} {shown_amount(sign * point)} THEN {place}" for place, point in enumerate(points)]
    last = f"WHEN v {beyond} {shown_amount(sign * grid[-1])} THEN {len(points)}"
    keys = ", ".join(map(str, range(len(points) + 1)))
    return (
        f"SELECT CASE {' '.join(places)} {last} END AS place, COUNT(*) AS people FROM ({source}) AS each_one "
        f"GROUP BY place KEYS ({keys})"
    )


def _paid(owner: OwnPlace, questions: Sequence[str], spend: Number, share: Number) -> Bought:
    """The answers, at even shares of the price."""
    require_epsilon(spend=spend)
    require_open_unit(share=share)
    _require_groups(owner.catalog.policy.defaults, max(map(_places, questions)))
    each = stated(spend) / len(questions)

    def planned(place: Analyst, noise: str) -> list[Query]:
        return [
            place.query(question, epsilon=each, noise=noise, confidence=1 - _WRONG / (question.count("WHEN") + 1))
            for question in questions
        ]

    return bought_for(owner, planned, stated(spend))


def _places(question: str) -> int:
    """How many groups it has: those listed at its end."""
    return question.rpartition("KEYS (")[2].count(",") + 1


def _require_groups(defaults: Defaults, places: int) -> None:
    """Said before anything is planned: its question has groups that whoever asks for a suggestion never wrote."""
    if defaults.max_keys is None:
        raise Unbounded(
            "[defaults] has no max_keys, and a suggestion needs it",
            why="people are counted at each place of a grid: these are groups, and max_keys says how many there may be",
            fix="write max_keys = 1000 into [defaults]; in Python: owner.defaults(max_keys=1000)",
        )
    if defaults.max_keys < places:
        raise BadKey(
            f"[defaults] max_keys is {defaults.max_keys}, and a suggestion needs at least {places}",
            why=f"people are counted at {places} places of a grid: these are groups, and max_keys says how many there "
            "may be",
            fix=f"raise max_keys in [defaults] to {places}; in Python: owner.defaults(max_keys={places})",
        )


def _end(answer: Answer, grid: Sequence[Fraction], *, outside: Fraction) -> _End:
    """The first point that leaves no larger share beyond it. A place counts as empty where its noise alone may
    have made its number."""
    cells = dict(zip(answer["place"], answer["people"], strict=True))
    noisy = {place: cell for place, cell in cells.items() if isinstance(cell, Noisy) and cell.margin is not None}
    seen = {place: cell.value for place, cell in noisy.items() if cell.value > (cell.margin or 0)}
    people = sum(map(Fraction, seen.values()), Fraction(0))
    beyond, last = Fraction(0), len(grid) + 1
    while last and beyond + Fraction(seen.get(last, 0)) <= outside * people:
        beyond += Fraction(seen.get(last, 0))
        last -= 1
    place = min(last, len(grid))
    return _End(
        point=grid[place - 1] if place else Fraction(0),
        found=bool(seen),
        beyond=last > len(grid),
        unseen=max((2 * int(cell.margin or 0) for cell in noisy.values()), default=0),
        people=int(people),
        outside=_most([cell for at, cell in noisy.items() if isinstance(at, int) and at > place]),
    )


def _most(cells: Sequence[Noisy]) -> int:
    """So many are at these places at most: the end of the interval of their sum, as sure as that of each number is."""
    if not cells:
        return 0
    whole = reduce(add, cells[1:], cells[0])
    return max(0, ceil(whole.value + (whole.margin or 0)))
