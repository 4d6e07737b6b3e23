# Everything a person does with this project. `make help` lists it.
PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# The rooms by themselves. A room that a folder is named after must be here. What holds for all the
# code (tests/house) reads all of it, in each process: `make test` has it.
QUICK := $(addprefix tests/,core doors features links records wire) \
  $(wildcard tests/test_*.py)
# Whole files, in our own order: that of xdist, by their number of tests, puts the longest last.
BY_FILE := --dist loadfile --no-loadscope-reorder
SOURCES := src tests $(wildcard scripts) $(wildcard bench)
# Python keeps what it compiled, whatever the shell says: tests start hundreds of programs, and each
# would compile every source again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help up test quick coverage test-clients first-call launchers test-executors test-fleet test-image test-k8s test-ui check format docs conformance bench bench-peers instructions flows stress proof lock manifests clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: $(VENV)/.runtime ## set everything up and start the hub (ARGS="--port 8000" to add flags)
	@exec $(BIN)/toolyard up $(ARGS)

test: $(VENV)/.dev ## set everything up and run all tests (ARGS="-k names" to choose)
	@$(BIN)/python -m pytest -n 4 $(BY_FILE) --durations 15 $(ARGS)

quick: $(VENV)/.dev ## the tests for every minute: the rooms alone, in under one
	@$(BIN)/python -m pytest -n 3 --dist worksteal --hypothesis-profile quick -m "not slow and not executors and not ui" $(QUICK) $(ARGS)

coverage: $(VENV)/.dev ## all tests once more, counting lines and branches; fails if a room is below its floor
	@rm -rf .cache/coverage && mkdir -p .cache/coverage
	@$(BIN)/coverage run -m pytest -n 2 $(BY_FILE) $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage json --quiet -o .cache/coverage/report.json
	@$(BIN)/python scripts/coverage_floors.py .cache/coverage/report.json

test-executors: $(VENV)/.dev ## run servers for real on docker, ssh and kubernetes, where they are
	@$(BIN)/python -m pytest -m executors --timeout-method thread $(ARGS)

test-ui: $(VENV)/.dev ## the page in a real browser (TOOLYARD_SHOTS=FOLDER keeps pictures of it)
	@PYTHON=$(BIN)/python scripts/browser.sh
	@scripts/alone.sh $(BIN)/python -m pytest -m ui -n 2 $(BY_FILE) --durations 15 tests/ui $(ARGS)

test-k8s: $(VENV)/.dev ## build a whole kubernetes once, start it, run servers and the chart in it, stop it
	@PYTHON=$(BIN)/python scripts/kube/test.sh $(ARGS)

test-image: $(VENV)/.dev ## build the container image and run it (TOOLYARD_IMAGE_BASE=FILE.tar where no registry is)
	@scripts/engines.sh
	@command -v caddy >/dev/null || scripts/debian.sh caddy || true
	@$(BIN)/python -m pytest -m image tests/image $(ARGS)

test-fleet: $(VENV)/.dev ## three hubs with a database behind HAProxy, restarted and upgraded in turn under load (FULL=1: 60 restarts, 300,000 calls)
	@scripts/haproxy.sh || true
	@scripts/postgres.sh install || true
	@$(if $(FULL),TOOLYARD_FLEET_ROUNDS=20 TOOLYARD_FLEET_CALLS=300000) $(BIN)/python -m pytest -m fleet -s tests/fleet $(ARGS)

check: $(VENV)/.dev ## format, lint, types and the staircase of imports; the page's JavaScript, too
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --cache-dir .cache/imports
	@$(BIN)/python scripts/page.py check

format: $(VENV)/.dev ## put the code into its form
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/python scripts/page.py format

docs: $(VENV)/.docs ## the pages of docs/ as a site, in site/; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet $(ARGS)
	@echo "site/index.html"

conformance: $(VENV)/.dev ## the official MCP suite, through the hub
	@$(BIN)/python scripts/conformance.py $(ARGS)

test-clients: $(VENV)/.dev ## the real clients read what we write, and the reverse (1.6 GB)
	@$(BIN)/python scripts/clients.py $(ARGS)

first-call: $(VENV)/.dev ## time the way from `make up` to the first tool call of a real client, with five clients to set up
	@$(BIN)/python scripts/first_call.py $(ARGS)

launchers: $(VENV)/.dev ## interrupt first starts by npx and uvx at twenty random moments each (ARGS="--launcher npx --rounds 1-7")
	@$(BIN)/python tests/stress/launchers.py $(ARGS)

bench: $(VENV)/.dev ## measure what a call costs (ARGS="--only echo" for some; ARGS=--plots for how it grows)
	@$(BIN)/python bench/run.py $(ARGS)

bench-peers: $(VENV)/.dev ## install other hubs into .cache, and measure them beside ours and the bare relay
	@$(BIN)/python bench/peers.py --install $(ARGS)
	@scripts/alone.sh $(BIN)/python bench/peers.py $(ARGS)

instructions: $(VENV)/.dev ## count the instructions of a call, with valgrind (ARGS="--against PYTHON" to compare)
	@$(BIN)/python bench/instructions.py $(ARGS)

flows: $(VENV)/.dev ## count the functions, files and rooms that a call passes (ARGS=--json)
	@$(BIN)/python bench/flows.py $(ARGS)

stress: $(VENV)/.dev ## the announce file in a storm of writers, servers shared by many, a thousand windows that are asked, setups that are interrupted, at full size
	@$(BIN)/python tests/stress/announce_storm.py $(ARGS)
	@$(BIN)/python tests/stress/instances.py
	@$(BIN)/python tests/stress/questions.py
	@$(BIN)/python tests/stress/setup_interrupts.py

proof: $(VENV)/.dev ## run the tests behind our promises, and report which held (ARGS=--short: in minutes; ARGS="D14 F1": some rows)
	@$(BIN)/python scripts/proof.py $(ARGS)

lock: ## resolve the dependencies again (ARGS=--upgrade for newer ones)
	@PYTHON=$(PYTHON) scripts/lock.sh $(ARGS)

manifests: ## render the Helm chart to deploy/kubernetes/ (builds Helm with Go, where there is none)
	@$(PYTHON) scripts/manifests.py

clean: ## remove everything that was made here
	rm -rf $(VENV) .cache .hypothesis .ruff_cache build dist node_modules site src/*.egg-info
	find src tests scripts bench -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Each stamp is newer than the lock it was made from, so nothing is installed twice.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "toolyard needs python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "python could not make a virtual environment; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml | $(VENV)/.made
	@$(BIN)/python scripts/install.py $<
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/.made
	@$(BIN)/python scripts/install.py $< for development
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.runtime

$(VENV)/.docs: requirements/docs.txt | $(VENV)/.made
	@$(BIN)/python scripts/install.py $< for the docs
	@touch $@
