#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Hash tables of uthash in a heap (examples/uthash): by page faults, and compiled by xac-cc, where that is built.

# shellcheck source=tests/programs/try.sh
. "${srcdir:-.}/tests/programs/try.sh"

there_is uthash.h uthash-dev || exit 77
accounts=$srcdir/examples/uthash/accounts.c
link="$(cxx_flags) $(cxx_libs)"
try faults "${CC:-cc}" "$accounts"
if [ -x "$compiler" ]; then
        link=-lxacheap
        try compiled "$compiler" "$accounts"
fi
exit $status
