# Everything a newcomer needs. Each target sets up what it uses; the only thing required is Python >= 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := $(if $(wildcard $(READY)),$(VENV),.venv-demo)
PYTHONS ?= 3.11 3.12 3.13 3.14
SENTENCES ?= 20000
SEED ?= 2
CRASHES ?= 50
COUNT ?= 12
COVER ?= tests
# By folders, without their slow files, not by a mark: to collect everything takes longer than most tests do.
FAST := tests/unit/sql tests/unit/plan tests/unit/ledger tests/unit/randomness tests/unit/accounting tests/unit/catalog \
  tests/unit/privacy/test_events.py tests/unit/privacy/test_exact.py tests/unit/sensitivity/test_global.py \
  tests/unit/mechanisms/test_laplace.py tests/unit/mechanisms/test_registry.py tests/unit/local \
  tests/unit/engines/test_duckdb.py tests/unit/engines/test_desk.py tests/unit/engines/test_registry.py \
  tests/unit/session/test_release.py tests/unit/session/test_steps.py tests/unit/session/test_noisy.py \
  tests/unit/cli/test_budget.py \
  $(addprefix --ignore=tests/unit/,sql/test_functions_any_expression.py sql/test_parse_any_input.py \
    sql/test_parse_against_duckdb.py sql/test_contributions.py sql/test_functions_on_duckdb.py \
    sql/parsing/test_literals.py plan/test_derive_on_duckdb.py plan/test_derive_on_queries.py \
    ledger/test_postgres.py ledger/test_sqlite_bytes.py ledger/test_sqlite.py ledger/test_damage.py \
    ledger/test_restoring.py accounting/test_rdp.py accounting/test_pld.py accounting/test_heterogeneous.py \
    randomness/test_blocks.py)
unexport PYTHONDONTWRITEBYTECODE   # where it is set, every process would compile everything once more
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')

.PHONY: demo test test-fast matrix coverage explore check format audit mutants bench pictures docs constraints fingerprints clean

demo: $(DEMO)/.ready         ## an invented hospital, the attack on Bob, and what stops it; needs dpsql alone
	@$(DEMO)/bin/dpsql demo --attack --no-pause

test: $(READY)               ## every test, on all cores; one worker more, since some tests wait
	$(BIN)/python -m pytest -n $(WORKERS)

test-fast: $(READY)          ## a minute: the core of every room, while working
	$(BIN)/python -m pytest -n $(WORKERS) $(FAST)

matrix:                      ## every test under each of PYTHONS that is installed, in environments of their own
	@for version in $(PYTHONS); do \
	  if python$$version -c '' 2> /dev/null; then $(MAKE) test PYTHON=python$$version VENV=.venv-$$version || exit 1; \
	  else echo "python$$version is not installed"; fi; \
	done

coverage: $(READY)           ## lines of the rooms that carry the promise which no test (of COVER) reaches
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest -n $(WORKERS) $(COVER)
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

explore: $(READY)            ## property tests on new random examples
	HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest -n auto tests/unit

check: $(READY)              ## format, lint, strict types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/import_rules.py

format: $(READY)             ## rewrite the layout, fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

audit: $(READY)              ## golden vectors, TPC-H, random statements (SENTENCES of them, from SEED), CRASHES at each point
	$(BIN)/python -m tests.vectors tests/vectors.json
	DPSQL_SENTENCES=$(SENTENCES) DPSQL_SENTENCES_SEED=$(SEED) DPSQL_SENTENCES_DEEP=1 \
	  DPSQL_TPCH_SCALE=0.1 $(BIN)/python -m pytest -n auto tests/system/test_sentences.py tests/system/test_tpch.py
	DPSQL_CRASHES=$(CRASHES) DPSQL_RACERS=64 DPSQL_RACER_CHARGES=174 DPSQL_CANARY_STEP=1 $(BIN)/python -m pytest -n auto \
	  tests/system/test_crash.py tests/system/test_race.py tests/system/test_canaries.py
	DPSQL_NUMBERS=100000 DPSQL_CHARGES=10000000 \
	  $(BIN)/python -m pytest -n auto tests/system/test_numbers_that_enter.py tests/system/test_exact_sums.py
	DPSQL_EVERY_PLAN=1 $(BIN)/python -m pytest -n auto \
	  tests/system/test_replay_audit.py tests/system/test_stored_plans.py tests/system/test_writings.py \
	  tests/unit/session/test_accuracy.py
	DPSQL_EVERY_CASE=1 $(BIN)/python -m pytest -n auto tests/system/test_types_of_neighbours.py \
	  tests/statistical $(addprefix tests/unit/,accounting mechanisms privacy sensitivity sql)
	DPSQL_SELECTED_RUNS=1000 $(BIN)/python -m pytest -n auto tests/statistical/test_selected_rows.py
	DPSQL_READINGS=20000 $(BIN)/python -m pytest -n auto tests/system/test_read_as_duckdb_reads.py
	DPSQL_FLIPS_STRIDE=1 $(BIN)/python -m pytest tests/unit/ledger/test_sqlite_bytes.py
	$(BIN)/python bench/hostile.py --minutes 1 --shared

# These take the time they take.
explore audit: export PYTEST_TIMEOUT = 0

mutants: $(READY)            ## COUNT small changes of the code, drawn from SEED, one at a time: does a test notice?
	$(BIN)/python tools/mutants.py --seed $(SEED) --count $(COUNT)

bench: $(READY)              ## speed, as ratios within one run
	$(BIN)/python bench/run.py

fingerprints: $(READY)       ## after rereading a proof: pin it to the code it proves
	$(BIN)/python tools/fingerprints.py --write

pictures: $(READY)           ## those of the documents, after the words of the shell or the looks of a chart have changed
	DPSQL_WRITE_PICTURES=1 $(BIN)/python -m pytest tests/system/test_pictures.py -k terminal
	$(BIN)/python tools/pictures.py --write

docs: $(READY)               ## the pages as a site, in site/; a link that leads nowhere stops it
	$(BIN)/zensical build --clean --strict

# Versions and hashes, no addresses. Needs uv.
constraints:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	  --extra dev --extra pld --extra opendp -q pyproject.toml -o constraints.txt

# uv when it is there (seconds), pip otherwise: the same locked versions either way.
$(READY): constraints.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dpsql needs Python 3.11 or newer")'
	@if command -v uv >/dev/null 2>&1; then set -ex; \
	  uv venv -q --clear --python $(PYTHON) $(VENV); \
	  uv pip install -q --python $(BIN)/python --require-hashes -r constraints.txt; \
	  uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .; \
	else set -ex; \
	  $(PYTHON) -m venv --clear $(VENV); \
	  $(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes --no-deps -r constraints.txt; \
	  $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	fi
	@touch $@

# What users install, at the locked versions (hashes are for the environment of developers: pip has none for a folder).
.venv-demo/.ready: constraints.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dpsql needs Python 3.11 or newer")'
	@if command -v uv >/dev/null 2>&1; then set -ex; \
	  uv venv -q --clear --python $(PYTHON) .venv-demo; \
	  sed '/--hash=/d; s/ \\$$//' constraints.txt > .venv-demo/versions.txt; \
	  uv pip install -q --python .venv-demo/bin/python -c .venv-demo/versions.txt .; \
	else set -ex; \
	  $(PYTHON) -m venv --clear .venv-demo; \
	  sed '/--hash=/d; s/ \\$$//' constraints.txt > .venv-demo/versions.txt; \
	  .venv-demo/bin/python -m pip install -q --disable-pip-version-check -c .venv-demo/versions.txt .; \
	fi
	@touch $@

clean:
	rm -rf .venv* site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* build dist
