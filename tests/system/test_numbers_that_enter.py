"""Wherever a number enters, nothing out of its range is taken, and what is taken is what was written.

`make test` tries DPSQL_NUMBERS of them (2 500 unless set), `make audit` 100 000.
"""

import os
import random
from contextlib import nullcontext
from fractions import Fraction
from operator import attrgetter
from unittest import mock

import numbers_that_enter as entering
import pytest
from numbers_that_enter import (
    Door,
    above_0,
    counting,
    from_0_below_1,
    inside_0_1,
    meaning_of_mode,
    meaning_of_text,
    meaning_of_toml,
    up_to,
)

from dpsql.catalog.declare import declared
from dpsql.catalog.load import loads
from dpsql.catalog.model import Defaults, Person, Policy
from dpsql.cli.main import parser
from dpsql.cli.serve import server_of
from dpsql.engines.registry import open_source
from dpsql.errors import DpsqlError
from dpsql.ledger.memory import MemoryLedger
from dpsql.randomness import SYSTEM
from dpsql.session.keeper import Keeper
from dpsql.session.owner import Owner
from dpsql.sql.parse import parse
from tests.kits.owners import owner_of

NUMBERS = int(os.environ.get("DPSQL_NUMBERS", "2500"))
EMPTY = Policy(
    source="memory:", ledger=None, data_version=None, person=Person(), promise=None, defaults=Defaults(), tables={}
)


def doors() -> list[Door]:
    engine = open_source("memory:")
    real = owner_of(10, epsilon=3, delta=0.1, delta_per_query=0.01, cost_per_query=1, max_keys=10)
    ana = real.grant("ana", budget=3)

    def owner() -> Owner:
        return Owner(policy=EMPTY, engine=engine, ledger=MemoryLedger(), source=SYSTEM)

    def promise(**words):
        asked = owner()
        asked.promise(**{"epsilon": 1, "delta": Fraction(1, 10), **words})
        return asked._ledger.account()

    def grant(**words):
        asked = owner()
        asked.promise(epsilon=3)
        return asked.grant("ana", **{"budget": 3, **words}).place.grant

    def defaults(**words):
        asked = owner()
        asked.defaults(**words)
        return asked._declared.policy.defaults

    def person(size):
        asked = owner()
        asked.person(group_size=size)
        return asked._declared.policy.person.group_size

    def table(**words):
        return declared("t", engine_columns=["id", "x"], person="id", **{"rows_per_person": 1, **words})

    def toml(section, key):
        lines = {"promise": "epsilon = 3\ndelta = 0.1", "grant": 'to = "a"', "defaults": "", "person": ""}
        other = "" if section == "promise" else "[promise]\nepsilon = 3\ndelta = 0.1\n"
        head = "[[grant]]" if section == "grant" else f"[{section}]"
        kept = [line for line in lines[section].splitlines() if not line.startswith(key)]
        if section == "grant" and key != "budget":
            kept.append("budget = 3")

        def enter(text):
            body = f"version = 1\n[source]\nurl = 'memory:'\n{other}{head}\n{key} = {text}\n" + "\n".join(kept)
            policy = loads(body, name="p.toml", environment={})
            said = policy.grants[0] if section == "grant" else getattr(policy, section)
            return getattr(said, key)

        return enter

    def sql(text, wanted=lambda query: query.wanted.epsilon):
        return lambda written: wanted(ana.query(text.format(written)))

    count = "SELECT COUNT(*) FROM people"
    words = "SELECT /*+ dp({}={{}}) */ COUNT(*) FROM people"
    google = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({}={{}}) COUNT(*) FROM people"
    terms = {"confidence": lambda query: query.wanted.confidence, "delta": lambda query: query.wanted.delta}
    return [
        Door(name="promise epsilon", enter=lambda x: promise(epsilon=x).epsilon, holds=above_0),
        Door(name="promise delta", enter=lambda x: promise(delta=x, delta_prime=0).delta, holds=from_0_below_1),
        Door(
            name="promise delta_prime",
            enter=lambda x: promise(delta_prime=x).delta_prime,
            holds=lambda x: 0 <= x <= Fraction(1, 10),
        ),
        Door(name="grant budget", enter=lambda x: grant(budget=x).budget, holds=up_to(3)),
        Door(name="grant max_per_query", enter=lambda x: grant(max_per_query=x).max_per_query, holds=up_to(3)),
        Door(name="cost_per_query", enter=lambda x: defaults(cost_per_query=x).cost_per_query, holds=above_0),
        Door(name="confidence", enter=lambda x: defaults(confidence=x).confidence, holds=inside_0_1),
        Door(name="selection_share", enter=lambda x: defaults(selection_share=x).selection_share, holds=inside_0_1),
        Door(name="delta_per_query", enter=lambda x: defaults(delta_per_query=x).delta_per_query, holds=inside_0_1),
        Door(name="max_keys", enter=lambda x: defaults(max_keys=x).max_keys, holds=counting),
        Door(name="group_size", enter=person, holds=counting),
        *(
            Door(name=cap, enter=lambda x, cap=cap: getattr(table(**{cap: x}), cap), holds=counting)
            for cap in ("rows_per_person", "rows_per_group", "groups_per_person", "rows")
        ),
        Door(name="low", enter=lambda x: table(bounds={"x": (x, 7)}).columns["x"].bounds.low, holds=lambda x: x < 7),
        Door(name="high", enter=lambda x: table(bounds={"x": (7, x)}).columns["x"].bounds.high, holds=lambda x: x > 7),
        Door(name="query epsilon", enter=lambda x: ana.query(count, epsilon=x).ask.epsilon, holds=above_0),
        Door(name="query confidence", enter=lambda x: ana.query(count, confidence=x).ask.confidence, holds=inside_0_1),
        Door(name="plan total", enter=lambda x: ana.plan(total=x).total, holds=above_0),
        Door(name="plan weight", enter=lambda x: ana.plan(total=1).sql(count, weight=x).weight, holds=above_0),
        *(
            Door(name=f"toml {section} {key}", enter=toml(section, key), holds=holds, read=meaning_of_toml)
            for section, key, holds in (
                ("promise", "epsilon", above_0),
                ("promise", "delta", from_0_below_1),
                ("defaults", "cost_per_query", up_to(3)),
                ("defaults", "confidence", inside_0_1),
                ("defaults", "selection_share", inside_0_1),
                ("defaults", "max_keys", counting),
                ("person", "group_size", counting),
                ("grant", "budget", up_to(3)),
                ("grant", "max_per_query", up_to(3)),
            )
        ),
        Door(name="COST", enter=sql(f"{count} COST {{}}"), holds=above_0, read=meaning_of_text),
        Door(  # read only: looking for the price of each would take long
            name="WITHIN",
            enter=lambda x: parse(f"{count} WITHIN {x}", dialect="duckdb").options.within.value,
            holds=above_0,
            read=meaning_of_text,
        ),
        Door(
            name="CONFIDENCE",
            enter=sql(f"{count} CONFIDENCE {{}}", terms["confidence"]),
            holds=inside_0_1,
            read=meaning_of_text,
        ),
        Door(name="hint epsilon", enter=sql(words.format("epsilon")), holds=above_0, read=meaning_of_text),
        Door(
            name="hint confidence",
            enter=sql(words.format("confidence"), terms["confidence"]),
            holds=inside_0_1,
            read=meaning_of_text,
        ),
        Door(name="OPTIONS epsilon", enter=sql(google.format("epsilon")), holds=above_0, read=meaning_of_text),
        Door(
            name="OPTIONS delta",
            enter=sql(google.format("delta"), terms["delta"]),
            holds=from_0_below_1,
            read=meaning_of_text,
        ),
        Door(
            name="PER PERSON",
            enter=sql(f"{count} LIMIT {{}} PER PERSON", lambda query: query.wanted.rows_per_person),
            holds=counting,
            read=meaning_of_text,
        ),
        *(
            Door(
                name=f"SET dp.{name}",
                enter=lambda x, n=name: _set(ana.new_session(), n, x),
                holds=holds,
                read=meaning_of_text,
            )
            for name, holds in (("epsilon", above_0), ("confidence", inside_0_1))
        ),
        *command_line(real),
    ]


def command_line(real):
    """Every option that takes a number, as far as the values that the ledger and the server are given."""
    options = parser()

    def granted(option, name):
        def enter(text):
            ledger = MemoryLedger()
            ledger.promise(epsilon=Fraction(3), delta=Fraction(0), delta_prime=Fraction(0))
            rest = [] if option == "--budget" else ["--budget", "3"]
            chosen = options.parse_args(["grant", "bob", f"{option}={text}", *rest])
            keeper = nullcontext(Keeper(ledger, policy=EMPTY, place=None))
            with mock.patch("dpsql.cli.grant.opened", return_value=keeper):
                chosen.run(chosen)
            return attrgetter(name)(ledger.grants()["bob"])

        return enter

    def served(option, name):
        def enter(text):
            chosen = options.parse_args(["serve", "--socket", "door", f"{option}={text}"])
            server = server_of(real, chosen)
            return getattr(server if name.startswith("_") else chosen, name)

        return enter

    return [
        Door(name="--budget", enter=granted("--budget", "epsilon"), holds=up_to(3), read=meaning_of_text),
        Door(
            name="--max-per-query",
            enter=granted("--max-per-query", "conditions.max_per_query"),
            holds=up_to(3),
            read=meaning_of_text,
        ),
        *(
            Door(
                name=f"--{name}",
                enter=served(f"--{name}", name),
                holds=lambda x, most=most: x.denominator == 1 and 1 <= x <= most,
                read=meaning_of_text,
            )
            for name, most in (("connections", 1_000), ("refusals", 1_000_000))
        ),
        Door(name="--mode", enter=served("--mode", "_mode"), holds=lambda x: x <= 0o777, read=meaning_of_mode),
        *(
            Door(name=f"--{name}", enter=served(f"--{name}", name), holds=up_to(86_400), read=meaning_of_text)
            for name in ("patience", "idle", "timeout")
        ),
    ]


def _set(session, name, written):
    session.sql(f"SET dp.{name} = {written}")
    return getattr(session.place.settings.now, name)


DOORS = {door.name: door for door in doors()}


@pytest.mark.parametrize("name", DOORS)
def test_nothing_out_of_range_is_taken(name):
    door, rng = DOORS[name], random.Random(f"1 {name}")
    fitting = taken = 0
    for _ in range(NUMBERS // len(DOORS)):
        value = entering.any_value(rng) if door.read is None else entering.any_text(rng)
        means = entering.meaning(value) if door.read is None else door.read(value)
        if value is None:  # in Python: not said
            continue
        fits = means is not None and door.holds(means)
        fitting += fits
        try:
            understood = door.enter(value)
        except DpsqlError:
            continue
        assert fits, f"{name} has taken {value!r} as {understood!r}"
        assert understood == means, f"{name} has taken {value!r} for {understood!r}"
        taken += 1
    assert taken >= fitting / 3, f"{name} has taken {taken} of {fitting} numbers in its range"
    assert fitting >= NUMBERS // len(DOORS) / 40, f"{name} was hardly tried with numbers in its range: {fitting}"
