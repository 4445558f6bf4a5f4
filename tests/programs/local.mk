# SPDX-License-Identifier: MIT
#
# Programs that nobody here wrote, on the heap (examples/uthash, examples/cjson). The scripts compile them, since their
# headers and sources may not be there.

SUITES += programs
SUITE_programs = %D%/test_uthash.sh %D%/test_cjson.sh
SUITE_programs_NEEDS = $(COMPILER_IN_PLACE) libxac.la libxacheap.la %D%/killed
TESTS += $(SUITE_programs)
check_PROGRAMS += %D%/killed
%C%_killed_SOURCES = %D%/killed.c
%C%_killed_LDADD = $(CONTRACT_LIBS)
dist_check_SCRIPTS += $(SUITE_programs)
EXTRA_DIST += %D%/try.sh
