"""Where chance comes from: never the same bits twice, in no thread, process or test that should not."""

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import chisquare

from dpsql.errors import TestsOnly
from dpsql.randomness import SYSTEM, OsSource, shuffled, uniform_below
from dpsql.testing.fixed import SeededSource


def test_a_forked_child_does_not_repeat_its_parents_bits():
    """C047: fork safety. The parent fills its pool, forks, and both read on."""
    SYSTEM.bits(8)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, SYSTEM.bits(256).to_bytes(32, "little"))
        os._exit(0)
    os.waitpid(child, 0)
    theirs = int.from_bytes(os.read(read, 32), "little")
    os.close(read)
    os.close(write)
    assert theirs != SYSTEM.bits(256)


def test_threads_never_share_bits():
    """Eight threads draw 64-bit numbers from the one system source; a collision has probability below 1e-9."""
    source = OsSource()

    def draw(_):
        return [source.bits(64) for _ in range(2000)]

    with ThreadPoolExecutor(8) as pool:
        drawn = [value for part in pool.map(draw, range(8)) for value in part]
    assert max(Counter(drawn).values()) == 1


def test_bits_have_the_length_asked_for():
    for count in (0, 1, 7, 8, 9, 63, 64, 65, 5000 * 8):
        assert 0 <= SYSTEM.bits(count) < 2**count
    assert SYSTEM.words(0).shape == (0,)
    assert SYSTEM.words(5).dtype == np.uint64


def test_uniform_below_is_uniform():
    """Chi-square over 7 values, 7 000 draws; false alarm 1e-9."""
    counts = Counter(uniform_below(7, source=SYSTEM) for _ in range(7000))
    assert set(counts) == set(range(7))
    assert chisquare([counts[i] for i in range(7)]).pvalue > 1e-9
    assert uniform_below(1, source=SYSTEM) == 0


def test_shuffles_are_uniform():
    """Chi-square over the 24 orders of four things, 12 000 shuffles; false alarm 1e-9."""
    counts = Counter(tuple(shuffled(4, source=SYSTEM)) for _ in range(12_000))
    assert len(counts) == 24
    assert chisquare(list(counts.values())).pvalue > 1e-9


def test_the_seeded_double_repeats_itself_inside_tests():
    assert SeededSource(5).bits(200) == SeededSource(5).bits(200) != SeededSource(6).bits(200)
    assert (SeededSource(5).words(9) == SeededSource(5).words(9)).all()


def test_the_seeded_double_refuses_to_work_outside_tests(monkeypatch):
    made_in_a_test = SeededSource(5)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    for use in (lambda: SeededSource(5), lambda: made_in_a_test.bits(8), lambda: made_in_a_test.words(1)):
        with pytest.raises(TestsOnly):
            use()


def test_a_program_cannot_use_the_seeded_double():
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    code = "from dpsql.testing.fixed import SeededSource; SeededSource(1)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "DP430" in done.stderr
