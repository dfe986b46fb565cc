"""docs/pictures/*.svg, the pictures of the README and of the documents.

`make pictures` writes them all anew; `python tools/pictures.py` compares their words and the places of their marks, as
a test does: other bytes for the same figures are fine.

None of them holds noise that was drawn for it: two worlds and curve are laws and plans of the demo hospital, the
hundred people are arithmetic, the burn-down is an example that is stated here. The terminal is the text in
docs/pictures/terminal.txt: what the demo hospital answered in a test with fixed noise, which writes it anew under
DPSQL_WRITE_PICTURES=1 (tests/system/test_pictures.py). `bars.svg` is drawn from the numbers of that table.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import dpsql
from dpsql.accounting.account import Account
from dpsql.accounting.triple import triple
from dpsql.charts.figure import Bars, Mark
from dpsql.charts.image import COLOURS, settings, svg_of
from dpsql.charts.picture import Picture
from dpsql.privacy.events import Pure
from dpsql.session.margin_curve import Payment, burn_down

PICTURES: Final = Path(__file__).parent.parent / "docs" / "pictures"
TERMINAL: Final = PICTURES / "terminal.txt"

_FLU: Final = "SELECT COUNT(*) AS n FROM patients WHERE flu COST 0.5"
_EXAMPLE: Final = (("2026-03-02", "0.05"), ("2026-03-02", "0.05"), ("2026-03-09", "0.2"), ("2026-03-20", "0.1"))
"""What somebody with a budget of 1 paid, and when: an example."""
_MARK: Final = re.compile(r"(?:bar|interval|value|series|area|band|before|added|others)-\d+")
_PLACE: Final = re.compile(r"-?\d+(?:\.\d+)?")
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
    return Picture(chart=Bars(title="n by city", along="n", marks=tuple(marks.values()), notes=notes))


def _terminal(text: str) -> str:
    """The text in a frame, every letter in its column: drawn as outlines, whatever fonts there are."""
    lines = text.rstrip("\n").split("\n")
    wide, high = 24 + 8.5 * max(map(len, lines)), 24 + 17.0 * len(lines)
    with settings(), rc_context({"svg.fonttype": "path"}):
        page = _page(wide, high)
        page.add_patch(Rectangle((1, 1), wide - 2, high - 2, fill=False, edgecolor="#8a929c"))
        for number, line in enumerate(lines):
            look = {"family": "monospace", "weight": "bold" if line.startswith("ana@") else "normal"}
            page.text(12, 12 + 17 * (number + 0.75), line, size=10.2, **look)
        alt = "A question in plain SQL, its price before it is asked, and the answer: every number with its margin."
        return svg_of(page.figure, title="A session in the terminal", alt=alt)


def _page(wide: float, high: float) -> Any:
    """Axes in pixels, from the upper left corner."""
    figure = Figure(figsize=(wide / 100, high / 100), facecolor="white")
    page = figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(high, 0))
    page.set_axis_off()
    return page


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
    """Five boxes above, four below, in the order of the answer."""
    title = "How a question becomes an answer"
    told = f"{title}: " + ", then ".join(f"{name} ({' '.join(why.split())})" for name, why in _STAGES)
    with settings():
        page = _page(720, 304)
        for number, (name, why) in enumerate(_STAGES):
            row, place = divmod(number, 5)
            x, y = 12 + 142 * place, 44 + 132 * row
            page.add_patch(Rectangle((x, y), 124, 84, facecolor=COLOURS[number >= _FREE], alpha=0.35))
            page.text(x + 62, y + 24, name, ha="center", size=10.8, weight="bold")
            page.text(x + 62, y + 36, why, ha="center", va="top", size=7.9)
            if place < 4 and number < len(_STAGES) - 1:
                page.annotate("", (x + 142, y + 42), (x + 124, y + 42), arrowprops={"arrowstyle": "->"})
        page.plot((642, 642, 6, 6, 11), (128, 152, 152, 218, 218), color="black", linewidth=1.4)
        page.text(12, 26, "reads no row, costs nothing: EXPLAIN, DRY RUN, prices and margins end here", size=8.6)
        page.text(708, 290, "charged before a row is read; only noisy numbers leave", ha="right", size=8.6)
        return svg_of(page.figure, title=title, alt=f"{told}. The first {_FREE} read no row and cost nothing.")


def main(words: list[str]) -> int:
    found = pictures()
    if words == ["--write"]:
        for name, content in found.items():
            (PICTURES / name).write_text(content, encoding="utf-8", newline="\n")
        return 0
    stale = [name for name, content in found.items() if not _is_drawn(PICTURES / name, content)]
    print("\n".join(f"{name}: python tools/pictures.py --write" for name in stale) or "pictures: as they are made")
    return 1 if stale else 0


def _is_drawn(path: Path, content: str) -> bool:
    return path.exists() and same_figures(path.read_text(encoding="utf-8"), content)


def same_figures(one: str, other: str) -> bool:
    """Whether two SVG files show the same words, and the same marks in the same places."""
    (words, marks), (other_words, other_marks) = _figures(one), _figures(other)
    return (
        words == other_words
        and marks.keys() == other_marks.keys()
        and all(
            len(places) == len(other_marks[name])
            and all(abs(a - b) < 0.1 for a, b in zip(places, other_marks[name], strict=True))
            for name, places in marks.items()
        )
    )


def _figures(svg: str) -> tuple[list[str], dict[str, list[float]]]:
    """The words, and the coordinates of each mark by its name. Text that is drawn as outlines is in comments."""
    root = ET.fromstring(svg, ET.XMLParser(target=ET.TreeBuilder(insert_comments=True)))
    words = [text for each in root.iter() if (text := (each.text or "").strip()) and "{" not in text]
    groups = [group for group in root.iter("{http://www.w3.org/2000/svg}g") if _MARK.fullmatch(group.get("id", ""))]
    places = {
        group.get("id", ""): " ".join(each.get(a, "") for each in group.iter() for a in "dxy") for group in groups
    }
    return words, {name: [float(found) for found in _PLACE.findall(text)] for name, text in places.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
