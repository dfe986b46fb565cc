"""The families of attacks on questions, and the refusals that stand for each: their titles begin with a family."""

from collections.abc import Mapping

from fixtures import REFUSED, Fixture

FAMILIES: Mapping[str, tuple[str, ...]] = {
    # query semantics
    "window across persons": (),
    "case confusion": (),
    "alias, derived or NULL owner": ("people__refused", "hidden__refused"),
    "outer join, NULL owner": ("outer__refused", "kept_rows__refused"),
    "join on other than the unit": ("joins__refused", "comma__refused"),
    "IN, EXISTS, scalar subquery across persons": (),
    "inner LIMIT, OFFSET, sample": (),
    "inner GROUP BY without unit": ("public_groups__refused",),
    "set operations, recursion, lateral": (),
    "raw ORDER BY, HAVING, LIMIT": ("rows__refused",),
    "raw-value aggregates": ("aggregates__refused",),
    "analyst redefines the unit": (),
    "CTE and alias shadowing": ("names__refused",),
    "unknown function, UDF, macro": (),
    # numbers
    "reversed or NaN clip bounds": (),
    "partition keys": ("groups__refused",),
    # errors, time, resources
    "cast, divide, overflow, date error": ("types__refused",),
    "error() and friends": (),
    "expensive work on one person": (),
    "cartesian, range, recursion, memory": (),
    # engine escape and parser gaps
    "files, network, extensions": ("engine__refused",),
    "catalogues and statistics": (),
    "statement fallback": (),
    "escape rules differ by dialect": (),
    "NUL, homoglyph, stacked": (),
}
"""Each family with the files that belong to it as a whole."""

HARMLESS: Mapping[str, tuple[str, ...]] = {
    "comments and hints": (
        "SELECT COUNT(*) FROM patients -- ; DROP TABLE patients",
        "SELECT COUNT(*) /* ; */ FROM patients",
        "SELECT /*+ BROADCAST(patients) */ COUNT(*) FROM patients",
        "SELECT COUNT(*) FROM patients /*! UNION SELECT * FROM patients */",
        "SELECT COUNT(*) FROM patients;",
    ),
    "case confusion": ("SELECT COUNT(*) FROM PATIENTS", 'SELECT COUNT(*) FROM "PATIENTS"'),
}
"""Attacks whose safe end is that they change nothing: each is the question SELECT COUNT(*) FROM patients."""


def members(family: str) -> list[Fixture]:
    """The refused questions of a family."""
    return [each for each in REFUSED if each.file in FAMILIES[family] or each.title.startswith(f"{family}: ")]
