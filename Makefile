# BigMind from a clone: `make run` serves, `make test` tests. Both need git, python3, pip and make, and nothing else.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := bigmind accounts knowledge curation
TEMPLATES := $(shell find templates -name '*.html' 2>/dev/null)
SCRIPTS := $(wildcard static/js/*.js)
# The project's commands on a database of their own, which ends with them.
MANAGE := $(BIN)/python manage.py
ON_TEST_DATABASE := --settings=tests.settings
PIP_INSTALL := PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check
# uv installs in seconds what takes pip most of a minute. Where an index is named to pip alone, pip installs.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) 2>/dev/null || $(PIP_INSTALL) $(1)
COMPILE := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --universal --python-version 3.11 \
	--custom-compile-command "make requirements"
# npm writes these last. The programs of the clients are in packages of their own, so no script has to run.
CLIENTS := tests/clients/node_modules/.package-lock.json
# One of the programs that keep memories needs more than our own Python; where there is none, its tests are skipped.
NEWER_PYTHON = $(shell for one in python3.14 python3.13 python3.12; do $$one -c '' 2>/dev/null && echo $$one && break; done)
OTHER_CLIENTS := tests/clients/others/node_modules/.package-lock.json
MEMORIES := tests/clients/memories/.venv/.installed
TYPESCRIPT_CLIENT := tests/transports/typescript/node_modules/.package-lock.json
# What starts browsers, servers or other programs, or tries everything with every operation, page, pattern or model.
SLOW_FOLDERS := $(addprefix tests/,browser embedded growing backup torture)
SLOW_TESTS := $(foreach name,mcp_* oauth* *hostile floods fuzzing commands deployment before_keys health tracing web \
	first_conversation *_flows second_wall routes isolation* parity admin reference_import paging \
	agent_mistakes page_defences use_tool secrets api_examples two_worlds private_rows languages help metrics \
	echoed_names api_pages pooled_connections,'*/transports/test_$(name).py') $(foreach name,sso* linear_time \
	search_at_scale help_checks help_trees *hostile* seed_commands abstention minilm clients binding hooks_program \
	deliveries_in_a_backlog scrub passport export_pages trial_kinds,'*/test_$(name).py')
# Whole installations, floods, and what asks the same of every page, role, row or column. CI runs them with the others; ARGS of
# `make test` may name them.
LONG_TESTS := $(addprefix tests/,backup embedded growing scrub accounts/test_sso_served.py curation/test_deliveries_in_a_backlog.py \
	knowledge/test_trial_kinds.py \
	$(foreach name,axe company_brain connecting everyday_tasks pictures planted_pages,browser/test_$(name).py) \
	$(foreach name,before_keys fair_shares floods fuzzing generated_clients isolation_table oauth_documents page_defences \
	pooled_connections private_rows tracing two_worlds,transports/test_$(name).py))
# And what is about hostile input, thousands of rows, or how time grows with a text.
SLOW_WORDS := -k "not hostile and not thousand and not time_grows"

# Tests that start servers, clusters and browsers wait for half of their time: two processes keep one core busy.
PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() * 2)')
# A file stays in one process, which makes its world once; files of one folder follow each other and share a browser.
TOGETHER = -m "not torture and not clients and not drill" -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
# What measures how soon something happens runs by itself, afterwards. Where ARGS pick none of a half, pytest says 5.
TORTURE := $(BIN)/python -m pytest --durations=60 --durations-min=1 -o faulthandler_timeout=3600

export PIP_NO_INPUT := 1
# Whatever runs below leaves the developer's own BigMind alone; `make run` is the exception.
test test-long test-fast check docs pictures bench torture drill clients migrations: export BIGMIND_HOME := $(CURDIR)/.make/home
# On a disk, as in earnest: without it, tests write to memory where there is room.
torture: export TMPDIR := $(or $(TMPDIR),/tmp)

.DEFAULT_GOAL := help
.PHONY: help run test test-long test-fast check format wheel messages docs docs-site pictures bench torture drill clients clients-short migrations requirements clean

help: ## Say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="	" read -r name says; do printf '  make %-14s %s\n' "$$name" "$$says"; done

run: $(VENV)/.run ## Run BigMind on http://localhost:7700, until Ctrl-C
	@exec $(BIN)/bigmind up

test: $(VENV)/.dev ## Run every test but the long ones, two processes for each core; ARGS="-k words" picks some of all
	$(BIN)/python -m pytest $(TOGETHER) $(or $(ARGS),$(addprefix --ignore=,$(LONG_TESTS)))

test-long: $(VENV)/.dev ## Run what CI runs besides: upgrades, replicas, backups, floods, pictures, what every page and role is asked
	$(BIN)/python -m pytest $(TOGETHER) $(LONG_TESTS) $(ARGS)

test-fast: $(VENV)/.dev ## Run what answers soon: no browsers, servers, upgrades, backups, sweeps; ARGS as above
	$(BIN)/python -m pytest $(TOGETHER) $(SLOW_WORDS) $(addprefix --ignore=,$(SLOW_FOLDERS)) $(addprefix --ignore-glob=,$(SLOW_TESTS)) $(ARGS)

check: $(VENV)/.dev ## Lint, types, import arrows, templates, migrations, generated documentation
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/djade --check --target-version 5.2 $(TEMPLATES)
	$(BIN)/djhtml --check $(TEMPLATES)
	$(if $(SCRIPTS),$(BIN)/djjs --check $(SCRIPTS))
	$(BIN)/mypy $(PACKAGES) devtools
	$(MANAGE) shell $(ON_TEST_DATABASE) --no-imports --command "from django.core.management import call_command as call; call('makemigrations', check_changes=True, dry_run=True); call('docs', check=True)"

format: $(VENV)/.dev ## Put code and templates in order
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	-$(BIN)/djade --target-version 5.2 $(TEMPLATES)
	-$(BIN)/djhtml $(TEMPLATES)
	$(if $(SCRIPTS),-$(BIN)/djjs $(SCRIPTS))

messages: $(VENV)/.dev ## Collect the texts that people read into locale/, and compile them; needs GNU gettext
	$(MANAGE) shell $(ON_TEST_DATABASE) --no-imports --command "from devtools.sentences import write_for_gettext; write_for_gettext('zz_collected.py')"
	$(MANAGE) makemessages --all --no-location --no-obsolete --no-wrap --extension html,txt,py $(addprefix --ignore ,$(VENV) tests benchmarks build docs packaging) $(ON_TEST_DATABASE); rm zz_collected.py
	$(MANAGE) compilemessages --ignore $(VENV) $(ON_TEST_DATABASE)

wheel: $(VENV)/.dev ## Build dist/: the wheel with all that it serves, what it is made of (CycloneDX), the Helm chart, checksums
	@rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	$(BIN)/cyclonedx-py requirements requirements/run.txt --pyproject pyproject.toml --output-reproducible \
		--output-format JSON --output-file dist/bigmind.cdx.json
	@$(if $(wildcard $(BIN)/helm),$(BIN)/helm package --destination dist packaging/helm/bigmind)
	@cd dist && sha256sum * | tee SHA256SUMS

docs: $(VENV)/.dev ## Write the documentation that is generated from the code
	$(MANAGE) docs $(ON_TEST_DATABASE)

docs-site: $(VENV)/.docs ## Build the documentation as a static site in .make/docs-site; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(VENV)/.dev ## Take the pictures of pages anew, after looking at what differs
	RENEW_PICTURES=1 $(BIN)/python -m pytest -m torture tests/browser/test_pictures.py

bench: $(VENV)/.dev ## Measure, in ratios of one run on this machine
	$(BIN)/python -m benchmarks $(ARGS)

torture: $(VENV)/.dev ## Run the long tests: kill -9 during imports and upgrades, floods, every hostile call
	@$(TORTURE) -m "torture and not alone" -n 2 --dist loadfile --no-loadscope-reorder $(ARGS); beside=$$?; \
		[ $$beside -ne 2 ] || exit 2; \
		$(TORTURE) -m "torture and alone" $(ARGS); alone=$$?; \
		[ $$((beside % 5)) -eq 0 ] && [ $$((alone % 5)) -eq 0 ]

drill: $(VENV)/.dev ## Restart, kill and silence each part of a production at work; ARGS picks
	tests/drill/install
	$(BIN)/python -m pytest -m drill -o faulthandler_timeout=5400 --durations=0 --durations-min=5 tests/drill $(ARGS)

clients: $(VENV)/.dev $(CLIENTS) $(OTHER_CLIENTS) $(MEMORIES) ## Install real clients (1.6 GB) and see what their models are shown; ARGS picks
	$(BIN)/python -m pytest -m clients -o faulthandler_timeout=1800 tests/clients $(ARGS)

clients-short: $(VENV)/.dev $(CLIENTS) ## The same for Claude Code, Codex and Gemini CLI alone, of hooks the second day
	$(BIN)/python -m pytest -m clients -o faulthandler_timeout=1800 tests/clients -k "not test_other_clients and not test_memories and not test_five_days and (second_day or not test_hooks)" $(ARGS)

migrations: $(VENV)/.dev ## Write migrations for changed models; NAME=what_changed
	$(MANAGE) makemigrations $(if $(NAME),--name $(NAME)) $(ON_TEST_DATABASE)

requirements: $(VENV)/.dev ## Pin the newest versions that pyproject.toml allows
	@$(PIP_INSTALL) --require-hashes -r requirements/uv.txt
	$(COMPILE) --upgrade pyproject.toml requirements/build.in -o requirements/run.txt
	$(COMPILE) --upgrade pyproject.toml requirements/build.in --extra dev -c requirements/run.txt -o requirements/dev.txt
	$(COMPILE) --upgrade --group docs -c requirements/dev.txt -o requirements/docs.txt
	$(COMPILE) --upgrade requirements/mcp1.in -o requirements/mcp1.txt
	$(COMPILE) --upgrade requirements/virtualenv.in -c requirements/dev.txt -o requirements/virtualenv.txt
	$(COMPILE) --upgrade requirements/uv.in -o requirements/uv.txt

clean: ## Remove what make made in this folder; your data in BIGMIND_HOME stays
	rm -rf $(VENV) $(dir $(MEMORIES) $(CLIENTS) $(OTHER_CLIENTS) $(TYPESCRIPT_CLIENT)) .make build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(CLIENTS) $(TYPESCRIPT_CLIENT): %/node_modules/.package-lock.json: %/package-lock.json
	npm ci --prefix $* --ignore-scripts --no-audit --no-fund
	@touch $@

# Of one of them, parts for other systems are in no registry, which `npm ci` takes for an outdated lock file.
$(OTHER_CLIENTS): %/node_modules/.package-lock.json: %/package-lock.json
	npm install --prefix $* --ignore-scripts --no-audit --no-fund
	@touch $@

# Programs that keep memories have an environment of their own: nothing of BigMind needs what they bring.
$(MEMORIES): %/.venv/.installed: %/requirements.txt %/newer.txt %/package.json
	$(PYTHON) -m venv $*/.venv
	$*/.venv/bin/python -m pip install --quiet --disable-pip-version-check -r $*/requirements.txt
	@$(if $(NEWER_PYTHON),$(NEWER_PYTHON) -m venv $*/.venv/newer && \
		$*/.venv/newer/bin/python -m pip install --quiet --disable-pip-version-check -r $*/newer.txt)
	npm install --prefix $* --no-package-lock --ignore-scripts --no-audit --no-fund
	@touch $@

# The stamps lie inside the environment, so they go with it.
$(VENV)/.run: requirements/run.txt pyproject.toml $(VENV)/.made
	@echo "Installing what BigMind needs (once, half a minute or so)."
	@$(call INSTALL,--require-hashes --no-deps -r requirements/run.txt)
	@$(call INSTALL,--no-deps --no-build-isolation --editable .)
	@touch $@

$(VENV)/.dev: requirements/dev.txt requirements/run.txt pyproject.toml $(VENV)/.made
	@echo "Installing what BigMind and its tests need (once, half a minute or so)."
	@$(call INSTALL,--require-hashes --no-deps -r requirements/dev.txt)
	@$(call INSTALL,--no-deps --no-build-isolation --editable .)
	@touch $(VENV)/.run $@

$(VENV)/.docs: requirements/docs.txt $(VENV)/.dev
	@$(call INSTALL,--require-hashes --no-deps -r requirements/docs.txt)
	@touch $@

# Debian keeps venv in a package of its own (python3-venv); without it virtualenv does, in a folder of the clone.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "BigMind needs Python 3.11 or later, and $(PYTHON) is older. Name another: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
		rm -rf $(VENV) && \
		$(PYTHON) -m pip install --quiet --disable-pip-version-check --target .make/virtualenv --upgrade \
			--require-hashes -r requirements/virtualenv.txt && \
		PYTHONPATH=.make/virtualenv $(PYTHON) -m virtualenv --quiet $(VENV); }
	@$(PIP_INSTALL) --require-hashes -r requirements/uv.txt 2>/dev/null || true
	@touch $@
