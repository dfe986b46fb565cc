"""What Tab shows fits the screen, whatever there is to show."""

from dpsql.cli.shell.reader import in_columns


def test_words_stand_below_each_other_column_by_column():
    assert in_columns(["a", "b", "c", "d", "e"], columns=6, lines=24) == ["a  d", "b  e", "c"]
    expected = ["conditions", "... and 1 more: type a letter, then Tab"]
    assert in_columns(["conditions", "漢字"], columns=5, lines=2) == expected


def test_no_more_than_a_screen_is_shown_and_the_rest_is_counted():
    words = [f"word{number:03}" for number in range(100)]
    shown = in_columns(words, columns=20, lines=10)
    assert len(shown) == 8
    assert shown[-1] == "... and 86 more: type a letter, then Tab"  # two columns of seven are shown
    assert sorted(" ".join(shown[:-1]).split()) == words[:14]
