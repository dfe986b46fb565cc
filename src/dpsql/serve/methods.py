"""What may be asked over the socket, and by whom: a table of methods, words and roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dpsql import Analyst, Answer, Budget, Estimate, Noisy, Owner
from dpsql.errors import DpsqlError, InternalError, NotPermitted
from dpsql.serve import wire
from dpsql.serve.wire import Message
from dpsql.written import moment

OWNER: Final = "owner"
ANALYST: Final = "analyst"
AUDITOR: Final = "auditor"
_NUMBERS: Final = ("epsilon", "confidence")
_WORDS: Final = ("mode", "noise")
_FLAGS: Final = ("fresh",)


@dataclass(slots=True, kw_only=True)
class Visit:
    """Requests of a client whose token was recognised."""

    owner: Owner
    name: str
    role: str
    session: object = None
    """What was SET on this connection; None: nothing yet."""
    analyst: Analyst | None = None
    """Made when it is first needed."""

    def asking(self) -> Analyst:
        if self.analyst is None:
            self.analyst = self.owner.analyst(self.name)
            if self.session is not None:
                self.analyst.place.settings.change(lambda _: self.session)  # type: ignore[arg-type, return-value]
        return self.analyst

    @property
    def session_now(self) -> object:
        return self.session if self.analyst is None else self.analyst.place.settings.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One word of the protocol."""

    roles: frozenset[str]
    needs: tuple[str, ...] = ()
    """Texts that must be there."""
    takes: tuple[str, ...] = ()
    """What may be there."""
    answer: Callable[[Visit, Message], Message]


def reply_to(visit: Visit, request: Message) -> Message:
    """The answer to a request, or its error, as it is sent."""
    try:
        return {"ok": answered(visit, request)}
    except DpsqlError as error:
        return wire.error_to_wire(error)
    except Exception:  # whatever it is: its words could tell about rows
        return wire.error_to_wire(a_bug())


def is_question(request: Message) -> bool:
    """Whether a refusal of this request is an entry of the ledger."""
    return request.get("do") == "sql" and isinstance(request.get("sql"), str)


def answered(visit: Visit, request: Message) -> Message:
    """The answer to a request of this visitor. What is refused here depends on the request and the role alone; where it
    was a question, that is written down."""
    written: AbstractContextManager[None] = nullcontext()
    if is_question(request):
        written = visit.owner.keeper.refusals_written(visit.name, request["sql"])
    with written:
        method, said = _understood(visit, request)
    return method.answer(visit, said)


def a_bug() -> InternalError:
    return InternalError("the server could not answer")


def _understood(visit: Visit, request: Message) -> tuple[Method, Message]:
    """The method and its words, where this visitor may use it."""
    word = request.get("do")
    method = METHODS.get(word) if isinstance(word, str) else None
    if method is None:
        raise wire.not_understood()
    if visit.role not in method.roles:
        raise NotPermitted(
            f"{word} is not for the role {visit.role}",
            why="each role does its own part: analysts ask, auditors look, owners decide",
            fix=f"ask somebody with the role {' or '.join(sorted(method.roles))}",
        )
    said = {name: value for name, value in request.items() if name != "do"}
    if not set(method.needs) <= set(said) <= {*method.needs, *method.takes}:
        raise wire.not_understood()
    if not all(isinstance(said[name], str) for name in method.needs):
        raise wire.not_understood()
    return method, said


def _told(visit: Visit, value: object) -> Message:
    """A value as this role is told it."""
    message: Any = wire.WIRE[visit.role].to_json(value)
    return dict(message)


def _sql(visit: Visit, said: Message) -> Message:
    with visit.owner.keeper.refusals_written(visit.name, said["sql"]):
        options = _options(said) | {"max_cost": wire.number_from_wire(said.get("max_cost"))}
        asking = visit.asking()  # refused where nothing was granted
    return _told(visit, served(asking.sql(said["sql"], **options)))  # writes its own refusals


def _cost(visit: Visit, said: Message) -> Message:
    query = visit.asking().query(said["sql"], **_options(said))
    return _told(visit, wire.Price(epsilon=query.cost.epsilon, delta=query.cost.delta, margins=query.margins))


def _explain(visit: Visit, said: Message) -> Message:
    return {"text": visit.asking().query(said["sql"], **_options(said)).explain().text()}


def _options(said: Message) -> dict[str, Any]:
    numbers = {name: wire.number_from_wire(said.get(name)) for name in _NUMBERS}
    return numbers | {name: said.get(name) for name in _WORDS} | {name: said.get(name, False) for name in _FLAGS}


def served(answer: Answer) -> wire.ServedAnswer:
    """An answer as plain values, and as the text a terminal shows."""
    return wire.ServedAnswer(
        columns=tuple(answer.columns),
        rows=tuple(tuple(map(_cell, row)) for row in answer.rows),
        kinds=tuple((each.type.value, each.is_noisy) for each in answer.types),
        epsilon=answer.cost.epsilon,
        delta=answer.cost.delta,
        release=answer.release,
        confidence=answer.confidence,
        notes=tuple(answer.notes),
        head=answer.head,
        text=str(answer),
        budget=None if answer.budget is None else _standing(answer.budget),
        is_text=answer.is_text,
    )


def _cell(cell: Any) -> wire.Cell:
    if not isinstance(cell, Noisy):
        plain: wire.Cell = cell
        return plain
    return Estimate(value=cell.value, margin=cell.margin, low=cell.low, high=cell.high, doubtful=cell.doubtful)


def _budget(visit: Visit, said: Message) -> Message:
    return _told(visit, _standing(visit.asking().budget if visit.role == ANALYST else visit.owner.budget))


def _standing(budget: Budget) -> wire.Standing:
    return wire.Standing(
        total=budget.total, spent=budget.spent, left=budget.left, short=budget.short, text=repr(budget)
    )


def _freeze(visit: Visit, said: Message) -> Message:
    visit.owner.keeper.freeze(said["reason"], by=visit.name)
    return {}


def _unfreeze(visit: Visit, said: Message) -> Message:
    visit.owner.keeper.unfreeze(said["reason"], by=visit.name)
    return {}


def _verify(visit: Visit, said: Message) -> Message:
    return {"entries": visit.owner.keeper.verify()}


def _audit(visit: Visit, said: Message) -> Message:
    """Texts are for their authors and the owner."""
    found = visit.owner.keeper.audit(since=_since(said), texts=visit.role == OWNER)
    return _told(visit, wire.ServedAudit(holds=found.holds, text=str(found), markdown=found.markdown()))


def _ledger(visit: Visit, said: Message) -> Message:
    """Auditors see everything but texts; analysts see their own entries, with the texts they wrote."""
    keeper, since = visit.owner.keeper, _since(said)
    if visit.role == ANALYST:
        rows = keeper.rows_about(visit.name, since=since)
    else:
        rows = keeper.rows(since=since, texts=visit.role != AUDITOR)
    return {"entries": [row.as_json() for row in rows]}


def _since(said: Message) -> datetime | None:
    text = said.get("since")
    if text is None:
        return None
    if not isinstance(text, str):
        raise wire.not_understood()
    return moment("since", text)


_ASKING: Final = (*_NUMBERS, *_WORDS, *_FLAGS)
METHODS: Final[Mapping[str, Method]] = {
    "sql": Method(roles=frozenset({ANALYST}), needs=("sql",), takes=(*_ASKING, "max_cost"), answer=_sql),
    "cost": Method(roles=frozenset({ANALYST}), needs=("sql",), takes=_ASKING, answer=_cost),
    "explain": Method(roles=frozenset({ANALYST}), needs=("sql",), takes=_ASKING, answer=_explain),
    "budget": Method(roles=frozenset({ANALYST, OWNER, AUDITOR}), answer=_budget),
    "ledger": Method(roles=frozenset({ANALYST, OWNER, AUDITOR}), takes=("since",), answer=_ledger),
    "audit": Method(roles=frozenset({OWNER, AUDITOR}), takes=("since",), answer=_audit),
    "verify": Method(roles=frozenset({OWNER, AUDITOR}), answer=_verify),
    "freeze": Method(roles=frozenset({OWNER, AUDITOR}), needs=("reason",), answer=_freeze),
    "unfreeze": Method(roles=frozenset({OWNER}), needs=("reason",), answer=_unfreeze),
}
"""Every method there is. `hello` is not among them: it is what makes a visitor."""
