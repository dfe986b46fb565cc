"""Explanations: the facts they state, checked by hand formulas; what they say to whom; how they look."""

import json
import math
import re
from dataclasses import FrozenInstanceError, make_dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest
from explain_plans import ACCOUNTS, CHANGE_ONE, GRANT, HOSPITAL, PROMISE, hospital, planned, told_again

from dpsql.accounting.account import Account
from dpsql.catalog.model import Mode, Noise
from dpsql.codec import Codec, Only
from dpsql.errors import InternalError
from dpsql.plan.explain import RULES, explain
from dpsql.plan.explanation import json as shown
from dpsql.plan.explanation.tree import derivation
from dpsql.privacy.events import DiscreteGaussian, Event, Pure
from dpsql.privacy.exact import Exact
from dpsql.sql.emit import statement_text
from tests.kits.cases import cases
from tests.kits.refusals import raised

ROOT = Path(__file__).parents[3]
FAMILIES = hospital(person="group_size = 4")
BY_WARD = "SELECT ward, COUNT(*) AS n, SUM(charge) AS total FROM visits GROUP BY ward"
BY_DIAGNOSIS = "SELECT diagnosis, COUNT(*) AS n, SUM(charge) AS total FROM visits GROUP BY diagnosis"
PEOPLE_BY_DIAGNOSIS = "SELECT diagnosis, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY diagnosis"
QUERIES = (
    "SELECT COUNT(*) FROM patients",
    "SELECT city, COUNT(*) AS n, AVG(age) AS age FROM patients GROUP BY city ORDER BY n DESC",
    BY_WARD,
    BY_DIAGNOSIS,
    PEOPLE_BY_DIAGNOSIS,
    "SELECT COUNT(DISTINCT drug), STDDEV(days), COUNT(days) FROM prescriptions WHERE days > 3",
    "SELECT floor, SUM(charge) FROM visits JOIN wards USING (ward) GROUP BY floor",
    "SELECT ward, COUNT(*) FROM wards GROUP BY ward",
    "SELECT city FROM patients GROUP BY city",
    "SELECT diagnosis FROM visits GROUP BY diagnosis",
    "SELECT SUM(weight) FROM samples",
)

LONG_NAME = f'SELECT COUNT(*) AS "{"n" * 300}" FROM patients'
DEEP = "SELECT COUNT(*) FROM visits" + "".join(f" JOIN wards AS w{n} ON visits.ward = w{n}.ward" for n in range(12))


def text(sql: str, *, accounts=ACCOUNTS, plain: bool = False, **how) -> str:
    return explain(planned(sql, **how), accounts=accounts, dialect="duckdb").text(plain)


def words(sql: str, **how) -> str:
    """The text as one line: where it is broken does not matter."""
    return re.sub("[ \n]+", " ", text(sql, **how))


def data(sql: str, *, accounts=ACCOUNTS, **how) -> dict:
    """Through JSON and back: what another program would read."""
    return json.loads(json.dumps(explain(planned(sql, **how), accounts=accounts, dialect="duckdb").as_json()))


class TestRules:
    def test_every_page_exists(self):
        missing = [rule.path for rule in RULES.values() if not (ROOT / rule.path).is_file()]
        assert missing == []

    @pytest.mark.parametrize("gaussian", [False, True])
    @pytest.mark.parametrize("sql", QUERIES)
    def test_a_derivation_names_rules_that_exist(self, sql, gaussian):
        used = {rule for node in derivation(planned(sql, gaussian=gaussian)).walk() for rule in node.rules}
        assert used <= set(RULES)
        shown = data(sql, gaussian=gaussian)["rules"]
        assert set(shown) == used
        assert all((ROOT / rule["page"]).is_file() for rule in shown.values())

    def test_noise_has_its_rule(self):
        assert {"M1"} <= set(data("SELECT COUNT(*) FROM patients")["rules"])
        assert {"M2", "M4", "T5"} <= set(data(BY_DIAGNOSIS, gaussian=True)["rules"])
        assert {"M1", "M3", "T4"} <= set(data(BY_DIAGNOSIS)["rules"])


class TestLook:
    @pytest.mark.parametrize("plain", [False, True])
    @pytest.mark.parametrize("gaussian", [False, True])
    @pytest.mark.parametrize("sql", [*QUERIES, LONG_NAME, DEEP])
    def test_width_and_alphabet(self, sql, gaussian, plain):
        shown = text(sql, gaussian=gaussian, plain=plain)
        assert max(map(len, shown.splitlines())) <= 100
        assert not any(line != line.rstrip() for line in shown.splitlines())
        assert shown.isascii() == plain
        for heading in ("PROMISE", "DERIVATION", "EXPECTED ERROR", "COST", "ASSUMES", "NOT COVERED"):
            assert f"\n{heading}" in f"\n{shown}"
        assert shown.endswith("Nothing was spent, no data was read.\n")

    def test_words_for_signs(self):
        shown = text("SELECT COUNT(*) AS n FROM patients", plain=True)
        assert "`- release 1 noisy number: eps = 0.05\n" in shown
        assert "n +/- 60\n" in shown
        assert "(pure eps; delta = 0)" in shown

    @pytest.mark.parametrize("sql", QUERIES)
    def test_the_same_question_has_the_same_explanation(self, sql):
        """Planned twice: column numbers differ, texts do not."""
        assert text(sql) == text(sql)
        assert data(sql) == data(sql)

    def test_no_control_characters(self):
        """A name goes to a terminal: it must not steer it."""
        shown = text('SELECT COUNT(*) AS "n\x1b[31m\x07" FROM patients')
        assert "\x1b" not in shown
        assert "\x07" not in shown

    def test_frozen(self):
        explanation = explain(planned("SELECT COUNT(*) FROM patients"), accounts=ACCOUNTS, dialect="duckdb")
        with pytest.raises(FrozenInstanceError):
            explanation.dialect = "other"


class TestPromise:
    @cases(__file__, "what", "sql", "how=", "said", "never")
    def test_it_says(self, what, sql, how, said, never):
        nodes = derivation(planned(sql, **how)).walk()  # in the text a long one is broken by the tree
        shown = "\n".join([words(sql, **how), *(node.text for node in nodes)])
        assert [fact for fact in said.split("\n") if fact not in shown] == []
        assert never == "none" or never not in shown

    def test_without_a_label(self):
        policy = HOSPITAL.policy
        plain = replace(HOSPITAL, policy=replace(policy, person=replace(policy.person, name="client", label="")))
        shown = words("SELECT COUNT(*) FROM patients", catalog=plain)
        assert "Protected: one client, with all of their rows in patients, visits, prescriptions, members." in shown

    def test_gaussian_is_a_share_of_the_account(self):
        """A cost of 0.05 is a twentieth of the grant and a hundredth of the promise, in ρ as in ε."""
        shown = words("SELECT ward, COUNT(*) FROM visits GROUP BY ward", gaussian=True)
        assert "Gaussian noise has no ε by itself." in shown
        assert "1 % of the promise and 5 % of your grant" in shown
        assert f"a factor e^5 = {math.ceil(math.exp(5) * 100) / 100}, apart from a slack of δ = 1e-6." in shown
        assert "at most a factor e^0.05" not in shown
        alone = words("SELECT ward, COUNT(*) FROM visits GROUP BY ward", gaussian=True, accounts=(GRANT,))
        assert "a factor e^5 = 148.42" in alone  # a grant is a limit under the promise, not a promise

    def test_the_first_gaussian_closes_a_branch_and_says_so(self):
        sql = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
        warning = "The first Gaussian answer closes the pure branch of the promise and your grant for ever"
        assert warning in words(sql, gaussian=True)
        assert "closes the pure branch" not in words(sql)
        used = tuple(
            account.charged(DiscreteGaussian(sigma_squared=Fraction(10**6), l2_squared=Fraction(1)))
            for account in ACCOUNTS
        )
        assert "closes the pure branch" not in words(sql, gaussian=True, accounts=used)
        assert [account["closes_pure_branch"] for account in data(sql, gaussian=True)["accounts"]] == [True, True]
        assert [account["closes_pure_branch"] for account in data(sql)["accounts"]] == [False, False]


class TestFree:
    @pytest.mark.parametrize(
        "sql", ["SELECT ward, COUNT(*) FROM wards GROUP BY ward", "SELECT city FROM patients GROUP BY city"]
    )
    def test_public(self, sql):
        shown = words(sql)
        assert "exact and free" in shown
        assert "COST 0: free" in shown
        assert "noise" not in shown
        told = data(sql)
        assert told["price"] == {"epsilon": "0", "delta": "0", "rho": "0"}
        assert told["steps"] == []
        assert told["public"].startswith("SELECT")

    def test_known_already(self):
        plan = told_again(planned("SELECT COUNT(*) FROM patients"))
        explanation = explain(plan, accounts=ACCOUNTS, dialect="duckdb")
        assert "already known" in explanation.text()
        assert "COST         0: free" in explanation.text()
        told = explanation.as_json()
        assert told["known"] is True
        assert told["price"] == {"epsilon": "0", "delta": "0", "rho": "0"}
        assert all(account["left"] == account["left_after"] for account in told["accounts"])
        assert [account["spent"] is None for account in told["accounts"]] == [True, False]  # others spend the promise
        assert "987654" not in json.dumps(told) + explanation.text()  # which release it is, is not told


class TestCost:
    def test_what_is_left(self):
        pure = Account.opened(epsilon=1, delta=0, delta_prime=0)
        assert "COST 0.05 of 1 left in the promise → 0.95 left, counted in ε" in words(
            "SELECT COUNT(*) FROM patients", accounts=(pure,)
        )

    def test_each_account(self):
        """The Gaussian share: 0.05 of both."""
        shown = text("SELECT ward, COUNT(*) FROM visits GROUP BY ward", gaussian=True)
        assert "COST         0.05 of 5 left in the promise → 4.95 left, counted in ρ\n" in shown
        assert "             0.05 of 1 left in your grant → 0.95 left, counted in ρ\n" in shown

    def test_not_enough(self):
        spent = GRANT.charged(DiscreteGaussian(sigma_squared=1 / (2 * GRANT.rho), l2_squared=Fraction(1)))
        shown = words("SELECT COUNT(*) FROM patients", accounts=(PROMISE, spent))
        assert "0.05 of 0 left in your grant: not enough, it would be refused" in shown
        assert [
            each["admitted"] for each in data("SELECT COUNT(*) FROM patients", accounts=(PROMISE, spent))["accounts"]
        ] == [True, False]

    def test_nothing_is_charged(self):
        before = (PROMISE, GRANT)
        text(BY_WARD, accounts=before)
        assert before == ACCOUNTS
        assert PROMISE.spent_epsilon == GRANT.spent_epsilon == 0


class TestTree:
    def test_steps(self):
        tree = derivation(planned(BY_DIAGNOSIS))
        assert tree.text == "2 steps, paid together before the first one runs: ε = 0.05, δ = 1e-9"
        find, release, source = tree.children
        assert find.text == "find the private groups of diagnosis: ε = 0.0125, δ = 1e-9"
        assert release.text == "release 2 noisy numbers for each group that was found: ε = 0.0375"
        assert source.text.startswith("scan visits")
        at_once = derivation(planned(PEOPLE_BY_DIAGNOSIS, gaussian=True))
        assert at_once.text.startswith("find and count the private groups of diagnosis: ρ = ")


class TestJson:
    """An independent verifier: prices from slots, scales and groups by the formulas of the theorems alone."""

    @staticmethod
    def slots(step: dict, noise: str = "scale") -> list[tuple[int, Fraction]]:
        """How far each reaches, and this of its noise."""
        return [
            (max(abs(int(slot["low"])), abs(int(slot["high"]))), Fraction(slot["noise"][noise]))
            for slot in step["slots"]
        ]

    @pytest.mark.parametrize("sql", [QUERIES[0], QUERIES[1], BY_WARD, QUERIES[5], QUERIES[10]])
    def test_laplace(self, sql):
        """Each slot costs (groups · reach)/scale, and ε is their sum."""
        told = data(sql)
        (step,) = told["steps"]
        groups = told["bounding"]["groups"]
        assert sum(groups * reach / scale for reach, scale in self.slots(step)) == Fraction(told["price"]["epsilon"])
        assert told["price"]["epsilon"] == told["terms"]["cost"] == "1/20"

    def test_laplace_when_one_is_replaced(self):
        """In groups somebody leaves three and enters three others; without groups a number moves by its range."""
        told = data(BY_WARD, catalog=CHANGE_ONE)
        (step,) = told["steps"]
        assert told["bounding"]["neighbours"] == "change_one"
        assert sum(2 * 3 * reach / scale for reach, scale in self.slots(step)) == Fraction(1, 20)
        (step,) = data("SELECT SUM(points) FROM members", catalog=CHANGE_ONE)["steps"]
        (slot,) = step["slots"]
        assert (slot["low"], slot["high"], slot["l1"]) == ("-10", "10", "20")
        assert slot["noise"]["scale"] == "400"

    def test_gaussian(self):
        """ρ = Σ groups · reach²/2σ², at most the share of the account."""
        told = data(BY_WARD, gaussian=True, mode=Mode.CHOOSE, noise=Noise.GAUSSIAN)
        (step,) = told["steps"]
        rho = sum(3 * Fraction(reach**2) / (2 * variance) for reach, variance in self.slots(step, "sigma_squared"))
        assert told["price"] == {"epsilon": None, "delta": "0", "rho": str(rho)}
        assert 0 < rho <= Fraction(told["terms"]["gaussian_rho"]) == GRANT.rho / 20
        assert rho > GRANT.rho / 20 * (1 - Fraction(1, 2**20))

    def test_scaled(self):
        """Inside the ball Σ (weight · x)² <= groups · slots · unit²; a σ² is worth σ² · (weight/unit)² in its units."""
        told = data(BY_WARD, gaussian=True)
        assert told["bounding"]["mode"] == "scale"
        (step,) = told["steps"]
        for slot, (reach, variance) in zip(step["slots"], self.slots(step, "sigma_squared"), strict=True):
            share = Fraction(slot["ball"]["weight"]) / Fraction(slot["ball"]["unit"])
            assert Fraction(told["price"]["rho"]) == 3 * 2 / (2 * share**2 * variance)
            grains = 1024 if slot["kind"] in ("rows", "values") else 1
            assert 1 - Fraction(1, 2**19) < reach * grains * share <= 1
            assert Fraction(slot["noise"]["size"]) * grains == Fraction(slot["size"])

    def test_selection(self):
        """Three groups at ε/3 each: ε²/(2·3) in ρ; then the values for the rest."""
        told = data(BY_DIAGNOSIS)
        find, release = told["steps"]
        assert find["price"] == {"epsilon": "1/80", "delta": "1/1000000000", "rho": str(Fraction(1, 80) ** 2 / 6)}
        assert find["mechanism"]["keys"] == 3
        assert Fraction(find["price"]["epsilon"]) + Fraction(release["price"]["epsilon"]) == Fraction(1, 20)
        assert [*find["event"]] == ["key_selection"]
        assert told["bounding"]["keys"] == [{"text": "diagnosis", "kind": "private"}]

    def test_threshold(self):
        told = data(PEOPLE_BY_DIAGNOSIS, gaussian=True)
        (step,) = told["steps"]
        mechanism = step["mechanism"]
        assert Fraction(step["price"]["rho"]) == 3 / (2 * Fraction(mechanism["sigma_squared"]))
        assert step["slots"][0]["noise"]["sigma_squared"] == mechanism["sigma_squared"]
        sigma = math.sqrt(Fraction(mechanism["sigma_squared"]))
        assert 3 * math.erfc((mechanism["threshold"] - 0.5) / sigma / math.sqrt(2)) / 2 <= 1.1e-9

    def test_what_is_not_listed_is_not_shown(self):
        """A new parameter of an event, another class in its place, an exact value."""
        grown = make_dataclass("Renamed", [("salt", str, "5e3a1c")], bases=(Pure,), frozen=True, kw_only=True)
        listed = Codec({"pure": Only(grown, shown._PARAMETERS)}, whole=True)
        assert listed.to_json(grown(epsilon=1), Event) == {"pure": {"epsilon": "1"}}
        for name, planted in (("event", grown(epsilon=1)), ("epsilon", Exact(4711)), ("epsilon", "4711")):
            plan = planned("SELECT COUNT(*) FROM patients")
            (step,) = plan.steps
            event = step.event if name == "event" else replace(step.event)
            if name == "epsilon":
                object.__setattr__(event, "epsilon", planted)
            changed = replace(step, event=planted if name == "event" else event)
            raised(InternalError, lambda changed=changed, plan=plan: shown._step(changed, plan, "duckdb"))

    def test_the_statements_are_those_of_the_plan(self):
        plan = planned(BY_DIAGNOSIS)
        told = explain(plan, accounts=ACCOUNTS, dialect="duckdb").as_json()
        assert [step["sql"] for step in told["steps"]] == [
            statement_text(step.statement, dialect="duckdb") for step in plan.steps
        ]
        assert told["terms"]["policy"] == plan.recalled.identity.declarations

    def test_the_rest(self):
        told = data("SELECT city, AVG(age) AS a FROM patients GROUP BY city")
        assert told["query"].startswith("SELECT city")
        assert told["spent"] == "0"
        assert told["bounding"]["keys"][0]["values"] == ["Aarau", "Basel", "Bern", "Geneva"]
        assert [column["certainty"] for column in told["expected"]] == ["key", "per count"]
        assert told["expected"][1]["examples"][0]["count"] == 1500
        count, centred = told["steps"][0]["slots"]
        assert (count["kind"], count["low"], count["high"]) == ("values", "0", "1")
        assert (centred["kind"], centred["low"], centred["high"], centred["middle"]) == ("centred", "-55", "55", "55")
        assert centred["bounds"] == ["0", "110"]
        assert told["accounts"][1]["granted_from"] == "5"
        assert told["promise"]["unit"] == "patient"
        assert not any(isinstance(value, float) for value in flat(told))


def flat(value):
    """Every leaf of a JSON value."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from flat(inner)
    else:
        yield value


class TestGuide:
    GUIDE = (ROOT / "docs" / "guide" / "explain.md").read_text(encoding="utf-8")

    @pytest.mark.parametrize("sql", [QUERIES[0], QUERIES[1], BY_WARD, BY_DIAGNOSIS])
    def test_the_verifier_of_the_guide(self, sql):
        (code,) = (
            block for part in self.GUIDE.split("```python\n")[1:] if "price_again" in (block := part.split("```")[0])
        )
        scope: dict = {}
        exec(compile(code, "docs/guide/explain.md", "exec"), scope)
        assert scope["price_again"](data(sql)) == Fraction(1, 20)

    def test_every_rule_is_listed(self):
        for name, rule in RULES.items():
            assert f"| {name} | {rule.title} | [{rule.page}](../theorems/{rule.page}.md) |" in self.GUIDE

    def test_every_field_is_listed(self):
        table = self.GUIDE.partition("| field |")[2].partition("## The rules")[0]
        assert {name for name in data(BY_WARD) if f"`{name}`" not in table} <= {"version", "spent", "public"}


def test_one_not_in_is_told_once():
    told = words("SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM wards)")
    assert told.count("leave out the rows that have a partner in public tables") == 1


def test_a_key_that_is_no_double_is_written_exactly():
    """JSON knows no tenth."""
    assert [shown._value(value) for value in (Fraction(1, 10), 3, "A", None)] == ["1/10", 3, "A", None]
