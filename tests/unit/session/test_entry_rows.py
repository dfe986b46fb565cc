"""Entries in plain words: every kind has words, texts only for those who may see them, released values never."""

import csv
import io
import json
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import get_args

import pytest

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.ledger import facts
from dpsql.ledger.facts import Entry, Fact
from dpsql.ledger.ledger import Charge, Conditions, Ownership, Question, ReleasedStep, Role, User
from dpsql.privacy.events import Pure
from dpsql.session.entry_rows import as_csv, as_json_lines, entry_rows

TENTH = Fraction(1, 10)
QUESTION = Question(plan="p", policy="q", data_version="7")
CHARGE = Charge(
    analyst="ana",
    grant="lab",
    question=QUESTION,
    event=Pure(epsilon=TENTH),
    cost=TENTH,
    steps=1,
    sql="SELECT secret_text",
    record='{"secret": "record"}',
)
SPENT = Triple(epsilon=None, delta=Fraction(0), rho=TENTH)
EACH = [
    facts.Opened(id="abc"),
    facts.Promised(account=Account.opened(epsilon=1, delta=0, delta_prime=0)),
    Ownership(relation="add_remove", tables=(("people", 'person = "id"'),)),
    facts.Versioned(label="2"),
    facts.Granted(
        analyst="ana",
        epsilon=TENTH,
        conditions=Conditions(max_per_query=TENTH, tables=("a", "b"), expires=date(2027, 1, 2)),
    ),
    facts.Revoked(analyst="ana"),
    facts.Renewed(period=2),
    facts.Closed(reason="why"),
    facts.Frozen(reason="=HYPERLINK(1)"),
    facts.Unfrozen(reason="ok"),
    facts.Adopted(digest="dig", text="secret_policy"),
    facts.Refused(analyst="ana", code="DP101", sql="=secret_text()"),
    facts.Issued(user=User(name="@olga", role=Role.OWNER), digest=b"secret_digest" + bytes(19)),
    facts.Withdrawn(name="olga"),
    facts.WrittenOff(number=9, spent=SPENT, periods=2),
    CHARGE,
    facts.Retried(receipt=17),
    facts.Stored(receipt=17, step=0, released=ReleasedStep(keys=(("secret_key",),), values=((987654,),))),
]
NOON = int(datetime(2026, 10, 1, 12, tzinfo=UTC).timestamp())


def entries():
    return [Entry(number=number, fact=fact, time=NOON) for number, fact in enumerate(EACH, start=1)]


def test_every_kind_of_entry_is_here():
    assert {type(fact) for fact in EACH} == set(get_args(Fact))


@pytest.mark.parametrize("texts", [False, True])
def test_what_is_told_of_secrets(texts):
    rows = list(entry_rows(entries(), texts=texts))
    told = "".join([*map(str, rows), *as_json_lines(rows), *as_csv(rows)])
    assert ("secret_text" in told) is texts
    assert ("secret_policy" in told) is texts
    for never in ("secret_key", "987654", "secret_digest", b"secret_digest".hex(), "record"):
        assert never not in told


def test_json_lines_are_exact_and_have_times():
    rows = list(entry_rows(entries(), texts=True))
    found = [json.loads(line) for line in as_json_lines(rows)]
    assert [each["number"] for each in found] == list(range(1, len(EACH) + 1))
    assert {each["at"] for each in found} == {"2026-10-01T12:00:00+00:00"}
    charge = next(each for each in found if each["kind"] == "charge")
    # ρ of a pure ε is ε²/2
    assert (charge["who"], charge["grant"]) == ("ana", "lab")
    assert (charge["cost"], charge["epsilon"], charge["rho"]) == ("1/10", "1/10", "1/200")
    grant = next(each for each in found if each["kind"] == "grant")
    assert (grant["tables"], grant["expires"]) == (["a", "b"], "2027-01-02")
    lost = next(each for each in found if each["kind"] == "write_off")
    assert (lost["epsilon"], lost["lost_up_to"], lost["periods"]) == ("not counted, see rho", 9, 2)


def test_csv_has_a_cell_for_each_name_and_no_formulas():
    rows = list(entry_rows(entries(), texts=True))
    head, *lines = csv.reader(io.StringIO("".join(as_csv(rows)), newline=""))
    assert all(len(line) == len(head) for line in lines)
    cells = [cell for line in lines for cell in line]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert "'=HYPERLINK(1)" in cells
    assert "'@olga" in cells
    assert "'=secret_text()" in cells
    charge = dict(zip(head, next(line for line in lines if line[2] == "charge"), strict=True))
    assert (charge["cost"], charge["at"]) == ("0.1", "2026-10-01T12:00:00+00:00")


def test_a_line_of_a_terminal_cannot_be_steered():
    nasty = Entry(number=1, fact=facts.Frozen(reason="a\x1b[2Jb"), time=0)
    (row,) = entry_rows([nasty], texts=False)
    assert "\x1b" not in str(row)
