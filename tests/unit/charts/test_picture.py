"""Pictures as objects and as files."""

import sys

import pytest

from dpsql.charts.picture import Picture, picture_path
from dpsql.errors import BadParameter, MissingExtra

from drawn_charts import BARS, WORLDS

PICTURE = Picture(chart=BARS)


def test_it_shows_itself():
    assert repr(PICTURE) == str(PICTURE) == PICTURE.text()
    assert PICTURE._repr_svg_() == PICTURE.svg()
    assert "<svg" in PICTURE._repr_html_()
    assert "Basel" in PICTURE.alt


def test_a_terminal_of_any_width_gets_the_picture():
    assert PICTURE.text(columns=5) == PICTURE.text(columns=20)
    assert PICTURE.text(columns=5000) == PICTURE.text(columns=1000)
    for columns in (0, -3, 20.5, "80"):
        with pytest.raises(BadParameter, match="columns="):
            PICTURE.text(columns=columns)


@pytest.mark.parametrize(
    ("name", "begins"), [("a.svg", b"<svg "), ("a.HTML", b"<!DOCTYPE html>"), ("a.txt", b"n by city")]
)
def test_files(tmp_path, name, begins):
    path = PICTURE.save(tmp_path / name)
    assert path.read_bytes().startswith(begins)


def test_png(tmp_path):
    for chart in (BARS, WORLDS):
        content = Picture(chart=chart).save(tmp_path / "a.png").read_bytes()
        assert content.startswith(b"\x89PNG\r\n")
        assert chart.alt.split(".")[0].encode() in content  # its words are in it
    assert "matplotlib.pyplot" not in sys.modules or sys.modules["matplotlib.pyplot"].get_fignums() == []


def test_a_missing_extra_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install matplotlib"):
        PICTURE.save("a.png")


@pytest.mark.parametrize("name", ["a.pdf", "a", "", "a\0.svg", 7, None])
def test_a_name_that_says_no_kind_of_picture(name):
    with pytest.raises(BadParameter, match=r"\.png, \.svg, \.html, \.txt"):
        picture_path(name)


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(BadParameter, match="No such file or directory"):
        PICTURE.save(tmp_path / "nowhere" / "a.svg")
