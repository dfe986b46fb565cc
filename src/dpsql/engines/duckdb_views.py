"""What the views and the generated columns of a DuckDB read, from the plan that DuckDB binds for each. No row is read.

The bound plan has macros, other views, common table expressions, `query('…')` and `query_table('…')` expanded by DuckDB
itself, and is taken before the optimizer, which looks at statistics of rows and leaves out scans it can do without.

Binding computes what needs no row: a LIMIT, the arguments of range(), the columns of a PIVOT. The plan holds their
values alone, which may come from rows through the catalogue, as those of an ENUM do. So the texts of views, generated
columns and macros, as DuckDB parses them, may call listed functions alone and name no such type.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import duckdb

from dpsql.catalog.spelling import literal, quoted
from dpsql.catalog.views import ViewReads
from dpsql.engines.duckdb_schema import Ask, dotted_name

_VIEWS: Final = """
SELECT schema_name, view_name, current_database(), sql FROM system.main.duckdb_views()
WHERE NOT internal AND database_name = current_database() ORDER BY schema_name, view_name"""

_GENERATED: Final = """
SELECT schema_name, table_name, current_database(), column_name, generation_expression
FROM system.main.duckdb_columns() WHERE is_generated AND NOT internal AND database_name = current_database()
ORDER BY schema_name, table_name, column_index"""
"""They are all that a table computes when it is read: DuckDB stores no such column, and a default is a value of the row
that was written."""
_MACROS: Final = """
SELECT function_name, function_type, macro_definition, len(parameters), parameter_types::VARCHAR, internal
FROM system.main.duckdb_functions() WHERE macro_definition IS NOT NULL AND (NOT internal OR function_name NOT IN (
    SELECT function_name FROM system.main.duckdb_functions() WHERE macro_definition IS NULL))"""
"""Without those of DuckDB that share their name with a function and call it: the list decides on that."""
_TYPES: Final = """
SELECT type_name FROM system.main.duckdb_types()
WHERE NOT internal AND (type_category IS NULL OR type_category = 'COMPOSITE')"""
"""Of the owner: those with values, and those that may hold one of them."""
_NAME: Final = r'(?:"(?:[^"]|"")*+"|[^\s".,()]++)'
_CREATED: Final = re.compile(
    rf"CREATE VIEW {_NAME}(?:\.{_NAME})*+(?: \({_NAME}(?:, {_NAME})*+\))? AS (?P<query>.*);", re.DOTALL
)
_NAMES: Final = """
+ - * / // % ^ ** & | << >> ~ @ || ~~ !~~ ~~* !~~* ~~~ ^@ -> ->> abs add subtract multiply divide mod power pow
sqrt cbrt exp ln log log2 log10 sin cos tan asin acos atan atan2 pi degrees radians ceil ceiling floor round round_even
trunc sign
even gcd lcm greatest least factorial isnan isinf isfinite nextafter bit_count xor hash md5 sha1 sha256 ascii bar
chr concat concat_ws contains ends_with suffix prefix starts_with format format_bytes instr position strpos lcase
lower ucase upper left right length len char_length character_length strlen bit_length lpad rpad ltrim rtrim trim
repeat replace reverse split_part string_split str_split string_to_array regexp_matches regexp_full_match
regexp_replace regexp_extract regexp_extract_all regexp_split_to_array substring substr translate unicode ord
like_escape not_like_escape ilike_escape not_ilike_escape strip_accents levenshtein jaccard jaro_similarity
jaro_winkler_similarity damerau_levenshtein hamming to_base base64 from_base64 encode decode url_encode url_decode
printf coalesce nullif ifnull if century datediff date_diff datepart date_part datesub date_sub datetrunc date_trunc
dayname dayofmonth dayofweek dayofyear day decade epoch epoch_ms epoch_us epoch_ns era hour isodow isoyear last_day
make_date make_time make_timestamp microsecond millennium millisecond minute month monthname quarter second strftime
strptime try_strptime time_bucket to_days to_hours to_microseconds to_milliseconds to_minutes to_months to_quarters
to_seconds to_timestamp to_weeks to_years week weekday weekofyear year yearweek age timezone list_value list_concat
list_contains list_has list_extract list_element array_extract array_value list_slice array_slice list_transform
list_apply array_transform list_filter array_filter list_reduce list_sort list_reverse_sort list_distinct
list_unique list_position list_sum list_avg list_min list_max list_count list_aggr list_aggregate list_zip list_resize
array_length flatten unnest range generate_series struct_pack row struct_extract struct_extract_at map map_extract
map_keys map_values cardinality json json_extract json_extract_path json_extract_string json_extract_path_text
json_object json_array json_array_length json_type json_valid json_keys to_json count count_star sum sum_no_overflow
avg mean min max min_by max_by arg_min arg_max any_value first last first_value last_value nth_value list array_agg
string_agg group_concat bool_and bool_or bit_and bit_or bit_xor product median mode quantile quantile_cont
quantile_disc approx_count_distinct approx_quantile stddev stddev_pop stddev_samp var_pop var_samp variance skewness
kurtosis covar_pop covar_samp corr regr_slope regr_intercept regr_r2 histogram fsum kahan_sum favg count_if countif
current_date today now get_current_time get_current_timestamp transaction_timestamp row_number rank dense_rank
percent_rank cume_dist ntile lag lead
"""
_FUNCTIONS: Final = frozenset(_NAMES.split())
"""Functions of their arguments and the clock alone. DuckDB calls others consistent too that read the catalogue, the
statistics of rows (a plan that is optimized) or the values of a type."""
_SCAN: Final = "seq_scan"
_ROWS_OF_ARGUMENTS: Final = frozenset({"range", "generate_series", "unnest", "repeat"})
"""Table functions whose rows come from their arguments alone."""
_OPERATORS: Final = frozenset(
    {
        "LOGICAL_AGGREGATE_AND_GROUP_BY",
        "LOGICAL_ANY_JOIN",
        "LOGICAL_ASOF_JOIN",
        "LOGICAL_COMPARISON_JOIN",
        "LOGICAL_CROSS_PRODUCT",
        "LOGICAL_CTE_REF",
        "LOGICAL_DELIM_GET",
        "LOGICAL_DELIM_JOIN",
        "LOGICAL_DEPENDENT_JOIN",
        "LOGICAL_DISTINCT",
        "LOGICAL_DUMMY_SCAN",
        "LOGICAL_EMPTY_RESULT",
        "LOGICAL_EXCEPT",
        "LOGICAL_EXPRESSION_GET",
        "LOGICAL_FILTER",
        "LOGICAL_GET",
        "LOGICAL_INTERSECT",
        "LOGICAL_JOIN",
        "LOGICAL_LIMIT",
        "LOGICAL_MATERIALIZED_CTE",
        "LOGICAL_ORDER_BY",
        "LOGICAL_PIVOT",
        "LOGICAL_POSITIONAL_JOIN",
        "LOGICAL_PROJECTION",
        "LOGICAL_RECURSIVE_CTE",
        "LOGICAL_SAMPLE",
        "LOGICAL_TOP_N",
        "LOGICAL_UNION",
        "LOGICAL_UNNEST",
        "LOGICAL_WINDOW",
    }
)
"""Operators that read their inputs alone; GET is the one that reads a table or calls a table function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """The query of a view, a generated column or a macro."""

    query: str | None
    """None: the catalogue does not show all of it."""
    parameters: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """The texts of a database by the names of their views and macros, of which several may share one."""

    ask: Ask
    views: Mapping[str, Sequence[_Text]]
    macros: Mapping[str, Sequence[_Text]]
    types: Collection[str]

    def unknown(self, read: Sequence[_Text]) -> frozenset[str]:
        """What texts and the views and macros in them name that no list allows."""
        found, seen, waiting = set[str](), set[_Text](), [*read]
        while waiting:
            text = waiting.pop()
            if text not in seen:
                seen.add(text)
                for node in self._parsed(text):
                    if node.get("type") == "BASE_TABLE":
                        waiting += self.views.get(node["table_name"].casefold(), ())
                    elif "function_name" in node:
                        called = self.macros.get(node["function_name"].casefold(), ())
                        waiting += called
                        found.update(self._unknown_call(node, called))
                    elif node.get("class") == "TYPE" and node["type_name"].casefold() in self.types:
                        found.add(f"the type {node['type_name']}")
                    elif node.get("pivot_enum"):
                        found.add("an ENUM")
                    elif node.get("error"):
                        found.add("something DuckDB does not show")
        return frozenset(found)

    def _parsed(self, text: _Text) -> list[dict[str, Any]]:
        if text.query is None:
            return [{"error": True}]
        ((tree,),) = self.ask(f"SELECT system.main.json_serialize_sql({literal(text.query)})")
        try:
            return list(_nodes(json.loads(tree)))
        except RecursionError:
            return [{"error": True}]

    def _unknown_call(self, node: dict[str, Any], called: Sequence[_Text]) -> Iterator[str]:
        name = node["function_name"]
        if not called and name.casefold() not in _FUNCTIONS:
            yield f"{name}()"
        elif any(len(node["arguments"]) < macro.parameters for macro in called):
            yield f"a default of {name}()"  # the catalogue does not show it


def read_views(ask: Ask) -> dict[str, ViewReads]:
    """Every view of the current database by its name, `schema.name` outside the schema `main`, with what it reads; and
    in the same way every table with generated columns."""
    views, generated = ask(_VIEWS), ask(_GENERATED)
    if not views and not generated:
        return {}
    texts = _texts(ask, views)
    computed: dict[str, ViewReads] = {}
    for schema, name, database, column, expression in generated:
        table = dotted_name(schema, name)
        read = _column_reads(texts, (database, schema, name), column, expression)
        computed[table] = _joined(computed.get(table, ViewReads(tables=frozenset({table}))), read)
    found = dict(computed)
    for schema, name, database, _ in views:
        read = _reads(ask, f"SELECT * FROM {_place(database, schema, name)}", database)
        unknown = read.unknown | texts.unknown(texts.views[name.casefold()])
        found[dotted_name(schema, name)] = replace(read, unknown=unknown)
    return {name: _joined(read, *(computed[t] for t in read.tables if t in computed)) for name, read in found.items()}


def _joined(*reads: ViewReads) -> ViewReads:
    return ViewReads(
        tables=frozenset[str]().union(*(read.tables for read in reads)),
        unknown=frozenset[str]().union(*(read.unknown for read in reads)),
    )


def _place(*names: str) -> str:
    return ".".join(map(quoted, names))


def _column_reads(texts: _Texts, table: tuple[str, str, str], column: str, expression: str | None) -> ViewReads:
    """What a generated column reads; other columns of its table may be ENUMs."""
    query = None if expression is None else f"SELECT {expression}"
    read = _reads(texts.ask, f"SELECT {quoted(column)} FROM {_place(*table)}", table[0], scanned=False)
    unknown = read.unknown | texts.unknown([_Text(query=query)])
    told = f"{' and '.join(sorted(unknown))} in the generated column {dotted_name(*table[1:])}.{column}"
    return replace(read, unknown=frozenset({told} if unknown else ()))


def _texts(ask: Ask, rows: Sequence[Sequence[Any]]) -> _Texts:
    views, macros = defaultdict[str, list[_Text]](list), defaultdict[str, list[_Text]](list)
    for _, name, _, created in rows:
        found = _CREATED.fullmatch(created)
        views[name.casefold()].append(_Text(query=found and found["query"]))
    for name, kind, definition, parameters, types, internal in ask(_MACROS):
        query = definition if kind == "table_macro" else f"SELECT {definition}"
        if not internal:
            shown = None if "ENUM" in types else query
            macros[name.casefold()].append(_Text(query=shown, parameters=parameters))
        elif name not in _FUNCTIONS:
            macros[name.casefold()].append(_Text(query=query))
    return _Texts(ask=ask, views=views, macros=macros, types={name.casefold() for (name,) in ask(_TYPES)})


def _reads(ask: Ask, query: str, database: str, *, scanned: bool = True) -> ViewReads:
    """What a query reads by its plan. `scanned`: an ENUM of a table counts, even where no expression reads it."""
    try:
        ((text,),) = ask(f"SELECT system.main.json_serialize_plan({literal(query)})")
        plan = json.loads(text)
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, ValueError, RecursionError):
        plan = {}
    nodes = list(_nodes(plan))
    operators = [node for node in nodes if str(node.get("type")).startswith("LOGICAL_")]
    if plan.get("error", True) or not operators:
        return _UNPLANNED
    try:
        calls = [node for node in nodes if "expression_class" in node and "qname" in node]
        found = _reads_of(operators, database)
        unknown = {f"{call['qname']['path'][-1]}()" for call in calls if not _is_known(call)}
        typed = nodes if scanned else _nodes(plan, without="returned_types")
        if any(node.get("id") == "ENUM" for node in typed):  # its values may have been copied from rows
            unknown.add("an ENUM")
        return replace(found, unknown=found.unknown | unknown)
    except (LookupError, TypeError, ValueError):  # a plan of another shape
        return _UNPLANNED


_UNPLANNED: Final = ViewReads(tables=frozenset(), unknown=frozenset({"something DuckDB cannot plan"}))


def _reads_of(operators: list[dict[str, Any]], database: str) -> ViewReads:
    tables, unknown = set[str](), set[str]()
    for operator in operators:
        kind = operator["type"]
        if kind not in _OPERATORS:
            unknown.add(kind.removeprefix("LOGICAL_").lower())
        elif kind == "LOGICAL_GET":
            function = operator["qname"]["path"][-1]
            if function == _SCAN:
                found, *path = operator["function_data"]["qualified_name"]["path"]
                if found == database and len(path) == 2:
                    tables.add(dotted_name(*path))
                else:
                    unknown.add(f"the database {found}")
            elif function not in _ROWS_OF_ARGUMENTS:
                unknown.add(f"{function}()")
    return ViewReads(tables=frozenset(tables), unknown=frozenset(unknown))


def _is_known(call: dict[str, Any]) -> bool:
    """Whether the value of a function depends on nothing but its arguments and the clock. Casts and comparisons have no
    schema; other operators are functions of it."""
    *schema, function = call["qname"]["path"]
    return (not schema and call["is_operator"] is True) or (schema == ["system", "main"] and function in _FUNCTIONS)


def _nodes(tree: Any, *, without: str | None = None) -> Iterator[dict[str, Any]]:
    """Every part of a plan or of a parsed text, wherever it stands in it; but not under the key `without`."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += (part for key, part in node.items() if key != without)
        elif isinstance(node, list):
            waiting += node
