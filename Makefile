# The two commands: `make demo` and `make test`. `make help` lists all.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export DAGSTER_HOME := $(CURDIR)/data/dagster
DEMO_ENV := HF_HUB_OFFLINE=1
PORT ?= 3000
REVIEW_PORT ?= 8787
FAKE_PORT ?= 8765

PYTEST := HF_HUB_OFFLINE=1 $(BIN)/pytest
T := qa_pipeline_tests
# tests that need no package of the extra `system`
SMALL := --ignore=$(T)/system --ignore=$(T)/test_notebook.py
FAST := $(T)/test_docs.py $(T)/text $(T)/documents/corpus $(T)/curation/test_batch_gates.py $(T)/retrieval \
	$(T)/settings $(T)/prompts $(T)/llm/test_replies.py $(T)/test_reference.py
# the longest first, and no file without slow tests: each process reads every file
SLOW = $(T)/system $(T)/test_tutorial.py $(T)/test_notebook.py $(T)/llm \
	$(shell grep -rl 'mark\.slow' $(T) --include='test_*.py' | sort)

TOO_OLD := qa_pipeline needs Python 3.11 or newer. Name one that you have, such as: make install PYTHON=python3.12

.PHONY: help install demo check test test-system test-laws bench layers lint types format ui serve-fake clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# compile only the modules that are used, which saves a tenth of the disk space
PIP := $(BIN)/pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable

install: $(VENV)/installed  ## create .venv and install the project with pinned versions

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is $$($(PYTHON) --version 2>&1). $(TOO_OLD)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) .
	touch $@
	@echo "Installed. To have the command qa-pipeline in this shell: source $(VENV)/bin/activate"

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) ".[dev]"
	touch $@

$(VENV)/installed-system: $(VENV)/installed
	$(PIP) ".[dev,system]"
	touch $(VENV)/installed-dev $@

$(DAGSTER_HOME)/dagster.yaml: deploy/dagster.yaml
	mkdir -p $(DAGSTER_HOME)
	cp $< $@

demo: $(VENV)/installed $(DAGSTER_HOME)/dagster.yaml  ## run the sample corpus through Dagster, offline, and print rows
	$(DEMO_ENV) $(BIN)/qa-pipeline run data/corpora --out data --dagster

ui: $(VENV)/installed $(DAGSTER_HOME)/dagster.yaml  ## open the Dagster UI with the daemon on the same instance and data, and the review app
	@$(BIN)/qa-pipeline review --out data --port $(REVIEW_PORT) & trap "kill $$! 2>/dev/null" EXIT INT TERM; \
	$(DEMO_ENV) QA_PIPELINE_REVIEW__URL=http://127.0.0.1:$(REVIEW_PORT) \
	$(BIN)/dagster dev --workspace workspace.yaml --host 127.0.0.1 --port $(PORT)

check: layers lint types  ## lint, types and the fast folders of the tests
	$(PYTEST) -m "not slow" $(FAST)

serve-fake: $(VENV)/installed-dev  ## serve fake models with the APIs of Gemini and OpenAI, free of charge
	$(BIN)/python -m qa_pipeline_tests.fake_server --port $(FAKE_PORT)

bench: $(VENV)/installed-dev  ## list the benchmarks
	@$(BIN)/python -m qa_pipeline_tests.benchmarks.support.listing

test: layers lint  ## lint, types and the tests that start no processes
	@$(MAKE) --no-print-directory types & types=$$!; \
	$(PYTEST) -m "not slow" --durations=30 $(SMALL); tests=$$?; \
	wait $$types && exit $$tests

# tests of a file share servers, so each file runs in one process
test-system: $(VENV)/installed-system  ## processes, kills, a browser, Dagster as deployed, Postgres, S3, Ray; the tutorial
	$(PYTEST) -m slow --numprocesses=4 --durations=30 --dist loadfile --no-loadscope-reorder $(SLOW)

test-laws: $(VENV)/installed-dev  ## the laws alone, on twenty times as many examples; for the night
	$(PYTEST) $(SMALL) -m hypothesis --hypothesis-profile=laws --durations=30

# runs first, because it names modules that import each other
layers: $(VENV)/installed-dev
	$(PYTEST) -n 0 $(T)/test_layers.py

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

format: $(VENV)/installed-dev  ## format the code and let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the outputs of the demo, not the sample corpus
	rm -rf data/tables data/indexes data/exports data/cache data/dagster data/origins data/settings
