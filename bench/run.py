"""`make bench`: every benchmark, as tables of ratios within one run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parent


def main() -> int:
    codes = [
        subprocess.run([sys.executable, BENCH / f"{name}.py"], check=False).returncode
        for name in ("start_up", "samplers", "smooth_median", "pipeline", "keys", "ledger")
    ]
    return int(any(codes))


if __name__ == "__main__":
    raise SystemExit(main())
