"""The hand-written floor: contribution bounding in plain DuckDB SQL, without noise and without a ledger."""

from __future__ import annotations

import random

GROUPS, PER_GROUP, ROWS = 5, 2, 10  # groups per person, rows per person and group, rows per person


def queries(table: str) -> dict[str, str]:
    """The six questions of the workload, each with a fresh salt."""
    salt = random.getrandbits(60)
    clamped = "least(greatest(spend, 0), 500)"
    people = f"select count(*) c from {table} group by user_id"
    sums = f"select sum({clamped}) s from {table} group by user_id"
    ages = f"select sum(least(greatest(age, 18), 90) - 54.0) s, count(*)::double c from {table} group by user_id"
    pairs = f"select user_id, city, count(*) c, sum({clamped}) s from {table} group by user_id, city"
    rank = f"row_number() over (partition by user_id order by hash(city, user_id, {salt}))"
    ranked = f"select city, c, s, {rank} rn from ({pairs})"
    cities = f"select user_id, city, hash(city, user_id, {salt}) h from {table} group by user_id, city"
    return {
        "Q1": f"select sum(least(c, {ROWS})) from ({people})",
        "Q2": f"select count(*) from (select user_id from {table} group by user_id)",
        "Q3": f"select sum(least(s, {ROWS * 500})) from ({sums})",
        "Q4": f"select sum(s * least(1, {ROWS} / c)), sum(least(c, {ROWS})) from ({ages})",
        "Q5": f"select city, sum(least(c, {PER_GROUP})), sum(least(s, {PER_GROUP * 500})) from ({ranked}) "
        f"where rn <= {GROUPS} group by city",
        "Q6": f"select city, count(*) from (select unnest(arg_min(city, h, {GROUPS})) city from ({cities}) "
        "group by user_id) group by city",
    }
