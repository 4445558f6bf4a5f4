#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Ways of calling the compiler, beside levels of optimisation: optimisation of the whole program, sanitizers, libraries,
# static programs, bitcode, precompiled headers, coroutines and so on. Each builds modes.c with its work, which is run, and
# must fail when loads are left out. And calls that compile or link nothing.
#
# By the versions of LLVM in turn, XAC_TEST_SEED says where it begins; MODES=each: each way with each of them.

# shellcheck disable=SC2317 # modes are built by functions that are named
# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

here=$srcdir/tests/compiler
flags="-D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-command-line-argument -pthread -I$srcdir -I$srcdir/include"
turn=${XAC_TEST_SEED:-1}
harness=$work/harness.o
cd "$work" || exit 1

# ---- what is built ----

# These set $compiler's words apart; each makes ./modes, from the harness and what it compiles.
cc()
{
        # shellcheck disable=SC2086 # words
        "$compiler" $flags "$@"
}

plus()
{
        # shellcheck disable=SC2086 # words
        "$plus_compiler" $flags -std=c++20 "$@"
}

at_once() # ARGUMENT...
{
        cc "$@" "$here/modes_work.c" "$here/modes_more.c" "$harness" -ldl -o modes
}

by_file() # ARGUMENT...: which are there for linking, too
{
        cc "$@" -c "$here/modes_work.c" -o work.o && cc "$@" -c "$here/modes_more.c" -o more.o &&
                cc "$@" -o modes -lm work.o more.o "$harness" -ldl
}

by_stage() # SUFFIX ARGUMENT...: by way of what the arguments make
{
        suffix=$1
        shift
        cc -O2 "$@" "$here/modes_work.c" -o "work.$suffix" && cc -O2 "$@" "$here/modes_more.c" -o "more.$suffix" &&
                cc -O2 "work.$suffix" "more.$suffix" "$harness" -ldl -o modes
}

in_cxx() # ARGUMENT...
{
        cc "$@" -c "$here/modes_more.c" -o more.o && plus "$@" "$here/modes_work.cc" more.o "$harness" -ldl -o modes
}

in_library() # ARGUMENT...: ./modes finds its work there
{
        cc "$@" -fPIC -shared "$here/modes_work.c" "$here/modes_more.c" -o libmodes.so &&
                "${CC:-cc}" -O2 -I"$srcdir" -I"$srcdir/include" "$here/modes.c" "$builddir/.libs/libxac.so" \
                        -Wl,-rpath,"$builddir/.libs" -ldl -lpthread -o modes
}

relocatable()
{
        cc -O2 -c "$here/modes_work.c" -o work.o && cc -O2 -c "$here/modes_more.c" -o more.o && cc -r work.o -o work-r.o &&
                cc -r more.o -o more-r.o && cc work-r.o more-r.o "$harness" -ldl -o modes
}

from_input()
{
        cc -O2 -c "$here/modes_more.c" -o more.o &&
                cc -O2 -I"$here" more.o "$harness" -x c - -ldl -o modes <"$here/modes_work.c"
}

from_response()
{
        echo "-O2 -o modes $here/modes_work.c $here/modes_more.c" >response
        cc @response "$harness" -ldl && cc -x c -O2 "$here/modes_work.c" "$here/modes_more.c" -c -v &&
                cc -O2 modes_work.o modes_more.o "$harness" -ldl -v -o modes
}

with_header() # ARGUMENT...: that lead to a header that was compiled before
{
        cp "$here/modes.h" early.h
        cc -O2 -x c-header early.h -o early.h.pch && cc -O2 "$@" "$here/modes_work.c" "$here/modes_more.c" -x none \
                "$harness" -ldl -o modes
}

with_header_of_cxx() # ARGUMENT...
{
        printf '#include <string>\n#include "tests/compiler/modes.h"\n' >early.hh
        cc -O2 -c "$here/modes_more.c" -o more.o && plus -O2 -x c++-header early.hh -o early.hh.pch &&
                plus -O2 "$@" "$here/modes_work.cc" more.o "$harness" -ldl -o modes
}

# The harness by clang with a sanitizer, the work by xac-cc without.
beside() # ARGUMENT...: of the sanitizer
{
        # shellcheck disable=SC2086 # words
        "$XAC_CLANG" $flags -O1 "$@" -c "$here/modes.c" -o other.o &&
                cc -O2 -c "$here/modes_work.c" -o work.o && cc -O2 -c "$here/modes_more.c" -o more.o &&
                cc "$@" work.o more.o other.o -ldl -o modes
}

# ---- how it is run ----

# Ends with the status of the program, or 125 if there is none.
build_and_run()
{
        rm -f modes
        "$@" >said 2>&1 && [ -x modes ] || return 125
        library=
        [ "$1" != in_library ] || library=./libmodes.so
        timeout "$(leeway_s 60)" ./modes env $library >said 2>&1
        status_of_run=$?
        remove_env env
        return $status_of_run
}

# try WHAT FUNCTION [ARGUMENT...]: in a folder of its own; fails as the mode does.
try()
{
        what="LLVM $version, $1"
        shift
        own=$(mktemp -d "$work/XXXXXX")
        cd "$own" || exit 1
        if ! build_and_run "$@"; then
                echo "FAILED: $what"
                tail -n 20 said
                exit 1
        fi
        XAC_PASS_LEAVES_OUT=load
        export XAC_PASS_LEAVES_OUT
        build_and_run "$@"
        found=$?
        if [ $found -eq 0 ] || [ $found -eq 125 ] || ! grep -q 'threads share this view' said; then
                echo "FAILED: $what: without loads it ends with $found: $(tail -n 1 said)"
                exit 1
        fi
        echo "ok: $what"
}

# Several at once; what they say does not get mixed, as it is a line.
start()
{
        (try "$@" 2>/dev/null || touch "$work/failed") &
        running=$((running + 1))
        if [ $running -ge "$(nproc)" ]; then
                wait
                running=0
        fi
}

# mode WHAT FUNCTION [ARGUMENT...]: with the next version, or each.
mode()
{
        mode_if : "$@"
}

mode_if_linked()
{
        mode_if links "$@"
}

# mode_if CONDITION WHAT FUNCTION [ARGUMENT...]: with the next version that the condition is true for.
mode_if()
{
        condition=$1
        shift
        began=$turn
        count=0
        # shellcheck disable=SC2086 # words
        while [ $((turn - began)) -lt "$(echo $versions | wc -w)" ]; do
                set_version $versions
                $condition "$@" || continue
                count=$((count + 1))
                start "$@"
                [ "${MODES-}" = each ] || return
        done
        [ $count -gt 0 ] || echo "not tried, since no clang here links so: $1"
}

set_version()
{
        shift $((turn % $#))
        turn=$((turn + 1))
        version=$1
        XAC_CLANG=clang-$version
        export XAC_CLANG
}

# links WHAT FUNCTION ARGUMENT...: can this clang link so?
links()
{
        shift 2
        case $* in
        *-static*) [ -f "$builddir/.libs/libxac.a" ] || return 1 ;;
        esac
        # shellcheck disable=SC2086 # words
        "$XAC_CLANG" -Werror "$@" empty.c -o empty >/dev/null 2>&1
}

running=0
echo 'int main(void) { return 0; }' >empty.c
echo 'struct empty;' >empty.h
"${CC:-cc}" -O1 -I"$srcdir" -I"$srcdir/include" -c "$here/modes.c" -o "$harness" || exit 1

# ---- the modes ----

mode '-g -gsplit-dwarf -fno-builtin -fno-plt' by_file -O2 -g -gsplit-dwarf -fno-builtin -fno-plt
mode '-S' by_stage s -S
mode '-emit-llvm' by_stage bc -c -emit-llvm
mode '-r' relocatable
mode 'from standard input' from_input
mode 'response file, -x, -v' from_response
mode 'precompiled header' with_header -include early.h
mode 'precompiled header of C++' with_header_of_cxx -include early.hh
mode 'precompiled header of C++, -include-pch' with_header_of_cxx -include-pch early.hh.pch
mode 'library, loaded later' in_library -O2
mode 'exceptions, coroutines, -O0' in_cxx -O0
mode 'exceptions, coroutines, -O2' in_cxx -O2 -DMODES_COROUTINES
for kind in full thin; do
        mode_if_linked "-flto=$kind" by_file -O2 -flto=$kind
        mode_if_linked "-flto=$kind, lld" by_file -O2 -flto=$kind -fuse-ld=lld
done
mode_if_linked 'library, -flto=thin' in_library -O2 -flto=thin
mode_if_linked 'exceptions, coroutines, -flto' in_cxx -O2 -flto
mode_if_linked '-flto -ffat-lto-objects' by_file -O2 -flto -ffat-lto-objects
for kind in address undefined; do
        mode_if_linked "-fsanitize=$kind" by_file -O1 -g -fsanitize=$kind -fno-sanitize-recover=all
        mode_if_linked "beside -fsanitize=$kind" beside -fsanitize=$kind
done
mode_if_linked '-static' at_once -O2 -static
mode_if_linked '-static-pie' at_once -O2 -static-pie -fPIE
if [ "${MODES-}" = each ]; then
        mode '-save-temps' at_once -O2 -save-temps
        mode '-S -emit-llvm' by_stage ll -S -emit-llvm
        mode 'precompiled header, -include-pch' with_header -include-pch early.h.pch
        mode '-fstack-protector-all -mcmodel=medium' by_file -O2 -fstack-protector-all -mcmodel=medium
        mode_if_linked '-fsanitize=address,undefined' by_file -O2 -fsanitize=address,undefined
        mode_if_linked 'exceptions, coroutines, -fsanitize=address' in_cxx -O1 -fsanitize=address
        mode_if_linked '--coverage' by_file -O2 --coverage
        mode_if_linked '-fprofile-instr-generate' by_file -O2 -fprofile-instr-generate
fi
wait

# ---- calls that link nothing, and some that are refused ----

# says WHAT ARGUMENT...: succeeds, and says that, or anything.
says()
{
        expected=$1
        shift
        if ! "$compiler" "$@" >said 2>&1 || { [ -n "$expected" ] && ! grep -q -- "$expected" said; }; then
                echo "FAILED: xac-cc $*: $(tail -n 1 said)"
                status=1
        fi
}

# refuses WHAT ARGUMENT...
refuses()
{
        expected=$1
        shift
        if "$compiler" "$@" >said 2>&1 || ! grep -q -- "$expected" said; then
                echo "FAILED: xac-cc $*: it says nothing of '$expected'"
                status=1
        fi
}

unset XAC_CLANG
says 'clang version' --version
says 'clang version' -v
says "^$first" -dumpversion
says linux -dumpmachine
says libraries -print-search-dirs
says empty -fsyntax-only -v empty.c
says 'return 0' -E empty.c
says '^empty.o: empty.c' -M empty.c
says '^empty.o: empty.c' -MM empty.c
says __clang_major__ -E -dM -x c /dev/null
says main -S -o - empty.c
says 'define.*main' -S -emit-llvm -o - empty.c
says xac-pass '-###' -c empty.c
says lxac '-###' empty.c
says '' -MD -MF empty.d -c empty.c -o empty.o
says '' -o empty -lm empty.o
says '' empty.o -lm -oempty
says '' empty.h
[ $status -eq 1 ] || echo 'ok: calls that compile or link nothing'
for kind in thread memory hwaddress dataflow; do
        refuses "-fsanitize=$kind is refused" -fsanitize=$kind -c empty.c
done
refuses 'no input files' -c
refuses 'usage'
[ $status -eq 1 ] || echo 'ok: calls that are refused'

# ---- compiled and other code that an optimiser of the whole program mixes ----

for kind in full thin; do
        # shellcheck disable=SC2086 # words
        set_version $versions
        links mixes mixes -flto=$kind || continue
        # shellcheck disable=SC2086 # words
        if "$XAC_CLANG" $flags -O3 -flto=$kind -c "$here/mixes_other.c" -o other.o &&
                cc -O3 -flto=$kind "$here/mixes.c" other.o -o mixes && ./mixes env "${XAC_TEST_SEED:-1}" 10000; then
                echo "ok: LLVM $version, 10000 mixes, -flto=$kind"
        else
                echo "FAILED: LLVM $version, mixes, -flto=$kind"
                status=1
        fi
        remove_env env
done
[ ! -e "$work/failed" ] || status=1
exit $status
