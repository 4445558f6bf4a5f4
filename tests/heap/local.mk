# SPDX-License-Identifier: MIT
#
# The heap: tests of the public functions.

SUITES += heap
SUITE_heap = $(HEAP_TESTS)
TESTS += $(SUITE_heap)

HEAP_TESTS = %D%/test_heap
check_PROGRAMS += $(HEAP_TESTS)

HEAP_TEST_LIBS = tests/support/libsupport.la $(HEAP_LIBS) $(CMOCKA_LIBS)
HEAP_TABLES = %D%/tables.c %D%/tables.h

%C%_test_heap_SOURCES = %D%/test_heap.c $(HEAP_TABLES)
%C%_test_heap_LDADD = $(HEAP_TEST_LIBS)
