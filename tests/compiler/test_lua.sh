#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A large program that nobody here wrote: Lua's interpreter in a heap in a file, by page faults and compiled by xac-cc
# (examples/lua/demo). Skipped where there is neither liblua5.4-dev nor the source, and none to be had within 20 seconds.

exec sh "${srcdir:-.}/examples/lua/demo" "${builddir:-.}"
