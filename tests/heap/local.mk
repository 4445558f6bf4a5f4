# SPDX-License-Identifier: MIT
#
# The heap: tests of the public functions, of its check by damage, and of what stands on one page.

SUITES += heap
SUITE_heap = $(HEAP_TESTS) %D%/killed
TESTS += $(SUITE_heap)

HEAP_TESTS = %D%/test_heap %D%/test_heap_cancel %D%/test_heap_check %D%/test_heap_damage %D%/test_heap_lost %D%/test_heap_trim %D%/test_roots %D%/test_slab
check_PROGRAMS += $(HEAP_TESTS) %D%/killed

HEAP_TEST_LIBS = tests/support/libsupport.la $(HEAP_LIBS) $(CMOCKA_LIBS)
HEAP_TABLES = %D%/tables.c %D%/tables.h
HEAP_DEEDS = %D%/deeds.c %D%/deeds.h $(HEAP_TABLES)

%C%_test_heap_SOURCES = %D%/test_heap.c $(HEAP_TABLES)
%C%_test_heap_LDADD = $(HEAP_TEST_LIBS)
# Looks at all shared memory, and so is linked with the parts.
HEAP_INSIDE_LIBS = tests/support/libsupport.la libxacheap-core.la $(UNIT_LIBS)
%C%_killed_SOURCES = %D%/killed.c tests/kill/audit.c tests/kill/audit.h $(HEAP_DEEDS)
%C%_killed_LDADD = $(HEAP_INSIDE_LIBS)
%C%_test_heap_check_SOURCES = %D%/test_heap_check.c $(HEAP_TABLES)
%C%_test_heap_check_LDADD = $(HEAP_INSIDE_LIBS)
%C%_test_heap_damage_SOURCES = %D%/test_heap_damage.c
%C%_test_heap_damage_LDADD = $(HEAP_INSIDE_LIBS)
%C%_test_heap_lost_SOURCES = %D%/test_heap_lost.c
%C%_test_heap_lost_LDADD = $(HEAP_TEST_LIBS)
%C%_test_heap_trim_SOURCES = %D%/test_heap_trim.c
%C%_test_heap_trim_LDADD = $(HEAP_TEST_LIBS)
%C%_test_roots_SOURCES = %D%/test_roots.c
%C%_test_roots_LDADD = $(HEAP_INSIDE_LIBS)
%C%_test_heap_cancel_SOURCES = %D%/test_heap_cancel.c
%C%_test_heap_cancel_LDADD = $(HEAP_TEST_LIBS) libxactrees.la
%C%_test_slab_SOURCES = %D%/test_slab.c
%C%_test_slab_LDADD = $(HEAP_INSIDE_LIBS)
