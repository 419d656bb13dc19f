# For GNU make. Every target first makes the environment if it is missing or out of date (tools/bootstrap.py).
# PYTHON=/path/to/python3 chooses the Python for it.

# Compiled files are kept whatever the shell says: otherwise each of the many processes would compile all it imports.
export PYTHONDONTWRITEBYTECODE :=

PY := .venv/bin/python
SRDCR := .venv/bin/srdcr

MODEL ?= pocket
LIMIT ?= 60
STORE := results/store.sqlite
STUDY := --model $(MODEL) --items facts:testbed --methods all --store $(STORE)

.PHONY: docs guarantees recompute recompute-studies reliability prompts-report study-real help env study study-full notebooks test trial lab bench lint pocket pocket-report lock clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 24

env:
	@sh tools/python.sh tools/bootstrap.py

# Left out: 11, and the notebooks in depth (04b, 05b, 06b), which take longer than the others together: make notebooks.
MAIN := 00,01,02,03,04,05,06,07,08,09,10
MODELLED := $(if $(filter-out pocket,$(MODEL)),--model $(MODEL) --questions $(LIMIT))

# Two notebooks at once use the cores better than one run does, so they come first; the run finds its completions stored.
study: env ## the main notebooks and every method, live on a sample of the testbed
	@mkdir -p results && rm -rf results/study # its completions are in the store
	$(SRDCR) notebooks --only $(MAIN) --limit $(LIMIT) $(MODELLED) --out results/notebooks
	$(SRDCR) run $(STUDY) --limit $(LIMIT) --out results/study || [ $$? -eq 1 ]
	@echo "Look at results/study (summary.csv first), results/notebooks (start with 00_start_here.ipynb) and results/figures."

study-full: env ## run every method on the whole testbed, then all notebooks: more than an hour
	@mkdir -p results && rm -rf results/study-full
	$(SRDCR) run $(STUDY) --out results/study-full || [ $$? -eq 1 ]
	$(SRDCR) notebooks --model $(MODEL) --limit 600 --out results/notebooks-full --figures results/figures-full
	@echo "Look at results/study-full (summary.csv first), results/notebooks-full and results/figures-full."

NAME = $(subst :,-,$(notdir $(MODEL)))
study-real: env ## run a study of any model (MODEL=gguf:FILE), in sittings; PLAN=--plan only estimates the hours
	$(PY) tools/study_real.py --model $(MODEL) --out results/real/$(NAME) $(PLAN) || [ $$? -eq 1 ]

prompts-report: env ## report how well a model (MODEL=…) does what the prompts ask: formats, sides, repeats, lengths
	@mkdir -p results && rm -rf results/prompts-report/$(NAME) # its completions are in the store
	$(SRDCR) run --model $(MODEL) --items facts:testbed --limit 24 --rounds 3 --samples 0 \
		--design acvd,judge_alone,two_answers --methods sr_dcr,few_shot,zero_shot,self_ask,rci,judge_debate_1 \
		--store $(STORE) --out results/prompts-report/$(NAME) || [ $$? -eq 1 ]
	$(PY) tools/prompts_report.py results/prompts-report/$(NAME) --csv results/prompts-report/$(NAME).csv

notebooks: env ## execute the committed notebooks with their own parameters: an hour and a half
	$(SRDCR) notebooks --out notebooks

test: env ## run the tests, one file per core at a time, the longest first
	@OMP_NUM_THREADS=1 $(PY) -m pytest -q -n auto --dist loadfile --no-loadscope-reorder

trial: env ## run the exhaustive tests, and bad input from strangers: arguments, tables, servers, bundles, damaged stores, kills
	@OMP_NUM_THREADS=1 $(PY) -m pytest -q -n auto -m exhaustive
	$(PY) tools/trial.py

lab: env ## open JupyterLab in notebooks/
	$(PY) -m jupyterlab --ServerApp.root_dir=notebooks

bench: env ## measure speed
	$(PY) bench/run.py

guarantees: env ## simulate how often thresholds and intervals keep their promise, and what a carried-over τ does
	$(PY) bench/run.py guarantees final_answers transfer intervals claim_errors repeats

docs: env ## build the documentation: results/docs/index.html
	@$(PY) -c "import sphinx, myst_nb" 2>/dev/null || { echo "the documentation needs the extra docs: pip install -e '.[docs]'"; exit 1; }
	$(PY) -m sphinx -q -W --keep-going -b html docs results/docs
	@echo "Open results/docs/index.html"

DIR ?= results/study
recompute: env ## recompute every number of a results folder (DIR=results/study) by independent code
	$(PY) tools/recompute.py $(DIR)

recompute-studies: env ## replay the shipped studies, and recompute the numbers of data/studies/README.md
	$(PY) tools/recompute_pages.py --brief

reliability: env ## measure how well RA-RAG recovers the accuracy of sources without labels
	$(PY) bench/source_reliability.py

# The files that define what the API pages list; pyproject.toml says which checks, and of which names in them.
API := $(filter-out %/__init__.py %/cli.py,$(wildcard srdcr_lab/*.py)) \
	$(patsubst %,srdcr_lab/lib/%.py,calibration comparison definitions draw gating sentences source_reliability statistics summary) \
	$(patsubst %,srdcr_lab/%.py,protocols/sr_dcr protocols/choices records/types records/tables models/base) \
	$(patsubst %,srdcr_lab/data/%.py,items load perturbing) \
	$(patsubst %,srdcr_lab/study/%.py,asking exchange opening plan results study)

lint: env ## check style, types, docstrings, the floors of the package, and its size, which never grows
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m numpydoc lint $(API)
	.venv/bin/lint-imports
	$(PY) tools/house.py

pocket: env ## train the pocket model again: two hours
	$(PY) data/pocket/training/train.py

pocket-report: env ## compare the shipped pocket model with its targets, with intervals
	@rm -rf results/pocket-report # its completions are in the store
	$(PY) data/pocket/training/report.py

lock: ## update the versions in requirements.lock
	@sh tools/python.sh tools/lock.py

clean: ## remove the environment, caches, builds, pages of make docs and the results of make study
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis build dist
	rm -rf results/study results/study-full results/notebooks results/notebooks-full results/figures results/figures-full
	rm -rf results/pocket-report results/prompts-report
	rm -rf results/docs docs/notebooks docs/figures docs/pages docs/reference docs/extra
	@echo "results/store.sqlite is kept: it may hold paid completions."
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
