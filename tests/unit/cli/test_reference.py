"""The page about the command line is what the parser takes."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent.parent


def test_the_page_is_written_from_the_parser():
    spec = importlib.util.spec_from_file_location("cli_reference", ROOT / "tools" / "cli_reference.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    written = tool.PAGE.read_text(encoding="utf-8")
    assert written == tool.page(), "python tools/cli_reference.py --write"
    for word in ("`--max-cost X`", "### dpsql doctor", "#### dpsql ledger verify", "| 130 | interrupted |"):
        assert word in written
