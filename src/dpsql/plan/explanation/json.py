"""An explanation as data: exact numbers as text, enough to derive the price again without dpsql."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpsql.accounting.account import Account, remaining
from dpsql.accounting.triple import Triple, triple
from dpsql.catalog.model import KeyList, KeyRange, Mode, Value
from dpsql.codec import Codec, Json, Only
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.plan.expected import Expectation
from dpsql.plan.explanation.promise import account_name, price_of
from dpsql.plan.explanation.rules import RULES, Rule
from dpsql.plan.explanation.text import together_sentences
from dpsql.plan.explanation.tree import Node
from dpsql.plan.price import MeasurementStep, Plan, SelectionStep, SlotNoise, Step
from dpsql.plan.recall import Finer
from dpsql.plan.wording import title, unit_name
from dpsql.privacy.events import PRICED_EVENTS, Event
from dpsql.sql.bound import Bounded
from dpsql.sql.emit import statement_text
from dpsql.sql.keys import Domain, PrivateKey
from dpsql.sql.outputs import GroupKey
from dpsql.sql.rewrite import Statement, Unprotected
from dpsql.sql.slots import Slot, ball

if TYPE_CHECKING:
    from dpsql.plan.explain import Explanation

FORM: Final = 1
"""The version of this shape."""

_PARAMETERS: Final = ("epsilon", "delta", "sigma_squared", "l2_squared", "dimensions", "keys", "events")
_SHOWN: Final = Codec(
    {
        "price": Only(Triple, ("epsilon", "delta", "rho")),
        **{name: Only(kind, _PARAMETERS) for name, kind in PRICED_EVENTS.items()},
    },
    whole=True,
)
"""What is shown of events and prices: a new parameter is not before it is listed."""


def explained_json(explanation: Explanation) -> dict[str, Json]:
    """All of an explanation. Fractions are text such as "1/20"; null stands for infinity in prices."""
    plan, dialect = explanation.plan, explanation.dialect
    told: dict[str, Json] = {
        "version": FORM,
        "query": plan.bounded.query.text,
        "spent": "0",
        "known": plan.stored is not None,
        "finer": None if plan.finer is None else _finer(plan.finer),
        "promise": _promise(plan, explanation.promise),
        "terms": _terms(plan),
        "bounding": _bounding(plan.bounded),
        "steps": [] if plan.stored is not None else [_step(step, plan, dialect) for step in plan.steps],
        "public": _sql(plan.rewritten.statement if isinstance(plan.rewritten, Unprotected) else None, dialect),
        "price": _SHOWN.to_json(price_of(plan)),
        "accounts": [_account(account, plan) for account in explanation.accounts],
        "cost": list(explanation.cost),
        "expected": [_expectation(column) for column in explanation.expected],
        "notes": list(explanation.notes),
        "assumes": list(explanation.assumes),
        "not_covered": list(explanation.not_covered),
        "derivation": _node(explanation.derivation),
        "rules": _rules(explanation.rules),
    }
    if explanation.together is None:
        return told
    together: dict[str, Json] = {
        "cost": str(explanation.together.cost),
        "priced": explanation.together.priced,
        "text": list(together_sentences(explanation.together, len(explanation.private) + 1)),
        "rules": _rules({rule: RULES[rule] for rule in ("T6", "T7")}),
    }
    return {**told, "private": [explained_json(each) for each in explanation.private], "together": together}


def _finer(finer: Finer) -> Json:
    """What was paid before is told to whoever paid it."""
    return {
        "way": finer.way.value,
        "paid": str(finer.upon.paid) if finer.upon.own else None,
        "cost": str(finer.cost),
        "rule": "T10",
    }


def _fraction(value: Fraction | int | None) -> str | None:
    return None if value is None else str(Fraction(value))


def _sql(statement: Statement | None, dialect: str) -> str | None:
    return None if statement is None else statement_text(statement, dialect=dialect)


def _promise(plan: Plan, sentences: Sequence[str]) -> Json:
    query = plan.bounded.query
    person = query.catalog.policy.person
    return {
        "unit": unit_name(query),
        "label": person.label,
        "group_size": person.group_size,
        "neighbours": plan.bounded.neighbours.value,
        "sentences": list(sentences),
    }


def _terms(plan: Plan) -> Json:
    terms = plan.terms
    return {
        "cost": _fraction(terms.cost),
        "confidence": _fraction(terms.confidence),
        "noise": None if terms.noise is None else terms.noise.value,
        "pure": terms.pure,
        "gaussian_rho": _fraction(terms.gaussian_rho),
        "selection_share": _fraction(terms.selection_share),
        "delta": _fraction(terms.delta),
        "policy": plan.recalled.identity.declarations,
        "data_version": plan.recalled.data_version,
    }


def _bounding(bounded: Bounded) -> Json:
    keys = zip(bounded.query.keys, bounded.domains, strict=False)  # public queries have keys without domains
    return {
        "neighbours": bounded.neighbours.value,
        "groups": bounded.groups,
        "mode": None if bounded.mode is None else bounded.mode.value,
        "one_row_each": bounded.one_row_each,
        "keys": [_key(key, domain) for key, domain in keys],
    }


def _key(key: GroupKey, domain: Domain) -> Json:
    if isinstance(domain, KeyList):
        return {"text": key.text, "kind": "list", "values": [_value(value) for value in domain.values]}
    if isinstance(domain, KeyRange):
        last = _value(domain.value(domain.count - 1)) if domain.count else None
        return {"text": key.text, "kind": "range", "first": _value(domain.first), "last": last, "count": domain.count}
    return {"text": key.text, "kind": "private" if isinstance(domain, PrivateKey) else "public table"}


def _value(value: Value) -> Json:
    if isinstance(value, Fraction):
        return str(value)
    return value.isoformat() if isinstance(value, date) else value


_KINDS: Final = {SelectionStep: "select", MeasurementStep: "measure"}


def _step(step: Step, plan: Plan, dialect: str) -> Json:
    told: dict[str, Json] = {
        "kind": _KINDS[type(step)],
        "sql": _sql(step.statement, dialect),
        "key_columns": len(step.statement.keys),
        "event": _SHOWN.to_json(step.event, Event),
        "price": _SHOWN.to_json(triple(step.event)),
    }
    if isinstance(step, MeasurementStep):
        return {**told, "slots": _slots(step.noises, plan.bounded)}
    counts = () if step.counts is None else (step.counts,)
    return {**told, "mechanism": _selection(step), "slots": _slots(counts, plan.bounded)}


def _selection(step: SelectionStep) -> Json:
    mechanism = step.mechanism
    told: dict[str, Json] = {
        "delta": _fraction(Fraction(mechanism.delta)),
        "keys_per_unit": mechanism.keys_per_unit,
        "keys": mechanism.keys,
    }
    if isinstance(mechanism, GaussianThresholdSelection):
        return told | {
            "name": "gaussian threshold",
            "rule": "M4",
            "sigma_squared": _fraction(Fraction(mechanism.sigma_squared)),
            "threshold": mechanism.threshold,
        }
    return told | {
        "name": "optimal selection",
        "rule": "M3",
        "epsilon": _fraction(Fraction(mechanism.epsilon)),
        "certain": mechanism.certain,
    }


def _slots(noises: Sequence[SlotNoise], bounded: Bounded) -> list[Json]:
    return [
        {**_slot(noise.placed.slot, bounded), "noise": _noise(noise), "ball": weight}
        for noise, weight in zip(noises, _weights(noises, bounded), strict=True)
    ]


def _weights(noises: Sequence[SlotNoise], bounded: Bounded) -> list[Json]:
    """In scale mode: a contribution times its weight is at most `unit`, and the squares of all add up to at most
    groups · slots · unit²."""
    if bounded.mode is not Mode.SCALE or not noises:
        return [None] * len(noises)
    inside = ball([noise.placed.slot for noise in noises], groups=bounded.groups)
    return [{"unit": str(inside.unit), "weight": str(weight)} for weight in inside.weights]


def _slot(slot: Slot, bounded: Bounded) -> dict[str, Json]:
    return {
        "title": title(slot, bounded),
        "kind": slot.kind.value,
        "cap": slot.cap,
        "low": str(slot.low),
        "high": str(slot.high),
        "size": str(slot.size),
        "middle": str(slot.middle),
        "bounds": None if slot.grain is None else [str(slot.grain.lower), str(slot.grain.upper)],
        "l1": str(bounded.l1(slot)),
        "l2_squared": str(bounded.l2_squared(slot)),
    }


def _noise(noise: SlotNoise) -> Json:
    carried = noise.carried
    told: dict[str, Json] = {"size": str(carried.grain), "rounded": carried.rounded}
    if isinstance(carried.law, DiscreteLaplaceLaw):
        return told | {"law": "discrete laplace", "rule": "M1", "scale": str(carried.law.scale)}
    return told | {"law": "discrete gaussian", "rule": "M2", "sigma_squared": str(carried.law.sigma_squared)}


def _account(account: Account, plan: Plan) -> Json:
    """What it has. Everybody spends the promise: what is left limits the analyst, how it was spent is not theirs."""
    event = plan.charged
    admitted = event is None or account.admits(event)
    after = account if event is None or not admitted else account.charged(event)
    closes = admitted and account.pure_branch_open and not after.pure_branch_open
    return {
        "name": account_name(account),
        "epsilon": str(account.epsilon),
        "delta": str(account.delta),
        "delta_prime": str(account.delta_prime),
        "rho": str(account.rho),
        "granted_from": _fraction(account.granted_from),
        "spent": None if account.granted_from is None else _SHOWN.to_json(account.spent),
        "left": str(remaining([account])),
        "admitted": admitted,
        "left_after": str(account.epsilon - after.spent_epsilon) if admitted else None,
        "closes_pure_branch": closes,
    }


def _expectation(column: Expectation) -> Json:
    return {
        "name": column.name,
        "certainty": column.certainty.value,
        "text": column.text,
        "margin": _fraction(column.margin),
        "over_count": _fraction(column.over_count),
        "over_count_at_most": _fraction(column.over_count_at_most),
        "examples": [{"count": count, "margin": str(margin)} for count, margin in column.examples],
        "cause": column.cause,
        "groups_at_once": column.groups,
    }


def _node(node: Node) -> Json:
    return {"text": node.text, "rules": list(node.rules), "children": [_node(child) for child in node.children]}


def _rules(rules: Mapping[str, Rule]) -> Json:
    return {name: {"title": rule.title, "page": rule.path} for name, rule in rules.items()}
