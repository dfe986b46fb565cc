"""Every capability of the checklist is importable from the package alone, and named by a test."""

import ast
import json
import re
import subprocess
import sys

from tests import ROOT

TESTS = ROOT / "tests"

WITHOUT_SQL_OR_LEDGER = [
    *range(1, 15), 16, 17, *range(19, 49), 64, 67, 68, *range(70, 94), 95, 98, 99,
    *range(101, 110), *range(111, 115), *range(116, 128),
]  # fmt: skip
THROUGH_SQL = [15, 18, 49, 50, 51, 52, 53, 57, 63, 65, 66, 69, 97, 115]


def named_capabilities() -> set[str]:
    """C ids in the docstrings of test functions and test classes."""
    found: set[str] = set()
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.lower().startswith("test"):
                found |= set(re.findall(r"\bC\d{3}\b", ast.get_docstring(node) or ""))
    return found


def test_every_capability_is_named_by_a_test():
    wanted = {f"C{number:03d}" for number in WITHOUT_SQL_OR_LEDGER + THROUGH_SQL}
    assert sorted(wanted - named_capabilities()) == []


PUBLIC_NAMES = {
    "C001": "PrivacyParams",
    "C002": "Neighbours.ADD_REMOVE",
    "C003": "Neighbours.CHANGE_ONE",
    "C004": "privacy.group.convert_relation",
    "C005": "privacy.unit.PrivacyUnit",
    "C006": "privacy.database.to_histogram privacy.database.l1_distance",
    "C007": "privacy.database.db_distance",
    "C008": "privacy.divergence.audit_pure",
    "C009": "privacy.divergence.audit_delta",
    "C010": "privacy.divergence.require_randomised",
    "C011": "privacy.divergence.subsample_release_params",
    "C012": "PrivacyParams.explain",
    "C013": "privacy.guidance.recommend_delta privacy.guidance.epsilon_guidance",
    "C014": "demonstration.score.right_guesses",
    "C015": "open Owner.grant Analyst.sql",
    "C016": "local.randomize_bits local.estimate_share",
    "C017": "privacy.measure.posterior_bound privacy.pmf.post_process privacy.group.group_privacy",
    "C018": "Answer.cost Cost.epsilon Cost.delta",
    "C019": "mechanisms.laplace.Laplace",
    "C020": "mechanisms.discrete_laplace.LaplaceMechanism",
    "C021": "mechanisms.discrete_laplace.VectorLaplaceMechanism",
    "C022": "privacy.shifts.LaplaceShift.max_divergence",
    "C023": "mechanisms.laplace.laplace_tail",
    "C024": "mechanisms.laplace.laplace_accuracy mechanisms.laplace.laplace_epsilon_for",
    "C025": "mechanisms.laplace.laplace_accuracy_union mechanisms.laplace.laplace_accuracy_exact",
    "C026": "mechanisms.laplace.laplace_sample_size",
    "C027": "mechanisms.normal.Normal",
    "C028": "mechanisms.gaussian.gaussian_sigma_classic",
    "C029": "mechanisms.gaussian.gaussian_sigma",
    "C030": "mechanisms.gaussian.gaussian_accuracy mechanisms.gaussian.gaussian_accuracy_bound",
    "C031": "mechanisms.comparison.compare_mechanisms",
    "C032": "sensitivity.global_.Sensitivity",
    "C033": "mechanisms.clipping.clip_and_noise",
    "C034": "mechanisms.randomized_response.RandomizedResponse",
    "C035": "mechanisms.randomized_response.rr_epsilon mechanisms.randomized_response.rr_gamma",
    "C036": "mechanisms.randomized_response.rr_mean",
    "C037": "mechanisms.randomized_response.RandomizedResponse.two_coin",
    "C038": "mechanisms.randomized_response.KaryResponse",
    "C039": "mechanisms.exponential.ExponentialMechanism",
    "C040": "mechanisms.exponential.exponential_probabilities",
    "C041": "sensitivity.brute_force.utility_sensitivity",
    "C042": "mechanisms.exponential.exponential_utility_bound",
    "C043": "mechanisms.exponential.ExponentialMechanism.max_candidates",
    "C044": "mechanisms.noisy_max.NoisyMax",
    "C045": "mechanisms.permute_and_flip.PermuteAndFlip",
    "C046": "mechanisms.sparse_vector.SparseVector mechanisms.sparse_vector.SparseVectorRun.ask",
    "C047": "randomness.discrete_laplace randomness.discrete_gaussian",
    "C048": "mechanisms.registry.find mechanisms.registry.execute",
    "C049": "Analyst.sql",
    "C050": "Analyst.sql",
    "C051": "Analyst.sql",
    "C052": "errors.Unbounded",
    "C053": "Analyst.sql",
    "C054": "sensitivity.aggregates.Maximum sensitivity.aggregates.Minimum mechanisms.quantile.QuantileMechanism",
    "C055": "sensitivity.smooth_median.median_smooth_sensitivity mechanisms.quantile.QuantileMechanism",
    "C056": "mechanisms.quantile.QuantileMechanism",
    "C057": "Analyst.sql",
    "C058": "sensitivity.aggregates.MarkCounts",
    "C059": "mechanisms.noisy_max.NoisyMax sensitivity.aggregates.Histogram",
    "C060": "mechanisms.noisy_max.NoisyMax",
    "C061": "mechanisms.exponential.ExponentialMechanism",
    "C062": "sensitivity.aggregates.Range",
    "C063": "Analyst.run",
    "C064": "dp_sum",
    "C065": "mechanisms.partitions.PartitionSelection",
    "C066": "mechanisms.partition_threshold.laplace_threshold mechanisms.partition_threshold.gaussian_threshold",
    "C067": "sensitivity.column.Column sensitivity.column.Outside",
    "C068": "sensitivity.global_.custom_query",
    "C069": "Analyst.sql",
    "C070": "sensitivity.global_.global_sensitivity",
    "C071": "sensitivity.brute_force.brute_force_global",
    "C072": "sensitivity.local.local_sensitivity",
    "C073": "sensitivity.brute_force.brute_force_local sensitivity.local.local_sensitivity",
    "C074": "sensitivity.local.local_sensitivity",
    "C075": "sensitivity.smooth.is_smooth_bound",
    "C076": "sensitivity.smooth.is_smooth_bound",
    "C077": "sensitivity.smooth.smooth_sensitivity",
    "C078": "sensitivity.smooth_median.median_smooth_sensitivity",
    "C079": "sensitivity.smooth_mst.mst_smooth_sensitivity",
    "C080": "mechanisms.smooth_noise.SmoothCauchy",
    "C081": "mechanisms.smooth_noise.SmoothLaplace",
    "C082": "mechanisms.smooth_noise.smooth_beta mechanisms.smooth_noise.smooth_beta_vector",
    "C083": "sensitivity.elastic.max_frequency",
    "C084": "sensitivity.elastic.frequency_at sensitivity.elastic.Table",
    "C085": "sensitivity.elastic.frequency_at sensitivity.elastic.Join",
    "C086": "sensitivity.elastic.frequency_at sensitivity.elastic.Project sensitivity.elastic.Select",
    "C087": "errors.NoTheorem",
    "C088": "sensitivity.elastic.stability",
    "C089": "sensitivity.elastic.ancestors",
    "C090": "sensitivity.elastic.stability",
    "C091": "sensitivity.elastic.elastic_sensitivity sensitivity.elastic.Count",
    "C092": "sensitivity.elastic.elastic_sensitivity sensitivity.elastic.GroupedCount",
    "C093": "sensitivity.elastic.smooth_elastic",
    "C094": "sensitivity.elastic.Join",
    "C095": "sensitivity.elastic.Table.public sensitivity.elastic.Column.enforced",
    "C096": "sensitivity.elastic.SemiJoin",
    "C097": "Analyst.sql",
    "C098": "accounting.basic.compose_basic",
    "C099": "accounting.basic.compose_basic",
    "C100": "accounting.account.Account",
    "C101": "accounting.parallel.compose_parallel",
    "C102": "accounting.advanced.compose_advanced",
    "C103": "accounting.advanced.per_query_epsilon",
    "C104": "accounting.optimal.compose_optimal accounting.optimal.optimal_epsilon",
    "C105": "accounting.adaptive.compose_adaptive",
    "C106": "accounting.adaptive.compose_adaptive_het",
    "C107": "accounting.heterogeneous.heterogeneous_epsilon",
    "C108": "accounting.loss.PrivacyLoss",
    "C109": "accounting.zcdp.epsilon_of accounting.rdp.epsilon_of accounting.pld.epsilon_of",
    "C110": "accounting.account.Account Budget BudgetExhausted",
    "C111": "accounting.advanced.tradeoff_table",
    "C112": "accounting.workload.repeat_cost",
    "C113": "accounting.workload.max_queries",
    "C114": "privacy.group.group_privacy",
    "C115": "Noisy privacy.pmf.post_process",
    "C116": "accounting.subsampling.amplify",
    "C117": "privacy.divergence.kl",
    "C118": "privacy.divergence.max_divergence",
    "C119": "privacy.divergence.approx_max_divergence",
    "C120": "privacy.divergence.total_variation",
    "C121": "privacy.divergence.is_dp",
    "C122": "privacy.witness.delta_close_witness",
    "C123": "privacy.divergence.kl_bound",
    "C124": "privacy.tails.azuma_bound",
    "C125": "privacy.tails.chernoff_additive privacy.tails.chernoff_multiplicative_upper",
    "C126": "privacy.tails.stirling_log_factorial",
}
"""What a user imports for each capability, from `dpsql`. C127 is a page: docs/theory.md."""

STATEMENTS = {
    "C049": "SELECT COUNT(*) FROM patients",
    "C050": "SELECT COUNT(*) FROM patients WHERE flu",
    "C051": "SELECT SUM(charge) FROM visits",
    "C053": "SELECT AVG(age) FROM patients",
    "C057": "SELECT city, COUNT(*) FROM patients GROUP BY city",
    "C069": "SELECT VARIANCE(age), STDDEV(age) FROM patients",
    "C094": "SELECT COUNT(*) FROM patients JOIN visits USING (patient_id) JOIN wards USING (ward_id)",
    "C096": "SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits)",
    "C097": "SELECT ward, COUNT(*) FROM visits JOIN wards USING (ward_id) GROUP BY ward",
}
"""What an analyst writes for the capabilities that are SQL, of the demo hospital. Planned, not asked."""

ALONE = """
import importlib, json, sys
names, statements = json.load(sys.stdin)

def found(name):
    thing, path = importlib.import_module("dpsql"), "dpsql"
    for part in name.split("."):
        path = f"{path}.{part}"
        try:
            thing = getattr(thing, part)
        except AttributeError:
            thing = importlib.import_module(path)
    return thing

missing = []
for capability, listed in names.items():
    for name in listed.split():
        try:
            found(name)
        except (ImportError, AttributeError) as error:
            missing.append(f"{capability}: {name}: {error}")
analyst = found("demo")()
for capability, sql in statements.items():
    try:
        analyst.query(sql)
    except found("DpsqlError") as error:
        missing.append(f"{capability}: {sql}: {error}")
json.dump({"missing": missing, "modules": sorted(sys.modules), "path": sys.path}, sys.stdout)
"""


def without_tests(names, statements, *, where):
    """What a Python has to say that sees the installed package and neither this folder nor the project."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE],
        input=json.dumps([names, statements]),
        cwd=where,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert not {str(ROOT), str(TESTS)} & set(told["path"])
    assert not [name for name in told["modules"] if name.partition(".")[0] in {"tests", "pytest"}]
    return told["missing"]


def test_every_capability_is_importable_without_the_tests(tmp_path):
    assert set(PUBLIC_NAMES) == {f"C{number:03d}" for number in range(1, 127)}
    assert (ROOT / "docs" / "theory.md").exists()
    assert not [name for name in " ".join(PUBLIC_NAMES.values()).split() if re.search(r"(^|\.)_", name)]
    assert without_tests(PUBLIC_NAMES, STATEMENTS, where=tmp_path) == []


def test_a_capability_that_left_the_package_is_missed(tmp_path):
    names = {
        "C117": "privacy.divergence.kl",
        "C044": "mechanisms.noisy_max.gone",
        "C108": "accounting.curves.gaussian_delta",
    }
    missing = without_tests(names, {"C054": "SELECT UNHEARD_OF(age) FROM patients"}, where=tmp_path)
    assert [line.partition(":")[0] for line in missing] == ["C044", "C108", "C054"]
