"""Whole statements that `parse` accepts are read as DuckDB reads them: every fixture, random ones, and broken ones.

`make test` reads 1 500 random statements and as many broken ones, `make audit` 20 000 of each (DPSQL_READINGS). A
second witness, sqlglot, reads the text and writes it down again; DuckDB reads that.
"""

import os
import random
from functools import cache

import pytest
import sqlglot

import dpsql
from dpsql.errors import BadName, NotSupported, NotUnderstood
from dpsql.sql.parse import parse
from tests.kits.rows import read_texts
from tests.oracles.readings import duckdb_query, duckdb_tree, our_query, plain_sql

from fixtures import ALL
from hospital import opened, well_behaved
from sentences import mutated, sentence

STATEMENTS = int(os.environ.get("DPSQL_READINGS", "1500"))
CHUNKS = 10
NOT_PLAIN = ("DIFFERENTIAL_PRIVACY", "COLUMNS(")
"""A clause of GoogleSQL, and a function that nothing answers and DuckDB expands."""
SPELLINGS = {"dayofyear": "doy", "dayofweek": "dow"}
"""sqlglot writes the one for the other."""


@cache
def analyst():
    return opened(well_behaved())


def readings(sql: str, plain: str):
    """Ours and DuckDB's of the same text in plain SQL; None where DuckDB cannot read it, which is refused later on."""
    tree = duckdb_tree(plain)
    if tree is not None:
        return our_query(parse(sql, dialect="duckdb").query), duckdb_query(tree)
    with pytest.raises(dpsql.DpsqlError):
        analyst().query(sql)
    return None


def comparable(sql: str) -> bool:
    """Whether `parse` accepts the text, and nothing is in it that only we read."""
    try:
        parsed = parse(sql, dialect="duckdb")
    except dpsql.DpsqlError:
        return False
    return plain_sql(parsed) and not any(word in sql.upper() for word in NOT_PLAIN)


def without_private(sql: str) -> str:
    return sql.replace("PRIVATE (", "(")


def respelled(tree):
    if not isinstance(tree, tuple):
        return SPELLINGS.get(tree, tree) if isinstance(tree, str) else tree
    if tree[:1] == ("log",) and len(tree) == 3 and tree[1] in (("value", 2), ("value", 10)):
        return (f"log{tree[1][1]}", respelled(tree[2]))
    return tuple(map(respelled, tree))


@cache
def sound(chunk: int) -> tuple[str, ...]:
    catalog = analyst().place.catalog
    drawn = [sentence(catalog, f"read.{place}").text for place in range(chunk, STATEMENTS, CHUNKS)]
    return tuple(filter(comparable, [*(fixture.sql for fixture in ALL[chunk::CHUNKS]), *drawn]))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_duckdb_reads_the_same(chunk):
    assert len(sound(chunk)) > 0.6 * (STATEMENTS + len(ALL)) / CHUNKS
    for sql in sound(chunk):
        both = readings(sql, without_private(sql))
        assert both is None or both[0] == both[1], sql


@pytest.mark.parametrize("sql", read_texts(__file__, "read once otherwise"))
def test_what_was_read_otherwise_is_read_as_duckdb_reads_it(sql):
    ours, theirs = readings(sql, sql)
    assert ours == theirs


@pytest.mark.parametrize("sql", read_texts(__file__, "refused"))
def test_what_duckdb_refuses_or_takes_for_something_else_is_refused(sql):
    with pytest.raises((NotUnderstood, NotSupported, BadName)):
        parse(sql.replace("\\u2028", "\u2028"), dialect="duckdb")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_broken_statements_are_refused_or_read_as_duckdb_reads_them(chunk):
    """Tokens dropped, doubled, swapped or replaced."""
    chance = random.Random(f"broken.{chunk}")
    for _ in range(STATEMENTS // CHUNKS):
        sql = mutated(chance.choice(sound(chunk)), chance)
        both = readings(sql, without_private(sql)) if comparable(sql) else None
        assert both is None or both[0] == both[1], sql


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_sqlglot_reads_the_same(chunk):
    """Of what is answered; it takes other functions for others, or refuses them."""
    compared = 0
    for sql in sound(chunk)[::5]:
        try:
            analyst().query(sql)
        except dpsql.DpsqlError:
            continue
        written = sqlglot.parse_one(without_private(sql), dialect="duckdb").sql("duckdb")
        ours, theirs = map(respelled, readings(sql, written))
        assert ours == theirs, sql
        compared += 1
    assert compared > 0.3 * len(sound(chunk)) / 5
