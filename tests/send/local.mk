# SPDX-License-Identifier: MIT
#
# Sending and receiving ranges of trees.

SUITES += send
SUITE_send = $(SEND_TESTS) %D%/history
TESTS += $(SUITE_send)

SEND_TESTS = \
        %D%/test_alloc \
        %D%/test_at_rest \
        %D%/test_calibration \
        %D%/test_changes \
        %D%/test_descriptors \
        %D%/test_plan \
        %D%/test_range \
        %D%/test_range_bounds \
        %D%/test_request \
        %D%/test_send \
        %D%/test_shares
check_PROGRAMS += $(SEND_TESTS)

SEND_TEST_LIBS = tests/support/libsupport.la $(SEND_CORE_LIBS) $(CMOCKA_LIBS)

SOCKETS = %D%/sockets.c %D%/sockets.h
SENT_MODEL = %D%/sent_model.c %D%/sent_model.h %D%/stream.c %D%/stream.h

# Allocations and the library's mappings fail by number.
%C%_test_alloc_SOURCES = %D%/test_alloc.c tests/trees/failing.c tests/trees/failing.h
%C%_test_alloc_LDADD = tests/support/libsupport.la libxacsend-core.la libxactrees-core.la $(UNIT_LIBS)
%C%_test_alloc_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=reallocarray \
        -Wl,--wrap=strdup -Wl,--wrap=open -Wl,--wrap=fstat -Wl,--wrap=ftruncate -Wl,--wrap=mmap -Wl,--wrap=mprotect
%C%_test_at_rest_SOURCES = %D%/test_at_rest.c $(SOCKETS) %D%/stream.c %D%/stream.h
%C%_test_at_rest_LDADD = $(SEND_TEST_LIBS)
%C%_test_calibration_SOURCES = %D%/test_calibration.c $(SOCKETS)
%C%_test_calibration_LDADD = $(SEND_TEST_LIBS)
%C%_test_changes_SOURCES = %D%/test_changes.c
%C%_test_changes_LDADD = $(SEND_TEST_LIBS)
%C%_test_descriptors_SOURCES = %D%/test_descriptors.c $(SOCKETS)
%C%_test_descriptors_LDADD = libxacheap.la $(SEND_TEST_LIBS)
%C%_test_plan_SOURCES = %D%/test_plan.c
%C%_test_plan_LDADD = $(SEND_TEST_LIBS)
%C%_test_range_SOURCES = %D%/test_range.c %D%/words.h $(SENT_MODEL)
%C%_test_range_LDADD = $(SEND_TEST_LIBS)
%C%_test_range_bounds_SOURCES = %D%/test_range_bounds.c %D%/stream.c %D%/stream.h %D%/words.h
%C%_test_range_bounds_LDADD = $(SEND_TEST_LIBS)
%C%_test_request_SOURCES = %D%/test_request.c
%C%_test_request_LDADD = $(SEND_TEST_LIBS)
%C%_test_send_SOURCES = %D%/test_send.c $(SOCKETS)
%C%_test_send_LDADD = $(SEND_TEST_LIBS)
%C%_test_shares_SOURCES = %D%/test_shares.c $(SOCKETS)
%C%_test_shares_LDADD = $(SEND_TEST_LIBS)
check_PROGRAMS += %D%/history
%C%_history_SOURCES = %D%/history.c $(SOCKETS)
%C%_history_LDADD = $(SEND_TEST_LIBS)
