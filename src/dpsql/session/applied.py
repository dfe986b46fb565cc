"""Whoever asks applies nothing: a policy file that is not what its ledger has applied is refused at their door."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dpsql.catalog.digest import declarations
from dpsql.catalog.model import Catalog
from dpsql.errors import Incomparable, NotPermitted
from dpsql.ledger.ledger import Ledger
from dpsql.session.granting import grant_changes
from dpsql.session.policy_changes import changed_lines, names_of


def require_applied(catalog: Catalog, ledger: Ledger, path: Path) -> None:
    """Incomparable where this policy, checked against its source, says something else than what was applied last.
    Before anything was applied, and after a promise was closed, there is nothing to hold it against."""
    applied = ledger.adopted()
    if applied is None or not _promise_holds(ledger):
        return
    found = list(_differences(catalog, ledger, applied))
    if found:
        raise Incomparable(
            f"{path} is not what was applied: {'; '.join(found)}",
            why="what is declared decides what answers mean and what they cost: whoever asks does not change it in "
            "passing",
            fix="the owner looks at the changes and applies them: dpsql policy diff, then dpsql policy apply",
        )


def _promise_holds(ledger: Ledger) -> bool:
    try:
        ledger.account()
    except NotPermitted:  # the door says why, when somebody asks
        return False
    return True


def _differences(catalog: Catalog, ledger: Ledger, applied: str) -> Iterator[str]:
    policy = catalog.policy
    declared = declarations(catalog)
    if declared != applied:
        yield names_of(changed_lines(applied, declared))
    version = ledger.data_version()
    if policy.data_version not in (None, version):
        yield f"data version {version} → {policy.data_version}"
    yield from grant_changes(ledger, policy)
