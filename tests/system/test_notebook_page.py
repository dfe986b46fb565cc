"""The notebook of the tutorial runs from the top, and the page shows its cells and what comes."""

import re
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from tests.kits.scripts import script

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorials" / "4-notebook.md"
NOTEBOOK = ROOT / "examples" / "notebook" / "hospital.ipynb"
BLOCK = re.compile(r"```ipython\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.S)


@pytest.fixture(scope="module")
def transcripts():
    return script("transcripts")


@pytest.fixture(scope="module")
def cells():
    return [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def shown(cells):
    """What each cell shows."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    return [came(shell, cell) for cell in cells]


def came(shell, cell):
    with capture_output() as out:
        done = shell.run_cell(cell.source)
    assert done.success != ("raises-exception" in cell.metadata.get("tags", [])), out.stdout
    if done.error_in_exec is not None:
        return str(done.error_in_exec)
    return out.stdout if done.result is None else repr(done.result)


def test_the_page_has_the_cells_of_the_notebook_which_is_stored_without_what_it_showed(cells):
    blocks = [source.rstrip("\n") for source, _ in BLOCK.findall(PAGE.read_text(encoding="utf-8"))]
    assert blocks == [cell.source for cell in cells]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)


def test_the_page_shows_what_comes(shown, transcripts):
    pages = [text for _, text in BLOCK.findall(PAGE.read_text(encoding="utf-8"))]
    for text, cell in zip(pages, shown, strict=True):
        assert not text or transcripts.agrees(text, cell), f"shown:\n{text}\ncame:\n{cell}"
