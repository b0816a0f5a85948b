# make train   sets everything up in .venv and runs the main job
# make test    sets everything up in .venv and checks everything
# make quick   the same without types and slow tests, two examples a law: a minute, for between changes
PYTHON ?= python3
BIN := .venv/bin
EXTRAS ?= dev
# One process more than cores: tests that wait for other processes leave their core idle.
WORKERS := $(shell $(PYTHON) -c "import os; print(min(8, os.cpu_count() + 1))")
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: train test quick setup lint types unit format

train: setup
	$(BIN)/python train.py

test: lint types unit

quick: lint
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not slow"

setup: .venv/ready

# torch comes first and pinned: without the pin, pip may take a build with gigabytes for GPUs.
.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Sequence Composer needs Python 3.11 or newer.')"
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch .venv/ready

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

unit: setup
	$(PYTEST)

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
