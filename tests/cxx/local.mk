# SPDX-License-Identifier: MIT
#
# <xac/xac.hpp>. The script compiles and runs the programs, as a C++ compiler is not needed for anything else.

SUITES += cxx
SUITE_cxx = %D%/test_cxx.sh
SUITE_cxx_NEEDS = $(COMPILER_IN_PLACE) libxac.la libxacheap.la
TESTS += $(SUITE_cxx)
dist_check_SCRIPTS += $(SUITE_cxx)
EXTRA_DIST += %D%/cxx_test.h %D%/anywhere.cc %D%/crowd.cc %D%/heaps.cc %D%/killed.cc %D%/managed.cc \
        %D%/transactions.cc %D%/vectors.cc
