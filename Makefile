# Every target makes the environment first where it is missing or out of date (tools/bootstrap.py).
# PYTHON=/path/to/python3 chooses the Python it is made with.

PY := .venv/bin/python
SRDCR := .venv/bin/srdcr

MODEL ?= pocket
LIMIT ?= 60
STORE := results/store.sqlite
STUDY := --model $(MODEL) --items facts:testbed --methods all --store $(STORE)

.PHONY: docs guarantees recompute reliability prompts-report study-real help env study study-full notebooks test trial lab bench lint pocket pocket-report lock clean

help: ## show what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 24

env:
	@sh tools/python.sh tools/bootstrap.py

# With pocket each notebook has the size that stands in it; a model that costs more has LIMIT items there too. The
# notebooks in depth (04b, 05b, 06b) take longer than all others: make notebooks, or srdcr notebooks --only 04b.
MAIN := 00,01,02,03,04,05,06,07,08,09
SIZED := $(if $(filter-out pocket,$(MODEL)),--model $(MODEL) --limit $(LIMIT))

study: env ## every method live on a sample of the testbed, then the ten main notebooks
	@mkdir -p results && rm -rf results/study # its completions are in the store
	$(SRDCR) run $(STUDY) --limit $(LIMIT) --out results/study || [ $$? -eq 1 ]
	$(SRDCR) notebooks --only $(MAIN) $(SIZED) --out results/notebooks
	@echo "Look at results/study (summary.csv first), results/notebooks (start with 00_start_here.ipynb) and results/figures."

study-full: env ## the same on the whole testbed: about an hour
	@mkdir -p results && rm -rf results/study-full
	$(SRDCR) run $(STUDY) --out results/study-full || [ $$? -eq 1 ]
	$(SRDCR) notebooks --model $(MODEL) --limit 600 --out results/notebooks-full --figures results/figures-full
	@echo "Look at results/study-full (summary.csv first), results/notebooks-full and results/figures-full."

NAME = $(subst :,-,$(notdir $(MODEL)))
study-real: env ## a study of any model (MODEL=gguf:FILE), in sittings: its hours first, and no more with PLAN=--plan
	$(PY) tools/study_real.py --model $(MODEL) --out results/real/$(NAME) $(PLAN) || [ $$? -eq 1 ]

prompts-report: env ## how far a model (MODEL=…) keeps to what the prompts ask: formats, sides, repeats, words
	@mkdir -p results && rm -rf results/prompts-report/$(NAME) # its completions are in the store
	$(SRDCR) run --model $(MODEL) --items facts:testbed --limit 24 --rounds 3 --samples 0 \
		--design acvd,judge_alone,two_answers --methods sr_dcr,few_shot,zero_shot,self_ask,rci,judge_debate_1 \
		--store $(STORE) --out results/prompts-report/$(NAME) || [ $$? -eq 1 ]
	$(PY) tools/prompts_report.py results/prompts-report/$(NAME) --csv results/prompts-report/$(NAME).csv

notebooks: env ## execute the notebooks with the parameters that stand in them (an hour and a half): what is committed
	$(SRDCR) notebooks --out notebooks

# Compiled files are kept whatever the shell says: the tests start many processes, and each would compile the package.
test: env ## every test, as many files at once as there are cores, the longest first
	@PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(PY) -m pytest -q -n auto --dist loadfile --no-loadscope-reorder

trial: env ## the exhaustive tests, and what strangers may bring: arguments, tables, servers, bundles, damaged stores, kills
	@PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(PY) -m pytest -q -n auto -m exhaustive
	$(PY) tools/trial.py

lab: env ## JupyterLab in notebooks/
	$(PY) -m jupyterlab --ServerApp.root_dir=notebooks

bench: env ## the speed figures
	$(PY) bench/run.py

guarantees: env ## whether thresholds and intervals keep their promise, where a carried τ ends
	$(PY) bench/run.py guarantees final_answers transfer intervals claim_errors repeats

docs: env ## the documentation as pages: results/docs/index.html
	@$(PY) -c "import sphinx, myst_nb" 2>/dev/null || { echo "the documentation needs the extra docs: pip install 'srdcr-lab[docs]'"; exit 1; }
	$(PY) -m sphinx -q -W --keep-going -b html docs results/docs
	@echo "Open results/docs/index.html"

DIR ?= results/study
recompute: env ## every number of a results folder (DIR=results/study) anew, by code that shares nothing with the package
	$(PY) tools/recompute.py $(DIR)

reliability: env ## how well RA-RAG recovers the accuracy of sources without labels
	$(PY) bench/source_reliability.py

lint: env ## style, types, the floors of the package, and its size, which never grows
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports
	$(PY) tools/house.py

pocket: env ## train the pocket model anew
	$(PY) data/pocket/training/train.py

pocket-report: env ## measure the shipped pocket model against its targets, with intervals
	@rm -rf results/pocket-report # its completions are in the store
	$(PY) data/pocket/training/report.py

lock: ## choose the versions of requirements.lock anew
	@sh tools/python.sh tools/lock.py

clean: ## remove the environment, caches, builds and what make study wrote
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis build dist
	rm -rf results/study results/study-full results/notebooks results/notebooks-full results/figures results/figures-full
	rm -rf results/pocket-report results/prompts-report
	@echo "results/store.sqlite stays: it may hold completions that were paid for."
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
