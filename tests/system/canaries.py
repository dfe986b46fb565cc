"""Twenty secret values in the rows of a hospital, and every way in which they might be written somewhere."""

import base64
import struct
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

from hospital import Hospital, well_behaved

TEXTS = (
    "Quillbrandt-Zephyrine",
    "Oswaldina Kerrtwhistle",
    "morbus xanthoquistii",
    "febris wolkenbruckiana",
    "Vlissingenbrok",
    "Ummendorf-Querfurt",
    "station-qx7731-lima",
    "'; DROP kanarienvogel --",
)
NUMBERS = (7351946028173, 6620417735519, 5503182746617, 4318877215503, 1876543219)
FRACTIONS = (83.47192653, 1234.567891, 57.29384756, Decimal("48213.97"))
DAYS = (date(1907, 3, 19), date(1907, 11, 27), datetime(1908, 2, 5, 4, 17, 23))
CANARIES = (*TEXTS, *NUMBERS, *FRACTIONS, *DAYS)


def with_canaries() -> Hospital:
    """Two people with a handful of rows: far too few for any group of theirs to be shown."""
    one, other, bed, points, age = NUMBERS
    weight, charge, bill, fee = FRACTIONS
    born, day, moment = DAYS
    tables = well_behaved().tables
    extra: dict[str, list[tuple[object, ...]]] = {
        "patients": [
            (one, TEXTS[0], age, TEXTS[4], True, weight, born),
            (other, TEXTS[1], 40, TEXTS[5], False, weight, born),
        ],
        "visits": [
            (one, 1, charge, points, TEXTS[2], day, moment),
            (other, 2, charge, points, TEXTS[3], day, moment),
            (other, 2, charge, points, TEXTS[7], day, moment),
        ],
        "beds": [(bed, one)],
        "stays": [(bed, 3, bill, fee)],
        "readings": [(TEXTS[6], charge, age)],
    }
    return Hospital({name: [*rows, *extra.get(name, [])] for name, rows in tables.items()})


def spellings(canary: object) -> Iterator[str]:
    """How the value might be written for people."""
    match canary:
        case str():
            yield from (canary, canary.upper(), canary.lower(), canary.replace("'", "''"))
        case int():
            yield str(canary)
            yield from (f"{canary:,}".replace(",", mark) for mark in (",", "_", ".", "'", " ", "\u00a0", "\u202f"))
            yield from (f"{canary:x}", f"{canary:X}")
        case float() | Decimal():
            yield from (str(canary), str(canary)[:-1], str(canary).replace(".", ","))
            whole, _, places = str(canary).partition(".")
            if len(whole) > 3:
                yield from (f"{int(whole):,}".replace(",", mark) + f".{places[:2]}" for mark in (",", "\u202f", " "))
        case datetime():
            yield from (canary.isoformat(), str(canary), repr(canary))
        case date():
            yield from (canary.isoformat(), repr(canary), canary.strftime("%d.%m.%Y"), canary.strftime("%m/%d/%Y"))
            yield from (canary.strftime("%Y%m%d"), canary.strftime("%d %b %Y"))


def packed(canary: object) -> Iterator[bytes]:
    """How the value might stand in memory, where that is long enough to be no accident."""
    if isinstance(canary, int) and canary >= 2**40:
        yield from (canary.to_bytes(8, "little"), canary.to_bytes(8, "big"))
    elif isinstance(canary, float):
        yield from (struct.pack("<d", canary), struct.pack(">d", canary))
    elif isinstance(canary, datetime):
        moment = int(canary.replace(tzinfo=UTC).timestamp()) * 1_000_000
        yield from (struct.pack("<q", moment), struct.pack(">q", moment))


def written_ways(canary: object) -> Iterator[bytes]:
    """Every string of bytes that gives the value away."""
    yield from packed(canary)
    for text in spellings(canary):
        plain = text.encode()
        yield from (plain, text.encode("utf-16-le"), text.encode("utf-16-be"), plain.hex().encode())
        yield from (plain.hex().upper().encode(), text.encode("utf-16-le").hex().encode())
        for shift in range(3):  # inside a longer text, the beginning and the end look different
            coded = base64.b64encode(b"\0" * shift + plain)
            yield coded[4 if shift else 0 : len(coded) - 4]


WAYS = {way: canary for canary in CANARIES for way in written_ways(canary)}


def hits(folder: Path) -> list[tuple[str, object]]:
    """The files below a folder that hold a canary, and which."""
    found = []
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            content = file.read_bytes()
            names = [str(file.relative_to(folder)), *(repr(WAYS[way]) for way in WAYS if way in content)]
            found += [(names[0], name) for name in dict.fromkeys(names[1:])]
    return found
