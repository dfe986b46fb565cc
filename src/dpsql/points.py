"""The named points of the pipeline: how code around a query follows where it is, without being called by it.

Passing one is an audit event of Python (PEP 578) and nothing else: `dpsql.reached`, with the name of the point and no
value. It reaches only code in this process that has called `sys.addaudithook`; no setting, file or environment variable
of dpsql adds such code. In dpsql the command line listens, to show the stage on a terminal, and so does a worker of the
server, which must not be ended while a charge is written, or from the draw to the store (`serve/workers.py`): the order
of these points is part of rule 2 of the design. Tests stop a process at each of them.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import Final

EVENT: Final = "dpsql.reached"


class Point(Enum):
    """Where a question is, in the order in which it gets there. Each step of a plan passes those from RUNNING on."""

    ASKED = "nothing is read of the text yet"
    PARSED = "the text is a tree"
    SEALED = "a plan and its price are derived twice"
    CHARGING = "a sealed plan is about to be charged"
    CHARGE_BEGUN = "inside the transaction of the charge: nothing is written yet"
    CHARGE_WRITTEN = "inside the transaction of the charge: all is written, nothing is kept yet"
    COMMITTED = "a transaction is kept, of a charge or of a step; nobody is told so yet"
    CHARGED = "the charge is kept; the engine knows nothing of it"
    RUNNING = "the engine is about to be asked"
    READ = "exact rows are there, no noise is drawn yet"
    DRAWN = "noise is drawn, nothing is written yet"
    STORE_BEGUN = "inside the transaction of a step: nothing is written yet"
    STORE_WRITTEN = "inside the transaction of a step: all is written, nothing is kept yet"
    STORED = "a step is kept"
    NEXT_STEP = "the step before is kept, the next one has not begun"
    NEXT_QUESTION = "a PRIVATE question is answered, the one that reads it has not begun"
    TELLING = "everything is kept, the answer is being put into words"
    TOLD = "the answer is about to be handed over"


def reached(point: Point) -> None:
    """The pipeline is at this point."""
    sys.audit(EVENT, point.name)
