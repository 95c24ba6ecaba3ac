# Everything that is done with this checkout. `make` lists it. Needs Python 3.11 or newer, with pip; nothing else.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:

# Compiled files are kept, whatever the shell says: without them each process compiles the project, and its tests, again.
export PYTHONDONTWRITEBYTECODE :=

# The first Python that is new enough; PYTHON=… for another.
PYTHON ?= $(or $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done),$(error Python 3.11 or newer is needed))
# Tests wait for a third of their time: two cores keep four processes busy, and more where the heavy ones are not among them.
JOBS ?= 4
BIN := .venv/bin
INSTALLED := .venv/.installed
PIP_INSTALL := -m pip --disable-pip-version-check install -qq
PIP_PINNED := $(PIP_INSTALL) --progress-bar off --require-hashes --no-deps
PIP_OURS := $(PIP_INSTALL) --no-deps --no-build-isolation --no-index -e ./sdk -e .

# Releases younger than this do not enter the locks: a bad release is usually found within a week.
LOCK_DATE := 2026-11-14T12:00:00Z
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --exclude-newer $(LOCK_DATE) --custom-compile-command "make lock"
# The gateway, and assent[guards,limits], which it runs on: from this checkout, never by name from an index.
OURS := pyproject.toml sdk/pyproject.toml --extra guards --extra limits

# The server of Restate, beside which the benchmarks measure.
RESTATE_SERVER := @restatedev/restate-server@1.7.12
RESTATE := .cache/restate/node_modules/.bin/restate-server

# The Claude Code that the hook is proved against.
CLAUDE_CODE := @anthropic-ai/claude-code@2.1.327
CLAUDE := .cache/claude-code/node_modules/.bin/claude

# The frameworks whose adapters are tested in one environment; CrewAI needs its own.
TOGETHER := langgraph openai-agents pydantic-ai claude-agent-sdk google-adk agent-framework
FRAMEWORKS := frameworks crewai

# The tests stand on shelves, each a process of its own that collects only what it runs; make runs JOBS of them side by
# side, the longest first. (Workers that are handed test by test cost half as much again, in collecting and reporting;
# and a shelf more costs three seconds, in importing: the inner rings, which have little of each, put some together.)
SHELVES := rest sdk hosts kills frameworks durability cli rules readers api usecases channels cards storage project
INNER := hosts cli readers kills+rest usecases cards api+frameworks sdk+project channels+rules storage durability
ON_kills := tests/durability/kills
ON_durability := tests/sabotage $(filter-out $(ON_kills),$(patsubst %/,%,$(wildcard tests/durability/*/)) $(wildcard tests/durability/test_*.py))
ON_cli := tests/cli tests/console
ON_project := tests/project
ON_readers := tests/readers
ON_storage := tests/storage
ON_channels := tests/channels
ON_api := tests/api
ON_cards := $(addprefix tests/usecases/,cards permits upkeep voters)
ON_usecases := $(filter-out $(ON_cards),$(patsubst %/,%,$(wildcard tests/usecases/*/)) $(wildcard tests/usecases/test_*.py))
ON_hosts := $(addprefix tests/sdk/,command gate sandbox)
ON_sdk := $(filter-out $(ON_hosts),$(patsubst %/,%,$(wildcard tests/sdk/*/)))
ON_rules := tests/domain tests/policies
ON_frameworks := tests/frameworks
ON_rest := $(filter-out tests/usecases tests/durability tests/sdk $(foreach shelf,$(filter-out rest,$(SHELVES)),$(ON_$(shelf))),$(patsubst %/,%,$(wildcard tests/*/)))
ON = $(foreach shelf,$(subst +, ,$*),$(ON_$(shelf)))
PYTEST = $(BIN)/pytest -q
# Whoever runs several shelves is one run: they share a PostgreSQL.
IN_SHELVES = +@TESTS_RUN=$$$$-$$(date +%s) $(MAKE) --no-print-directory --keep-going --jobs $(JOBS) --output-sync=target

# Of each shelf a target runs a ring: `make quick` the innermost, `make test` the next, `make test ALL=1` everything.
# What only the last one has, `make twins` and `make heavy` have by itself. `tests/project/test_shelves.py` holds them to it.
RING := all
OF_all := not long and not claude and not agents
LEFT_OUT := whole or (heavy and process)
OF_test := $(OF_all) and not postgres and not ($(LEFT_OUT))
OF_quick := $(OF_test) and not heavy and not process
OF_twins := $(OF_all) and postgres
OF_heavy := $(OF_all) and not postgres and ($(LEFT_OUT))
# (What is whole only beside a sample of its own parameters is traced, for one of them may pass what no other does.)
SECOND := postgres or (whole and not sampled)
OF_traced := $(OF_all) and not ($(SECOND))
OF_beside := $(OF_all) and ($(SECOND))
# Properties draw all their examples in the last one alone (and in what only it has).
DRAWN_test := --hypothesis-profile quick
DRAWN_quick := $(DRAWN_test)

BOUNDED ?=
LONG := -m "long and not claude" --timeout 3600 $(if $(BOUNDED),--bounded)

.PHONY: help
help:  ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- a working checkout ---

.PHONY: setup
setup: $(INSTALLED)  ## make .venv from the pinned requirements (every other target does it by itself)

$(INSTALLED): requirements/dev.txt pyproject.toml sdk/pyproject.toml
	@test -x $(BIN)/pip || { echo "making .venv"; $(PYTHON) -m venv .venv; }
	@echo "installing the pinned requirements (about a minute the first time)"
	@$(BIN)/python $(PIP_PINNED) -r requirements/dev.txt
	@$(BIN)/python $(PIP_OURS)
	@touch $@

.PHONY: demo
demo: $(INSTALLED)  ## a payment approved from a chat card, surviving every kill (AUTO=1 plays it without you)
	@$(BIN)/python -m examples.demo $(if $(AUTO),--auto)

.PHONY: serve
serve: $(INSTALLED)  ## the gateway with your ./assent.yaml (CONFIG=path for another)
	@$(BIN)/assent serve --config $(or $(CONFIG),assent.yaml)

# --- the one door ---

# The checks are one shelf more. To be traced costs as much again, and more where texts are read by the thousand: with
# COVERAGE, untraced run the readers of the worst texts, whose time is what they are about, the frameworks, which reach
# nothing that others do not, and beside a traced shelf what it tries a second time: on PostgreSQL, or whole where a
# sample is traced. (tests/storage is traced on both databases.)
UNTRACED := readers frameworks
BESIDE := kills durability cli api usecases cards
# The types of the tests and examples are nearly half of what checks cost: `make check` has them, and `make test ALL=1`.
SHIPPED := app channels sdk migrations
TYPED :=
.PHONY: test
test: JOBS = $(if $(ALL)$(COVERAGE),4,12)
test: $(INSTALLED)  ## the checks (types of what is shipped), and all tests but twins and heavy ones (ALL=1: all, as CI; COVERAGE=1: all, what they reach, and its floor)
	@$(if $(COVERAGE),$(BIN)/coverage erase)
	$(IN_SHELVES) check $(addprefix shelf-,$(if $(ALL)$(COVERAGE),$(SHELVES),$(INNER))) \
		$(if $(COVERAGE),$(addprefix beside-,$(BESIDE)),$(if $(ALL),,RING=test TYPED='$(SHIPPED)'))
	@$(if $(COVERAGE),$(BIN)/coverage combine --quiet && $(BIN)/coverage report)

$(if $(COVERAGE),$(addprefix shelf-,$(BESIDE))): RING = traced
$(if $(COVERAGE),$(addprefix shelf-,$(filter-out $(UNTRACED),$(SHELVES)))): PYTEST = $(BIN)/coverage run -m pytest -q

.PHONY: twins heavy
twins:  ## what is tried on PostgreSQL, which is most of it a second time
heavy:  ## the heavy tests that start processes (browsers, frameworks, the demo, days of work), and all of what is sampled
twins heavy: $(INSTALLED)
	$(IN_SHELVES) $(addprefix shelf-,$(SHELVES)) RING=$@ OR_NONE='|| test $$$$? = 5'

.PHONY: $(addprefix beside-,$(BESIDE))
$(addprefix beside-,$(BESIDE)): beside-%: $(INSTALLED)
	@echo "$* on PostgreSQL, and whole"; $(BIN)/pytest -q -m "$(OF_beside)" $(ON_$*)

.PHONY: quick
quick: JOBS = 6
quick: $(INSTALLED)  ## the loop while working: no checks, no PostgreSQL, nothing heavy or that starts processes
	$(IN_SHELVES) $(addprefix shelf-,$(filter-out durability,$(INNER))) RING=quick

# The floor that speaks to databases is tried on both by `make test`, too.
shelf-storage: OF_test = $(OF_all) and not ($(LEFT_OUT))

.PHONY: $(addprefix shelf-,$(sort $(SHELVES) $(INNER)))
$(addprefix shelf-,$(sort $(SHELVES) $(INNER))): shelf-%: $(INSTALLED)
	@echo "$*"; $(PYTEST) -m "$(OF_$(RING))" $(DRAWN_$(RING)) $(ON) $(OR_NONE)

.PHONY: check
check: $(INSTALLED)  ## format, lint, types, floors, budgets, unused dependencies
	@echo "format"; $(BIN)/ruff format --quiet --check . || { $(BIN)/ruff format --diff . | head -60; exit 1; }
	@echo "lint"; $(BIN)/ruff check --quiet .
	@echo "types"; $(BIN)/basedpyright $(TYPED)
	@echo "floors"; $(BIN)/lint-imports --no-logo
	@echo "dependencies"; $(BIN)/deptry .
	@echo "budgets"; $(BIN)/python -m tests.project.file_budget

.PHONY: fix
fix: $(INSTALLED)  ## let ruff mend what it can
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

# --- the slower suites (BOUNDED=1: the short form that CI runs) ---

.PHONY: crash
crash: $(INSTALLED)  ## kill the gateway at every write, and again (two hours; ONLY='spending or machine' for some)
	@$(BIN)/pytest $(LONG) -v -n $(JOBS) --dist worksteal $(if $(ONLY),-k '$(ONLY)') tests/durability \
		--ignore tests/durability/campaign tests/sdk/executor/test_executor_crashes.py \
		tests/project/test_ended_runs.py

.PHONY: seeds
seeds: $(INSTALLED)  ## each durability test N=100 times, with other seeds each time (ONLY='shared_messages and postgresql' for some, FROM=n for the same again)
	@$(BIN)/pytest -q -n $(JOBS) --dist worksteal --other-seeds $(or $(N),100) --first-seed $(or $(FROM),$(shell date +%s)) \
		$(if $(ONLY),-k '$(ONLY)') tests/durability

.PHONY: kill
kill: $(INSTALLED)  ## kill -9 the executor, the gateway and the ledger between claim and outcome, 500 times (KILLS=n on each database)
	@$(BIN)/pytest $(LONG) -s tests/durability/kills/test_executor_kills.py

.PHONY: weather
weather: $(INSTALLED)  ## ten minutes of load while everything goes wrong at random (SEED=n, MINUTES=n, JSON=path for its figures)
	@$(if $(SEED),SEED=$(SEED)) $(if $(MINUTES),MINUTES=$(MINUTES)) $(if $(JSON),WEATHER_JSON=$(abspath $(JSON))) \
		$(BIN)/pytest $(LONG) -s -q -p no:randomly tests/durability/campaign

.PHONY: fuzz
fuzz: $(INSTALLED)  ## throw generated requests at the API, and search for texts that take a reader of them too long
	@$(BIN)/pytest $(LONG) -q -n $(JOBS) --dist worksteal tests/api tests/readers

.PHONY: sabotage
sabotage: $(INSTALLED)  ## spoil the gateway in one place after the other: each time a test must notice (ONLY='*claim*' for some)
	@$(BIN)/python -m tests.sabotage --jobs $(JOBS) $(if $(BOUNDED),--bounded) $(if $(ONLY),--only '$(ONLY)')

.PHONY: claude
claude: $(INSTALLED) $(CLAUDE)  ## the hook with the real Claude Code, offline against a scripted model
	@$(BIN)/pytest -m claude --timeout 300 tests

.PHONY: agents
agents: $(INSTALLED)  ## the hook in the real agent programs (npm installs them), offline before a scripted model (ONLY=codex for one)
	@$(BIN)/pytest -q -m agents $(if $(ONLY),-k '$(ONLY)') tests/frameworks/programs

.PHONY: claude-install
claude-install: $(CLAUDE)

$(CLAUDE):
	@command -v npm >/dev/null || { echo "npm is needed to install $(CLAUDE_CODE)" >&2; exit 1; }
	@echo "installing $(CLAUDE_CODE) into .cache/claude-code"
	@npm install --prefix .cache/claude-code --no-save --no-package-lock --no-audit --no-fund --loglevel error $(CLAUDE_CODE)
	@test -e $@

.PHONY: frameworks
frameworks: $(INSTALLED) frameworks-install  ## the adapters of assent.integrations, each with its framework and a scripted model
	@NEEDS_FRAMEWORKS="$(FRAMEWORKS:%=.venv-%)" $(PYTEST) tests/frameworks

.PHONY: frameworks-install
frameworks-install: $(FRAMEWORKS:%=.venv-%/.installed)

$(FRAMEWORKS:%=.venv-%/.installed): .venv-%/.installed: requirements/%.txt
	@test -x .venv-$*/bin/pip || $(PYTHON) -m venv .venv-$*
	@echo "installing the pinned frameworks into .venv-$* (half a gigabyte and more)"
	@.venv-$*/bin/python $(PIP_PINNED) -r $<
	@touch $@

.PHONY: bench
bench: .venv-bench/.installed restate-install  ## the benchmarks, each against its reference (ARGS=--quick for a look)
	@.venv-bench/bin/python -m benchmarks $(ARGS)

.PHONY: restate-install
restate-install:
	@test -e $(RESTATE) || { echo "installing $(RESTATE_SERVER) into .cache/restate" && timeout 240 npm install --prefix .cache/restate \
		--no-save --no-package-lock --no-audit --no-fund --loglevel error $(RESTATE_SERVER); } || echo "NOT MEASURED: Restate (npm cannot install $(RESTATE_SERVER))"

.venv-bench/.installed: requirements/bench.txt pyproject.toml sdk/pyproject.toml
	@test -x .venv-bench/bin/pip || $(PYTHON) -m venv .venv-bench
	@echo "installing the pinned requirements of the benchmarks into .venv-bench"
	@.venv-bench/bin/python $(PIP_PINNED) -r requirements/bench.txt
	@.venv-bench/bin/python $(PIP_OURS)
	@touch $@

.PHONY: screenshots
screenshots: $(INSTALLED)  ## redraw docs/images from the running demo (needs a Chromium)
	@$(BIN)/python -m examples.screenshots

.PHONY: gallery
gallery: $(INSTALLED)  ## redraw docs/images/gallery: every card on both platforms, the console, in both languages (needs a Chromium)
	@$(BIN)/python -m examples.gallery

.PHONY: coverage
coverage:  ## the same as `make test COVERAGE=1`
	@$(MAKE) --no-print-directory test COVERAGE=1

.PHONY: compose-lint
compose-lint: $(INSTALLED)  ## look over docker-compose.yml, the Dockerfile and deploy/ (no Docker needed)
	@$(BIN)/pytest -q -p no:randomly tests/project/test_compose.py tests/deploy

# --- upkeep ---

.PHONY: lock
lock: | $(INSTALLED)  ## pin the requirements again (move LOCK_DATE first)
	@$(LOCK) $(OURS) -o requirements/gateway.txt
	@$(LOCK) $(OURS) --extra dev -c requirements/gateway.txt -o requirements/dev.txt
	@$(LOCK) $(OURS) --extra bench -c requirements/gateway.txt -o requirements/bench.txt
	@$(LOCK) --group build -c requirements/dev.txt -o requirements/build.txt
	@$(LOCK) sdk/pyproject.toml $(addprefix --extra ,$(TOGETHER)) --group frameworks -o requirements/frameworks.txt
	@$(LOCK) sdk/pyproject.toml --extra crewai -o requirements/crewai.txt
	@git diff --stat -- requirements 2>/dev/null || true

.PHONY: sbom
sbom: $(INSTALLED)  ## say what the gateway is made of: sbom.cdx.json, THIRD-PARTY-NOTICES.txt (after `make lock`; on Linux)
	@$(BIN)/python -m tests.project.bill

.PHONY: clean
clean:  ## remove all that make has made
	@rm -rf .venv .venv-* .cache .coverage .coverage.* .hypothesis .import_linter_cache .pytest_cache .ruff_cache htmlcov
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
