"""Judges look through the public surface only; what they share lies beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
