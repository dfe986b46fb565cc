"""SVG and PNG: every mark and margin is drawn, the same every time, and no key changes how or whether it is drawn.
Pictures as objects and files; axes with round numbers, also at the ends of what floats hold."""

import math
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import matplotlib as mpl
import pytest

from dpsql.charts import image
from dpsql.charts.figure import Axis, Bars, Lines, Point, Series, Shape, scale_of, tick_text
from dpsql.charts.image import COLOURS, figure_of, in_png, in_svg
from dpsql.charts.picture import Picture, picture_path
from dpsql.errors import BadParameter, MissingExtra
from tests.kits.refusals import each_raises, raised

from drawn_charts import BARS, BURN, CHARTS, DAYS, ICONS, WORLDS, mark

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text")]


def drawn(chart, kind):
    """The artists of a kind, in order."""
    found = figure_of(chart).findobj(lambda artist: (artist.get_gid() or "").startswith(f"{kind}-"))
    return sorted(found, key=lambda artist: int(artist.get_gid().rpartition("-")[2]))


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.title)
def test_it_is_well_formed_and_says_what_it_shows(chart):
    svg = in_svg(chart)
    root = ET.fromstring(svg)
    assert root.find(f"{SVG}title").text == chart.title
    assert chart.alt.split(":")[0] in "".join(root.find(f"{SVG}metadata").itertext())
    assert svg == in_svg(replace(chart))
    assert "<dc:date>" not in svg
    for word in ("<script", "onload", "@import", "<image"):
        assert word not in svg


def test_every_interval_is_drawn_where_it_is():
    intervals = drawn(BARS, "interval")
    assert [line.get_gid() for line in intervals] == ["interval-0", "interval-1", "interval-2"]
    low, high = -600, 2400  # the least and the largest end
    shares = [((n - m - low) / (high - low), (n + m - low) / (high - low)) for n, m in ((2000, 400), (1000, 4))]
    assert [tuple(line.get_xdata()) for line in intervals[:2]] == [pytest.approx(share) for share in shares]
    assert len(drawn(BARS, "value")) == 4  # NULL has no place
    assert {"2000 ± 400", "-200 ± 400 ⚠", "500 ± ? ⚠", "NULL"} <= set(texts(in_svg(BARS)))


def test_no_bar_without_an_interval():
    assert [bar.get_gid() for bar in drawn(BARS, "bar")] == ["bar-0", "bar-1", "bar-2"]
    assert drawn(replace(BARS, dots=True), "bar") == []
    assert len(drawn(replace(BARS, dots=True), "interval")) == 3


def test_doubt_is_hatched_and_not_only_coloured():
    assert [bool(bar.get_hatch()) for bar in drawn(BARS, "bar")] == [False, False, True]
    assert [dot.get_markerfacecolor() == "none" for dot in drawn(BARS, "value")] == [False, False, True, True]
    assert [line.is_dashed() for line in drawn(WORLDS, "series")] == [False, True]
    assert [bool(area.get_hatch()) for area in drawn(WORLDS, "area")] == [False, True]


def test_a_line_has_a_band_and_its_margins():
    assert len(drawn(DAYS, "band")) == 1
    assert len(drawn(DAYS, "interval")) == len(drawn(DAYS, "value")) == 5
    exact = replace(
        DAYS, series=(Series(name="n", points=tuple(Point(at=at, mark=mark(str(at), at, 0)) for at in range(3))),)
    )
    assert drawn(exact, "band") == drawn(exact, "interval") == []
    assert texts(in_svg(exact)).count("2") > 1  # at its point too


def test_steps_fall():
    (line,) = drawn(BURN, "series")
    assert line.get_drawstyle() == "steps-post"
    assert list(line.get_ydata()) == [1, 0.75, 0.5, 0.25, 0]


def test_people_are_counted():
    people = {artist.get_gid(): len(artist.get_offsets()) for artist in figure_of(ICONS).axes[0].collections}
    assert people == {"before-0": 50, "added-0": 0, "others-0": 50, "before-13": 50, "added-13": 12, "others-13": 38}


KEYS = [
    "$\\frac{1}$",
    "$x^2$ and \\$",
    "a\nb\r\0\x1b[31m",
    "\ud800 alone",
    "\ufffe\uffff\U000e0001",
    "東京 ﷽ 🏥 \U0010fffd",
    "e" + "\u0301" * 5000,
    "\u0f71" * 5000,
    "_hidden",
    "<img onerror=x>&amp;]]>-->",
    "x" * 100_000,
    "",
]


def charts_of(key):
    marks = (mark(key, 5, 1), mark("b", 7, 1, True))
    points = tuple(Point(at=at, mark=each) for at, each in enumerate(marks))
    yield Bars(title=key, along=key, marks=marks, notes=(key,))
    across = Axis(name=key, ticks=((0, key), (1, key)))
    series = tuple(Series(name=key, points=points, shape=shape) for shape in (Shape.LINE, Shape.STEPS))
    yield Lines(title=key, across=across, along=Axis(name=key), series=series, notes=(key,))


@pytest.mark.parametrize("key", KEYS, ids=lambda key: ascii(key)[:20])
def test_no_warning_error_or_size_depends_on_a_key(key):  # warnings are errors here
    with mpl.rc_context({"text.parse_math": True}):
        for chart, plain in zip(charts_of(key), charts_of("a"), strict=True):
            ET.fromstring(in_svg(chart))
            assert in_png(chart).startswith(b"\x89PNG\r\n")
            high, usual = (figure_of(each).get_figheight() for each in (chart, plain))
            assert high < usual + 1


def test_a_key_is_shown_as_it_is():
    assert "$x^2$ and \\$" in texts(in_svg(next(charts_of("$x^2$ and \\$"))))
    assert "a\\nb\\x00" in texts(in_svg(next(charts_of("a\nb\0"))))
    assert "東京" in texts(in_svg(next(charts_of("東京"))))
    assert "&lt;img onerror=x&gt;" in in_svg(BARS)


def test_any_number_is_drawn():
    marks = tuple(mark(str(at), value, 1) for at, value in enumerate((1e308, -1e308, 5e-324)))
    assert in_svg(replace(BARS, marks=marks))
    assert in_svg(replace(BARS, marks=()))


def test_more_groups_than_a_png_has_pixels_for_are_drawn_smaller(monkeypatch):
    monkeypatch.setattr(image, "_LARGEST_PNG", 200)
    content = in_png(BARS)
    assert int.from_bytes(content[20:24]) in (199, 200)  # its height


def test_neither_settings_nor_pyplot_are_touched():
    before = dict(mpl.rcParams)
    content = in_png(BARS)
    assert b"n by city" in content  # its words are in it
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or sys.modules["matplotlib.pyplot"].get_fignums() == []


def test_without_matplotlib_it_is_refused_and_a_notebook_shows_the_text(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = Picture(chart=BARS)
    for draw in (picture.svg, lambda: picture.save("a.png"), lambda: picture.save("a.svg")):
        with pytest.raises(MissingExtra, match="matplotlib is not installed") as missing:
            draw()
        assert "pip install '.[plots]'" in missing.value.fix
    assert picture._repr_svg_() is None
    assert repr(picture) == picture.text()


def _luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_stand_out(colour):
    """WCAG 2.2, 1.4.11: 3 to 1 for what is drawn."""
    assert 1.05 / (_luminance(colour) + 0.05) >= 3


def test_the_words_are_read_aloud():
    assert "Basel: 2000 plus or minus 400;" in BARS.alt
    assert "Aarau: -200 plus or minus 400, too noisy to use" in BARS.alt
    assert "50 of 100 people; after, at most 62" in ICONS.alt


# Pictures as objects and as files.


PICTURE = Picture(chart=BARS)


def test_it_shows_itself():
    assert repr(PICTURE) == str(PICTURE) == PICTURE.text()
    assert PICTURE._repr_svg_() == PICTURE.svg()
    assert "Basel" in PICTURE.alt


def test_a_terminal_of_any_width_gets_the_picture():
    assert PICTURE.text(columns=5) == PICTURE.text(columns=20)
    assert PICTURE.text(columns=5000) == PICTURE.text(columns=1000)
    each_raises(BadParameter, lambda columns: PICTURE.text(columns=columns), (0, -3, 20.5, "80"), match="columns=")


@pytest.mark.parametrize(("name", "begins"), [("a.svg", b"<?xml "), ("a.PNG", b"\x89PNG\r\n"), ("a.txt", b"n by city")])
def test_files(tmp_path, name, begins):
    path = PICTURE.save(tmp_path / name)
    assert path.read_bytes().startswith(begins)


@pytest.mark.parametrize("name", ["a.pdf", "a.html", "a", "", "a\0.svg", 7, None])
def test_a_name_that_says_no_kind_of_picture(name):
    raised(BadParameter, lambda: picture_path(name), match=r"\.png, \.svg, \.txt")


def test_a_file_that_cannot_be_written(tmp_path):
    raised(BadParameter, lambda: PICTURE.save(tmp_path / "nowhere" / "a.svg"), match="No such file or directory")


# Axes: round numbers, and numbers at the ends of what floats hold.


def test_bars_start_at_zero_and_dots_do_not():
    assert scale_of([3.0, 8.0], with_zero=True).low == 0
    assert scale_of([3.0, 8.0], with_zero=False).low == 3
    assert scale_of([-3.0, -8.0], with_zero=True).high == 0


def test_round_ticks():
    assert [text for _, text in scale_of([0, 2761.0], with_zero=True).ticks(5)] == ["0", "1\u2009000", "2\u2009000"]
    assert [text for _, text in scale_of([0, 0.3], with_zero=True).ticks(3)] == ["0", "0.1", "0.2", "0.3"]
    assert [text for _, text in scale_of([-20, 20], with_zero=True).ticks(4)] == ["-20", "-10", "0", "10", "20"]


@pytest.mark.parametrize(
    "numbers", [[], [0.0], [5.0], [-5.0], [1e308, -1e308], [5e-324], [1e15, 1e15 + 1], [math.pi] * 3, [1e-300, 2e-300]]
)
@pytest.mark.parametrize("with_zero", [True, False])
def test_every_list_of_numbers_has_a_scale(numbers, with_zero):
    scale = scale_of(numbers, with_zero=with_zero)
    assert scale.low < scale.high
    assert 1 <= len(scale.ticks(4)) <= 12
    assert all(0 <= scale.share(number) <= 1 for number in numbers)


def test_numbers_as_people_read_them():
    assert tick_text(0.1 + 0.2) == "0.3"
    assert tick_text(-0.0) == "0"
    assert tick_text(1234567.0) == "1\u2009234\u2009570"
    assert tick_text(1e-9) == "1e-09"
