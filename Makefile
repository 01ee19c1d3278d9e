# demo, test, lint: each sets up what it needs in this folder, once, and again when a pin changes.
# Needs Python 3.11 or newer. With npm the tests also run against servers from npm.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PINS := pyproject.toml constraints.txt
NPM_SERVERS := tests/npm/node_modules/.package-lock.json

.PHONY: demo test lint bench reference conformance

demo: .venv/demo.stamp
	$(BIN)/runtime apply manifests/quickstart.yaml --prompt "What time is it in Tokyo?"

test: .venv/test.stamp $(NPM_SERVERS)
	$(BIN)/python -m pytest

lint: .venv/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/demo.stamp
	$(BIN)/python benchmarks/command.py

# The whole official suite of MCP for clients, of which `make test` runs the fast half. SUITE is its runner, which installs
# what it needs on first use.
SUITE ?= ../shared/checks/conformance.sh
conformance: .venv/test.stamp
	CONFORMANCE_KNOWN="$(CURDIR)/tests/conformance/unsupported.txt" $(SUITE) "$(CURDIR)/$(BIN)/python $(CURDIR)/tests/conformance/client.py" "$(or $(LEGS),.)"

reference: .venv/demo.stamp
	$(BIN)/python scripts/reference.py docs/reference

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/demo.stamp: $(PINS) | $(BIN)/python
	$(INSTALL) --editable '.[demo]'
	touch $@

.venv/test.stamp: $(PINS) | $(BIN)/python
	$(INSTALL) --editable '.[demo,test]'
	touch $@

.venv/lint.stamp: $(PINS) | $(BIN)/python
	$(INSTALL) --editable '.[demo,test,lint]'
	touch $@

# npm writes the file last. Without npm the tests that need it are skipped, and say so.
$(NPM_SERVERS): tests/npm/package.json tests/npm/package-lock.json
	@if command -v npm >/dev/null; then \
	    echo "npm ci in tests/npm"; \
	    cd tests/npm && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error && touch node_modules/.package-lock.json; \
	else \
	    echo "npm is missing: the tests against servers from npm will be skipped"; \
	fi
