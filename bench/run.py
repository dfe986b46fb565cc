"""`make bench`: every benchmark, as tables of ratios within one run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).parent


def import_seconds(module: str) -> float:
    """The least wall time of seven fresh interpreters that import `module`, minus that of one that imports nothing."""

    def fresh(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    return min(fresh(f"import {module}") for _ in range(7)) - min(fresh("pass") for _ in range(7))


def main() -> int:
    ours, numpys = import_seconds("dpsql"), import_seconds("numpy")
    lean = ours / numpys <= 3
    print(
        f"import dpsql / import numpy: {ours / numpys:.2f} (wanted: at most 3)  {'ok' if lean else 'SHORT'}\n",
        flush=True,
    )
    codes = [
        subprocess.run([sys.executable, BENCH / f"{name}.py"], check=False).returncode
        for name in ("samplers", "smooth_median", "pipeline", "ledger")
    ]
    return int(any(codes) or not lean)


if __name__ == "__main__":
    raise SystemExit(main())
