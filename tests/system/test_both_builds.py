"""The compiled and the pure build of the SQL parser read every statement alike. Both must be installed."""

from __future__ import annotations

from both_builds import BUILDS, SENTENCES, read_by
from fixtures import ALL


def test_both_builds_read_every_statement_alike():
    told = {build: read_by(build) for build in BUILDS}
    assert all(file.endswith(".py") for file in told["pure"]["files"].values()), told["pure"]["files"]
    assert all(file.endswith((".so", ".pyd")) for file in told["compiled"]["files"].values()), told["compiled"]["files"]
    pure, compiled = told["pure"]["read"], told["compiled"]["read"]
    assert len(pure) > len({fixture.sql for fixture in ALL}) + SENTENCES // 2
    assert pure.keys() == compiled.keys()
    assert {text: said for text, said in pure.items() if compiled[text] != said} == {}
