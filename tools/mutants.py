"""How much the tests notice: one small change at a time, in a copy of the project, and which test fails of it.

`python tools/mutants.py --seed S --count N` draws N changes over the rooms that carry the promise. The same seed draws
the same changes, and a larger N only adds some. All tests run once, unchanged, to see which of them come by each place
and how long they take. Then those alone, with the change: first some quick ones of every file that comes by; then whole
files, those of the same name, of the room, and others; and at last all of the room, since what is computed once is used
by others. What was found is kept in .cache/, one line of JSON each: a run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from itertools import chain, zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from mutations import Mutant, drawn, marked

ROOT: Final = Path(__file__).parent.parent
ROOMS: Final = ("sql", "plan", "ledger", "session", "serve", "mechanisms", "randomness", "accounting")
TESTS: Final = ("tests/architecture", "tests/unit", "tests/ux", "tests/system", "tests/statistical")
NOT_COUNTED: Final = "tests/architecture/test_rooms.py::test_every_proof_is_pinned_to_the_code_it_proves"
"""Every change of a proven function changes its fingerprint: that says nothing about what tests notice."""
LONGEST_RUN, LONGEST_TEST = 5400, "150"
"""In seconds. A test that takes longer without the change too is left out."""
LIMITED: Final = ("sh", "-c", 'ulimit -v 12000000; exec "$@"', "sh")
"""In KiB: a change may also make a test take all the memory there is."""
QUICK: Final = 8.0
"""Seconds that the tests of the first stage may take in all."""
WORKERS: Final = 2
REACHED: Final = """import os, sys
_seen = set()
def pytest_runtest_logreport(report):
    if report.when == "call" and "PYTEST_XDIST_WORKER" not in os.environ:
        with open(os.environ["MUTANTS_FOLDER"] + "/seconds.txt", "a") as file:
            file.write(f"{report.duration:.3f} {report.nodeid!r}\\n")
def by(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    frame = sys._getframe()
    while not test and frame is not None:  # called while a file of tests is read
        name = frame.f_code.co_filename
        test = os.path.relpath(name, os.environ["MUTANTS_FOLDER"]) if "/test_" in name else ""
        frame = frame.f_back
    if (number, test) not in _seen:
        _seen.add((number, test))
        with open(os.environ["MUTANTS_FOLDER"] + "/reached.txt", "a") as file:
            file.write(f"{number} {test!r}\\n")
"""
"""A plugin of pytest that keeps how long tests take, and what is called from the functions that are to be changed:
which tests come by, also in other processes."""


class Copy:
    """The project in a folder of its own, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._passing: set[str] = set()
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv*", ".*cache", "__pycache__"))
        (folder / "src/reached.py").write_text(REACHED)

    def caught_by(self, mutant: Mutant, *tests: Sequence[str]) -> str | None:
        """The test that fails of it and passes without it, or what else ends the run; None where it survives."""
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        ignored = [NOT_COUNTED]
        for stage in filter(None, tests):
            while True:
                self._write(mutant.file, mutant.applied(text))
                failed = self._failing(*stage, *(f"--deselect={each}" for each in ignored))
                self._write(mutant.file, text)
                if failed is None:
                    break
                if failed in self._passing or self._failing(*([failed] if "/" in failed else [*stage, "--co"])) is None:
                    self._passing.add(failed)
                    return failed
                if "/" not in failed:
                    raise RuntimeError(f"no test can be run: {failed}")
                ignored.append(failed)  # it fails by itself
        return None

    def reaching(self, mutants: Iterable[Mutant], tests: Sequence[str]) -> dict[Mutant, list[list[str]]]:
        """The files of tests that come by, in the order in which they are tried."""
        numbered = dict(enumerate(mutants))
        for file in {mutant.file for mutant in numbered.values()}:
            lines = {number: mutant.line for number, mutant in numbered.items() if mutant.file == file}
            self._write(file, marked((ROOT / file).read_text(encoding="utf-8"), lines))
        for log in ("reached.txt", "seconds.txt"):
            (self._folder / log).touch()
        self._pytest("-n", str(WORKERS), "-p", "reached", *tests, limit=None)
        for file in {mutant.file for mutant in numbered.values()}:
            self._write(file, (ROOT / file).read_text(encoding="utf-8"))
        seconds = {test: float(each) for each, test in self._logged("seconds.txt")}
        reaching: dict[int, set[str]] = {number: set() for number in numbered}
        for each, test in self._logged("reached.txt"):
            reaching[int(each)].add(test)
        return {
            mutant: [_quick(reaching[number], seconds), *_stages(mutant, reaching[number], tests)]
            for number, mutant in numbered.items()
        }

    def _logged(self, name: str) -> Iterator[tuple[str, str]]:
        """A number and a test, in each line."""
        for line in (self._folder / name).read_text(encoding="utf-8").splitlines():
            number, _, test = line.partition(" ")
            yield number, ast.literal_eval(test)

    def _write(self, file: str, text: str) -> None:
        path = self._folder / file
        path.write_text(text, encoding="utf-8")
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            stale.unlink()

    def _failing(self, *tests: str) -> str | None:
        """The first test that does not pass, without its parameters."""
        code, told = self._pytest("-x", *tests, limit=LONGEST_RUN)
        first = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", told, re.M)
        return None if code in (0, 5) else first[1] if first else f"the end of the process, {code}"

    def _pytest(self, *words: str, limit: int | None) -> tuple[int | None, str]:
        """How it ends, None where it was ended, and what it prints."""
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            run = subprocess.Popen(
                [*LIMITED, sys.executable, "-m", "pytest", "--tb=no", "-rfE", "-p", "no:cacheprovider", *words],
                cwd=self._folder,
                env={
                    **os.environ,
                    "PYTHONPATH": str(self._folder / "src"),
                    "MUTANTS_FOLDER": str(self._folder),
                    "PYTEST_TIMEOUT": LONGEST_TEST,
                },
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                run.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)  # with what its tests have started
                run.wait()
            output.seek(0)
            return run.returncode, output.read()


def _quick(reaching: set[str], seconds: Mapping[str, float]) -> list[str]:
    """In turn the quickest of each file that comes by, within a few seconds in all."""
    by_file: dict[str, list[str]] = {}
    for test in sorted(reaching & seconds.keys(), key=lambda test: (seconds[test], test)):
        if re.fullmatch(r"[\w/.]+::[\w:]+(\[[\w .,=*()-]*\])?", test):  # others pytest would not find by their names
            by_file.setdefault(test.partition("::")[0], []).append(test)
    chosen, left = list[str](), QUICK
    for test in filter(None, chain.from_iterable(zip_longest(*by_file.values()))):
        left -= seconds[test] + 0.02  # what pytest itself takes
        if left < 0:
            break
        chosen.append(test)
    return sorted(chosen, key=lambda test: test.partition("::")[0])


def _stages(mutant: Mutant, by: set[str], tests: Sequence[str]) -> list[list[str]]:
    """The files of tests of the same name; those that come by, of the room and then others; at last all of the room.
    What is computed when a module is imported, any test may use."""
    reaching = {test.partition("::")[0] for test in by}
    room = f"tests/unit/{mutant.room}/"
    same = (ROOT / room).rglob(f"test_*{Path(mutant.file).stem}*.py")
    near = sorted(each.relative_to(ROOT).as_posix() for each in same)
    ignored = [f"--ignore={each}" for each in near]
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    if "" in reaching or marked(text, {0: mutant.line}) == text:
        return [near, [room, *ignored], [*tests, f"--ignore={room}"]]
    others = [test for folder in tests for test in sorted(reaching) if test.startswith(folder) and test not in near]
    of_room = [test for test in others if test.startswith(room)]
    rest = [f"--ignore={each}" for each in of_room]
    return [near, of_room, [test for test in others if test not in of_room], [room, *ignored, *rest]]


class Results:
    """What was found, also by runs before this one."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(exist_ok=True)
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self.known: dict[Mutant, str | None] = {
            Mutant(**each["mutant"]): each["caught_by"] for each in map(json.loads, lines)
        }

    def add(self, mutant: Mutant, caught_by: str | None) -> None:
        self.known[mutant] = caught_by
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"mutant": asdict(mutant), "caught_by": caught_by}) + "\n")
        print(f"{mutant}  {caught_by or 'SURVIVED'}", flush=True)


def judge(mutants: Sequence[Mutant], tests: Sequence[str], results: Results) -> None:
    """Try each change, in as many copies as there are workers."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [Copy(Path(folder, str(number))) for number in range(WORKERS)]
        stages = copies[0].reaching(mutants, tests)
        free: SimpleQueue[Copy] = SimpleQueue()
        for each in copies:
            free.put(each)

        def one(mutant: Mutant) -> None:
            copy = free.get()
            try:
                results.add(mutant, copy.caught_by(mutant, *stages[mutant]))
            finally:
                free.put(copy)

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(one, mutants))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--tests", nargs="*", default=TESTS, help="folders or files, for what tests of the room miss")
    options = parser.parse_args()
    files = [file for room in ROOMS for file in (ROOT / "src/dpsql" / room).rglob("*.py")]
    sources = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}
    chosen = drawn(sources, seed=options.seed, count=options.count)
    results = Results(ROOT / ".cache" / f"mutants-{options.seed}.jsonl")
    fresh = [mutant for mutant in chosen if mutant not in results.known]
    if fresh:
        judge(fresh, options.tests, results)
    left = [mutant for mutant in chosen if results.known[mutant] is None]
    for mutant in left:
        print(f"SURVIVED  {mutant}")
    caught = len(chosen) - len(left)
    print(f"{caught} of {len(chosen)} were caught: {caught / len(chosen):.1%}")


if __name__ == "__main__":
    main()
