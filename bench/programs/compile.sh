# SPDX-License-Identifier: MIT
#
# How the scripts beside it compile a program in several ways; to source. It sets $build, $source and $here, a folder to
# work in, and $version of the clang that is used for all. There is no xac-cc: exit status 77.
#
# shellcheck shell=sh disable=SC2034 # used where this is sourced

build=$(cd "${1:?usage: $0 BUILD_DIRECTORY [CSV]}" && pwd) || exit 1
csv=${2:-}
here=$(cd "$(dirname "$0")" && pwd) || exit 1
source=$(cd "$here/../.." && pwd) || exit 1

work=$(mktemp -d "${TMPDIR:-/tmp}/xac-programs.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

fail()
{
        echo "programs: $*" >&2
        exit 1
}

# quietly COMMAND...: what it says matters if it fails.
quietly()
{
        "$@" >"$work/said" 2>&1 && return
        cat "$work/said" >&2
        fail "$*"
}

# compiler_of WAY LANGUAGE ("" or "++")
compiler_of()
{
        case $1 in
        plain) echo "clang$2-$version" ;;
        compiled) echo "$build/compiler/build-c${2:-c}" ;;
        prototype) echo "clang$2-$version -fpass-plugin=$work/prototype.so" ;;
        esac
}

# compile WAY LANGUAGE SOURCE ARGUMENT...: makes WAY.o of it.
compile()
{
        way=$1
        compiler=$(compiler_of "$way" "$2")
        shift 2
        # shellcheck disable=SC2086 # words
        quietly $compiler $flags -c "$@" -o "$work/$way.o"
}

# link WAY NAME ARGUMENT...: makes NAME-WAY, with the objects of the $frame.
link()
{
        way=$1
        name=$2
        shift 2
        [ "$way" = prototype ] && set -- "$work/prototype-rt.o" "$@"
        linker=clang++-$version
        [ "$way" = compiled ] && linker=$build/compiler/build-c++
        # shellcheck disable=SC2086 # words
        quietly "$linker" -no-pie $frame "$work/$way.o" "$@" "$build/bench/.libs/libbench.a" -L"$build/.libs" \
                -Wl,-rpath,"$build/.libs" $libraries -lxac -lpthread -lm -o "$work/$name-$way"
}

[ -x "$build/compiler/build-cc" ] || { echo 'programs: xac-cc was not built' >&2; exit 77; }
version=$(sed -n "s/^versions='\([0-9]*\).*/\1/p" "$build/compiler/build-cc")
level=${LEVEL:--O2}
flags="$level -g -fno-pie -D_GNU_SOURCE -I$source -I$source/include"
