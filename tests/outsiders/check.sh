#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh [PROGRAM...]
#
# Programs that nobody here wrote, their sources unchanged, compiled by clang, and by xac-cc with -O1 and -O2 with all their
# memory on a heap (memory.c). Their own tests must say the same and end with the same status, and take no page fault but in
# calls that the program's file beside this one names: at most three, with a reason. Without arguments: all of them.
#
# The sources are Debian's (fetch), kept in $OUTSIDERS (default: outsiders/ of the build folder). Exit status 77: none was to
# be had, or there is no xac-cc.
#
# A program's file sets `package`; `needs`, the programs that make its sources; `calls`, lines "NAME: reason"; and `led`, the
# calls of the system whose buffers and paths lie on the heap, which take no faults but would fail (calls.c). Its build()
# compiles by compile() and link(), in the folder of the source, and its exercise() runs by run(). Its crowd(), if it has
# one, is what several processes do, by xac-cc alone.

set -u

here=$(cd "$(dirname "$0")" && pwd)
srcdir=$(cd "$here/../.." && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
cache=${OUTSIDERS:-$builddir/outsiders}
compiler=$builddir/compiler/build-cc
if [ ! -x "$compiler" ]; then
        echo 'there is no clang with headers of LLVM: xac-cc was not built'
        exit 77
fi
# shellcheck source=tests/support/remove-env.sh
. "$srcdir/tests/support/remove-env.sh"
# shellcheck source=tests/support/leeway.sh
. "$srcdir/tests/support/leeway.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/xac-outsiders.XXXXXX") || exit 1
clean_up()
{
        for env in "$work"/*/env; do
                remove_env "$env"
        done
        rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

all_programs='zlib lz4 zstd jansson yyjson redis quickjs sqlite bwa'
wrapped='malloc calloc realloc reallocarray aligned_alloc posix_memalign malloc_usable_size free'
exchanged='read write pread pwrite fread fwrite open fopen stat lstat access unlink' # calls.c
calls_most=3
seconds=${OUTSIDERS_SECONDS:-600} # for each program and compiler

# ---- what the programs' files call; $way is the compiler and its level, $out the folder for it, $flags theirs ----

# compile ARGUMENT... -- FILE...: each to an object in $out.
compile()
{
        arguments=
        while [ "$1" != -- ]; do
                arguments="$arguments $1"
                shift
        done
        shift
        for file in "$@"; do
                echo "$file"
        done | WAY=$way ARGUMENTS=$arguments OUT=$out xargs -P "$(nproc)" -I FILE sh -c \
                'exec $WAY -w $ARGUMENTS -c "FILE" -o "$OUT/$(echo "FILE" | tr / _).o"'
}

# objects FILE...: where compile() has put them.
objects()
{
        for file in "$@"; do
                echo "$out/$(echo "$file" | tr / _).o"
        done
}

# link NAME ARGUMENT...
link()
{
        name=$1
        shift
        # shellcheck disable=SC2086 # words
        $way -w "$@" $support -o "$out/$name" -lm
}

# run NAME ARGUMENT...: in $out/files, with an environment of its own.
run()
{
        echo "$ $*"
        program=$out/$1
        shift
        OUTSIDER_ENV=$out/env OUTSIDER_FAULTS=$out/faults timeout "$(leeway_s "$seconds")" "$program" "$@" 2>&1
        echo "status $?"
        remove_env "$out/env"
}

# ---- the rest ----

# is_named NAME: is it in the calls of the program?
is_named()
{
        echo "$calls" | grep -q "^$1: "
}

# libraries: what a user gives the linker: the functions that are led elsewhere, and who answers for them. Where a file has 64
# bits anyway, open64() is open().
libraries()
{
        for name in $wrapped; do
                printf '%s ' "-Wl,--wrap=$name"
        done
        for name in $exchanged; do
                case " $led " in
                *" $name "*) printf '%s ' "-Wl,--wrap=$name,--wrap=${name}64,--defsym=__wrap_${name}64=__wrap_$name" ;;
                esac
        done
        echo "-rdynamic $out/memory.o $out/faults.o $out/calls.o -L$builddir/.libs -Wl,-rpath,$builddir/.libs -lxacheap -lxac"
}

# make_support: nothing for clang.
make_support()
{
        support=
        case $way in
        "$compiler"*) ;;
        *) return ;;
        esac
        for name in memory faults calls; do
                $way -Wall -Wextra -Werror -D_GNU_SOURCE "-I$srcdir" "-I$srcdir/include" -c "$here/$name.c" -o "$out/$name.o" || return
        done
        support=$(libraries)
}

# go WAY...: compiles and runs the program; what it said is in $out/said.
go()
{
        way="$*"
        out=$work/$(echo "$program_name $way" | tr -c 'a-zA-Z0-9\n' _)
        mkdir -p "$out/files"
        : >"$out/faults"
        make_support && (cd "$source" && build) >"$out/compiler" 2>&1 || {
                echo "FAILED: $program_name: $way does not compile it"
                tail -n 20 "$out/compiler"
                return 1
        }
        (cd "$out/files" && exercise) >"$out/said" 2>&1
        grep -q '^status' "$out/said" || {
                echo "FAILED: $program_name: $way: nothing was run"
                return 1
        }
}

# passes: by clang each test ends with 0: what fails there as well would say nothing.
passes()
{
        grep '^status' "$out/said" | grep -qv '^status 0$' || return 0
        echo "FAILED: $program_name: its own tests fail by $way"
        grep -B 5 '^status [^0]' "$out/said" | tail -n 20
        return 1
}

# culprits: who took faults, "FUNCTION CALLER". All that format text are one, printf, and so are those that read formatted
# text, scanf, and numbers, strto.
culprits()
{
        awk '$1 == "fault" {
                sub(/^(_IO_|__)/, "", $2)
                sub(/^isoc[0-9]+_/, "", $2)
                sub(/_chk$/, "", $2)
                sub(/^strto(d|f|l|u|q|i|m).*/, "strto", $2)
                sub(/^v?(s|f|d|sn|as)?printf$/, "printf", $2)
                sub(/^v?[fs]?scanf$/, "scanf", $2)
                print $2, $4
        }' "$out/faults" | sort -u
}

# unseen: faults that libxac served and nobody watched, which must be none.
unseen()
{
        awk '$1 == "fault" { sum -= $3 } $1 == "served" { sum += $2 } END { print sum + 0 }' "$out/faults"
}

# named: the faults are in functions that the program's file names.
named()
{
        bad=$(culprits | while read -r function caller; do
                is_named "$function" || echo "        by $function, called by $caller"
        done)
        [ "$(unseen)" = 0 ] || bad="$bad
        $(unseen) that nobody watched"
        [ -z "$bad" ] && return
        echo "FAILED: $program_name: $way: page faults (- is compiled code)"
        echo "$bad"
        return 1
}

compare()
{
        go "$compiler" "$1" || return
        if ! diff "$expected" "$out/said" >"$out/differences"; then
                echo "FAILED: $program_name: $way says something else than $clang"
                head -n 20 "$out/differences"
                return 1
        fi
        named || return
        echo "ok: $program_name: xac-cc $1: $(grep -c '^status' "$out/said") runs, as by clang;" \
                "$(awk '$1 == "served" { sum += $2 } END { print sum + 0 }' "$out/faults") page faults" \
                "$(culprits | cut -d ' ' -f 1 | sort -u | sed 's/^/in /' | tr '\n' ' ')"
        crowd >"$out/crowd" 2>&1 || {
                echo "FAILED: $program_name: $way: several processes: exit status $?"
                tail -n 20 "$out/crowd"
                return 1
        }
        sed "s/^/    $program_name: xac-cc $1: /" "$out/crowd"
}

crowd()
{
        :
}

# check PROGRAM
check()
{
        program_name=$1
        calls=
        led=
        needs=
        # shellcheck source=/dev/null
        . "$here/$program_name.sh"
        if [ "$(echo "$calls" | grep -c .)" -gt $calls_most ]; then
                echo "FAILED: $program_name: names more than $calls_most calls"
                return 1
        fi
        for tool in $needs; do
                command -v "$tool" >/dev/null || {
                        echo "$program_name: there is no $tool, which makes its sources: skipped"
                        return 77
                }
        done
        source=$(sh "$here/fetch" "$package" "$cache") || return 77
        go "$clang" -O2 && passes || return 1
        expected=$out/said
        compare -O1
        one=$?
        compare -O2 && [ $one -eq 0 ]
}

clang=${XAC_CLANG:-clang-$(sed -n "s/^versions='\([0-9]*\).*/\1/p" "$compiler")}
failed=0
tried=no
for program_name in ${*:-$all_programs}; do
        (check "$program_name")
        case $? in
        0) tried=yes ;;
        77) ;;
        *)
                tried=yes
                failed=1 ;;
        esac
done
[ $tried = yes ] || exit 77
exit $failed
