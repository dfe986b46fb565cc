"""dpsql: differentially private SQL. This release holds the theory; the packages are its chapters.

dpsql.privacy       what is promised            dpsql.mechanisms   how a value is released
dpsql.sensitivity   how far one person reaches  dpsql.accounting   what a history costs
dpsql.randomness    exact noise                 dpsql.local        noise added by each person
"""

from dpsql.errors import BadParameter, DpsqlError, Refused
from dpsql.mechanisms.dp_sum import DpSum, dp_sum
from dpsql.privacy.measure import PrivacyParams
from dpsql.privacy.unit import Neighbours

__version__ = "0.1.0"

__all__ = [
    "BadParameter",
    "DpSum",
    "DpsqlError",
    "Neighbours",
    "PrivacyParams",
    "Refused",
    "__version__",
    "dp_sum",
]
