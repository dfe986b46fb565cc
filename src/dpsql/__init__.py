"""dpsql: differentially private SQL. `open` is the door of the owner, `grant` makes an analyst, `sql` asks.

dpsql.privacy       what is promised            dpsql.mechanisms   how a value is released
dpsql.sensitivity   how far one person reaches  dpsql.accounting   what a history costs
dpsql.randomness    exact noise                 dpsql.local        noise added by each person
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpsql.errors import BadParameter, BudgetExhausted, DpsqlError, Refused

if TYPE_CHECKING:
    from dpsql.catalog.schema import policy_schema
    from dpsql.charts.letters import in_ascii, without_symbols
    from dpsql.demonstration import demo
    from dpsql.door import connect
    from dpsql.mechanisms.dp_sum import DpSum, dp_sum
    from dpsql.privacy.measure import PrivacyParams
    from dpsql.privacy.unit import Neighbours
    from dpsql.safe_text import printable
    from dpsql.serve.client import Client
    from dpsql.serve.server import SocketServer
    from dpsql.serve.wire import ServedAnswer
    from dpsql.serve.workers import Workers
    from dpsql.session.analyst import Analyst
    from dpsql.session.answer_value import Answer
    from dpsql.session.auditing import Audit, AuditedCharge
    from dpsql.session.belief import belief
    from dpsql.session.budget import Budget, budget_bar, in_hundredths
    from dpsql.session.digits import Cost
    from dpsql.session.exposure import exposed_files
    from dpsql.session.formats import Told, all_doubtful, answer_page, formats, formatted, summary
    from dpsql.session.help_text import help  # noqa: A004 - dpsql.help, as everywhere
    from dpsql.session.keeper import Keeper
    from dpsql.session.noisy import Estimate, Noisy
    from dpsql.session.opening import open_ledger, policy_limits, restore_ledger
    from dpsql.session.opening import open_owner as open  # noqa: A004 - dpsql.open, as everywhere
    from dpsql.session.owner import Owner
    from dpsql.session.permits import repriced
    from dpsql.session.planning import Planner, Verdict
    from dpsql.session.plotting import Picture, picture_path, plot
    from dpsql.session.policy_diff import policy_diff
    from dpsql.session.query import Query
    from dpsql.session.script import Statement, script
    from dpsql.session.suggesting import Suggestion
    from dpsql.session.tables import ColumnType
    from dpsql.session.tabular import Again, Tabular
    from dpsql.session.terms import QueryWords
    from dpsql.suggest.opening import suggest_policy
    from dpsql.suggest.policy_file import PolicyFile

__version__ = "0.1.0"

__all__ = [
    "Again",
    "Analyst",
    "Answer",
    "Audit",
    "AuditedCharge",
    "BadParameter",
    "Budget",
    "BudgetExhausted",
    "Client",
    "ColumnType",
    "Cost",
    "DpSum",
    "DpsqlError",
    "Estimate",
    "Keeper",
    "Neighbours",
    "Noisy",
    "Owner",
    "Picture",
    "Planner",
    "PolicyFile",
    "PrivacyParams",
    "Query",
    "QueryWords",
    "Refused",
    "ServedAnswer",
    "SocketServer",
    "Statement",
    "Suggestion",
    "Tabular",
    "Told",
    "Verdict",
    "Workers",
    "__version__",
    "all_doubtful",
    "answer_page",
    "belief",
    "budget_bar",
    "connect",
    "demo",
    "dp_sum",
    "exposed_files",
    "formats",
    "formatted",
    "help",
    "in_ascii",
    "in_hundredths",
    "open",
    "open_ledger",
    "picture_path",
    "plot",
    "policy_diff",
    "policy_limits",
    "policy_schema",
    "printable",
    "repriced",
    "restore_ledger",
    "script",
    "suggest_policy",
    "summary",
    "without_symbols",
]

_ON_FIRST_USE = {  # so that importing dpsql loads neither numpy nor the parser nor the engine
    "Again": "session.tabular",
    "Analyst": "session.analyst",
    "Answer": "session.answer_value",
    "Audit": "session.auditing",
    "AuditedCharge": "session.auditing",
    "Budget": "session.budget",
    "Client": "serve.client",
    "ColumnType": "session.tables",
    "Cost": "session.digits",
    "DpSum": "mechanisms.dp_sum",
    "Estimate": "session.noisy",
    "Keeper": "session.keeper",
    "Neighbours": "privacy.unit",
    "Noisy": "session.noisy",
    "Owner": "session.owner",
    "Picture": "session.plotting",
    "Planner": "session.planning",
    "PolicyFile": "suggest.policy_file",
    "PrivacyParams": "privacy.measure",
    "Query": "session.query",
    "QueryWords": "session.terms",
    "ServedAnswer": "serve.wire",
    "SocketServer": "serve.server",
    "Workers": "serve.workers",
    "Statement": "session.script",
    "Suggestion": "session.suggesting",
    "Tabular": "session.tabular",
    "Told": "session.formats",
    "Verdict": "session.planning",
    "all_doubtful": "session.formats",
    "answer_page": "session.formats",
    "belief": "session.belief",
    "budget_bar": "session.budget",
    "connect": "door",
    "demo": "demonstration",
    "dp_sum": "mechanisms.dp_sum",
    "exposed_files": "session.exposure",
    "formats": "session.formats",
    "formatted": "session.formats",
    "help": "session.help_text",
    "in_ascii": "charts.letters",
    "in_hundredths": "session.budget",
    "load_ipython_extension": "notebook.extension",
    "open": "session.opening",
    "open_ledger": "session.opening",
    "picture_path": "session.plotting",
    "plot": "session.plotting",
    "policy_diff": "session.policy_diff",
    "policy_limits": "session.opening",
    "policy_schema": "catalog.schema",
    "printable": "safe_text",
    "repriced": "session.permits",
    "restore_ledger": "session.opening",
    "script": "session.script",
    "suggest_policy": "suggest.opening",
    "summary": "session.formats",
    "unload_ipython_extension": "notebook.extension",
    "without_symbols": "charts.letters",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module 'dpsql' has no attribute {name!r}")
    module = import_module(f"dpsql.{_ON_FIRST_USE[name]}")
    return getattr(module, "open_owner" if name == "open" else name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_FIRST_USE})
