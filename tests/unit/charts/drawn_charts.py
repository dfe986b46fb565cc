"""One chart of each kind, with the trouble that data make: escapes, markup, no interval, no number."""

from dpsql.charts.figure import Axis, Bars, Icons, Lines, Mark, Point, Series, Shape

EVIL = "<img onerror=x>\x1b[31m$\\frac$\ufffe"


def mark(label, value, margin, doubtful=False):
    if margin is None:
        return Mark(label=label, value=value, low=None, high=None, text=f"{value} ± ?", doubtful=True)
    text = f"{value} ± {margin}" if margin else str(value)
    return Mark(label=label, value=value, low=value - margin, high=value + margin, text=text, doubtful=doubtful)


NOTHING = Mark(label="nothing", value=None, low=None, high=None, text="NULL")
BARS = Bars(
    title="n by city",
    along="n",
    marks=(
        mark("Basel", 2000, 400),
        mark("Bern", 1000, 4),
        mark("Aarau", -200, 400, True),
        mark(EVIL, 500, None),
        NOTHING,
    ),
    notes=("± is 95 %",),
)
DAYS = Lines(
    title="n by day",
    across=Axis(name="day"),
    along=Axis(name="n"),
    series=(
        Series(
            name="n", points=tuple(Point(at=at, mark=mark(f"day {at}", 10 * at - 5, 8, at == 0)) for at in range(5))
        ),
    ),
)


def _area(centre):
    return tuple(Point(at=at, mark=mark(str(at), max(0.0, 1 - abs(at - centre) / 8), 0)) for at in range(-10, 11))


WORLDS = Lines(
    title="Two worlds",
    across=Axis(name="told"),
    along=Axis(name="how likely"),
    series=(
        Series(name="with", points=_area(0), shape=Shape.AREA),
        Series(name="without", points=_area(-4), shape=Shape.AREA),
    ),
)
BURN = Lines(
    title="Budget",
    across=Axis(name="payments"),
    along=Axis(name="left"),
    series=(
        Series(
            name="left", shape=Shape.STEPS, points=tuple(Point(at=at, mark=mark(str(at), 4 - at, 0)) for at in range(5))
        ),
    ),
)
ICONS = Icons(title="ε = 0.5", before=50, after=62, notes=("at worst",))
CHARTS = (BARS, DAYS, WORLDS, BURN, ICONS)
