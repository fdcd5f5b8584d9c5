# make demo      set up and show the main job: no key, no model, no account needed
# make test      set up, then `make check`, then the tests (at most 15 minutes on two cores)
# make test-all  the same with the long tiers
# make check     lint, format, types, layers
# make bench     time and memory against floors measured in the same run
# make fmt       format

VENV ?= .venv
PYTHON ?= $(shell for name in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { command -v $$name; break; }; done)
UV := $(shell command -v uv 2>/dev/null)
PY := $(VENV)/bin/python

ifeq ($(UV),)
INSTALL = $(PY) -m pip install --quiet --no-input --disable-pip-version-check -c constraints.txt
CREATE = $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	echo "Could not create $(VENV). On Debian: apt-get install python3-venv" >&2; exit 1; }
else
INSTALL = $(UV) pip install --quiet --python $(PY) -c constraints.txt
CREATE = $(UV) venv --quiet --python ">=3.11" $(VENV)
endif

RUNTIME = $(VENV)/.stamp-runtime
DEV = $(VENV)/.stamp-dev

.DEFAULT_GOAL := test
.PHONY: demo test test-all check bench fmt setup clean

# A venv made elsewhere works too: only what is missing is made.
$(PY):
ifeq ($(UV),)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; none was found." >&2; exit 1; }
endif
	@echo "setting up $(VENV)" >&2
	@$(CREATE)

# The build backend first and no build isolation: the pins bind it too.
$(RUNTIME): pyproject.toml constraints.txt | $(PY)
	@echo "installing reasonix and what it needs to run" >&2
	@$(INSTALL) hatchling editables
	@$(INSTALL) --no-build-isolation -e .
	@touch $@

$(DEV): $(RUNTIME)
	@echo "installing what the tests need" >&2
	@$(INSTALL) --no-build-isolation -e '.[dev]'
	@touch $@

setup: $(DEV)

demo: $(RUNTIME)
	@$(VENV)/bin/reasonix demo

check: $(DEV)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/pyright --pythonpath $(PY)
	PYTHONPATH=server $(VENV)/bin/lint-imports

test: check
	$(PY) -m pytest -m "not long"

test-all: check
	TEST_TIER=long $(PY) -m pytest -m "long or not long"

bench: $(DEV)
	PYTHONPATH=$(CURDIR)/server:$(CURDIR)/tests $(PY) -m bench

fmt: $(DEV)
	$(VENV)/bin/ruff check --fix --exit-zero
	$(VENV)/bin/ruff format

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
