"""docs/pictures/*.svg, the pictures of the README and of the documents.

`make pictures` writes them all anew; `python tools/pictures.py` compares them, as a test does.

None of them holds noise that was drawn for it: two worlds and curve are laws and plans of the demo hospital, the
hundred people are arithmetic, the burn-down is an example that is stated here. The terminal is the text in
docs/pictures/terminal.txt: what the demo hospital answered in a test with fixed noise, which writes it anew under
DPSQL_WRITE_PICTURES=1 (tests/system/test_pictures.py). `bars.svg` is drawn from the numbers of that table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Final

import dpsql
from dpsql.accounting.account import Account
from dpsql.accounting.triple import triple
from dpsql.charts.drawing import Align, Area, Drawing, Paint, Part, Stroke, Words, box
from dpsql.charts.figure import Bars, Mark
from dpsql.charts.picture import Picture
from dpsql.charts.svg import drawn_svg
from dpsql.privacy.events import Pure
from dpsql.session.burning import Payment, burn_down

PICTURES: Final = Path(__file__).parent.parent / "docs" / "pictures"
TERMINAL: Final = PICTURES / "terminal.txt"

_FLU: Final = "SELECT COUNT(*) AS n FROM patients WHERE flu COST 0.5"
_EXAMPLE: Final = (("2026-03-02", "0.05"), ("2026-03-02", "0.05"), ("2026-03-09", "0.2"), ("2026-03-20", "0.1"))
"""What somebody with a budget of 1 paid, and when: an example."""
_ROW: Final = re.compile(r"│ (\w+) +│ +([\d ]+) ± +(\d+) ?(⚠?) *│")


def pictures() -> dict[str, str]:
    """Every picture by the name of its file."""
    with dpsql.demo() as ana:
        drawn = {"two-worlds.svg": ana.two_worlds(_FLU).svg(), "margin-curve.svg": ana.curve(_FLU).svg()}
    people = {f"belief-{epsilon}.svg": dpsql.belief(epsilon=Fraction(epsilon)).svg() for epsilon in ("0.5", "1")}
    text = TERMINAL.read_text(encoding="utf-8")
    return (
        drawn
        | people
        | {
            "burn-down.svg": _burn_down().svg(),
            "terminal.svg": _terminal(text),
            "bars.svg": _bars(text).svg(),
            "pipeline.svg": _pipeline(),
        }
    )


def _burn_down() -> Picture:
    account = Account.opened(epsilon=1, delta=0, delta_prime=0)
    payments = [
        Payment(at=datetime.fromisoformat(day).replace(tzinfo=UTC), spent=triple(Pure(epsilon=Fraction(cost))))
        for day, cost in _EXAMPLE
    ]
    for payment in payments:
        account = account.charged(Pure(epsilon=payment.spent.epsilon or Fraction(0)))
    return burn_down(account, payments, whose="ana, an example")


def _bars(text: str) -> Picture:
    """The numbers of the table in the terminal."""
    marks = {}
    for city, digits, margin, doubt in _ROW.findall(text):
        value, size = int(digits.replace(" ", "")), int(margin)
        shown = f"{digits.strip()} ± {margin}"
        marks[city] = Mark(
            label=city, value=value, low=value - size, high=value + size, text=shown, doubtful=bool(doubt)
        )
    notes = (
        "± is 95 %: how far off the noise may make a number",
        "⚠ the noise may be all there is: do not use these cells",
    )
    return Picture(chart=Bars(title="n by city", across="city", along="n", marks=tuple(marks.values()), notes=notes))


def _terminal(text: str) -> str:
    """The text in a frame, every letter in its column."""
    lines = text.rstrip("\n").split("\n")
    size, step = 14.0, 17.0
    wide, high = 24 + 0.6 * size * max(map(len, lines)), 24 + step * len(lines)
    frame = Stroke(through=(*box(1, 1, wide - 2, high - 2), (1, 1)), paint=Paint.FAINT, size=1.5)
    words = [
        Words(at=(12, 12 + step * (number + 0.75)), text=line, size=size, fixed=True, bold=line.startswith("ana@"))
        for number, line in enumerate(lines)
        if line
    ]
    told = "A question in plain SQL, its price before it is asked, and the answer: every number with its margin."
    title = "A session in the terminal"
    return drawn_svg(Drawing(width=wide, height=high, parts=(frame, *words)), title=title, words=told, alone=True)


_STAGES: Final = (
    ("question", "plain SQL"),
    ("check", "refused with a fix\nwhere unsafe"),
    ("bound", "how far one\nperson moves it"),
    ("price", "how much noise,\nat which cost"),
    ("charge", "in the ledger,\nnever refunded"),
    ("run", "the database\nadds up"),
    ("noise", "drawn exactly,\nnever shown"),
    ("store", "asked again,\nthe same, free"),
    ("answer", "numbers with ±"),
)
_FREE: Final = 4
"""So many stages read no row and cost nothing."""


def _pipeline() -> str:
    parts = list(_stages())
    title = "How a question becomes an answer"
    told = f"{title}: " + ", then ".join(f"{name} ({' '.join(why.split())})" for name, why in _STAGES)
    words = f"{told}. The first {_FREE} read no row and cost nothing."
    return drawn_svg(Drawing(width=720, height=304, parts=tuple(parts)), title=title, words=words, alone=True)


def _stages() -> Iterator[Part]:
    """Five boxes above, four below, in the order of the answer."""
    for number, (name, why) in enumerate(_STAGES):
        row, place = divmod(number, 5)
        x, y = 12 + 142 * place, 44 + 132 * row
        free = number < _FREE
        yield Area(outline=box(x, y, 124, 84), paint=Paint.FIRST if free else Paint.SECOND, pale=True)
        yield Words(at=(x + 62, y + 24), text=name, align=Align.MIDDLE, size=15, bold=True)
        for line, text in enumerate(why.split("\n")):
            yield Words(at=(x + 62, y + 46 + 15 * line), text=text, align=Align.MIDDLE, size=11)
        if place < 4 and number < len(_STAGES) - 1:
            yield from _arrow(x + 124, y + 42)
    yield Stroke(through=((642, 128), (642, 152), (6, 152), (6, 218), (11, 218)))
    yield Words(at=(12, 26), text="reads no row, costs nothing: EXPLAIN, DRY RUN, prices and margins end here", size=12)
    yield Words(at=(708, 290), text="charged before a row is read; only noisy numbers leave", align=Align.END, size=12)


def _arrow(x: float, y: float) -> Iterator[Part]:
    yield Stroke(through=((x + 2, y), (x + 16, y)))
    yield Stroke(through=((x + 11, y - 5), (x + 16, y), (x + 11, y + 5)))


def main(words: list[str]) -> int:
    found = pictures()
    if words == ["--write"]:
        for name, content in found.items():
            (PICTURES / name).write_text(content, encoding="utf-8", newline="\n")
        return 0
    stale = [name for name, content in found.items() if not _is_written(PICTURES / name, content)]
    print("\n".join(f"{name}: python tools/pictures.py --write" for name in stale) or "pictures: as they are made")
    return 1 if stale else 0


def _is_written(path: Path, content: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == content


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
