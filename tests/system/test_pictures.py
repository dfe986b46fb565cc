"""The pictures of the documents are what the tool makes of what the demo says, and each says what it shows."""

import io
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from dpsql.charts.picture import Picture
from dpsql.cli.shell.loop import answer
from dpsql.cli.shell.reader import LineReader
from dpsql.cli.shell.screen import Screen
from dpsql.cli.shell.state import Shell
from dpsql.testing.fixed import fixed_noise
from tests.kits.scripts import script

ROOT = Path(__file__).parent.parent.parent
PICTURES = ROOT / "docs" / "pictures"
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
QUESTION = "SELECT city, COUNT(*) AS n FROM patients WHERE flu AND age >= 75 GROUP BY city"


@pytest.fixture(scope="module")
def tool():
    return script("pictures")


AGAIN = "make pictures"
TYPED = (f"\\cost {QUESTION};", f"{QUESTION};", "\\plot", f"\\cost {QUESTION};")


def session(ana) -> str:
    """What the shell shows: a price, an answer, its picture, and the price of the same again."""
    seen = io.StringIO()
    screen = Screen(
        out=seen, err=seen, ascii=False, paged=False, size=lambda: os.terminal_size((100, 40)), key=lambda words: ""
    )
    shell = Shell(asker=ana, screen=screen, reader=LineReader(), source="hospital")
    for text in TYPED:
        seen.write(f"{shell.prompt}{text}\n")
        answer(shell, text)
        seen.write("\n")
    return seen.getvalue().replace("\u2009", " ")


def test_the_terminal_shows_what_the_demo_says_with_the_noise_of_tests():
    with fixed_noise(seed=4, i_know_this_is_not_private=True) as ana:
        told = session(ana)
    if os.environ.get("DPSQL_WRITE_PICTURES"):
        (PICTURES / "terminal.txt").write_text(told, encoding="utf-8", newline="\n")
    assert (PICTURES / "terminal.txt").read_text(encoding="utf-8") == told, AGAIN


def test_the_pictures_are_what_the_tool_makes(tool):
    made = tool.pictures()
    assert {path.name for path in PICTURES.glob("*.svg")} == set(made)
    stored = {name: (PICTURES / name).read_text(encoding="utf-8") for name in made}
    assert [name for name, content in made.items() if not tool.same_figures(stored[name], content)] == [], AGAIN


def test_another_number_is_another_figure(tool):
    chart = tool._burn_down().chart
    (series,) = chart.series
    moved = replace(series.points[1], mark=replace(series.points[1].mark, value=0.9))
    other = replace(chart, series=(replace(series, points=(series.points[0], moved, *series.points[2:])),))
    svg = Picture(chart=chart).svg()
    assert tool.same_figures(svg, svg.replace("stroke: #3a7fc1", "stroke: #3a7fc2"))
    assert not tool.same_figures(svg, Picture(chart=other).svg())
    assert not tool.same_figures(svg, Picture(chart=replace(chart, title="Budget")).svg())


def test_the_bars_are_those_of_the_terminal(tool):
    text = (PICTURES / "terminal.txt").read_text(encoding="utf-8")
    marks = tool._bars(text).chart.marks
    assert [mark.label for mark in marks] == ["Aarau", "Basel", "Bern", "Geneva"]
    assert all(f"± {round(mark.high - mark.value)}" in text for mark in marks)
    page = (ROOT / "docs" / "guide" / "charts.md").read_text(encoding="utf-8")
    assert tool._bars(text).text() in page


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_has_a_title_and_words_for_who_does_not_see_it(path):
    root = ET.parse(path).getroot()
    title = root.find("{http://www.w3.org/2000/svg}title").text
    (words,) = (each.text for each in root.iter("{http://purl.org/dc/elements/1.1/}description"))
    assert title
    assert len(words) > len(title)
    assert "<script" not in path.read_text(encoding="utf-8")


def test_every_picture_on_a_page_is_described():
    shown = [
        match for page in PAGES for match in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert all(len(words) > 15 for words, _ in shown), shown
