"""The first opening of a policy is one piece: who comes in the middle of it waits, and is not refused."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

from dpsql.session import owner

from crashing import opened, written

ASK = """
import sys, dpsql
from dpsql.session import opening
print("ready", flush=True)
dpsql.open(sys.argv[1], adopt=False, threads=1).close()
"""


def test_who_opens_while_the_first_is_opening_waits(tmp_path, monkeypatch):
    """The promise and the declarations are written, the grants are not yet: in between there was a refusal (DP502)."""
    folder, others = written(tmp_path / "source"), []
    adopt = owner.adopt_grants

    def slowly(*given):
        arguments = [sys.executable, "-c", ASK, str(folder / "dpsql.toml")]
        others.append(subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        assert others[0].stdout.readline() == "ready\n"
        with suppress(subprocess.TimeoutExpired):
            others[0].wait(timeout=3)  # it comes as far as it can
        return adopt(*given)

    monkeypatch.setattr(owner, "adopt_grants", slowly)
    opened(folder).close()
    (other,) = others
    _, error = other.communicate(timeout=60)
    assert (other.returncode, error) == (0, "")
