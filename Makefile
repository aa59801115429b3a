# Every target sets itself up: all it takes is Python 3.11 or later and a network to install packages from.
# A stamp in .venv remembers what is installed; nothing is done again until pyproject.toml or constraints.txt changes.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test quick install check bench docs fuzz reference figures clean

MINUTES ?= 20

help:  ## say what the targets do
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

demo: $(STAMPS)/plot  ## learn on a built-in table, answer three questions, draw pictures in ./demo
	@$(BIN)/tractable demo

test: check  ## everything: lint, types and tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

quick: $(STAMPS)/test  ## the tests that take two minutes; FILES='tests/data -k dates' chooses some of them
	$(BIN)/python -m pytest -n 2 --dist worksteal --quick $(FILES)

check: $(STAMPS)/test  ## lint and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

fuzz: $(STAMPS)/test  ## random cases: damaged files, queries, command lines, kills; MINUTES=20 SEED=0 KINDS='answers' REPLAY=kind:0:7
	PYTHONPATH=$(CURDIR)/tests:$(CURDIR)/tests/support $(BIN)/python -m fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(KINDS),--kinds $(KINDS)) $(if $(REPLAY),--replay $(REPLAY))

install: $(STAMPS)/all  ## .venv with every extra, ready for .venv/bin/tractable

bench: $(STAMPS)/test  ## how fast the engine is; then learners beside published figures: DATA=folder BENCH='--budget 10m'
	$(BIN)/python benchmarks/engine.py
	@mkdir -p build/bench
	$(BIN)/tractable bench $(if $(DATA),--data $(DATA)) --results build/bench/results.jsonl --report build/bench $(BENCH)

docs: $(STAMPS)/docs  ## the documentation as pages in ./build/site
	$(BIN)/mkdocs build --strict --quiet

reference: $(STAMPS)/test  ## write docs/learners.md and the stub of the estimators anew from what the learners declare
	$(BIN)/python -m tractable.cli.reports.learners > docs/learners.md
	$(BIN)/python -m tractable.cli.reports.stubs > src/tractable/estimators/generated.pyi

figures: $(STAMPS)/test  ## draw the circuits of docs/selective.md anew
	$(BIN)/python benchmarks/selective_figures.py

clean:  ## remove everything that can be made again
	rm -rf $(VENV) demo build dist .mypy_cache .ruff_cache .pytest_cache

$(STAMPS):
	$(PYTHON) -m venv $(VENV)
	mkdir -p $@

$(STAMPS)/plot: EXTRA := plot
$(STAMPS)/test: EXTRA := test
$(STAMPS)/docs: EXTRA := docs
$(STAMPS)/all: EXTRA := all
$(STAMPS)/plot $(STAMPS)/test $(STAMPS)/docs $(STAMPS)/all: pyproject.toml constraints.txt | $(STAMPS)
	$(PIP) --editable '.[$(EXTRA)]'
	@touch $@
