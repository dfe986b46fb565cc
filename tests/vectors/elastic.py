"""Golden values of elastic sensitivity: the library and, where tables are small, brute force."""

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations_with_replacement
from typing import Any, Final

from dpsql.mechanisms.smooth_noise import smooth_beta, smooth_laplace_scale
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.elastic.algebra import Attribute, Column, Count, Join, Query, SemiJoin, Table
from dpsql.sensitivity.elastic.stability import (
    elastic_sensitivity,
    frequency_at,
    largest_frequency,
    scan_limit,
    smooth_bound,
    smooth_elastic,
    stability,
)
from tests.vectors import errata
from tests.vectors.elastic_query import read_query
from tests.vectors.words import ADD_REMOVE, CHANGE_ONE, Outputs, Readings, relation

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


def _question(
    query: str,
    tables: Mapping[str, Mapping[str, int]],
    epsilon: float,
    delta: float,
    k: Sequence[int],
    max_k: str | int = "unbounded",
    neighbours: str = "change_one",
    public: Sequence[str] = (),
) -> Outputs:
    """The maximum is over all k, whatever `max_k` is: cut off at the number of rows it would not be smooth."""
    same = re.match(r"same as (\w+)", query)
    asked = read_query(NAMED.get(same[1], query) if same else query, tables, public=public)
    beta = smooth_beta(epsilon=epsilon, delta=delta, dimensions=1)
    smooth = smooth_elastic(asked, beta=beta, neighbours=relation(neighbours))
    return {
        "S_hat_k": list(map(_elastic_at(asked, relation(neighbours)), k)),
        "beta": beta,
        "smooth_S": smooth.bound,
        "argmax_k": smooth.distance,
        "laplace_scale": smooth_laplace_scale(bound=smooth.bound, epsilon=epsilon),
    }


def _polynomial(S_hat: str, beta: float) -> Outputs:
    body = ast.parse(S_hat.replace("^", "**"), mode="eval").body

    def at(k: int) -> int:
        return _value(body, k)

    smooth = smooth_bound(at, beta=beta, limit=scan_limit(joins=_degree(body), beta=beta))
    return {"smooth_S": smooth.bound, "argmax_k": smooth.distance}


def _published_parameters(S_hat_0: int, epsilon: float, delta: float) -> Outputs:
    return {
        "correct_beta": smooth_beta(epsilon=epsilon, delta=delta, dimensions=1),
        "uber_beta_wrong": errata.beta_without_delta(epsilon=epsilon),
        "correct_scale_factor": smooth_laplace_scale(bound=S_hat_0, epsilon=epsilon) / S_hat_0,
        "uber_scale_factor_wrong": errata.scale_factor_without_two(epsilon=epsilon),
    }


def _misprinted_smoothing(S_hat_k: Sequence[int], beta: float) -> Outputs:
    rising = list(accumulate(S_hat_k, max))  # has the same smoothed maximum, and never falls
    smooth = smooth_bound(rising.__getitem__, beta=beta, limit=len(rising) - 1)
    return {"correct": smooth.bound}


def _brute_force_join(r_keys: Keys, s_keys: Keys, domain: Keys, query: str, neighbours: str, beta: float) -> Outputs:
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
        "elastic_smooth_capped_n": errata.smoothing_capped_at_rows(at, beta=beta, rows=rows)[0],
    }


def _brute_force_self_join(keys: Keys, domain: Keys, query: str, neighbours: str) -> Outputs:
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


def _frequency_of_join(tables: Mapping[str, Mapping[str, int]], join: str, k: Sequence[int]) -> Outputs:
    (left, left_key), (right, right_key) = (side.strip().split(".") for side in join.split("="))
    sides = {
        name: Table(name=name, columns=tuple(Column(name=c, max_frequency=mf) for c, mf in columns.items()))
        for name, columns in tables.items()
    }
    joined = Join(sides[left], sides[right], ((Attribute(left, left_key), Attribute(right, right_key)),))
    return {
        f"mf_{name}_{column}": [
            frequency_at(joined, Attribute(name, column), distance=distance, neighbours=CHANGE_ONE) for distance in k
        ]
        for name in (left, right)
        for column in tables[name]
    }


def _unique_key(orders_cid: Keys, customers_cid: Keys, query: str, neighbours: str) -> Outputs:
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
        "uber_uniqueness_optimisation_unsafe": errata.stability_of_a_unique_key_join(),
    }


def _not_in(partsupp_suppkey: Keys, supplier: Sequence[Sequence[int]], query: str, neighbours: str) -> Outputs:
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
    if local > stability(anti, distance=0, neighbours=CHANGE_ONE):
        raise ValueError("the rule for NOT IN is below the truth")
    return {"count": count(rows), "local_sensitivity": local}


def _user_level(
    r_keys: Keys, s_keys: Keys, user_owns: Mapping[str, Sequence[int]], query: str, neighbours: str
) -> Outputs:
    with_user = Counter(r_keys), Counter(s_keys)
    left, right = (
        Counter(key for place, key in enumerate(keys) if place not in user_owns.get(name, ()))
        for name, keys in (("r", r_keys), ("s", s_keys))
    )
    before, after = _joined(with_user), _joined((left, right))
    rule = _elastic_at(_two_tables(r_keys, s_keys), ADD_REMOVE)(0)
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
    raise ValueError("not a polynomial in k, for which the scan limit is proven")


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


READINGS: Final[Readings] = {
    "elastic_sensitivity": (
        _question,
        _polynomial,
        _published_parameters,
        _misprinted_smoothing,
        _brute_force_join,
        _brute_force_self_join,
        _frequency_of_join,
        _unique_key,
        _not_in,
        _user_level,
    )
}
