"""The page about the command line is what the parser takes."""

from tests.kits.scripts import script


def test_the_page_is_written_from_the_parser():
    tool = script("cli_reference")
    written = tool.PAGE.read_text(encoding="utf-8")
    assert written == tool.page(), "python tools/cli_reference.py --write"
    for word in ("`--max-cost X`", "### dpsql doctor", "#### dpsql ledger verify", "| 130 | interrupted |"):
        assert word in written
