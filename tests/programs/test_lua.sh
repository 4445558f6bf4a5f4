#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lua_killed.c with Lua as Debian ships it, by page faults, and with its source compiled by xac-cc. Skipped where there is
# neither (examples/lua/package, source).

set -u

srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/support/leeway.sh
. "$srcdir/tests/support/leeway.sh"
# shellcheck source=tools/find-cxx
. "$srcdir/tools/find-cxx"
ways=0
status=0

# again COMPILER ARGUMENT...: once more if it was killed because there is no memory left.
again()
{
        sh "$srcdir/tests/support/compile-again.sh" "$@"
}

# try WAY LUA LIBRARIES COMPILER ARGUMENT...
try()
{
        way=$1
        its_lua=$2
        link=$3
        shift 3
        ways=$((ways + 1))
        # shellcheck disable=SC2086 # a list of words
        if ! { again sh "$srcdir/examples/lua/build" "$its_lua" "$work/lua-$ways" "$@" -O0 -w &&
                again "$@" -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE -no-pie -Wl,--build-id "-I$srcdir/include" "-I$srcdir" \
                        "$srcdir/tests/programs/lua_killed.c" "$work/deaths.o" "$work/lua-$ways/liblua-in-file.a" \
                        "$builddir/tests/support/.libs/libsupport.a" $link -lm -o "$work/lua_killed"; } >"$work/said" 2>&1; then
                echo "FAILED: Lua, $way: it does not compile"
                head -n 20 "$work/said"
                status=1
        elif timeout "$(leeway_s 150)" "$work/lua_killed" >"$work/said" 2>&1; then
                sed "s/^/Lua, $way: /" "$work/said"
        else
                echo "FAILED: Lua, $way: exit status $?"
                tail -n 20 "$work/said"
                status=1
        fi
}

# shellcheck disable=SC2046 # a list of words
again ${CC:-cc} $(cxx_flags) -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE "-I$srcdir/include" "-I$srcdir" \
        -c "$srcdir/tests/programs/deaths.c" -o "$work/deaths.o" || exit 1
lua=$(sh "$srcdir/examples/lua/source" "$builddir/lua-source") || lua=
package=package
sh "$srcdir/examples/lua/package" || package=$lua
if [ "$package" ]; then
        # shellcheck disable=SC2046,SC2086 # lists of words
        try 'by faults' "$package" "$(cxx_libs)" ${CC:-cc} $(cxx_flags)
fi
if [ "$lua" ] && [ -x "$builddir/compiler/build-cc" ]; then
        try 'by xac-cc' "$lua" "-L$builddir/.libs -Wl,-rpath,$builddir/.libs -lxacheap -lxac" "$builddir/compiler/build-cc" \
                -DCOMPILED
fi
[ $ways -gt 0 ] || exit 77
exit $status
