#!/usr/bin/env bash
# Builds the release of a target: target/TRIPLE/release/dist/charter and, in a file of its own, its debug information.
# Where both lie side by side, debuggers and backtraces name lines. The console is a part of the binary: build it before.
#
#   release/build.sh [TRIPLE]
#
# GLIBC      the oldest glibc that the binary runs with; cargo-zigbuild links against it. Empty: this machine's glibc.
# OBJCOPY    the program that splits the binary; for another processor, e.g. aarch64-linux-gnu-objcopy if absent.
#
# Two builds of a commit are equal, wherever the checkout, Cargo's home and the target directory are: paths are mapped
# to fixed ones, and the console's files get the commit's time.
set -euo pipefail
cd "$(dirname "$0")/.."

host="$(rustc -vV | sed -n 's/^host: //p')"
triple="${1:-$host}"
glibc="${GLIBC-2.31}"
objcopy="${OBJCOPY:-objcopy}"
if [ "$triple" != "$host" ]; then
  # Rust's standard library for the target.
  rustup target add "$triple"
  [ "${triple%%-*}" = "${host%%-*}" ] || objcopy="${OBJCOPY:-${triple%%-*}-linux-gnu-objcopy}"
fi
command -v "$objcopy" > /dev/null || { echo "release: $objcopy is not installed (binutils)" >&2; exit 1; }

# Linked by zig, as is each target that is not this machine's.
if [ -n "$glibc" ] || [ "$triple" != "$host" ]; then
  command -v cargo-zigbuild > /dev/null || {
    echo "release: cargo-zigbuild is not on the path; \`make release\` installs it, and GLIBC= builds without it" >&2
    exit 1
  }
  case "$triple" in
    *-gnu) build=(zigbuild --target "$triple${glibc:+.$glibc}") ;;
    *) build=(zigbuild --target "$triple") ;;
  esac
else
  build=(build --target "$triple")
fi

SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
cargo_home="${CARGO_HOME:-$HOME/.cargo}"
read -r target_dir build_dir < <(cargo metadata --locked --no-deps --format-version 1 \
  | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["target_directory"], d.get("build_directory") or d["target_directory"])')
# The last prefix that matches a path maps it.
RUSTFLAGS="--remap-path-prefix=$PWD=/charter --remap-path-prefix=$target_dir=/target \
--remap-path-prefix=$build_dir=/target --remap-path-prefix=$cargo_home=/cargo"
# Of the C sources in SQLite and ring.
CFLAGS="-ffile-prefix-map=$PWD=/charter -ffile-prefix-map=$build_dir=/target -ffile-prefix-map=$cargo_home=/cargo"
export SOURCE_DATE_EPOCH RUSTFLAGS CFLAGS

cargo "${build[@]}" --locked --release -p charter-cli
cd "$target_dir/$triple/release"
# Cargo's own file is left as it is, so that Cargo need not build it again.
mkdir -p dist
"$objcopy" --only-keep-debug charter dist/charter.debug
"$objcopy" --strip-all --add-gnu-debuglink=dist/charter.debug charter dist/charter
du --apparent-size --si dist/charter dist/charter.debug
