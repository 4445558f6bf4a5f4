#!/bin/sh
# SPDX-License-Identifier: MIT
#
# forms.c, compiled by xac-cc for each LLVM that there is a plug-in for, at each level of optimisation. And with each part of
# the pass left out in turn: then it must fail.

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

# try VERSION ARGUMENT...: compiles and runs; the status is that of the program.
try()
{
        version=$1
        shift
        rm -f "$work/forms"
        XAC_CLANG=clang-$version "$compiler" -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-pass-failed \
                -I"$srcdir/include" -I"$srcdir" "$@" -o "$work/forms" "$srcdir/tests/compiler/forms.c" >"$work/said" 2>&1 &&
                "$work/forms" "$work/env" >"$work/said" 2>&1
        status_of_run=$?
        remove_env "$work/env"
        return $status_of_run
}

passes()
{
        if try "$@"; then
                echo "ok: LLVM $*"
        else
                echo "FAILED: LLVM $*"
                head -n 20 "$work/said"
                status=1
        fi
}

# is_found PART LEVEL
is_found()
{
        if XAC_PASS_LEAVES_OUT=$1 try "$first" "$2"; then
                echo "FAILED: nobody misses '$1' at $2"
                status=1
        elif [ ! -x "$work/forms" ]; then
                echo "FAILED: without '$1' it does not compile: $(tail -n 1 "$work/said")"
                status=1
        else
                echo "ok: '$1' is missed: $(tail -n 1 "$work/said" | cut -c 1-100)"
        fi
}

for version in $versions; do
        for arguments in -O0 -O1 -O2 -O3 -Os '-O2 -g' '-O2 -fwrapv' '-O3 -march=native' \
                '-O2 -D_FORTIFY_SOURCE=2'; do
                # shellcheck disable=SC2086 # words
                passes "$version" $arguments
        done
done
for part in load store atomicrmw cmpxchg atomic crossing byval intrinsic memcmp bcmp memchr memrchr strlen strnlen strcpy \
        strcat stpcpy strcmp strncmp strcasecmp strncasecmp strncpy strncat strchr strrchr strstr strcspn strspn strpbrk \
        strdup strndup stpncpy strchrnul index rindex strcasestr bcopy memccpy rawmemchr memmem explicit_bzero strtok_r \
        strtok strsep; do
        is_found $part -O0
done
is_found far -O0
is_found far -O2 # addresses that are computed from those of other objects
is_found sparing -O2
is_found speculation -O2 # a load that the source does not do
exit $status
