#!/bin/sh
# SPDX-License-Identifier: MIT
#
# containers.cc, compiled by xac-c++ for each LLVM: what the standard library has of its containers in libstdc++.so comes
# from libxacrt.a. Without that it must fail.

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

# try VERSION ARGUMENT...
try()
{
        version=$1
        shift
        rm -f "$work/containers"
        XAC_CLANG=clang-$version "$plus_compiler" -std=c++17 -Wall -Wextra -Werror "$@" \
                "$srcdir/tests/compiler/containers.cc" -o "$work/containers" >"$work/said" 2>&1 &&
                "$work/containers" "$work/env" >"$work/said" 2>&1
        status_of_run=$?
        remove_env "$work/env"
        return $status_of_run
}

for version in $versions; do
        for level in -O0 -O2; do
                if try "$version" $level; then
                        echo "ok: LLVM $version $level: $(cat "$work/said")"
                else
                        echo "FAILED: LLVM $version $level"
                        tail -n 5 "$work/said"
                        status=1
                fi
        done
done
if try "$first" -O2 -lstdc++; then
        echo "ok: with -lstdc++ among the arguments: $(cat "$work/said")"
else
        echo 'FAILED: with -lstdc++ among the arguments'
        tail -n 5 "$work/said"
        status=1
fi

# Without what libxacrt.a has of containers, somebody must miss it.
cp "$builddir/compiler/libxacrt.a" "$work/without.a"
ar d "$work/without.a" containers.o
rm -f "$work/containers"
libraries=$(cd "$builddir/.libs" && pwd)
XAC_CLANG=clang-$first "$plus_compiler" -std=c++17 -O2 -pthread -c "$srcdir/tests/compiler/containers.cc" -o "$work/containers.o" &&
        "clang++-$first" "$work/containers.o" "$work/without.a" -L"$libraries" -lxac -lpthread -Wl,-rpath,"$libraries" \
                -o "$work/containers"
if "$work/containers" "$work/env" >"$work/said" 2>&1; then
        echo 'FAILED: nobody misses what libxacrt.a has of containers'
        status=1
elif [ ! -x "$work/containers" ]; then
        echo 'FAILED: it does not compile'
        status=1
else
        echo "ok: the code in libstdc++.so is found: $(head -n 1 "$work/said" | cut -c 1-120)"
fi
remove_env "$work/env"
exit $status
