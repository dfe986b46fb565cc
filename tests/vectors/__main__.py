"""`python -m tests.vectors FILE…` recomputes every vector of a file and compares."""

import sys

from tests.vectors.verdicts import run

if len(sys.argv) < 2:
    print("usage: python -m tests.vectors FILE…", file=sys.stderr)
    sys.exit(2)
sys.exit(run(sys.argv[1:]))
