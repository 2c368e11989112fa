# What a user types. Everything else is the `ringfence` command.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: up down test lint format golden docs lock
.DEFAULT_GOAL := up

up: venv        ## from a clone to NPUs given out by a real scheduler, on screen
	@$(BIN)/ringfence sandbox up

down: venv      ## no process, no state left
	@$(BIN)/ringfence sandbox down --all

test: lint      ## everything that proves it
	@$(BIN)/ringfence sandbox tools --oracles
	@$(BIN)/pytest

lint: venv      ## formatter, linter, types, who may import whom
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: venv
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

golden: venv    ## write the golden files anew; read the difference before committing
	@$(BIN)/python -m tests.golden
	@RINGFENCE_UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/components tests/policy/preview

docs: venv      ## write what is generated of docs/ anew: rules and proofs in a minute, the simulation in ten
	@$(BIN)/ringfence policy rules --docs > docs/rules.md
	@$(BIN)/ringfence claims prove --profile ringfence > /dev/null
	@$(BIN)/ringfence claims prove --docs docs/proofs.md
	@$(BIN)/ringfence simulate box16 --docs docs/fragmentation.md

lock:           ## pin the dependencies of pyproject.toml anew; needs uv
	uv pip compile --universal --python-version 3.11 --generate-hashes --extra dev \
		--no-header --no-emit-index-url --quiet -o requirements.lock pyproject.toml build-requirements.txt

.PHONY: venv
venv:
	@$(PYTHON) sandbox/venv.py
