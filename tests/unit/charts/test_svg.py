"""SVG: well-formed, the same every time, harmless, and to be understood without seeing it or its colours."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from dpsql.charts.drawing import Paint
from dpsql.charts.html import in_html, in_html_part
from dpsql.charts.svg import _COLOURS, in_svg

from drawn_charts import BARS, CHARTS, DAYS, ICONS, WORLDS

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.title)
def test_it_is_well_formed_and_says_what_it_shows(chart):
    root = ET.fromstring(in_svg(chart))
    names = root.attrib["aria-labelledby"].split()
    told = {element.attrib["id"]: element.text for element in root if "id" in element.attrib}
    assert root.attrib["role"] == "img"
    assert told[names[0]] == chart.title
    assert told[names[1]].startswith(chart.title)
    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "title", "desc", "style", "defs", "pattern", "path", "circle", "text")
    }


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.title)
def test_nothing_is_fetched_and_nothing_runs(chart):
    page = in_html(chart)
    for word in ("<script", "onload", "@import", "src=", "href=", "<img"):
        assert word not in page
    assert page.count("://") == 1  # the name of the language SVG


def test_it_is_the_same_every_time_and_its_marks_are_its_own():
    assert in_svg(BARS) == in_svg(replace(BARS))
    marks = [ET.fromstring(in_svg(chart)).attrib["aria-labelledby"] for chart in CHARTS]
    assert len(set(marks)) == len(CHARTS)


def test_doubt_is_hatched_and_not_only_coloured():
    doubtful, sure = (replace(BARS, marks=(replace(BARS.marks[0], doubtful=doubt),)) for doubt in (True, False))
    assert in_svg(doubtful).count("url(#") == 1
    assert "url(#" not in in_svg(sure)
    assert "⚠" in in_svg(doubtful)
    assert "stroke-dasharray" in in_svg(WORLDS)


def test_every_drawn_bar_has_an_interval():
    root = ET.fromstring(in_svg(replace(BARS, marks=BARS.marks[3:])))
    filled = [path for path in root.iter(f"{SVG}path") if path.attrib.get("fill", "none") not in ("none", None)]
    assert filled == []


def test_a_line_has_a_band():
    assert 'fill-opacity="0.35"' in in_svg(DAYS)


def test_on_a_page_it_takes_the_colour_of_the_text():
    assert "<style>" not in in_svg(BARS, alone=False)
    assert "prefers-color-scheme:dark" in in_svg(BARS)


def _luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("paint", [Paint.FIRST, Paint.SECOND, Paint.FAINT])
@pytest.mark.parametrize("page", ["#ffffff", "#111111"])
def test_colours_stand_out_from_light_and_dark_pages(paint, page):
    """WCAG 2.2, 1.4.11: 3 to 1 for what is drawn."""
    bright, dark = sorted((_luminance(_COLOURS[paint]), _luminance(page)), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= 3


def test_the_table_has_the_numbers_of_the_chart():
    page = in_html_part(BARS)
    assert "<summary>View as table</summary>" in page
    assert '<tr><th scope="row">Basel</th><td>2000 ± 400</td></tr>' in page
    assert "&lt;img onerror=x&gt;" in page


def test_the_words_are_read_aloud():
    assert "Basel: 2000 plus or minus 400;" in BARS.alt
    assert "Aarau: -200 plus or minus 400, too noisy to use" in BARS.alt
    assert "50 of 100 people; after, at most 62" in ICONS.alt
