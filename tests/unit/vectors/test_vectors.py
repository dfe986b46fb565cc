"""The runner of golden values: what passes, what fails, and that a wrong value cannot hide."""

import copy
import json
import subprocess
import sys

import pytest

from dpsql.mechanisms.scores import selection_scale
from tests import ROOT
from tests.vectors import verdicts

VECTORS, MORE = (
    json.loads((ROOT / "tests" / name).read_text(encoding="utf-8")) for name in ("vectors.json", "more_vectors.json")
)


@pytest.mark.parametrize("vector", [*VECTORS, *MORE], ids=lambda vector: vector["id"])
def test_golden_value(vector):
    """Of the project's own file, and others at edges and in other spellings, by 40 digits, brute force or enumeration.

    C034 C035 C036 C037 C038 C040 C042 C044 C045 C046 C065 C066."""
    verdict = verdicts.judge(vector)
    assert verdict.passed, str(verdict)


def shifted(value, *, place=0):
    """The value, visibly wrong; of a list or mapping, its entry at `place`."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 1.01 + 0.01
    if isinstance(value, list):
        wrong = list(value)
        wrong[place] = shifted(value[place], place=place)
        return wrong
    if isinstance(value, dict):
        key = list(value)[place]
        return {**value, key: shifted(value[key], place=place)}
    return {"inf": 1.0, "-inf": -1.0, None: 1.0}.get(value, f"not {value}")


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_every_expected_value_is_really_checked(vector):
    """Each right value, moved by one percent, must make its vector fail."""
    for key in vector["expected"]:
        if key.endswith(verdicts.WRONG) or key in verdicts.PROSE:
            continue
        if vector["tolerance"]["rel"] >= 1e-3:
            continue  # grid scans, compared loosely
        wrongs = [shifted(vector["expected"][key], place=place) for place in (0, -1)]
        for wrong in wrongs if wrongs[0] != wrongs[1] else wrongs[:1]:
            assert not verdicts.judge({**vector, "expected": {**vector["expected"], key: wrong}}).passed, key


def test_the_identifier_is_never_read():
    for vector in VECTORS[::7]:
        assert verdicts.judge({**vector, "id": "anything"}).passed


def test_a_wrong_value_must_not_come_out():
    vector = next(v for v in VECTORS if v["id"].startswith("divergence-04"))
    assert verdicts.judge(vector).passed
    trap = copy.deepcopy(vector)
    right = trap["expected"]["correct_by_sets"]
    trap["tolerance"] = {"rel": 1e-3, "abs": 0}
    trap["expected"] |= {"correct_by_sets": right * (1 - 0.9e-3), "seed_pointwise_do_not_use": right * (1 + 0.9e-3)}
    assert not verdicts.judge(trap).passed  # what comes out agrees with the value that must not
    trap["expected"] |= {"correct_by_sets": right, "seed_pointwise_do_not_use": right}
    assert verdicts.judge(trap).passed  # a wrong formula that is right for these inputs does no harm


def test_a_wrong_value_must_not_come_out_under_any_name():
    """C093: a maximum over k <= n is not smooth. The vector expects no maximum by name, and refuses the capped one."""
    vector = next(v for v in VECTORS if v["id"].startswith("elastic_sensitivity-08"))
    assert not {"smooth_S", "argmax_k", "laplace_scale"} & set(vector["expected"])
    assert verdicts.judge(vector).passed
    unlimited = next(v for v in VECTORS if v["id"].startswith("elastic_sensitivity-07"))["expected"]["smooth_S"]
    trap = {**vector, "expected": {**vector["expected"], "k_capped_smooth_S_do_not_use": unlimited}}
    assert str(verdicts.judge(trap)).endswith("smooth_S is the wrong value k_capped_smooth_S_do_not_use")


def test_the_noise_scales_of_the_vectors_are_those_we_calibrate():
    """C044: the reading takes the stated scale; here it is compared with ours."""
    stated = [vector["inputs"] for vector in VECTORS if "noise_scale" in vector["inputs"]]
    assert len(stated) >= 8
    for inputs in stated:
        calibrated = selection_scale(
            sensitivity=inputs["sensitivity"], epsilon=inputs["epsilon"], monotonic=inputs["monotonic"]
        )
        assert float(calibrated) == inputs["noise_scale"]


def laplace(**changed):
    right = {"inputs": {"sensitivity_l1": 1, "epsilon": 1}, "expected": {"scale": 1}, "tolerance": {"rel": 0, "abs": 0}}
    return {"id": "x", "topic": "laplace", **right, **changed}


UNREAD = [
    *(laplace(topic="unheard_of"), laplace(inputs={"foo": 1}), laplace(expected={"unheard_of": 1})),
    *(laplace(inputs={"sensitivity_l1": 1, "epsilon": -1}), {"id": "x", "topic": "laplace"}),
    *({"topic": "laplace", "inputs": 3, "expected": 4, "tolerance": 5}, 17, None),
]


@pytest.mark.parametrize("vector", UNREAD, ids=str)
def test_what_cannot_be_dispatched_is_a_failure(vector):
    assert verdicts.judge(laplace()).passed
    verdict = verdicts.judge(vector)
    assert not verdict.passed
    assert verdict.reason


def test_the_command_line(tmp_path):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "tests.vectors", *map(str, arguments)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    some = tmp_path / "some.json"
    some.write_text(json.dumps(VECTORS[:3]))
    good = run(some)
    assert (good.returncode, good.stdout.splitlines()[-1]) == (0, "3 passed, 0 failed")
    assert len(good.stdout.splitlines()) == 4
    bad = copy.deepcopy(VECTORS[:2])
    bad[1]["expected"]["scale"] += 1
    some.write_text(json.dumps(bad))
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    both = run(some, broken, tmp_path / "missing.json")
    assert (both.returncode, both.stdout.splitlines()[-1]) == (1, "1 passed, 3 failed")
    assert "scale is" in both.stdout
    assert run().returncode == 2
