"""`python -m dpsql.demonstration`: the attack on Bob, to its end without waiting."""

from __future__ import annotations

from dpsql.demonstration.attack import pages
from dpsql.demonstration.stage import Stage

if __name__ == "__main__":
    stage = Stage()
    stage.tell(pages(stage))
