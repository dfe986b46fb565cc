"""The stories a newcomer runs first."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from dpsql.demonstration import attack
from dpsql.testing.seeded import SeededSource

ROOT = Path(__file__).parent.parent.parent


def test_the_demo_shows_the_attack_and_its_defeat():
    """C014: two exact counts reveal Bob; two noisy ones do not."""
    told = "\n".join(attack.story(SeededSource(1)))
    assert "3 - 2 = 1: Bob has flu" in told
    assert "± 6" in told
    assert "56% of the time" in told
    assert "62% at most" in told


def test_the_demos_exact_figures():
    """The law of the difference of two discrete Laplace draws, against a direct double sum."""
    mechanism = attack.LaplaceMechanism(l1=1, epsilon=attack.EPSILON)
    law = attack.difference_law(mechanism)
    p = [mechanism.law.pmf(x) for x in range(-80, 81)]
    for d in (0, 1, 7):
        assert law[d] == pytest.approx(sum(p[i] * p[i + d] for i in range(161 - d)), rel=1e-9)
    assert law[0] + 2 * sum(law[1:]) == pytest.approx(1, abs=1e-6)
    margin = attack.difference_margin(law)
    assert law[0] + 2 * sum(law[1 : margin + 1]) >= 0.95 > law[0] + 2 * sum(law[1:margin])


def test_every_run_draws_new_noise():
    """Two runs of the real demo agree with probability below 1/10 each; five agree with probability below 1e-4."""
    runs = {
        subprocess.run([sys.executable, "-m", "dpsql.demonstration"], capture_output=True, text=True, check=True).stdout
        for _ in range(6)
    }
    assert len(runs) > 1


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_every_example_runs(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
