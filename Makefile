# Everything from a clean checkout, with Python 3.11+ and make. CONTRIBUTING.md says what each does.

# The interpreter that runs scripts/bootstrap.py; that looks for a newer one where this is too old.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && command -v $$p && break; done)
BIN := .venv/bin
WORKERS ?= 5
ARGS ?=

.PHONY: help demo test test-held check check-format check-lint check-types check-imports \
	check-dependencies check-figures conformance bench mutants screenshots catalogue declarations docs dist clean distclean venv constraints

# The suite comes from npm; the tests need no network.
conformance: venv
	$(BIN)/python -m scripts.conformance $(ARGS)

help:
	@echo 'make demo          play the demo; no key and no network needed'
	@echo 'make test          run the tests                  (ARGS="-k name" for some)'
	@echo 'make test-held     run the attacks on guard and sandbox as a user without rights'
	@echo 'make check         formatting, lint, types, import contracts, dependencies, figures'
	@echo 'make conformance   the official suite of MCP over our client and server (from npm)'
	@echo 'make bench         measure everything             (ARGS="--only tools --full")'
	@echo 'make mutants       break the critical modules and see which tests notice'
	@echo 'make screenshots   draw the pictures of the README anew'
	@echo 'make catalogue     write down anew what the built-in tools are advertised with'
	@echo 'make declarations  compile the C declarations of the installed pyghostty anew'
	@echo 'make docs          write anew the tables of docs/ that the source has'
	@echo 'make dist          build the wheel and the source archive into dist/'
	@echo 'make clean         remove what was built; distclean removes .venv as well'

venv:
	@if [ -n "$(PYTHON)" ]; then PYTHON="$(PYTHON)" "$(PYTHON)" -I scripts/bootstrap.py; \
	elif command -v uv > /dev/null; then \
		uv run --quiet --no-project --python '>=3.11' python -I scripts/bootstrap.py; \
	else echo 'sam-tui: needs Python 3.11 or newer, or uv; on PATH is neither.' >&2; exit 1; fi

demo: venv
	@$(BIN)/sam-tui demo $(ARGS)

# What a module shares is made once. The files of a whole run are gone with it, those of a part stay for a look.
WHOLE_MODULES := --dist loadfile --no-loadscope-reorder
test: venv
	PYTHONDONTWRITEBYTECODE= $(if $(ARGS),,scripts/in_memory.sh) $(BIN)/python -m pytest -n $(WORKERS) $(WHOLE_MODULES) $(ARGS)

# What attacks the guard and the sandbox, as a user without rights where root runs it.
HELD := tests/guard tests/outside tests/sandbox tests/shield
test-held: venv
	scripts/as_user.sh $(BIN)/python -m pytest -p no:cacheprovider -n $(WORKERS) $(or $(ARGS),$(HELD))

check: check-format check-lint check-types check-imports check-dependencies check-figures

check-format: venv
	$(BIN)/ruff format --check

check-lint: venv
	$(BIN)/ruff check

check-types: venv
	$(BIN)/pyright

# Its cache keeps an import as it was resolved before its target was written.
check-imports: venv
	$(BIN)/lint-imports --no-logo --no-cache

check-dependencies: venv
	$(BIN)/deptry sam_tui tools reminders

# Limits that only fall: scripts/figures.toml.
check-figures: venv
	$(BIN)/python -m scripts.figures

bench: venv
	$(BIN)/python bench/all.py $(ARGS)

mutants: venv
	$(BIN)/python -m scripts.mutants $(ARGS)

screenshots: venv
	$(BIN)/python -m screenshots.take $(ARGS)

catalogue: venv
	$(BIN)/python scripts/catalogue.py

declarations: venv
	$(BIN)/python -m scripts.ghostty_declarations

docs: venv
	$(BIN)/python -m scripts.reference_docs

dist: venv
	$(BIN)/python -m hatchling build

clean:
	rm -rf dist build .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find sam_tui tools reminders tests bench scripts screenshots -name __pycache__ -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv

# Needs uv; CONTRIBUTING.md says when.
constraints:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-emit-index-url --no-header --quiet --output-file constraints.txt
