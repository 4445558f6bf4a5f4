# SPDX-License-Identifier: MIT
#
# Boost's containers, and Lua's interpreter, in a heap. The scripts compile the programs, as Boost and Lua may not be there.

SUITE_programs += tests/programs/test_boost.sh tests/programs/test_lua.sh
SUITE_programs_NEEDS += $(COMPILER_IN_PLACE) libxac.la libxacheap.la tests/support/libsupport.la
EXTRA_DIST += \
        tests/programs/boost_heaps.cc \
        tests/programs/boost_killed.cc \
        tests/programs/deaths.c \
        tests/programs/deaths.h \
        tests/programs/lua_killed.c
