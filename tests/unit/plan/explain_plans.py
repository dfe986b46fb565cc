"""Plans for the tests of explanations: a small hospital, no engine, no row."""

from dataclasses import replace
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.catalog.model import Catalog, Mode, Noise
from dpsql.plan.price import Plan, Terms, price
from dpsql.plan.question import identity
from dpsql.plan.recall import Recalled, Stored
from tests.kits.planning import declared, rewritten

POLICY = """
version = 1
source.url = "memory:"

[person]
name  = "patient"
label = "one patient, with all of their visits"
{person}

[promise]
epsilon = 5.0
delta   = 1e-6

[defaults]
cost_per_query  = 0.05
selection_share = 0.25
delta_per_query = 1e-9
max_keys        = 100_000

[table.patients]
person = "patient_id"
unique = true
rows   = "about 6000"
[table.patients.columns]
patient_id = {{ hidden = true }}
age        = {{ bounds = [0, 110] }}
city       = {{ keys = ["Basel", "Bern", "Geneva", "Aarau"] }}
flu        = {{ type = "boolean" }}

[table.visits]
person            = "patient_id"
rows_per_person   = 6
groups_per_person = 3
[table.visits.columns]
visit_id  = {{ hidden = true }}
ward      = {{ keys = ["A", "B", "C", "D", "E"] }}
charge    = {{ bounds = [0, 2000] }}
diagnosis = {{ keys = "private" }}

[table.prescriptions]
person_via        = "visit_id -> visits.visit_id -> patient_id"
rows_per_person   = 12
rows_per_group    = 4
groups_per_person = 3
[table.prescriptions.columns]
drug = {{ keys = "private" }}
days = {{ bounds = [1, 90] }}

[table.members]
person            = "member_id"
unique            = true
[table.members.columns]
points = {{ bounds = [-10, 10] }}

[table.samples]
unit = "row"
{samples}
[table.samples.columns]
weight = {{ bounds = [0, 8] }}

[table.wards]
public = true
"""

TABLES = {
    "patients": "patient_id BIGINT, age INTEGER, city VARCHAR, flu BOOLEAN",
    "visits": "patient_id BIGINT, visit_id BIGINT, ward VARCHAR, charge DOUBLE, diagnosis VARCHAR",
    "prescriptions": "visit_id BIGINT, drug VARCHAR, days INTEGER",
    "members": "member_id BIGINT, points INTEGER",
    "samples": "weight INTEGER NOT NULL",
    "wards": "ward VARCHAR, floor INTEGER",
}


def hospital(*, person: str = "", samples: str = "") -> Catalog:
    """The catalogue; `person` and `samples` are lines for those sections of the policy."""
    return declared(POLICY.format(person=person, samples=samples), TABLES, patients=(("patient_id",),))


HOSPITAL = hospital()
CHANGE_ONE = hospital(person='relation = "change_one"', samples="rows = 1000\nrows_public = true")

PROMISE = Account.opened(epsilon=5, delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6))
GRANT = PROMISE.grant(epsilon=1)
ACCOUNTS = (PROMISE, GRANT)


def planned(
    sql: str,
    *,
    cost: Fraction = Fraction(1, 20),
    gaussian: bool = False,
    pure: bool = True,
    mode: Mode | None = None,
    noise: Noise | None = None,
    catalog: Catalog = HOSPITAL,
    stored: tuple[Stored, ...] = (),
) -> Plan:
    """The plan of a query, by the pipeline that answers it."""
    made = rewritten(sql, catalog, mode=mode, noise=noise, gaussian=gaussian)
    recalled = Recalled(rewritten=made, identity=identity(made), data_version="1", stored=stored)
    defaults = catalog.policy.defaults
    terms = Terms(
        cost=cost,
        confidence=Fraction(19, 20),
        noise=noise,
        pure=pure,
        gaussian_rho=GRANT.rho_for(epsilon=cost) if gaussian else Fraction(0),
        selection_share=defaults.selection_share,
        delta=defaults.delta_per_query,
    )
    return price(recalled, terms)


def told_again(plan: Plan, **of_noise) -> Plan:
    """The same question, answered before; `of_noise` changes what the stored numbers carry."""
    carried = tuple(replace(noise.carried, **of_noise) for noise in plan.noises)
    return replace(plan, stored=Stored(receipt=987_654, noises=carried, places=tuple(range(len(carried)))))
