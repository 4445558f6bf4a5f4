#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Usage: tests/fuzz/make_corpus.sh BUILD
#
# Makes the seeds tests/fuzz/corpus/*/real-* anew, with tests/fuzz/make_corpus of the build folder. The other
# inputs there were found by the fuzzer, and stay.

set -eu

builddir=${1:?usage: tests/fuzz/make_corpus.sh BUILD}
corpus=$(cd "$(dirname "$0")" && pwd)/corpus
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for target in diff replay double_write manifest log_reader cobtree ehash trace tar range; do
        mkdir -p "$corpus/$target"
        rm -f "$corpus/$target"/real-*
done
"$builddir/tests/fuzz/make_corpus" "$scratch/env" "$corpus"
du -sk "$corpus"
