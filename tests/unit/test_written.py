"""What people write as a number or a moment is read exactly, or refused under its name."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from dpsql.errors import BadParameter
from dpsql.written import count, in_utc, moment, number
from tests.kits.cases import cases
from tests.kits.refusals import raised

NOT_PLAIN = [*(" １٣½∞"), "", "1_0", " 1", "1 ", "1\n", "-1", "+1", "0x1", "1,0", "1/2", "nan", "inf", "1\x00"]


@cases(__file__, "text", "means=")
def test_a_number_is_exact(text, means):
    assert number("--budget", text) == means


@pytest.mark.parametrize("text", [*NOT_PLAIN, ".", "1e", "e1", "1e999", "9" * 31, "0." + "1" * 31])
def test_what_is_no_number_is_refused_under_its_name(text):
    raised(BadParameter, lambda: number("--budget", text), match="--budget cannot be")


@pytest.mark.parametrize("text", [*NOT_PLAIN, "1.0", "1e1", "9" * 19])
def test_what_is_no_whole_number_is_refused_under_its_name(text):
    assert count("-n", "016") == 16
    raised(BadParameter, lambda: count("-n", text), match="-n cannot be")


@cases(__file__, "text", "means=")
def test_a_moment_is_in_utc(text, means):
    found = moment("--since", text)
    assert (found, found.tzinfo) == (means, UTC)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "yesterday",
            "",
            "20261001",
            "2026-W40-4",
            "2026-02-30",
            "2026-10-01T25:00",
            "２０２６-10-01",
            "2026-10-01T18",
        ),
        *("2026-10-01T18:00:00,5", "2026-10-01\n", "0001-01-01T00:00:00+23:00", "9999-12-31T23:00:00-23:00"),
    ],
)
def test_what_is_no_moment_is_refused_under_its_name(text):
    raised(BadParameter, lambda: moment("--since", text), match="--since cannot be")


def test_a_moment_of_python_is_utc_unless_it_has_a_zone():
    assert in_utc("since", datetime(2026, 10, 1)) == datetime(2026, 10, 1, tzinfo=UTC)
    assert in_utc("since", datetime(2026, 10, 1, 2, tzinfo=timezone(timedelta(hours=2)))) == datetime(
        2026, 10, 1, tzinfo=UTC
    )
    for wrong in (date(2026, 10, 1), "2026-10-01", 7, datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))):
        with pytest.raises(BadParameter, match="since cannot be"):
            in_utc("since", wrong)


def test_a_refusal_does_not_repeat_everything():
    assert len(str(raised(BadParameter, lambda: number("--budget", "x" * 10**6)))) < 300
