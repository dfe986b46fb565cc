"""Small changes of Python sources, drawn by a seed: another operator or number, a condition negated or left out, a
statement, a keyword or a `not` left out. Texts, errors, annotations and `__repr__` are not changed.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Final, TypeAlias

_PAIRS: Final[tuple[tuple[type[ast.AST], type[ast.AST]], ...]] = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv)),
)
OPERATORS: Final = {**dict(_PAIRS), **{b: a for a, b in _PAIRS}, ast.Div: ast.Mult}
WORDS: Final = {"annotation", "returns", "decorator_list", "pattern"}
"""Parts of a node that nothing is changed in."""
Defaults: TypeAlias = Mapping[str, frozenset[str]]
"""By the name of a function or class: the arguments that may be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A change of one place: the bytes from `start` to `end` of a file become `after`."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str

    @property
    def room(self) -> str:
        return self.file.split("/")[2]

    def applied(self, text: str) -> str:
        raw, new = text.encode(), self.after if self.after == "pass" else f"({self.after})"
        return (raw[: self.start] + new.encode() + raw[self.end :]).decode()

    def __str__(self) -> str:
        pairs = enumerate(zip(self.before, self.after, strict=False))
        first = max(next((place for place, (a, b) in pairs if a != b), 0) - 20, 0)
        before, after = (each[first : first + 70] for each in (self.before, self.after))
        return f"{self.file}:{self.line}  {before} → {after}"


def mutants(text: str, *, file: str, defaults: Defaults) -> Iterator[Mutant]:
    """Every change of this source."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, new in _changes(ast.parse(text), defaults):
        yield Mutant(
            file=file,
            line=node.lineno,
            start=starts[node.lineno - 1] + node.col_offset,
            end=starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
            before=ast.unparse(node),
            after=ast.unparse(new),
        )


def _changes(node: ast.AST, defaults: Defaults) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """Nodes of the tree, and what each of them could be instead."""
    if isinstance(node, ast.expr):
        yield from ((node, new) for new in _others(node, defaults))
    for test in node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]:
        if test is not None and not isinstance(node, ast.IfExp) and not _is_negated_otherwise(test):
            yield test, ast.UnaryOp(op=ast.Not(), operand=test)
    if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield node, ast.Pass()
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return) and not node.orelse:
        yield node.body[-1], ast.Pass()
    if isinstance(node, ast.Raise | ast.JoinedStr) or getattr(node, "name", "") == "__repr__" or _is_error(node):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return  # of zip: it says that both are as long, which changes nothing where they are
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in WORDS:
                yield from _changes(child, defaults)


def _is_negated_otherwise(test: ast.expr) -> bool:
    """By its operator; what is there for a type checker alone is not negated at all."""
    match test:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
            return True
        case ast.UnaryOp(op=ast.Not()) | ast.Name(id="TYPE_CHECKING"):
            return True
        case _:
            return False


def _is_error(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and {"why", "fix"} <= {keyword.arg for keyword in node.keywords}


def _others(node: ast.expr, defaults: Defaults) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                yield _with(node, ops=[*ops[:place], OPERATORS[type(op)](), *ops[place + 1 :]])
        case ast.BoolOp(op=op, values=values):
            yield _with(node, op=OPERATORS[type(op)]())
            for place, _ in enumerate(values):
                left = [*values[:place], *values[place + 1 :]]
                yield _with(node, values=left) if len(left) > 1 else left[0]
        case ast.BinOp(op=op) if type(op) in OPERATORS and not _is_text(node.left) and not _is_text(node.right):
            yield _with(node, op=OPERATORS[type(op)]())
        case ast.Constant(value=bool() as truth):
            yield ast.Constant(not truth)
        case ast.Constant(value=int() | float() as number):
            yield from (ast.Constant(number - 1), ast.Constant(number + 1))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test=test, body=orelse, orelse=body)
        case ast.Call(func=func, keywords=keywords) if not _is_error(node):
            name = ast.unparse(func).rpartition(".")[2]
            for place, keyword in enumerate(keywords):
                if keyword.arg and (name == "replace" or keyword.arg in defaults.get(name, ())):
                    yield _with(node, keywords=[*keywords[:place], *keywords[place + 1 :]])
        case _:
            return


def _with(node: ast.expr, **fields: object) -> ast.expr:
    new = copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def defaults_in(trees: Iterable[ast.AST]) -> Defaults:
    """Arguments of functions, and fields of classes, that have a default."""
    found: dict[str, frozenset[str]] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.FunctionDef(args=args):
                given = zip(args.kwonlyargs, args.kw_defaults, strict=True)
                last = args.args[len(args.args) - len(args.defaults) :]
                names = {each.arg for each in last} | {each.arg for each, default in given if default is not None}
            case ast.ClassDef(body=body):
                fields = [each for each in body if isinstance(each, ast.AnnAssign) and each.value is not None]
                names = {ast.unparse(each.target) for each in fields}
            case _:
                continue
        found[node.name] = found.get(node.name, frozenset()) | names
    return found


def drawn(sources: Mapping[str, str], *, seed: str, count: int) -> list[Mutant]:
    """So many of all changes of these sources, by the name of the file."""
    defaults = defaults_in(map(ast.parse, sources.values()))
    found = [each for file in sorted(sources) for each in mutants(sources[file], file=file, defaults=defaults)]
    random.Random(seed).shuffle(found)
    return found[:count]


def marked(text: str, lines: Mapping[int, int]) -> str:
    """The source with `reached.by(number)` before the statements, in functions, where these lines stand."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    found = text.splitlines(keepends=True)
    statements = [place for function in functions for place in _statements(function, found)]
    marks: list[tuple[int, str]] = []
    for number, line in lines.items():
        around = [(first, indent) for first, last, indent in statements if first <= line <= last]
        if around:
            first, indent = max(around)
            marks.append((first, f"{' ' * indent}__import__('reached').by({number})\n"))
    for first, mark in sorted(marks, reverse=True):
        found.insert(first - 1, mark)
    return "".join(found)


def _statements(function: ast.FunctionDef, lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """First and last line, and column, of what is done in it, where something can be written before that."""
    for node in (each for each in ast.walk(function) if isinstance(each, ast.stmt) and each is not function):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        text = lines[first - 1]
        is_words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_words and not text[: node.col_offset].strip() and not text.lstrip().startswith("elif"):
            yield first, node.end_lineno or first, node.col_offset
