"""What the pages show is what comes when somebody does what they say."""

import re
import tomllib
from pathlib import Path

import pytest

import dpsql
from dpsql.sql.parse import statements
from tests.kits.cases import cases
from tests.kits.scripts import script

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
TOOL = script("transcripts")


def text(page):
    return page.read_text(encoding="utf-8")


RUN = [page for page in TOOL.PAGES if re.search("^```(python|console)$", text(page), re.M)]
WITH_SQL = [page for page in TOOL.PAGES if "```sql" in text(page) and page.name != "how-to-ask.md"]  # has its own test


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_comes(page, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert TOOL.differences(page) == []


@pytest.mark.parametrize("page", WITH_SQL, ids=lambda page: page.name)
def test_the_sql_of_a_page_has_a_plan_on_the_demo(page):
    ana = dpsql.demo()
    for block in re.findall(r"```sql\n(.*?)```", text(page), re.S):
        for _, sql in statements(block):
            ana.query(sql)


SHOWN = """
```python
print("cost", 0.05)
```

```text
cost 0.05
```

```console
$ echo one; echo two
one
…
```
"""


@cases(__file__, "before=", "after=", "wrong=")
def test_an_output_that_drifts_is_seen(before, after, wrong, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(SHOWN.replace(before, after) if before else SHOWN, encoding="utf-8")
    assert len(TOOL.differences(page)) == wrong


def test_noise_is_no_drift_and_a_missing_margin_is():
    shown = "│ Bern │ 4 009 ± 38   │\ncost 0.10"
    assert TOOL.agrees(shown, "│ Bern │   -17 ± 38 ⚠ │\ncost 0.10\n")
    assert TOOL.agrees(shown, "│ Bern │     0 ±  ? ⚠ │\ncost 0.10\n")
    assert TOOL.agrees(f"{shown}\nnote: a count below 0 is normal\nnote: x\n", f"{shown}\nnote: x\n")
    assert not TOOL.agrees(f"{shown}\nnote: y\n", f"{shown}\n")
    assert not TOOL.agrees(shown, "│ Bern │ 4 009 │\ncost 0.10\n")
    assert not TOOL.agrees(shown, "│ Bern │ 4 009 ± 38   │\ncost 0.20\n")


def test_writing_brings_a_page_up_to_date():
    assert TOOL.written(SHOWN.replace("cost 0.05\n```\n\n```c", "cost 7\n```\n\n```c")) == SHOWN


def test_every_page_is_in_the_index_and_on_the_site():
    index = text(DOCS / "index.md")
    site = tomllib.loads(text(ROOT / "zensical.toml"))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"index.md"}
    pages -= {page for page in pages if page.startswith("theorems/")}  # proofs.md lists them
    assert {page for page in pages if f"]({page}" not in index} == set()
    assert {page for page in pages if f'"{page}"' not in str(site["project"]["nav"]).replace("'", '"')} == set()
