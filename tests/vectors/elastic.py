"""Readings of the golden vectors on elastic sensitivity: the library and, where tables are small, brute force."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations_with_replacement
from typing import Any, Final

from dpsql.errors import BadParameter
from dpsql.mechanisms.smooth_noise import smooth_beta, smooth_laplace_scale
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.elastic import (
    Attribute,
    Column,
    Count,
    Join,
    Query,
    SemiJoin,
    Table,
    elastic_sensitivity,
    frequency_at,
    largest_frequency,
    scan_limit,
    smooth_bound,
    smooth_elastic,
    stability,
)
from tests.vectors.elastic_query import read_query
from tests.vectors.errata_elastic import (
    beta_without_delta,
    scale_factor_without_two,
    smoothing_capped_at_rows,
    stability_of_a_unique_key_join,
)
from tests.vectors.verdicts import reading
from tests.vectors.words import relation

NAMED: Final = {
    "count_filter": "SELECT COUNT(*) FROM t WHERE p",
    "count_groupby": "SELECT g,COUNT(*) FROM t GROUP BY g",
    "join": "SELECT COUNT(*) FROM orders JOIN recs USING(cid)",
    "join_groupby": "SELECT g,COUNT(*) FROM orders JOIN recs USING(cid) GROUP BY g",
    "self_join": "SELECT COUNT(*) FROM orders o1 JOIN orders o2 ON o1.cid=o2.cid",
    "triangle_count": "edges e1 JOIN edges e2 ON e1.dst=e2.src JOIN edges e3 ON e2.dst=e3.src",
    "self_join_through_other_table": "(t t1 JOIN s ON t1.u=s.w) JOIN t t2 ON s.z=t2.v",
}
"""Questions that other vectors refer to: "same as triangle_count but …"."""

Keys = Sequence[Any]


@reading("elastic_sensitivity")
def question(
    query: str,
    tables: Mapping[str, Mapping[str, int]],
    epsilon: float,
    delta: float,
    k: Sequence[int],
    max_k: str | int = "unbounded",
    neighbours: str = "change_one",
    public: Sequence[str] = (),
) -> dict[str, Any]:
    same = re.match(r"same as (\w+)", query)
    asked = read_query(NAMED.get(same[1], query) if same else query, tables, public=public)
    among = relation(neighbours)
    beta = smooth_beta(epsilon=epsilon, delta=delta, dimensions=1)
    at = _elastic_at(asked, among)
    if isinstance(max_k, int):
        size, distance = smoothing_capped_at_rows(at, beta=beta, rows=max_k)
    else:
        smooth = smooth_elastic(asked, beta=beta, neighbours=among)
        size, distance = float(smooth.bound), smooth.distance
    return {
        "S_hat_k": [at(distance) for distance in k],
        "beta": beta,
        "smooth_S": size,
        "argmax_k": distance,
        "laplace_scale": float(smooth_laplace_scale(bound=size, epsilon=epsilon)),
    }


@reading("elastic_sensitivity")
def polynomial(S_hat: str, beta: float) -> dict[str, Any]:
    body = ast.parse(S_hat.replace("^", "**"), mode="eval").body

    def at(k: int) -> int:
        return _value(body, k)

    smooth = smooth_bound(at, beta=beta, limit=scan_limit(joins=_degree(body), beta=beta))
    return {"smooth_S": float(smooth.bound), "argmax_k": smooth.distance}


@reading("elastic_sensitivity")
def published_parameters(S_hat_0: int, epsilon: float, delta: float) -> dict[str, Any]:
    return {
        "correct_beta": smooth_beta(epsilon=epsilon, delta=delta, dimensions=1),
        "uber_beta_wrong": beta_without_delta(epsilon=epsilon),
        "correct_scale_factor": float(smooth_laplace_scale(bound=S_hat_0, epsilon=epsilon) / S_hat_0),
        "uber_scale_factor_wrong": scale_factor_without_two(epsilon=epsilon),
    }


@reading("elastic_sensitivity")
def misprinted_smoothing(S_hat_k: Sequence[int], beta: float) -> dict[str, Any]:
    rising = list(accumulate(S_hat_k, max))  # has the same smoothed maximum, and never falls
    smooth = smooth_bound(rising.__getitem__, beta=beta, limit=len(rising) - 1)
    return {"correct": float(smooth.bound)}


@reading("elastic_sensitivity")
def brute_force_join(
    r_keys: Keys, s_keys: Keys, domain: Keys, query: str, neighbours: str, beta: float
) -> dict[str, Any]:
    rows = len(r_keys) + len(s_keys)
    at = _elastic_at(_two_tables(r_keys, s_keys), relation(neighbours))
    true = _local_within((Counter(r_keys), Counter(s_keys)), domain, _joined, distances=rows)
    elastic = [at(k) for k in range(rows + 1)]
    return {
        "count": _joined((Counter(r_keys), Counter(s_keys))),
        "local_sensitivity": true[0],
        "A_k": true,
        "elastic_S_hat_k": elastic,
        "true_smooth": max(math.exp(-beta * k) * size for k, size in enumerate(true)),
        "elastic_smooth_capped_n": smoothing_capped_at_rows(at, beta=beta, rows=rows)[0],
    }


@reading("elastic_sensitivity")
def brute_force_self_join(keys: Keys, domain: Keys, query: str, neighbours: str) -> dict[str, Any]:
    copies = [_table("t", largest_frequency(keys), alias=alias) for alias in ("t1", "t2")]
    asked = Count(Join(copies[0], copies[1], ((Attribute("t1", "key"), Attribute("t2", "key")),)))
    at = _elastic_at(asked, relation(neighbours))
    true = _local_within((Counter(keys),), domain, _paired, distances=len(keys))
    return {
        "count": _paired((Counter(keys),)),
        "local_sensitivity": true[0],
        "A_k": true,
        "elastic_S_hat_k": [at(k) for k in range(len(keys) + 1)],
    }


@reading("elastic_sensitivity")
def frequency_of_join(tables: Mapping[str, Mapping[str, int]], join: str, k: Sequence[int]) -> dict[str, Any]:
    (left, left_key), (right, right_key) = (side.strip().split(".") for side in join.split("="))
    sides = {
        name: Table(name=name, columns=tuple(Column(name=c, max_frequency=mf) for c, mf in columns.items()))
        for name, columns in tables.items()
    }
    joined = Join(sides[left], sides[right], ((Attribute(left, left_key), Attribute(right, right_key)),))
    return {
        f"mf_{name}_{column}": [
            frequency_at(joined, Attribute(name, column), distance=distance, neighbours=Neighbours.CHANGE_ONE)
            for distance in k
        ]
        for name in (left, right)
        for column in tables[name]
    }


@reading("elastic_sensitivity")
def unique_key(orders_cid: Keys, customers_cid: Keys, query: str, neighbours: str) -> dict[str, Any]:
    orders = _table("orders", largest_frequency(orders_cid))
    customers = Table(name="customers", columns=(Column(name="key", unique=True, enforced=True),))
    join = Join(orders, customers, ((Attribute("orders", "key"), Attribute("customers", "key")),))
    domain = [*orders_cid, *customers_cid, object()]  # and a value that occurs nowhere
    unique = (Counter(orders_cid), Counter(customers_cid))
    moves = [
        abs(_joined(other) - _joined(unique))
        for other in _neighbours(unique, domain)
        if max(other[1].values(), default=0) <= 1
    ]
    return {
        "local_sensitivity": max(moves),
        "elastic_with_mf_unique_1": stability(join, distance=0, neighbours=relation(neighbours)),
        "uber_uniqueness_optimisation_unsafe": stability_of_a_unique_key_join(),
    }


@reading("elastic_sensitivity")
def not_in(partsupp_suppkey: Keys, supplier: Sequence[Sequence[int]], query: str, neighbours: str) -> dict[str, Any]:
    def count(suppliers: Sequence[tuple[Any, int]]) -> int:
        banned = {key for key, complaint in suppliers if complaint}
        return sum(key not in banned for key in partsupp_suppkey)

    rows = [(key, complaint) for key, complaint in supplier]
    keys = {*partsupp_suppkey, *(key for key, _ in rows)}
    changed = [
        [*rows[:place], (key, complaint), *rows[place + 1 :]]
        for place in range(len(rows))
        for key in keys
        for complaint in (0, 1)
    ]
    outer, inner = _table("partsupp", largest_frequency(partsupp_suppkey)), _table("supplier", 1)
    anti = SemiJoin(outer, inner, (Attribute("partsupp", "key"), Attribute("supplier", "key")), negated=True)
    local = max(abs(count(other) - count(rows)) for other in changed)
    if local > stability(anti, distance=0, neighbours=Neighbours.CHANGE_ONE):
        raise BadParameter(
            "the rule for NOT IN is below the truth", why="brute force found more", fix="correct the rule"
        )
    return {"count": count(rows), "local_sensitivity": local}


@reading("elastic_sensitivity")
def user_level(
    r_keys: Keys, s_keys: Keys, user_owns: Mapping[str, Sequence[int]], query: str, neighbours: str
) -> dict[str, Any]:
    with_user = Counter(r_keys), Counter(s_keys)
    left, right = (
        Counter(key for place, key in enumerate(keys) if place not in user_owns.get(name, ()))
        for name, keys in (("r", r_keys), ("s", s_keys))
    )
    before, after = _joined(with_user), _joined((left, right))
    rule = _elastic_at(_two_tables(r_keys, s_keys), Neighbours.ADD_REMOVE)(0)
    return {
        "count": before,
        "count_without_user": after,
        "user_level_change": before - after,
        "row_level_max_rule_value": rule,
    }


def _elastic_at(query: Query, neighbours: Neighbours) -> Callable[[int], int]:
    return lambda distance: elastic_sensitivity(query, distance=distance, neighbours=neighbours)


def _table(name: str, frequency: int, *, alias: str | None = None) -> Table:
    return Table(name=name, alias=alias, columns=(Column(name="key", max_frequency=frequency),))


def _two_tables(r_keys: Keys, s_keys: Keys) -> Count:
    r, s = _table("r", largest_frequency(r_keys)), _table("s", largest_frequency(s_keys))
    return Count(Join(r, s, ((Attribute("r", "key"), Attribute("s", "key")),)))


Database = tuple[Counter[Any], ...]


def _joined(database: Database) -> int:
    left, right = database
    return sum(count * right[key] for key, count in left.items())


def _paired(database: Database) -> int:
    return sum(count * count for count in database[0].values())


def _neighbours(database: Database, domain: Keys) -> Iterator[Database]:
    """Every database in which one row of one table has another key."""
    for place, table in enumerate(database):
        for old in list(table):
            for new in domain:
                changed = table - Counter([old]) + Counter([new])
                yield (*database[:place], changed, *database[place + 1 :])


def _local_within(database: Database, domain: Keys, count: Callable[[Database], int], *, distances: int) -> list[int]:
    """The largest local sensitivity among all databases within 0, 1, … changed rows, by looking at all of them."""
    found = [0] * (distances + 1)
    for other in _databases([sum(table.values()) for table in database], domain):
        changed = sum(sum((own - new).values()) for own, new in zip(database, other, strict=True))
        here = count(other)
        local = max(abs(count(near) - here) for near in _neighbours(other, domain))
        found[changed] = max(found[changed], local)
    return [max(found[: k + 1]) for k in range(distances + 1)]


def _databases(sizes: Sequence[int], domain: Keys) -> Iterator[Database]:
    if not sizes:
        yield ()
        return
    for rest in _databases(sizes[1:], domain):
        for rows in combinations_with_replacement(domain, sizes[0]):
            yield (Counter(rows), *rest)


def _value(node: ast.expr, k: int) -> int:
    """A polynomial in k with non-negative coefficients, or a maximum of such."""
    match node:
        case ast.Constant(value=int(value)) if value >= 0:
            return value
        case ast.Name(id="k"):
            return k
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left, k) + _value(right, k)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left, k) * _value(right, k)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))) if 0 <= power <= 64:
            return int(_value(left, k) ** power)
        case ast.Call(func=ast.Name(id="max"), args=parts, keywords=[]) if parts:
            return max(_value(part, k) for part in parts)
    raise BadParameter("not a polynomial in k", why="the scan limit is proven for those", fix="use +, *, ^ and max")


def _degree(node: ast.expr) -> int:
    match node:
        case ast.Name():
            return 1
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _degree(left) + _degree(right)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return _degree(left) * power
        case ast.BinOp(left=left, right=right):
            return max(_degree(left), _degree(right))
        case ast.Call(args=parts):
            return max(map(_degree, parts))
    return 0
