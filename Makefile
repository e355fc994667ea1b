# Every target does its own set-up: a virtual environment with the locked, hash-checked packages.
.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MUTATION := .venv-mutation
CLIENT := .venv-client
SUPPLY := .venv-supply

# Else every process that a test starts compiles the whole program anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run servers rewritten test quick soak day lint types layers fuzz mutation pages bench dist lock clean image-check sbom audit

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

$(STAMP): requirements.lock requirements-dev.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "needs Python 3.11: $(PYTHON) is not on the path; name another with PYTHON=..." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "needs Python 3.11: $(PYTHON) is $$($(PYTHON) --version 2>&1); name another with PYTHON=..." >&2; exit 2; }
	@echo "making the virtual environment $(VENV)" >&2
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "installing the locked packages: about a minute" >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@echo "installing laddermaker itself" >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@echo "bot and venue are in $(BIN): source $(BIN)/activate" >&2
	@touch $(STAMP)

setup: $(STAMP) ## make the virtual environment

run: $(STAMP) ## quote the demo ladder on the embedded venue
	@$(BIN)/bot run configs/demo.yaml

lint: $(STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP)
	@$(BIN)/mypy

layers: $(STAMP)
	@$(BIN)/lint-imports --no-cache

# Programs that tests start: installed when asked, and then required; else tests of them are skipped.
SERVERS ?= no
DEBIAN := chromium chromium-driver postgresql prometheus prometheus-alertmanager
AS_ROOT := $(shell test "$$(id -u)" = 0 && command -v apt-get >/dev/null 2>&1 && echo yes)

servers: ## install Debian's packages of what tests start (as root)
ifeq ($(AS_ROOT),yes)
	@dpkg-query -W $(DEBIAN) >/dev/null 2>&1 || { \
	    echo "installing with apt-get: $(DEBIAN)" >&2; \
	    apt-get -qq update && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
	    apt-get -qq install --no-install-recommends $(DEBIAN) >/dev/null; }
else
	@echo "not root, or no apt-get: nothing is installed; tests of what is missing are skipped" >&2
endif

# Else each worker rewrites the assertions of every test for itself. What fails here, `test` tells.
rewritten: $(STAMP)
	@$(BIN)/pytest --collect-only -qq >/dev/null 2>&1 || true

$(CLIENT)/.installed: tests/client/requirements.lock
	@echo "installing a generator of clients for the tests, in $(CLIENT)" >&2
	@$(PYTHON) -m venv --clear $(CLIENT)
	@$(CLIENT)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r tests/client/requirements.lock
	@touch $@

test: $(STAMP) $(CLIENT)/.installed ## style, types, layers and every test: a quarter of an hour on two cores; SERVERS=yes installs what some start
	@echo "style, types, layers and every test: a quarter of an hour on two cores" >&2
ifneq ($(SERVERS),yes)
	@echo "tests of a browser, Prometheus and PostgreSQL run if these are installed: SERVERS=yes does that, as root" >&2
endif
	@$(MAKE) --no-print-directory --jobs=2 --output-sync lint types layers $(if $(filter yes,$(SERVERS)),servers) rewritten
	@$(if $(filter yesyes,$(SERVERS)$(AS_ROOT)),LADDERMAKER_SERVERS=required) $(BIN)/pytest -n 4 --dist loadgroup -rs

# No process of the bot or of the venue is started: the wire, the engine, the trader's core.
quick: $(STAMP) ## the wire, the engine and the trader's core: under a minute on two cores
	@echo "tests of the wire, the engine and the trader's core: under a minute on two cores" >&2
	@$(BIN)/pytest -n 2 tests/fast

soak: TIME ?= 8h
soak: JOBS ?= 2
soak: SEED ?= $(shell date +%s)
soak: $(STAMP) ## seed after seed of simulated faults, from a fresh one on: TIME=8h JOBS=2 SEED=...
	@$(BIN)/bot simulate --profile swarm --seed $(SEED) --for $(TIME) --jobs $(JOBS) --quiet

day: HOURS ?= 24
day: $(STAMP) ## virtual hours of 20 rungs at 5 frames a second: what grows, what is logged: HOURS=24
	@$(BIN)/python -m tests.day --hours $(HOURS)

fuzz: $(STAMP) ## the interface under 2,000 generated requests an operation
	@$(BIN)/python -m tests.fuzz --examples 2000

$(MUTATION)/.installed: requirements-dev.lock tests/mutation/requirements.lock
	$(PYTHON) -m venv --clear $(MUTATION)
	$(MUTATION)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(MUTATION)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r tests/mutation/requirements.lock
	@touch $@

mutation: JOBS ?= 2
mutation: $(MUTATION)/.installed ## whether the tests notice a change in what money hangs on: PARTS="risk spend" JOBS=2
	@$(MUTATION)/bin/python -m tests.mutation --jobs $(JOBS) $(PARTS)

pages: $(STAMP) ## remake the pages that are made from tables of the source
	@$(BIN)/python -m tests.pages

bench: $(STAMP) ## every speed claim, as a ratio measured in one run
	@$(BIN)/python -m bench

dist: $(STAMP) ## wheel and source archive, in dist: seconds
	@rm -rf dist
	@$(BIN)/python -m hatchling build --directory dist --target wheel --target sdist >/dev/null
	@ls dist/*

image-check: $(STAMP) ## the Dockerfile's steps without an engine, and the image tried (root on Debian, four minutes)
	@$(BIN)/python -m deploy.rootfs

$(SUPPLY)/.installed: requirements.lock deploy/image/postgres.lock deploy/supply/requirements.lock
	$(PYTHON) -m venv --clear $(SUPPLY)
	$(SUPPLY)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r deploy/supply/requirements.lock
	$(PYTHON) -m venv --clear --without-pip $(SUPPLY)/shipped
	$(SUPPLY)/bin/pip --python $(SUPPLY)/shipped/bin/python install --quiet --disable-pip-version-check --require-hashes -r requirements.lock -r deploy/image/postgres.lock
	@touch $@

sbom: $(SUPPLY)/.installed ## what is shipped, as CycloneDX JSON: sbom.json
	@$(SUPPLY)/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --spec-version 1.6 --output-file sbom.json $(SUPPLY)/shipped/bin/python
	@echo sbom.json

audit: SERVICE ?= pypi
audit: $(SUPPLY)/.installed ## known advisories against every locked package: SERVICE=pypi or osv
	@$(SUPPLY)/bin/python -m deploy.supply.audit --service $(SERVICE)

lock: ## pin every dependency with its hashes (needs uv)
	uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal --custom-compile-command 'make lock' -o requirements.lock pyproject.toml
	uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal --custom-compile-command 'make lock' --extra dev -c requirements.lock -o requirements-dev.lock pyproject.toml
	uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal --custom-compile-command 'make lock' -c requirements-dev.lock -o tests/mutation/requirements.lock tests/mutation/requirements.in
	uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal --custom-compile-command 'make lock' -o tests/client/requirements.lock tests/client/requirements.in
	uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal --custom-compile-command 'make lock' -c requirements-dev.lock -o deploy/image/build.lock deploy/image/build.in
	uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal --custom-compile-command 'make lock' -c requirements.lock -o deploy/image/postgres.lock deploy/image/postgres.in
	uv pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 --universal --custom-compile-command 'make lock' -c requirements-dev.lock -o deploy/supply/requirements.lock deploy/supply/requirements.in

clean: ## remove the virtual environment and every cache
	rm -rf $(VENV) $(MUTATION) $(CLIENT) $(SUPPLY) dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis
