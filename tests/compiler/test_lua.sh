#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A large program that nobody here wrote: Lua's interpreter in a heap in a file, by page faults and compiled by xac-cc
# (examples/lua/demo). Skipped where there is neither liblua5.4-dev nor the source, and none to be had within 20 seconds.

# With sanitizers the programs would have to be built so, too.
if grep -qs 'libasan\|libubsan' "${builddir:-.}/.libs/libxac.so"; then
        echo 'not in a build with sanitizers'
        exit 77
fi
exec sh "${srcdir:-.}/examples/lua/demo" "${builddir:-.}"
