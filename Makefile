# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow dev lint bench clean

demo: $(READY)
	$(BIN)/lic demo

test: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-slow: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal

dev: $(READY)
	cd $(CURDIR) && $(BIN)/lic dev

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# One installation serves every target; it is repeated only when the pins or the project change.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache dist build
