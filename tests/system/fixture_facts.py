"""What must not change while code is moved or removed: of every fixture the verdict, the price, the noise, the
distances of the second derivation, the text for the engine and the margins.

    python -m tests.system.fixture_facts > after.json        compare with the same of another commit
    python -m tests.system.fixture_facts before.json after.json        lists what differs
"""

import json
import os
import sys
from pathlib import Path

OPTIONS = {
    "usual": {},
    "scale": {"mode": "scale"},
    "change_one": {"relation": "change_one", "mode": "choose"},
    "pure": {"delta": 0},
    "gaussian": {"noise": "gaussian"},
}


def facts(analyst, sql: str) -> dict[str, object]:
    import dpsql
    from dpsql.plan.seal import reaches_of
    from dpsql.sql.emit import engine_text
    from tests.kits.noiseless import answered_without_noise

    try:
        query = analyst.query(sql)
    except dpsql.DpsqlError as error:
        return {"refused": [error.code, str(error), repr(error.at)]}
    found: dict[str, object] = {"inquiry": len(query.inquiry.parts)}
    for number, part in enumerate(query.inquiry.parts):
        plan = part.sealed.plan
        found[f"question {number}"] = {
            "price": repr(part.sealed.price),
            "cost": str(plan.terms.cost),
            "events": [repr(step.event) for step in plan.steps],
            "noises": [repr(getattr(step, "noises", None)) for step in plan.steps],
            "distances": [repr(reach) for reach in reaches_of(plan.steps, analyst.place.catalog)],
            "engine": [engine_text(step.statement, dialect="duckdb").sql for step in plan.steps],
        }
    try:
        answer = answered_without_noise(query)
        found["answer"] = [list(map(repr, row)) for row in answer]
    except dpsql.DpsqlError as error:
        found["answer"] = [error.code, str(error)]
    return found


def report() -> dict[str, object]:
    os.environ["PYTEST_CURRENT_TEST"] = "facts"
    sys.path.insert(0, str(Path(__file__).parent))
    from fixtures import ALL
    from hospital import opened, well_behaved

    analysts = {name: opened(well_behaved(), **options) for name, options in OPTIONS.items()}
    return {
        f"{name} | {fixture} | {fixture.sql}": facts(analyst, fixture.sql)
        for name, analyst in analysts.items()
        for fixture in ALL
    }


def compared(before: dict[str, object], after: dict[str, object]) -> int:
    both = before.keys() & after.keys()
    changed = sorted(name for name in both if before[name] != after[name])
    for name in changed:
        sys.stdout.write(f"CHANGED {name}\n  before {json.dumps(before[name])}\n  after  {json.dumps(after[name])}\n")
    gone, new = len(before) - len(both), len(after) - len(both)
    sys.stdout.write(f"{len(both)} in both, {len(changed)} changed, {gone} gone, {new} new\n")
    return int(bool(changed))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        raise SystemExit(compared(*(json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:])))
    json.dump(report(), sys.stdout, indent=1)
