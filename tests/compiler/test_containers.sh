#!/bin/sh
# SPDX-License-Identifier: MIT
#
# containers.cc, compiled by xac-c++ for each LLVM: what the standard library has of its containers in libstdc++.so comes
# from libxacrt.a. Without that it must fail. So it is with virtuals.cc: dynamic_cast and std::pmr. A program that has
# libstdc++ in it has std::pmr from there.

# shellcheck source=tests/compiler/compile.sh
. "${srcdir:-.}/tests/compiler/compile.sh"

# try PROGRAM VERSION ARGUMENT...
try()
{
        program=$1
        version=$2
        shift 2
        rm -f "$work/$program"
        XAC_CLANG=clang-$version "$plus_compiler" -std=c++17 -Wall -Wextra -Werror "$@" \
                "$srcdir/tests/compiler/$program.cc" -o "$work/$program" >"$work/said" 2>&1 &&
                "$work/$program" "$work/env" >"$work/said" 2>&1
        status_of_run=$?
        remove_env "$work/env"
        return $status_of_run
}

for version in $versions; do
        for level in -O0 -O2; do
                if try containers "$version" $level; then
                        echo "ok: LLVM $version $level: $(cat "$work/said")"
                else
                        echo "FAILED: LLVM $version $level"
                        tail -n 5 "$work/said"
                        status=1
                fi
        done
done
if try virtuals "$first" -O2 -lstdc++; then
        echo "ok: with -lstdc++ among the arguments: $(cat "$work/said")"
else
        echo 'FAILED: with -lstdc++ among the arguments'
        tail -n 5 "$work/said"
        status=1
fi

cat >"$work/inside.cc" <<'END'
#include <map>
#include <memory_resource>
#include <string>
#include <vector>
struct left {
        virtual ~left() = default;
};
struct right {
        virtual ~right() = default;
};
struct whole : left, right {
};
int main()
{
        whole object;
        left *volatile part = &object;
        std::map<std::string, int> numbers{ { "one", 1 } };
        std::pmr::monotonic_buffer_resource given(std::pmr::get_default_resource());
        std::pmr::unsynchronized_pool_resource pool(&given);
        std::pmr::vector<int> vector({ 1, 2, 3 }, &pool);
        return dynamic_cast<right *>(part) != &object || numbers.begin()->second != vector[0];
}
END
for how in -static-libstdc++ -static -static-pie; do
        case $how in
        -static | -static-pie) [ -f "$builddir/.libs/libxac.a" ] || continue ;;
        esac
        # Where the system has such libraries as archives.
        echo 'int main() { return 0; }' >"$work/empty.cc"
        "clang++-$first" -Werror $how "$work/empty.cc" -o "$work/empty" >"$work/said" 2>&1 || continue
        if XAC_CLANG=clang-$first "$plus_compiler" -std=c++17 -O2 $how "$work/inside.cc" -o "$work/inside" >"$work/said" 2>&1 &&
                "$work/inside"; then
                echo "ok: std::pmr with $how"
        else
                echo "FAILED: std::pmr with $how"
                tail -n 5 "$work/said"
                status=1
        fi
done

# missed_without PROGRAM MEMBER...: without these of libxacrt.a, somebody must miss each.
missed_without()
{
        program=$1
        shift
        libraries=$(cd "$builddir/.libs" && pwd)
        XAC_CLANG=clang-$first "$plus_compiler" -std=c++17 -O2 -pthread -c "$srcdir/tests/compiler/$program.cc" -o "$work/$program.o"
        for member in "$@"; do
                cp "$builddir/compiler/libxacrt.a" "$work/without.a"
                ar d "$work/without.a" "$member"
                rm -f "$work/$program"
                "clang++-$first" "$work/$program.o" "$work/without.a" -L"$libraries" -lxac -lpthread -Wl,-rpath,"$libraries" \
                        -o "$work/$program"
                if "$work/$program" "$work/env" >"$work/said" 2>&1; then
                        echo "FAILED: nobody misses what libxacrt.a has in $member"
                        status=1
                elif [ ! -x "$work/$program" ]; then
                        echo "FAILED: $program.cc does not compile"
                        status=1
                else
                        echo "ok: the code in libstdc++.so is found: $(head -n 1 "$work/said" | cut -c 1-120)"
                fi
                remove_env "$work/env"
        done
}

missed_without containers containers.o
missed_without virtuals casts.o resources.o
exit $status
