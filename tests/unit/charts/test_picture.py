"""Pictures as objects and as files."""

import pytest

from dpsql.charts.picture import Picture, picture_path
from dpsql.errors import BadParameter
from tests.kits.refusals import each_raises, raised

from drawn_charts import BARS

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
