"""An audit in plain language: for a terminal, as Markdown and as a page of HTML. No released value is in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpsql.privacy.window import Window
from dpsql.safe_text import html_text, printable
from dpsql.session.digits import shown_amount, shown_up
from dpsql.session.odds import odds

if TYPE_CHECKING:
    from dpsql.session.audited import AuditedGrant, AuditedPromise
    from dpsql.session.auditing import Audit

_YES, _NO = "✓", "✗"
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>])")
_ANALYSTS: Final = "Analysts"
_GRANTS: Final = "Grants"
_RELATIONS: Final = {
    "add_remove": "whether all rows of one {} are there or not",
    "change_one": "all rows of one {} as they are, or others in their place",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under names."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def in_text(audit: Audit) -> str:
    """A line or a few for each finding."""
    lines = [
        f"{title if place == 0 else '':<10} {printable(line)}"
        for title, told in statements(audit)
        for place, line in enumerate(told)
    ]
    return "\n".join(lines)


def statements(audit: Audit) -> Iterator[tuple[str, list[str]]]:
    """What was found, in sentences, each under a word."""
    yield "Report", list(_head(audit))
    written = f"last written {_time(audit.last_written)}"
    yield "Ledger", [f"{_number(audit.entries, 'entry', 'entries')}, chain intact, {written}  {_YES}", *_lost(audit)]
    yield "Promise", list(_promise(audit))
    if audit.owners:
        yield "Protects", list(_protected(audit))
    if audit.since is not None:
        yield "Since", [f"{_time(audit.since)}; the promise above is about everything before, too"]
    yield "Policy", [_policy(audit)]
    yield "Recompute", list(_recomputed(audit))
    yield "Also", [_also(audit)]
    if audit.frozen is not None:
        yield "Frozen", [f"every question is refused: {audit.frozen}"]
    if audit.grants:
        yield _GRANTS, [_granted(each, audit) for each in audit.grants]
    if audit.analysts:
        yield (
            _ANALYSTS,
            [
                f"{each.name}: {_number(each.payments, 'payment')}, {shown_up(each.spent)} in all, "
                f"{each.refused} refused"
                for each in audit.analysts
            ],
        )


def _lost(audit: Audit) -> Iterator[str]:
    if audit.has_losses:
        yield "of what is left: entries were lost before, and what they may have spent was written off as spent"


def _head(audit: Audit) -> Iterator[str]:
    """Which ledger it is about, up to where, and when it was made by what."""
    yield f"about the ledger {audit.ledger}, made {_time(audit.made)} by dpsql {audit.version}"
    begin = audit.first_written if audit.since is None else audit.since
    covered = f"covers {_time(begin)} to {_time(audit.last_written)}"
    later = audit.head.number - audit.entries
    missing = f", of which the last {later} came while this was made and are not in it" if later else ""
    yield f"{covered}; the ledger ends with entry {audit.head.number}{missing}, hash {audit.head.hash.hex()}"


def _promise(audit: Audit) -> Iterator[str]:
    if not audit.promises:
        yield "none was made, and nothing was answered"
        return
    for promise, following in zip(audit.promises, (*audit.promises[1:], None), strict=True):
        is_first = following is not None and following.period > promise.period
        yield f"{_stated(promise, audit.person, is_first=is_first)}  {_YES if promise.kept else _NO}"
        yield from _counted(promise)
    epsilon = sum((promise.account.epsilon for promise in audit.promises), Fraction(0))
    delta = sum((promise.account.delta for promise in audit.promises), Fraction(0))
    yield (
        f"ε limits what answers tell about one {audit.person}: none becomes more than e^ε times as likely, or as"
        f" unlikely, because of their rows{', apart from δ' if delta else ''}"
    )
    number = len(audit.promises)
    until = "for ever" if audit.promises[-1].per is Window.FOREVER else "until it is renewed"
    asked = f"All {number} promises and periods together, which add up" if number > 1 else f"Whatever is asked, {until}"
    yield f"{asked}: {odds(epsilon=epsilon, delta=delta, person=audit.person)}"
    last = audit.promises[-1]
    if last.is_ahead:
        yield (
            f"It was to be renewed each {last.per.value}, and has {len(last.begun)} periods by now: more than that, or "
            "nobody knows when they began"
        )
    if number > 1:
        yield "People remember earlier periods: another renewal or promise adds to this again"


def _protected(audit: Audit) -> Iterator[str]:
    """Whom the promise made last is about."""
    relation = dict(audit.owners)[""]
    yield f"one {audit.person}, {relation}: {_RELATIONS.get(relation, '').format(audit.person)}".rstrip(": ")
    yield from (f"{table}: {whose}" for table, whose in audit.owners if table)


def _recomputed(audit: Audit) -> Iterator[str]:
    wrong, whole = len(audit.problems), len(audit.charges)
    told = f"{whole - wrong}/{whole} prices derived again from the stored plans, {wrong} differ"
    yield f"{told}  {_NO if wrong else _YES}"
    if audit.has_losses:
        yield "payments that were lost are not among them: nothing is left to derive them from"
    yield from (f"#{each.receipt}: {each.verdict}" for each in audit.problems)


def _stated(promise: AuditedPromise, person: str, *, is_first: bool) -> str:
    """A period is numbered where it is not the only one."""
    account = promise.account
    numbered = promise.period > 1 or is_first
    period = ", a lost period" if promise.lost else f", period {promise.period}" if numbered else ""
    if promise.is_early:
        period += f", begun sooner than each {promise.per.value}"
    ended = "" if promise.ended is None else f", closed: {promise.ended}"
    verdict = "kept" if promise.kept else "NOT KEPT"
    return (
        f"one {person}, all rows · ε ≤ {shown_amount(account.epsilon)}, δ ≤ {float(account.delta):g}{period}{ended} · "
        f"{verdict}: {shown_up(promise.spent)} spent{_written_off(promise)}"
    )


def _written_off(promise: AuditedPromise) -> str:
    if promise.lost:
        return ", all of it written off"
    return "" if promise.written_off is None else f", of which {shown_up(promise.lost_part)} was written off"


def _counted(promise: AuditedPromise) -> Iterator[str]:
    """Why the costs that were told do not add up to what is spent, where they do not."""
    of_payments = promise.spent - promise.lost_part
    if promise.lost or shown_up(promise.told) == shown_up(of_payments):
        return
    yield (
        f"its payments were told to cost {shown_up(promise.told)}, each by itself; Gaussian noise has a ρ and no ε, so "
        f"the promise adds all of them up in one of the two, {promise.account.counted_in}, as shares of its limit: "
        f"{shown_up(of_payments)}"
    )


def _granted(grant: AuditedGrant, audit: Audit) -> str:
    verdict = "kept" if grant.kept else "NOT KEPT"
    period = f", period {grant.period}" if any(promise.period > 1 for promise in audit.promises) else ""
    limit, spent = shown_amount(grant.account.epsilon), _spent_of(grant)
    return f"{grant.holder}{period}: ε ≤ {limit} · {verdict}: {spent} spent  {_YES if grant.kept else _NO}"


def _spent_of(grant: AuditedGrant) -> str:
    """Rounded up, but not past a limit that was not passed."""
    limit, spent = grant.account.epsilon, grant.spent
    if spent > limit:
        return f"{shown_up(spent)}{', before the limit was lowered,' if grant.kept else ''}"
    return min((shown_up(spent), shown_amount(limit)), key=Fraction)


def _policy(audit: Audit) -> str:
    if not audit.policies:
        return f"no {'new ' if audit.since is not None else ''}version was written down"
    times = ", ".join(_time(each.at) for each in audit.policies)
    return f"{_number(len(audit.policies), 'version')} written down ({times})"


def _also(audit: Audit) -> str:
    lost = f" · lost charges written off {audit.written_off}×" if audit.written_off else ""
    return (
        f"refused {audit.refused} · top-ups {audit.top_ups} · renewals {audit.renewals} · freezes {audit.stops}{lost}"
    )


def tables(audit: Audit) -> Iterator[Table]:
    """What is told in rows, for a file."""
    yield Table(
        title=_ANALYSTS,
        names=("analyst", "payments", "taken of grants, in ε", "refused"),
        rows=tuple((each.name, str(each.payments), shown_up(each.spent), str(each.refused)) for each in audit.analysts),
    )
    yield Table(
        title=_GRANTS,
        names=("holder", "period", "limit in ε", "spent", "kept"),
        rows=tuple(
            (
                each.holder,
                str(each.period),
                shown_amount(each.account.epsilon),
                _spent_of(each),
                "yes" if each.kept else "NO",
            )
            for each in audit.grants
        ),
    )
    yield Table(
        title="What was decided, and by whom",
        names=("when", "kind", "what", "by"),
        rows=tuple((_time(each.at), each.kind, each.what, each.by) for each in audit.deeds),
    )
    yield _payments(audit)


def _payments(audit: Audit) -> Table:
    texts = any(charge.sql for charge in audit.charges)
    names = ("receipt", "when", "analyst", "paid by", "what", "cost in ε", "of the promise", "of the grant")
    return Table(
        title="Payments",
        names=(*names, "derived again", *(("question",) if texts else ())),
        rows=tuple(
            (
                str(each.receipt),
                _time(each.at),
                each.analyst,
                each.grant,
                ("fresh" if each.upon is None else f"top-up of {each.upon}"),
                shown_amount(each.cost),
                _part(each.of_promise),
                _part(each.of_grant),
                each.verdict,
                *((each.sql,) if texts else ()),
            )
            for each in audit.charges
        ),
    )


def _part(part: Fraction | None) -> str:
    return "not counted" if part is None else shown_amount(part)


def _without_tables(audit: Audit) -> Iterator[tuple[str, list[str]]]:
    """What no table tells in a file."""
    return ((title, told) for title, told in statements(audit) if title not in (_ANALYSTS, _GRANTS))


def _again(audit: Audit, place: str) -> tuple[str, str]:
    """How a reader makes the report again: a sentence, and the command."""
    since = "" if audit.since is None else f" --since {audit.since.astimezone(UTC).replace(tzinfo=None).isoformat()}"
    where = f" {place}" if place else ""
    unknown = "" if place else "; --ledger FILE or --policy FILE says where it is"
    return (
        f"Verify this yourself, with the ledger and its key{unknown}:",
        f"dpsql ledger verify{where} && dpsql audit{where}{since}",
    )


def in_markdown(audit: Audit, *, place: str) -> str:
    """A file of Markdown. Marks that somebody wrote into a name or a reason are shown as they are."""
    lines = [f"# Audit of the ledger {_mark(audit.ledger)}", ""]
    for title, told in _without_tables(audit):
        lines += [f"**{title}**", "", *(f"- {_mark(line)}" for line in told), ""]
    for table in tables(audit):
        if table.rows:
            lines += [f"## {table.title}", "", _row(table.names), _row(["---"] * len(table.names), plain=True)]
            lines += [*(_row(row) for row in table.rows), ""]
    sentence, command = _again(audit, place)
    lines += [_mark(sentence), "", f"    {printable(command)}", ""]
    return "\n".join(lines)


def _row(cells: Sequence[str], *, plain: bool = False) -> str:
    return "| " + " | ".join(cell if plain else _mark(cell) for cell in cells) + " |"


def _mark(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", printable(text).replace("&", "&amp;").replace("<", "&lt;"))


def in_html(audit: Audit, *, place: str) -> str:
    """One page without scripts and without anything from elsewhere."""
    body = [f"<h1>Audit of the ledger {html_text(audit.ledger)}</h1>"]
    for title, told in _without_tables(audit):
        body.append(f"<h3>{html_text(title)}</h3><ul>{''.join(f'<li>{html_text(line)}</li>' for line in told)}</ul>")
    for table in tables(audit):
        if table.rows:
            head = "".join(f"<th>{html_text(name)}</th>" for name in table.names)
            rows = "".join(
                "<tr>" + "".join(f"<td>{html_text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
            )
            body.append(f"<h2>{html_text(table.title)}</h2><table><tr>{head}</tr>{rows}</table>")
    sentence, command = _again(audit, place)
    body.append(f"<p>{html_text(sentence)}</p><pre>{html_text(command)}</pre>")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Audit</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<style>body{font:16px sans-serif;margin:2em}td,th{border:1px solid #999;padding:.3em;text-align:left}"
        f"table{{border-collapse:collapse}}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _number(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
