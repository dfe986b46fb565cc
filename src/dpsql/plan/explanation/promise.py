"""What a plan promises to one person and does not cover, what it costs the accounts, what the promise rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from dpsql.accounting.account import Account, remaining
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.catalog.model import KeyKind, PublicKeys, TablePolicy
from dpsql.enclosure import exp_bounds
from dpsql.errors import BadParameter, Refused
from dpsql.plan.explanation.tree import reads_released, way_to_person
from dpsql.plan.price import Plan, SelectionStep
from dpsql.plan.wording import (
    amount,
    five_digits,
    left_amount,
    percent,
    plural,
    protects_rows,
    some,
    unit_name,
    value_text,
)
from dpsql.privacy.group import group_privacy
from dpsql.privacy.measure import PrivacyParams, even_guess
from dpsql.privacy.rounding import round_up
from dpsql.privacy.unit import Neighbours
from dpsql.sql.caps import enforced_once
from dpsql.sql.notes import Role
from dpsql.sql.resolve import Resolved


def price_of(plan: Plan) -> Triple:
    """(ε, δ, ρ) of all steps; nothing where a stored answer is told again, or nothing private is read."""
    return FREE if plan.charged is None else triple(plan.charged)


def account_name(account: Account) -> str:
    """A grant is the limit of one analyst; the promise is what people were told."""
    return "the promise" if account.granted_from is None else "your grant"


# ---- the promise -----------------------------------------------------------------------------------------------


def promise(plan: Plan, accounts: Sequence[Account]) -> tuple[str, ...]:
    """The promise in sentences."""
    query = plan.bounded.query
    if not query.private and reads_released(query.relation):
        return (
            "What was released before, and public tables, alone are read.",
            "No row of anybody is: it is free, and the promise of the questions before it holds.",
        )
    if not query.private:
        return ("Public tables alone are read. Nobody is in them, so the answer is exact and free.",)
    if not plan.steps:
        return ("What is asked is public by policy. No row of anybody is read: the answer is exact and free.",)
    if plan.stored is not None:
        return (
            "The answer is already known, and at least as precise. It is told again for nothing.",
            "What was released once tells no more the second time.",
        )
    price = price_of(plan)
    own = tuple(_with_gaussian(plan, accounts) if price.epsilon is None else _with_epsilon(plan, price.epsilon))
    return (f"Protected: {_who(plan)}.", *own)


def _who(plan: Plan) -> str:
    query = plan.bounded.query
    policy = query.catalog.policy
    if protects_rows(query):
        return f"one row of {query.private_tables[0]}"
    owned = [table.name for table in policy.tables.values() if not table.public and not table.unit_row]
    return policy.person.label or f"one {policy.person.name}, with all of their rows in {', '.join(owned)}"


def _change(plan: Plan) -> str:
    unit = unit_name(plan.bounded.query)
    if plan.bounded.neighbours is Neighbours.CHANGE_ONE:
        return f"Replacing one {unit} by another"
    return f"Adding or removing one {unit}"


_LARGEST_TOLD: Final = 100
"""e^100 has 44 digits: beyond it a factor limits nothing, and to compute it would only take time."""


def _factor(epsilon: Fraction) -> str:
    if epsilon > _LARGEST_TOLD:
        return f"e^{amount(epsilon)}, which is no limit in practice"
    return f"e^{amount(epsilon)} = {five_digits(exp_bounds(epsilon)[1])}"


def _odds(plan: Plan, epsilon: Fraction, delta: Fraction) -> str:
    apart = ", apart from that slack" if delta else ""
    return f"In odds{apart}: {even_guess(epsilon=epsilon, person=unit_name(plan.bounded.query))}."


def _slack(delta: Fraction) -> str:
    return f", apart from a slack of δ = {amount(delta)}" if delta else ""


def _with_epsilon(plan: Plan, epsilon: Fraction) -> Iterator[str]:
    delta = price_of(plan).delta
    yield (
        f"{_change(plan)} changes the probability of any answer to this query by at most a factor "
        f"{_factor(epsilon)}{_slack(delta)}."
    )
    yield f"{_odds(plan, epsilon, delta)} ({_kind(plan, delta)})"
    yield from _for_groups(plan, epsilon, delta, of="this query")


def _kind(plan: Plan, delta: Fraction) -> str:
    if not delta:
        return "pure ε; δ = 0"
    return f"δ is the chance that a group shows which only one {unit_name(plan.bounded.query)} has"


def _with_gaussian(plan: Plan, accounts: Sequence[Account]) -> Iterator[str]:
    """Gaussian noise has no ε of its own; the account it is paid from has one."""
    price = price_of(plan)
    rho = Fraction(0) if price.rho is None else price.rho
    shares = [f"{percent(rho / account.rho)} of {account_name(account)}" for account in accounts if account.rho]
    part = f": {' and '.join(shares)}" if shares else ""
    slack = f", and δ = {amount(price.delta)}" if price.delta else ""
    yield f"Gaussian noise has no ε by itself. This query takes ρ = {amount(rho)}{part}{slack}."
    (epsilon, delta), change = _whole_promise(accounts[0]), _change(plan)
    yield (
        "For everything that is ever answered under the promise, this query included: "
        f"{change[0].lower()}{change[1:]} changes the probability of any answers by at most a factor "
        f"{_factor(epsilon)}{_slack(delta)}."
    )
    yield _odds(plan, epsilon, delta)
    yield from _for_groups(plan, epsilon, delta, of="all answers together")
    closing = [account_name(account) for account in accounts if account.pure_branch_open]
    if closing:
        yield (
            f"The first Gaussian answer closes the pure branch of {' and '.join(closing)} for ever: from then on all "
            "answers are counted in ρ alone, where an answer of ε without Gaussian noise counts ε²/2."
        )


def _whole_promise(account: Account) -> tuple[Fraction, Fraction]:
    """(ε, δ) of the promise an account belongs to."""
    return account.granted_from or account.epsilon, account.delta


def _for_groups(plan: Plan, epsilon: Fraction, delta: Fraction, *, of: str) -> Iterator[str]:
    """The promise for families, where the owner wants it printed."""
    size = plan.bounded.query.catalog.policy.person.group_size
    if size == 1:
        return
    try:
        several = group_privacy(PrivacyParams(epsilon=round_up(epsilon), delta=round_up(delta)), size=size)
    except (BadParameter, Refused):  # too large for its formula, or for any promise
        yield f"There is no promise for groups of {amount(size)} in {of}."
        return
    yield (
        f"For groups of {amount(size)} in {of}: at most a factor {_factor(epsilon * size)}"
        f"{_slack(Fraction(several.delta))} [T9]."
    )


# ---- the cost --------------------------------------------------------------------------------------------------


def cost(plan: Plan, accounts: Sequence[Account]) -> tuple[str, ...]:
    """What each account has now, and what it would have afterwards."""
    if plan.charged is None:
        return ("0: free, now and every time",)
    first = f"{amount(plan.cost)} of the account"
    return tuple(_of_account(plan, account) for account in accounts) or (first,)


def _of_account(plan: Plan, account: Account) -> str:
    event, name = plan.charged, account_name(account)
    before = remaining([account])
    left = f"{amount(plan.cost)} of {left_amount(before)} left in {name}"
    if event is None or not account.admits(event):
        return f"{left}: not enough, it would be refused"
    after = account.charged(event)
    counted = "ε" if after.spent.epsilon == after.spent_epsilon else "ρ"
    delta = price_of(plan).delta
    room = account.delta - account.delta_prime - account.spent.delta
    slack = f"; δ: {amount(delta)} of {left_amount(room)} left" if delta else ""
    return f"{left} → {left_amount(account.epsilon - after.spent_epsilon)} left, counted in {counted}{slack}"


def assumes(plan: Plan) -> tuple[str, ...]:
    """The facts of the policy that the plan used, in the order of the query."""
    query = plan.bounded.query
    found = [f"policy {plan.recalled.identity.declarations[:12]}, data version {plan.recalled.data_version}"]
    for name in query.tables:
        table = query.catalog.policy.tables[name]
        if table.public:
            found.append(f"nobody is in {name}")
        elif plan.steps:
            looked_into = [_belongs(table, unit_name(query))]  # on the way to the person alone
            found += _of_table(table, plan) if name in query.private_tables else looked_into
    found += [fact for table, name in _used(query) for fact in _of_column(table, name, query)]
    if any(isinstance(step, SelectionStep) for step in plan.steps) and plan.terms.delta is not None:
        found.append(f"finding groups may spend δ = {amount(plan.terms.delta)}")
    return tuple(dict.fromkeys(found))


def _of_table(table: TablePolicy, plan: Plan) -> Iterator[str]:
    bounded, person = plan.bounded, unit_name(plan.bounded.query)
    if table.unit_row:
        yield f"each row of {table.name} is about somebody else"
        return
    yield _belongs(table, person)
    if bounded.one_row_each and enforced_once(table, bounded.query.catalog):
        yield f"{'+'.join(table.person)} of {table.name} is unique, enforced by the engine"
    elif table.unique:
        yield f"{table.name} has one row per {person}; further ones are not counted"
    for name, limit in (
        ("rows_per_person", table.rows_per_person),
        ("rows_per_group", table.rows_per_group),
        ("groups_per_person", table.groups_per_person),
    ):
        if limit is not None and not bounded.one_row_each:
            yield f"{name} = {amount(limit)} in {table.name}"


def _belongs(table: TablePolicy, person: str) -> str:
    if table.path:
        return f"a row of {table.name} is about those whom {way_to_person(table)} leads to, and nobody else"
    return f"{'+'.join(table.person)} of {table.name} is never shared by two {plural(person)}"


def _used(query: Resolved) -> list[tuple[str, str]]:
    """Base columns that are added up or grouped by."""
    wanted = (Role.VALUE, Role.GROUP)
    return [column.origin for use in query.uses if use.role in wanted for column in use.columns if column.origin]


def _of_column(table: str, name: str, query: Resolved) -> Iterator[str]:
    declared = query.catalog.policy.tables[table].columns[name]
    if declared.bounds is not None:
        low, high = declared.bounds.low, declared.bounds.high
        yield f"{table}.{name} within {value_text(low)} and {value_text(high)}"
    if isinstance(declared.keys, PublicKeys):
        yield f"the groups of {table}.{name} are public: {some(map(value_text, declared.keys.values))}"
    elif declared.keys is KeyKind.CALENDAR:
        yield f"the days of {table}.{name} between its bounds are public"


def not_covered(plan: Plan) -> tuple[str, ...]:
    """What an answer, or the asking, may tell all the same."""
    query = plan.bounded.query
    facts = ["the text and the time of the query", "how long it takes", "that dpsql was used"]
    if any(query.catalog.policy.tables[name].public for name in query.tables):
        facts.append("what public tables say")
    if query.owner and plan.steps:
        facts.append(f"rows without a {unit_name(query)}, which are left out")
    return tuple(facts)
