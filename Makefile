# Every target sets up what it needs: a fresh clone wants nothing but Python and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
# The results of one's own runs, ignored by git; those in results/ are published.
LOCAL := local
# The studies that `make atlas` runs; confirmed.csv beside them names the conditions in which one is confirmed.
ATLAS := studies/atlas/*.yaml
# Each of hundreds of processes would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# An idle worker takes tests from the busiest one, so that both cores end together.
SPREAD := -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup run test test-all torture calibrate lint studies atlas bench gpu-kit ui clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## create .venv and install the tested versions into it

$(READY): pyproject.toml constraints.txt
	@echo "Setting up .venv with about 130 packages, which takes a minute or more; pip shows how far it is."
	$(PYTHON) -m venv .venv
	$(BIN)/python tests/setup/install.py
	touch $(READY)

run: $(READY) ## run the quickstart study into local/: trains what is missing, then shows verdicts and report
	$(BIN)/ablate run studies/quickstart.yaml --results $(LOCAL)

test: lint ## lint, type check, and run the fast tests
	$(BIN)/pytest $(SPREAD)

test-all: lint ## the same with the slow tests
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[bench,libraries,tensorboard]"
	$(BIN)/pytest $(SPREAD) -m ""

torture: $(READY) ## attack it at random for 20 minutes (again: SEED=N); writes results/torture
	$(BIN)/python -m tests.torture $(if $(SEED),--seed $(SEED)) --results results/torture

calibrate: $(READY) ## how often the verdicts err, on simulated studies and on real trainings; writes results/calibration
	$(BIN)/python -m tests.calibration $(if $(SEED),--seed $(SEED)) --scratch $(LOCAL)/calibration --results results/calibration

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

studies: $(READY) ## run every study under studies/, and publish it in results/, with the picture of README
	for study in studies/*.yaml; do \
		command=run; \
		if grep -q "^search:" "$$study"; then command=sweep; fi; \
		$(BIN)/ablate $$command "$$study" || exit; \
	done
	$(BIN)/ablate export take-one-part-out --only summary --overwrite

atlas: $(READY) ## run what is missing of studies/atlas (some: ATLAS=FILES), each confirmed on fresh seeds, for hours; writes results/atlas
	for study in $(ATLAS); do \
		if grep -q "^speed:" "$$study"; then \
			$(BIN)/ablate bench "$$study" --results results/atlas || exit; \
		else \
			conditions=$$(sed -n "s/^$$(basename "$$study" .yaml),//p" studies/atlas/confirmed.csv); \
			$(BIN)/ablate run "$$study" --results results/atlas || exit; \
			[ -n "$$conditions" ] || $(BIN)/ablate run "$$study" --results results/atlas --confirm || exit; \
			for condition in $$conditions; do \
				$(BIN)/ablate run "$$study" --results results/atlas --confirm --condition "$$condition" || exit; \
			done; \
		fi; \
	done
	$(BIN)/ablate atlas results/atlas --intro studies/atlas/intro.md --by-construction studies/atlas/by_construction.csv

bench: $(READY) ## what the harness itself costs, in 25 minutes of an idle machine; writes results/bench
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[bench]"
	$(BIN)/python tests/bench/drawing.py --out results/bench
	$(BIN)/python tests/bench/cost.py --out results/bench

gpu-kit: $(READY) ## fetch the wheels with which tests/gpu/run.sh measures where there is a GPU, torch and no network
	$(BIN)/python tests/gpu/wheels.py build/gpu-kit

ui: $(READY) ## open MLflow on the results in local/, on loopback
	$(BIN)/ablate ui --results $(LOCAL)

clean: ## remove the environment and the caches; results stay
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +
