# SPDX-License-Identifier: MIT
#
# What the scripts beside it begin with, and source: where everything is, a folder to work in, which goes when the script
# ends, and the versions of LLVM that there are plug-ins for. Where xac-cc was not built they are skipped.
#
# shellcheck shell=sh disable=SC2034 # used where this is sourced

set -u

srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
compiler=$builddir/compiler/build-cc
plus_compiler=$builddir/compiler/build-c++
if [ ! -x "$compiler" ]; then
        echo 'there is no clang with headers of LLVM: xac-cc was not built'
        exit 77
fi
versions=$(sed -n "s/^versions='\(.*\)'/\1/p" "$compiler")
first=${versions%% *}
last=${versions##* }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/support/remove-env.sh
. "$srcdir/tests/support/remove-env.sh"
# shellcheck source=tests/support/leeway.sh
. "$srcdir/tests/support/leeway.sh"
status=0
# Both are run once more if they are killed because there is no memory left.
for name in cc c++; do
        printf 'exec sh "%s" "%s" "$@"\n' "$srcdir/tests/support/compile-again.sh" "$builddir/compiler/build-$name" >"$work/build-$name"
        { echo '#!/bin/sh' && cat "$work/build-$name"; } >"$work/xac-$name" && chmod +x "$work/xac-$name"
        rm "$work/build-$name"
done
compiler=$work/xac-cc
plus_compiler=$work/xac-c++
# What libxac-core.a needs, for programs that look inside.
archive_libs=${ARCHIVE_LIBS-$(sed -n "s/^ARCHIVE_LIBS = //p" "$builddir/Makefile")}
