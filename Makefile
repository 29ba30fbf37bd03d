# Every target works on a machine that has only Python 3.11+, make and the package index.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# := expands once: the seed that is printed is the seed that is used.
SEED   := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))

export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export GX_ANALYTICS_ENABLED := false
# A test starts a hundred processes: without bytecode each of them compiles the whole program again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup release test test-spark campaign-spark check serve bench campaign golden clean
.DEFAULT_GOAL := test

setup: $(STAMP)

# Hashes are checked, so that nothing is installed but what was tested; requirements.txt names every
# package, so nothing is resolved. Wheels only: building one would fetch tools that no hash covers.
$(STAMP): pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hybriddp needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --no-deps --only-binary :all: -r requirements.txt
	$(PIP) --no-deps --no-build-isolation -e .
	$(BIN)/python -m flows.server.empty_database
	@touch $@

# A whole release of last week's log, which is synthetic; run it again for the same list, free.
# The log is named after its week, so next week's release gets a log of its own.
LAST_WEEK := $(shell $(PYTHON) -c 'import datetime as d; y, w, _ = (d.datetime.now(d.timezone.utc) - d.timedelta(7)).isocalendar(); print(f"{y}-W{w:02}")')
DEMO_LOG := var/demo/log-$(LAST_WEEK).tsv.gz

# People in the synthetic log; `make release USERS=20000` is quicker, and lists less.
USERS ?= 200000

release: $(STAMP) $(DEMO_LOG)
	$(BIN)/hybriddp keys init
	$(BIN)/hybriddp release --log $(DEMO_LOG) --epoch $(LAST_WEEK) --records-per-user 10

$(DEMO_LOG): | $(STAMP)
	@mkdir -p $(@D)
	$(BIN)/hybriddp generate --kind aol-like --users $(USERS) --seed 1 --epoch $(LAST_WEEK) --out $@

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 3 --no-loadscope-reorder -m 'not long'

# The second engine on a real Spark: pyspark is 1 GB with what it needs, so it has an environment of
# its own beside the usual one, whose packages it sees. Java 17 comes with the system.
SPARK_VENV := .venv-spark
SPARK_STAMP := $(SPARK_VENV)/.installed

$(SPARK_STAMP): $(STAMP) requirements-spark.txt requirements-spark-tests.txt
	$(PYTHON) -m venv $(SPARK_VENV)
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	    > $$($(SPARK_VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/usual.pth
	$(SPARK_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	    --no-deps --no-build-isolation -r requirements-spark.txt -r requirements-spark-tests.txt
	@touch $@

test-spark: $(SPARK_STAMP)
	PYTHONPATH=$(CURDIR) $(SPARK_VENV)/bin/python -m pytest -q -n 0 -m 'not long' tests/spark

# Workers, drivers and whole clusters killed in the middle of every step, not of some; it says which.
campaign-spark: $(SPARK_STAMP)
	HYPOTHESIS_PROFILE=campaign PYTHONPATH=$(CURDIR) $(SPARK_VENV)/bin/python -m pytest -q -n 0 -s \
	    tests/spark/test_cluster.py

# What to run before a commit: about a minute.
check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --no-loadscope-reorder -m 'not slow and not long'

serve: $(STAMP)
	$(BIN)/python -m flows.server.serve

bench: $(STAMP)
	$(BIN)/python -m bench

# The statistical, property and exact tests again, on a fresh seed and with more examples, kills at
# every point, and what takes too long for every run: mutations by the ten thousand.
campaign: $(STAMP)
	@echo "campaign seed: $(SEED)"
	HYBRIDDP_TEST_SEED=$(SEED) HYPOTHESIS_PROFILE=campaign $(BIN)/python -m pytest -q -n 2 --no-loadscope-reorder -m 'exact or property or statistical or kills or long'

# Write again what the docs show of the program's own output.
golden: $(STAMP)
	$(BIN)/python -m bench.golden

clean:
	rm -rf $(VENV) $(SPARK_VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
