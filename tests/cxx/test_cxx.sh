#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The programs of this folder, by page faults; and compiled by xac-c++, where that is built: then they take no fault, and
# threads share a heap.

set -u

srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$srcdir/tests/support/remove-env.sh"
. "$srcdir/tests/support/leeway.sh"
. "$srcdir/tools/find-cxx"
status=0

# again COMPILER ARGUMENT...: once more if it was killed because there is no memory left.
again()
{
        sh "$srcdir/tests/support/compile-again.sh" "$@"
}

find_cxx || {
        echo 'there is no compiler for C++17'
        exit 77
}

# try NAME WAY LEVEL COMPILER...
try()
{
        name=$1
        way=$2
        level=$3
        shift 3
        mkdir "$work/$name"
        if ! again "$@" -std=c++17 "$level" -g -Wall -Wextra -Wshadow -Werror "-I$srcdir/include" "-I$srcdir" \
                "$srcdir/tests/cxx/$name.cc" -o "$work/program" $link >"$work/said" 2>&1; then
                echo "FAILED: $name, $way: it does not compile"
                head -n 20 "$work/said"
                status=1
        elif timeout "$(leeway_s 300)" "$work/program" "$work/$name" >"$work/said" 2>&1; then
                echo "ok: $name, $way: $(grep -c '^ok:' "$work/said") tests"
        else
                echo "FAILED: $name, $way: exit status $?"
                tail -n 20 "$work/said"
                status=1
        fi
        for env in "$work/$name"/*; do
                remove_env "$env"
        done
        rm -rf "${work:?}/$name"
}

# refuse MESSAGE CODE [STANDARD]: as the body of a function of `env` it does not compile, for that reason.
refuse()
{
        printf '#include <xac/xac.hpp>\nvoid f(xac::environment &env)\n{\n        %s\n}\n' "$2" >"$work/refused.cc"
        # shellcheck disable=SC2086 # a list of words
        if ! again $cxx ${3:--std=c++17} "-I$srcdir/include" -fsyntax-only "$work/refused.cc" 2>&1 | grep -q "$1"; then
                echo "FAILED: it is not said of this that \"$1\": $2"
                status=1
        fi
}

refuse 'memory is in the heap' 'xac::atomically(env, [] { return xac::string(); });'
# What libstdc++ leads to by plain pointers, in a heap that lies anywhere.
if echo '#include <string>
#ifndef __GLIBCXX__
#error
#endif' | $cxx -std=c++17 -x c++ -fsyntax-only - 2>/dev/null; then
        for container in 'forward_list<int, xac::offset_allocator<int>> it(1);' \
                'unordered_set<int, std::hash<int>, std::equal_to<>, xac::offset_allocator<int>> it; it.insert(1);' \
                'unordered_multiset<int, std::hash<int>, std::equal_to<>, xac::offset_allocator<int>> it; it.insert(1);' \
                'vector<bool, xac::offset_allocator<bool>> it;' \
                'vector<bool, xac::offset_allocator<bool>> it(5, true);' \
                'shared_ptr<int> it = std::allocate_shared<int>(xac::offset_allocator<int>(), 1);' \
                'shared_ptr<int> it(new int, std::default_delete<int>(), xac::offset_allocator<int>());'; do
                refuse 'by plain pointers' "(void)env; std::$container"
        done
        refuse 'by plain pointers' 'xac::heap().construct<xac::offset_vector<bool>>("bits");'
        refuse 'by plain pointers' '(void)env; std::allocate_shared<int[]>(xac::offset_allocator<int>(), 5);' -std=c++20
        # As where libstdc++ has no std::allocate_shared() of arrays, before GCC 12.
        if ! printf '%s\n' '#include <bits/stdc++.h>' '#undef __cpp_lib_shared_ptr_arrays' '#define __cpp_lib_shared_ptr_arrays 201611L' \
                '#define _Sp_counted_array_base not_there' '#include <xac/xac.hpp>' >"$work/older.cc" ||
                ! again $cxx -std=c++20 "-I$srcdir/include" -fsyntax-only "$work/older.cc" >"$work/said" 2>&1; then
                echo 'FAILED: the headers do not compile without arrays of std::allocate_shared()'
                head -n 5 "$work/said"
                status=1
        fi
fi
refuse 'compile with -std=c++17' '(void)env;' -std=c++14
refuse 'compile with -fexceptions' '(void)env;' '-std=c++17 -fno-exceptions'

# With these the headers compile. Without run-time type information a type has the name that it has with it, so that
# both find the same objects.
printf '%s\n' '#include <cstdio>' '#include <xac/xac.hpp>' 'namespace { struct hidden {}; }' \
        'template <typename... T> void say() { (std::printf("%llx\n", (unsigned long long)xac::detail::tag_of<T>()), ...); }' \
        'int main() { say<int, const long, hidden, xac::vector<hidden>, char *, xac::map<xac::string, long>>(); }' >"$work/tags.cc"
for option in -frtti -fno-rtti -D_GLIBCXX_DEBUG; do
        # shellcheck disable=SC2046 # lists of words
        if ! again $cxx -std=c++17 $option -Wall -Wextra -Wshadow -Werror $(cxx_flags) "-I$srcdir/include" "$work/tags.cc" \
                -o "$work/program" $(cxx_libs) >"$work/said" 2>&1; then
                echo "FAILED: the headers do not compile with $option"
                head -n 20 "$work/said"
                status=1
        else
                "$work/program" >"$work/tags$option"
        fi
done
cmp "$work/tags-frtti" "$work/tags-fno-rtti" || {
        echo 'FAILED: without run-time type information types have other names'
        status=1
}
# Strings have a hash also where the library has one of its own for every allocator, as libstdc++ of GCC 13.
cat >"$work/hashes.cc" <<'END'
#include <string>
template <typename Char, typename A> using text_by = std::basic_string<Char, std::char_traits<Char>, A>;
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE < 13
template <typename A> struct std::hash<text_by<char, A>> {};
template <typename A> struct std::hash<text_by<wchar_t, A>> {};
template <typename A> struct std::hash<text_by<char16_t, A>> {};
template <typename A> struct std::hash<text_by<char32_t, A>> {};
#ifdef __cpp_lib_char8_t
template <typename A> struct std::hash<text_by<char8_t, A>> {};
#endif
#endif
#include <xac/xac.hpp>
template <typename Char, typename A = xac::allocator<Char>>
inline constexpr bool has_hash = std::is_invocable_r_v<std::size_t, std::hash<text_by<Char, A>>, const text_by<Char, A> &>;
static_assert(has_hash<char> && has_hash<wchar_t> && has_hash<char16_t> && has_hash<char32_t>);
#ifdef __cpp_lib_char8_t
static_assert(has_hash<char8_t>);
#endif
END
for standard in c++17 c++20; do
        if ! again $cxx -std=$standard -Wall -Wextra -Werror "-I$srcdir/include" -fsyntax-only "$work/hashes.cc" >"$work/said" 2>&1; then
                echo "FAILED: strings have no hash of their own, with -std=$standard"
                head -n 20 "$work/said"
                status=1
        fi
done
# Compilers warn of more when they optimise, and take twice as long: the first program is enough for this.
of_faults=-O2
for name in transactions heaps managed crowd killed anywhere vectors; do
        link="$(cxx_flags) $(cxx_libs)"
        # shellcheck disable=SC2086 # a list of words
        try $name 'by faults' $of_faults $cxx
        of_faults=-O0
        if [ -x "$builddir/compiler/build-c++" ]; then
                link=-lxacheap
                try $name 'by xac-c++' -O2 "$builddir/compiler/build-c++" -DCOMPILED
        fi
done
exit $status
