#!/usr/bin/env bash
# Builds the release: target/release/charter and, in a file of its own, what debugs it. Where both lie side by side,
# debuggers and backtraces name lines. The console is a part of the binary and is built before.
set -euo pipefail

cd "$(dirname "$0")/.."
cargo build --locked --release -p charter-cli
cd target/release
# Cargo's own file is left as it is, so that Cargo need not build it again.
mkdir -p dist
objcopy --only-keep-debug charter dist/charter.debug
objcopy --strip-all --add-gnu-debuglink=dist/charter.debug charter dist/charter
du --apparent-size --si dist/charter dist/charter.debug
