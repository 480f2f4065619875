# Everything is made in .venv and target; nothing else on the machine is changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := pyproject.toml Cargo.toml Cargo.lock $(shell find crates -path crates/sojourn-http -prune -o -name '*.rs' -print -o -name Cargo.toml -print)

.PHONY: setup http demo test build test-rust collect test-python bench validation suite-table lint clean

setup: $(VENV)/.built $(VENV)/.page $(VENV)/.dev $(VENV)/.pesq $(VENV)/.speech $(VENV)/.video

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "sojourn needs Python 3.11 or newer, found: $$($(PYTHON) --version 2>&1)"; exit 1; }
	@command -v cargo >/dev/null || \
		{ echo "sojourn needs Rust (cargo), which is not installed: see https://rustup.rs"; exit 1; }
	@command -v cc >/dev/null || \
		{ echo "sojourn needs a C compiler (cc), which is not installed: apt-get install gcc"; exit 1; }
	@$(PYTHON) -m venv $(VENV) >$(VENV).log 2>&1 || \
		{ cat $(VENV).log; rm -rf $(VENV) $(VENV).log; \
		echo "$(PYTHON) cannot make a virtual environment: apt-get install python3-venv"; exit 1; }
	@rm -f $(VENV).log

# The builder; again only when pyproject.toml changes.
$(VENV)/.tools: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1' 'maturin>=1.9,<2'
	@touch $@

# The engine, in release mode, and the package, which is used from where it lies.
$(VENV)/.built: $(VENV)/.tools $(RUST)
	VIRTUAL_ENV=$(abspath $(VENV)) PATH="$(abspath $(BIN)):$$PATH" \
		$(BIN)/maturin develop --quiet --release --extras dask,video
	@touch $@

# What only tests and lints need: installed after the engine, as the longest of all builds begins at once then.
$(VENV)/.dev: pyproject.toml | $(VENV)/.built
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

# The engine for pages, where Rust can build for browsers; without it, explorers have no live part and say so.
# `.ci/run` has BROWSER_RUST fetch it: `make` alone changes nothing outside of the repository.
BROWSER_RUST ?= true
$(VENV)/.page: $(RUST) | $(BIN)/python
	@if $(BROWSER_RUST) && nice cargo build --quiet -p sojourn-wasm --lib --profile page --target wasm32-unknown-unknown 2>$@.log; \
		then cp target/wasm32-unknown-unknown/page/sojourn_wasm.wasm python/sojourn/report/explore/engine.wasm; \
		mv $@.log $@; \
		else rm -f python/sojourn/report/explore/engine.wasm; mv $@.log $@; \
		echo "explorers have no live part: rustup target add wasm32-unknown-unknown, then rm $@ and make setup"; fi

# PESQ is C that is compiled here; without it, voice is scored by the E-model.
$(VENV)/.pesq: pyproject.toml | $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pesq>=0.0.4' >$@.log 2>&1 \
		&& mv $@.log $@ \
		|| { tail -n 3 $@.log; rm -f $@.log; \
		echo "PESQ could not be built, so that voice is scored by the E-model: apt-get install gcc python3-dev"; }

# Speech recordings; without them, voice is scored by the E-model too.
$(VENV)/.speech: | $(VENV)/.pesq
	@$(BIN)/python -c 'from sojourn.qoe.media.speech import samples; samples()' >$@.log 2>&1 \
		&& { mv $@.log $@; echo "speech recordings: in the cache"; } \
		|| { echo "speech recordings: none yet, so that voice is scored by the E-model:"; tail -n 1 $@.log; rm -f $@.log; }

# Clips of video; without them, video users are shown synthetic pictures.
$(VENV)/.video: | $(VENV)/.built
	@$(BIN)/python -c 'from sojourn.qoe.media.video import clips; [clips.file(name) for name in clips.CLIPS]' >$@.log 2>&1 \
		&& { mv $@.log $@; echo "clips of video: in the cache"; } \
		|| { echo "clips of video: none yet, so that synthetic pictures are shown:"; tail -n 1 $@.log; rm -f $@.log; }

# The testbed's server of pages: hyper, quinn and what they need are two minutes of compiling, and nothing else wants them.
http: $(VENV)/.tools
	nice cargo install --quiet --locked --path crates/sojourn-http --root $(VENV) --target-dir target/http

demo: setup
	$(BIN)/sojourn run studies/quickstart.toml
	$(BIN)/sojourn report results/quickstart

# The tests in Rust need nothing of Python: they are built while the rest is set up. The release build goes first: one core
# compiles the engine's own crate for most of it, and page and tests fill the others.
test: build test-python

build:
	@$(MAKE) --no-print-directory --output-sync=target -j3 setup test-rust collect

test-rust:
	nice cargo test --workspace --exclude sojourn-py --profile quick --quiet

# Pytest rewrites all assertions when it meets a test for the first time: once here, and not by each worker at once. What
# cannot be collected is said by the tests' own run.
collect: $(VENV)/.dev
	-@nice $(BIN)/python -m pytest --collect-only --quiet >/dev/null 2>&1

# One worker waits for programs in real time (tests/conftest.py); the others wait for processes that they start, so that
# there are two more than cores. AWAIT: a command that ends when what the tests need besides is there.
test-python:
	@$(AWAIT)
	$(BIN)/python -m pytest -n $$(( $$(nproc) + 2 )) --dist worksteal --durations=20

bench: setup
	cargo bench -p sojourn-sim --bench speed
	$(BIN)/python -m benches.speed
	$(BIN)/python -m benches.qoe
	$(BIN)/python -m benches.wild
	$(BIN)/python -m benches.video

# The page docs/validation.md: what is missing is simulated; calls are scored to 0.1 MOS.
validation: demo
	mkdir -p docs/images
	cp results/quickstart/figures/*-heatmap-adaptive-average-rate-kbps.png docs/images/quickstart.png
	$(BIN)/sojourn run studies/imc14-quick.toml
	$(BIN)/sojourn run studies/imc14-access.toml --precision 0.1
	$(BIN)/sojourn run studies/imc14-backbone.toml
	$(BIN)/sojourn run studies/imc14-table1.toml
	$(BIN)/python -m tools.validation
	$(BIN)/python -m tools.validation.testbed

# All cases of RFC 7928 on three links; a check that does not hold ends the suite with 1, and stands in the table.
suite-table: setup
	$(BIN)/sojourn suite rfc7928 --link 1Mbit/100ms 20Mbit/40ms 100Mbit/20ms --seeds 3 --out results/release || test $$? = 1
	cp results/release/suite.md docs/suite-table.md

lint: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python tests benches tools
	$(BIN)/ruff format --check python tests benches tools

clean:
	rm -rf $(VENV) target results
