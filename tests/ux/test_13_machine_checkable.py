"""Check 13: years later, every price can be derived again from the ledger alone, by a machine.

A system fails where its ledger keeps prices without what they follow from; where checking needs the data; or where a
judge who adds up what was written down comes to another sum.
"""

import json
import re
from fractions import Fraction

import pytest
from persistent_clinic import made

import dpsql
from dpsql.cli.main import main

QUESTIONS = [
    "SELECT COUNT(*) AS n FROM patients WHERE flu",
    "SELECT city, COUNT(*) AS n, SUM(age) AS years FROM patients GROUP BY city COST 0.1",
    "SELECT AVG(age) AS age FROM patients WHERE flu",
    "SELECT COUNT(*) AS n FROM patients WHERE flu",  # a repeat: no payment
]


def by_hand(tree) -> Fraction:
    """The price of Laplace noise of sensitivity l1 and scale b is l1/b; numbers of one answer add up."""
    return sum(
        (Fraction(slot["l1"]) / Fraction(slot["noise"]["scale"]) for step in tree["steps"] for slot in step["slots"]),
        Fraction(0),
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The ledger of a clinic whose data are gone, and what a judge wrote down about each price beforehand."""
    folder = tmp_path_factory.mktemp("clinic")
    prices = []
    with dpsql.connect(made(folder), user="ana") as ana:
        for sql in QUESTIONS:
            prices.append(by_hand(ana.explain(sql).as_json()))
            ana.sql(sql)
    (folder / "clinic.duckdb").unlink()
    return folder / "clinic.duckdb.ledger", prices


def test_a_machine_derives_every_price_again_without_the_data(kept, command):
    ledger, _ = kept
    told = command(["audit", "--ledger", str(ledger)]).out
    assert re.search(r"3/3 prices derived again from the stored plans, 0 differ", told)


def test_the_prices_in_the_ledger_are_those_a_judge_derives(kept, capsys):
    ledger, prices = kept
    assert main(["ledger", "export", "--ledger", str(ledger)]) == 0
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    charged = [Fraction(entry["epsilon"]) for entry in entries if entry["kind"] == "charge"]
    assert charged == prices[:3]
    assert prices[3] == 0
    assert main(["budget", "show", "--ledger", str(ledger)]) == 0
    assert f"ana           {float(Fraction(1, 2) - sum(charged)):g} of 0.5 left" in capsys.readouterr().out


def test_each_payment_can_be_looked_at(kept):
    ledger, prices = kept
    with dpsql.open_ledger(ledger=ledger) as keeper:
        rows = keeper.audit().charges
        assert [row.derived.epsilon for row in rows] == prices[:3]
        assert all(row.agrees for row in rows)
