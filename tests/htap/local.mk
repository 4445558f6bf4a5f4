# SPDX-License-Identifier: MIT
#
# What bench/htap stands on: precision locking, by itself and in both engines under a checker of histories; queries.

SUITES += htap
SUITE_htap = %D%/test_precision %D%/test_history %D%/test_queries
check_PROGRAMS += $(SUITE_htap)
TESTS += $(SUITE_htap)

HTAP_TEST_LIBS = bench/htap/libhtap.la tests/support/libsupport.la bench/libbench.la $(CHECK_LIBS)

%C%_test_precision_SOURCES = %D%/test_precision.c
%C%_test_precision_LDADD = $(HTAP_TEST_LIBS)
%C%_test_history_SOURCES = %D%/test_history.c %D%/history.c %D%/history.h %D%/history_check.c
%C%_test_history_LDADD = $(HTAP_TEST_LIBS)
%C%_test_queries_SOURCES = %D%/test_queries.c
%C%_test_queries_LDADD = $(HTAP_TEST_LIBS)
