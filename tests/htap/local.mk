# SPDX-License-Identifier: MIT
#
# What bench/papers/anker/htap stands on: precision locking, by itself and in both engines under a checker of histories; queries.

# Part of `make check-bench`, as is the benchmark.
HTAP_TESTS = %D%/test_precision %D%/test_history %D%/test_queries
EXTRA_PROGRAMS += $(HTAP_TESTS)
CLEANFILES += $(HTAP_TESTS)
check-htap: $(HTAP_TESTS) $(SWEEP)
	set -e; $(AM_TESTS_ENVIRONMENT) for test in $(HTAP_TESTS); do $(TEST_RUN) $$test; done
PAPER_TESTS_anker = check-htap

HTAP_TEST_LIBS = bench/papers/anker/htap/libhtap.la tests/support/libsupport.la bench/libbench.la $(CHECK_LIBS)

%C%_test_precision_SOURCES = %D%/test_precision.c
%C%_test_precision_LDADD = $(HTAP_TEST_LIBS)
%C%_test_history_SOURCES = %D%/test_history.c %D%/history.c %D%/history.h %D%/history_check.c
%C%_test_history_LDADD = $(HTAP_TEST_LIBS)
%C%_test_queries_SOURCES = %D%/test_queries.c
%C%_test_queries_LDADD = $(HTAP_TEST_LIBS)
