# SPDX-License-Identifier: MIT
#
# The suite of trace: linked with what is inside the library.

SUITES += trace
SUITE_trace = %D%/test_trace %D%/test_trace_strangers
check_PROGRAMS += $(SUITE_trace)
TESTS += $(SUITE_trace)

TRACE_READ = tests/trace/read.c tests/trace/read.h

%C%_test_trace_SOURCES = %D%/test_trace.c $(TRACE_READ)
%C%_test_trace_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_trace_strangers_SOURCES = %D%/test_trace_strangers.c $(TRACE_READ)
%C%_test_trace_strangers_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
