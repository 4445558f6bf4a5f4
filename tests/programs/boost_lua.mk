# SPDX-License-Identifier: MIT
#
# Boost's containers, and Lua's interpreter, in a heap. The scripts compile the programs, as Boost and Lua may not be there.

BOOST_LUA_TESTS = tests/programs/test_boost.sh tests/programs/test_lua.sh
SUITE_programs += $(BOOST_LUA_TESTS)
SUITE_programs_NEEDS += $(COMPILER_IN_PLACE) libxac.la libxacheap.la tests/support/libsupport.la
TESTS += $(BOOST_LUA_TESTS)
dist_check_SCRIPTS += $(BOOST_LUA_TESTS)
EXTRA_DIST += \
        tests/programs/boost_heaps.cc \
        tests/programs/boost_killed.cc \
        tests/programs/deaths.c \
        tests/programs/deaths.h \
        tests/programs/lua_killed.c
