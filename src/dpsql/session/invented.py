"""The words by which an answer from invented rows is known."""

from __future__ import annotations

from typing import Final

INVENTED: Final = "INVENTED ROWS: made from the policy, nothing of the data"
COLUMN: Final = "invented"
"""The last column of every such answer: files, data frames, DB-API and the socket carry columns, not remarks."""
