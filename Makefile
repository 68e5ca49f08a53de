# The commands people type. Everything lives in .venv; a second run starts in seconds.

PYTHON ?= python3
BIN := .venv/bin
# One torch thread for each test process; two processes fill two cores.
TEST_ENV := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test test-longer test-slow test-outside check docs wheel-check audit-dependencies format install gl clean

demo: install  ## train three agents in a partly symmetric world and draw what they learned
	$(BIN)/python examples/demo

test: install  ## everything a user should be able to trust, within minutes
	$(TEST_ENV) $(BIN)/python -m pytest -n 2 --dist worksteal -q

test-longer: install  ## the rest of the tests that CI runs: long examples, small studies, failures
	$(TEST_ENV) $(BIN)/python -m pytest -n 2 --dist worksteal -q -m longer

test-slow: install  ## kills, soaks, fuzzing: about an hour
	$(TEST_ENV) $(BIN)/python -m pytest -n 2 --dist worksteal -q -m slow

test-outside: install  ## studies on a Ray cluster, the report in Chromium, which is installed if we may
	sh scripts/install_chromium.sh
	$(TEST_ENV) $(BIN)/python -m pytest -q -m outside tests/studies

check: install  ## format, lint, types, import contract, then the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

docs: install  ## links, commands, examples and the notebook of the docs
	$(TEST_ENV) $(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not outside" tests/docs

wheel-check:  ## the wheel, in a new environment, far from the checkout
	sh scripts/check_wheel.sh $(PYTHON)

audit-dependencies:  ## known vulnerabilities of every pinned package; asks a service on the network
	test -d .venv-audit || $(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet pip-audit
	.venv-audit/bin/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

install: .venv/.installed gl

.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "nearsym needs Python 3.11 or newer"'
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

gl: .venv/.installed
	@sh scripts/install_gl.sh $(BIN)/python

clean:
	rm -rf .venv .venv-audit runs
