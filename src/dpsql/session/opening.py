"""The door of the owner: an empty database with a ledger, or a policy file with the source and the ledger it names.

Which ledger belongs to a source: a second one would be a second budget for the same people. The id of the ledger stands
in a small file beside the data. Whoever can remove it can also copy the data: in one process this keeps mistakes away,
not people.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from dpsql.catalog.check import checked
from dpsql.catalog.digest import declarations
from dpsql.catalog.load import load
from dpsql.catalog.model import Catalog, Defaults, Person, Policy
from dpsql.engines.engine import NO_LIMITS, Limits, OnFailure
from dpsql.engines.hardening import half_the_memory
from dpsql.engines.registry import IN_MEMORY, file_of, located, open_source
from dpsql.errors import BadParameter, Incomparable, LedgerBroken, NoSource, NotPermitted
from dpsql.ledger.book import Ledger
from dpsql.ledger.keyfile import create_private
from dpsql.ledger.memory import MemoryLedger
from dpsql.randomness import SYSTEM
from dpsql.require import require_positive
from dpsql.session.granting import grant_changes
from dpsql.session.owner import Owner
from dpsql.session.policy_changes import changed_lines, names_of

if TYPE_CHECKING:
    from dpsql.ledger.stored import StoredLedger
    from dpsql.session.keeper import Keeper

_WHY: Final = "another ledger would forget what was spent, and with it the promise to the people in these data"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPlace:
    """A ledger in PostgreSQL, and its key on this machine."""

    url: str = field(repr=False)
    """It may hold a password: it stands in no message and in no file."""
    key: Path

    def __str__(self) -> str:
        return f"PostgreSQL, with the key {self.key}"


LedgerPlace: TypeAlias = Path | SharedPlace


def ledger_at(place: LedgerPlace) -> StoredLedger:
    """The ledger at a place; where there is none, a new one."""
    if isinstance(place, Path):
        from dpsql.ledger.sqlite import SqliteLedger  # a store is loaded where a ledger is in it

        return SqliteLedger(place)
    from dpsql.ledger.postgres import PostgresLedger

    return PostgresLedger(place.url, key=place.key)


def is_there(place: LedgerPlace) -> bool:
    """Whether this machine knows a ledger there: its file, or the key of a shared one."""
    return (place if isinstance(place, Path) else place.key).exists()


def ledger_beside(source: Path) -> Path:
    """Where the ledger of a file is kept unless somebody says otherwise."""
    return source.with_name(f"{source.name}.ledger")


def mark_beside(source: Path) -> Path:
    """The file that holds the id of the ledger, and where the ledger was first."""
    return source.with_name(f"{source.name}.ledger-id")


def bound_ledger(place: LedgerPlace, *, named: str | None, source: Path | None) -> StoredLedger:
    """The ledger at `place`, created where it may be; refused if the policy or the source has another one.

    `named` is the id in the policy, `source` the file that holds the data, where there is one.
    """
    _require_no_other(place, named=named, source=source)
    ledger = ledger_at(place)
    try:
        _require_same(ledger.id, named=named, source=source)
        if source is not None:
            _mark(source, ledger.id, place)
            _require_same(ledger.id, named=named, source=source)  # somebody else may have been faster
    except BaseException:
        ledger.close()
        raise
    return ledger


def _require_no_other(place: LedgerPlace, *, named: str | None, source: Path | None) -> None:
    """Nothing says that a ledger exists elsewhere: only then a new one is made."""
    marked = _marked(source)  # looked at first: another process makes the ledger, and then its mark
    if (named is None and marked is None) or is_there(place):
        return
    known = f"{marked[0]}, which was kept in {marked[1]}" if marked else f"{named}, which the policy names"
    raise NotPermitted(
        f"there is no ledger in {place}, but there was one: {known}",
        why=_WHY,
        fix=_fix(source if marked else None, "name the place of that ledger: ledger=… or ledger_file in [source]"),
    )


def _require_same(ledger: str, *, named: str | None, source: Path | None) -> None:
    if named is not None and named != ledger:
        raise NotPermitted(
            f"the policy names the ledger {named}, and this one is {ledger}",
            why=_WHY,
            fix="open the ledger the policy names; an owner who means it removes `ledger` from [source]",
        )
    marked = _marked(source)
    if source is not None and marked is not None and marked[0] != ledger:
        raise NotPermitted(
            f"{source.name} belongs to the ledger {marked[0]}, kept in {marked[1]} when it was opened first;"
            f" this one is {ledger}",
            why=_WHY,
            fix=_fix(source, "open that ledger: ledger=… or ledger_file in [source]"),
        )


def _fix(source: Path | None, first: str) -> str:
    if source is None:
        return f"{first}; an owner who means it removes `ledger` from [source]"
    return f"{first}; an owner who means a new promise, beside the old one, removes {mark_beside(source)}"


def _marked(source: Path | None) -> tuple[str, str] | None:
    """The id and the first place of the ledger of these data; None: it has none yet."""
    if source is None:
        return None
    try:
        found, place = mark_beside(source).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise LedgerBroken(
            f"{mark_beside(source)} cannot be read",
            why="it says which ledger these data belong to",
            fix="restore it from a backup, or give the process the right to read it",
        ) from None
    return found, place


def _mark(source: Path, ledger: str, place: LedgerPlace) -> None:
    # Where nothing may be written beside the data, the policy alone can name the ledger.
    words = f"{ledger}\n{place.absolute() if isinstance(place, Path) else place}\n"
    with suppress(OSError):
        create_private(mark_beside(source), words.encode(errors="backslashreplace"))


# Whoever asks applies nothing: a policy file that is not what its ledger has applied is refused at their door.


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


_OPENING: Final = sha256(b"opening a policy").digest()
"""The turn of whoever applies a policy to a ledger, among all processes."""
NOTHING_SAID: Final = Policy(
    source=IN_MEMORY,
    ledger=None,
    data_version=None,
    person=Person(),
    promise=None,
    defaults=Defaults(),
    tables={},
)


def open_owner(
    path: str | PathLike[str],
    *,
    ledger: str | PathLike[str] | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    timeout: float | None = None,
    on_failure: OnFailure | None = None,
    adopt: bool = True,
) -> Owner:
    """A ledger with an empty database in memory, or a policy file with the source it names.

    `path` is `:memory:`, the path of a ledger file, or that of a policy file that ends in .toml. The ledger of a policy
    is the one `ledger` names, else `ledger_file` in [source], else the one beside the source. `threads`, `memory_limit`
    ("4GB") and `timeout` (seconds) bound each statement; what is charged for one that is stopped stays charged.

    Opening a policy file applies it, as `dpsql policy apply --keep-version` does. With adopt=False a file that is not
    what its ledger has applied is refused (DP502), as it is to `dpsql.connect`, the command line and `dpsql serve`.

    `on_failure` is called with the trace id of a statement that failed (DP601) and the kind of its failure, such as
    "OutOfMemoryException". The kind depends on rows: it is for the owner's log, never for an analyst.
    """
    if timeout is not None:
        require_positive(timeout=timeout)
    if on_failure is not None and not callable(on_failure):
        raise BadParameter(
            f"on_failure={on_failure!r} cannot be called",
            why="it is told the trace id and the kind of a failure",
            fix="pass a function of two texts, for example one that writes both into a log",
        )
    limits = Limits(memory_limit=memory_limit, threads=threads, timeout=timeout)
    text = fspath(path)
    if text.endswith(".toml"):
        place = None if ledger is None else Path(fspath(ledger))
        return _of_policy(Path(text), place, limits, on_failure, adopt=adopt)
    if ledger is not None:
        raise BadParameter(
            "ledger= was given beside a path that is no policy file",
            why="the path itself is that of the ledger",
            fix='open("ledger.db"), or open("dpsql.toml", ledger="ledger.db")',
        )
    with ExitStack() as opened:
        engine = opened.enter_context(closing(open_source(NOTHING_SAID.source, limits=limits, on_failure=on_failure)))
        kept = opened.enter_context(closing(MemoryLedger() if text == ":memory:" else ledger_at(Path(text))))
        owner = Owner(policy=NOTHING_SAID, engine=engine, ledger=kept, source=SYSTEM)
        opened.pop_all()
    return owner


def _of_policy(path: Path, ledger: Path | None, limits: Limits, on_failure: OnFailure | None, *, adopt: bool) -> Owner:
    policy = load(path)
    address = located(policy.source, folder=path.parent)
    data = file_of(address)
    limits = _limited(limits, policy)
    with ExitStack() as opened:
        engine = opened.enter_context(closing(open_source(address, limits=limits, on_failure=on_failure)))
        source = None if data is None else data.resolve()
        place = ledger or ledger_place(policy, path, source)
        if not is_there(place):  # a policy that cannot hold leaves no ledger behind, and no mark of one
            checked(policy, engine.schema(), views=engine.views())
        kept = opened.enter_context(closing(bound_ledger(place, named=policy.ledger, source=source)))
        with kept.process_turn(_OPENING):  # who comes while a policy is applied waits until all of it is
            if not adopt:
                require_applied(checked(policy, engine.schema(), views=engine.views()), kept, path)
            owner = Owner(policy=policy, engine=engine, ledger=kept, source=SYSTEM)
        opened.pop_all()
    return owner


def policy_limits(path: str | PathLike[str]) -> Limits:
    """What a policy file lets statements use; without a word on memory, half of it."""
    limits = _limited(NO_LIMITS, load(Path(path)))
    return replace(limits, memory_limit=limits.memory_limit or f"{half_the_memory() // 1000}KB")


def _limited(limits: Limits, policy: Policy) -> Limits:
    """The limits of the call, and those of the policy where the call has none."""
    timeout = None if policy.timeout is None else float(policy.timeout)
    return Limits(
        memory_limit=policy.memory_limit if limits.memory_limit is None else limits.memory_limit,
        threads=policy.threads if limits.threads is None else limits.threads,
        timeout=timeout if limits.timeout is None else limits.timeout,
    )


def ledger_place(policy: Policy, path: Path, source: Path | None) -> LedgerPlace:
    """Beside the data unless the policy says where: a copy of the policy finds the same ledger."""
    if policy.ledger_url is not None and policy.ledger_key is not None:
        return SharedPlace(url=policy.ledger_url, key=path.parent / policy.ledger_key)
    if policy.ledger_file is not None:
        return path.parent / policy.ledger_file
    return path.with_suffix(".ledger") if source is None else ledger_beside(source)


def open_ledger(policy: str | PathLike[str] | None = None, *, ledger: str | PathLike[str] | None = None) -> Keeper:
    """The ledger of a policy file, or the one in the file `ledger`, without the data: the source is not opened, and
    need not be in reach. Nothing is created."""
    read, place = _named(policy, ledger)
    if not is_there(place):
        raise NoSource(
            f"there is no ledger in {place}",
            why="it is made when the data are opened first, or when it is restored",
            fix="make it: dpsql policy apply; or name its file, or restore a backup: dpsql ledger restore FILE",
        )
    opened = ledger_at(place) if read is None else bound_ledger(place, named=read.ledger, source=None)
    from dpsql.session.keeper import Keeper  # a question needs neither the keeper of a ledger nor its backups

    return Keeper(opened, policy=read, place=place if isinstance(place, Path) else None)


def restore_ledger(
    copy: str | PathLike[str],
    policy: str | PathLike[str] | None = None,
    *,
    ledger: str | PathLike[str] | None = None,
    replace: bool = False,
) -> Path | None:
    """Put a backup where the ledger of a policy was, or where `ledger` says; see `Keeper.backup`. What stood there is
    kept under another name, which is returned; without `replace` nothing is replaced."""
    _, place = _named(policy, ledger)
    if not isinstance(place, Path):
        raise NotPermitted(
            "a ledger in PostgreSQL is not restored from a file",
            why="its copies are those of its server",
            fix="restore it with the tools of the server; what is missing then is written off: dpsql ledger write-off",
        )
    from dpsql.ledger.backup import restore

    return restore(Path(fspath(copy)), place, replace=replace)


def _named(policy: str | PathLike[str] | None, ledger: str | PathLike[str] | None) -> tuple[Policy | None, LedgerPlace]:
    """The policy, where one is named, and where its ledger is."""
    given = None if ledger is None else Path(fspath(ledger))
    if policy is None:
        if given is None:
            raise BadParameter(
                "neither a policy nor a ledger is named", why="one of them says which ledger it is", fix="name one"
            )
        return None, given
    path = Path(fspath(policy))
    read = load(path)
    data = file_of(located(read.source, folder=path.parent))
    return read, given or ledger_place(read, path, None if data is None else data.resolve())
