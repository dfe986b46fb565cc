"""`python -m dpsql.demonstration`: the attack on Bob."""

from __future__ import annotations

from dpsql.demonstration.attack import story
from dpsql.randomness import SYSTEM

if __name__ == "__main__":
    print("\n".join(story(SYSTEM)))
