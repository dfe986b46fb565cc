"""docs/guide/tpch.md: which of the 22 questions of TPC-H are answered when customers are protected.

`python tools/tpch.py --write` writes the page; without it, the page is compared. `--run 0.1` builds the data at that
scale, asks every answered question and prints how long it took. The data come from tpchgen-cli, nothing is downloaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

import dpsql

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "guide" / "tpch.md"
FOLDER: Final = ROOT / "examples" / "tpch"
POLICY: Final = FOLDER / "dpsql.toml"
ANALYST: Final = "analyst"
SMALL: Final = "0.01"
"""The scale for tests: 1 500 customers, 60 000 lines."""

KEYS: Final = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "customer": "c_custkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
}
"""The primary keys, which the engine enforces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One of the 22, as it stands and, where that is needed, as it can be asked about protected customers."""

    number: int
    title: str
    original: str
    how: str = ""
    adapted: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.original, self.adapted) if self.adapted else (self.original,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The first text of a question that is answered, or why the last one is not."""

    question: Question
    text: str | None
    refusal: dpsql.DpsqlError | None = None
    rows: int = 0
    seconds: float = 0

    @property
    def as_it_stands(self) -> bool:
        return self.text == self.question.original


def questions() -> tuple[Question, ...]:
    blocks = (FOLDER / "queries.sql").read_text(encoding="utf-8").strip().split("\n\n")
    return tuple(map(_question, blocks))


def _question(block: str) -> Question:
    head, _, rest = block.partition("\n")
    _, number, title = head.split(" ", 2)
    original, _, after = rest.partition("\n--- ")
    how, _, adapted = after.partition("\n")
    return Question(number=int(number), title=title, original=original.strip(), how=how, adapted=adapted.strip())


def build(folder: Path, *, scale: str) -> None:
    """The eight tables as a database with their primary keys."""
    generator = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    subprocess.run([generator, "parquet", "-s", scale, "--output-dir", folder], check=True, capture_output=True)
    with duckdb.connect(folder / "tpch.duckdb") as database:
        for table, key in KEYS.items():
            rows = database.sql(f"SELECT * FROM '{folder / table}.parquet'")
            columns = ", ".join(f"{name} {type_}" for name, type_ in zip(rows.columns, rows.types, strict=True))
            database.execute(f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({key}))")
            database.execute(f"INSERT INTO {table} SELECT * FROM '{folder / table}.parquet'")
            (folder / f"{table}.parquet").unlink()


def opened(folder: Path) -> dpsql.Analyst:
    """The analyst of the policy, over the database in this folder."""
    os.environ["TPCH_FOLDER"] = str(folder)
    return dpsql.open(POLICY).analyst(ANALYST)


def verdict(question: Question, analyst: dpsql.Analyst) -> Verdict:
    refusal: dpsql.DpsqlError | None = None
    for text in question.texts:
        start = time.perf_counter()
        try:
            answer = analyst.sql(text)
        except dpsql.DpsqlError as error:
            refusal = error
        else:
            return Verdict(question=question, text=text, rows=len(answer), seconds=time.perf_counter() - start)
    return Verdict(question=question, text=None, refusal=refusal)


def page(verdicts: Sequence[Verdict]) -> str:
    return "\n".join(_lines(verdicts)) + "\n"


def _lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    answered = [each for each in verdicts if each.text is not None]
    plain = [each for each in answered if each.as_it_stands]
    yield "# TPC-H with protected customers"
    yield ""
    yield "Written by `tools/tpch.py`. The people are the customers: a customer's row, their orders, and the lines of"
    yield "those orders, found through the order. Parts, suppliers, nations and regions are public. The"
    yield "[policy](../../examples/tpch/dpsql.toml) takes bounds, lists and caps from the specification of the data."
    yield ""
    yield f"Of the 22 questions, **{len(answered)} are answered**: {len(plain)} as they stand and"
    yield f"{len(answered) - len(plain)} adapted, mostly because each row of the original was one customer or one"
    yield "customer's order. A test runs them all and, with noise off, compares every answer with that of plain SQL."
    yield "The texts are in [queries.sql](../../examples/tpch/queries.sql)."
    yield ""
    yield "As they stand: " + ", ".join(f"{each.question.number}" for each in plain) + "."
    yield ""
    for each in verdicts:
        if not each.as_it_stands:
            yield f"- {each.question.number} {each.question.title}, {_word(each)}: {_reason(each)}"


def _word(each: Verdict) -> str:
    return "refused" if each.text is None else "adapted"


def _reason(each: Verdict) -> str:
    if each.refusal is not None:
        return f"{each.refusal.code}: {each.refusal.what}"
    return each.question.how


def _current(folder: Path) -> str:
    build(folder, scale=SMALL)
    analyst = opened(folder)
    return page([verdict(question, analyst) for question in questions()])


def _run(folder: Path, scale: str) -> None:
    build(folder, scale=scale)
    analyst = opened(folder)
    for question in questions():
        told = verdict(question, analyst)
        if told.text is not None:
            print(f"{question.number:2} {question.title:35} {told.rows:5} rows {told.seconds:6.2f} s", flush=True)


def main(words: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        if words[:1] == ["--run"]:
            _run(Path(folder), words[1] if len(words) > 1 else SMALL)
            return 0
        now = _current(Path(folder))
    if words == ["--write"]:
        PAGE.write_text(now, encoding="utf-8")
    same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == now
    print("tpch.md: up to date" if same else "tpch.md: run python tools/tpch.py --write")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
