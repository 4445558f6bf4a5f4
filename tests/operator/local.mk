# SPDX-License-Identifier: MIT
#
# The operator's drill: harms to environments, backups, archives and disks, and every tool in random order:
#
#      make check-operator                   for OPERATOR_SECONDS (600); OPERATOR_OPTIONS='--keep-going --keep DIR': operator.c
#
# Not a part of `make check`.

OPERATOR_SECONDS = 600
OPERATOR_OPTIONS =
check-operator: %D%/operator tools/xac/xac $(SWEEP)
	$(TEST_RUN) %D%/operator --seconds $(OPERATOR_SECONDS) $(OPERATOR_OPTIONS)
check_PROGRAMS += %D%/operator

%C%_operator_SOURCES = \
        %D%/operator.c \
        %D%/operator_back.c \
        %D%/operator_back.h \
        %D%/operator_harm.c \
        %D%/operator_harm.h \
        %D%/operator_harm_file.c \
        %D%/operator_harm_file.h \
        %D%/operator_history.c \
        %D%/operator_history.h \
        %D%/operator_image.c \
        %D%/operator_image.h \
        %D%/operator_judge.c \
        %D%/operator_judge.h \
        %D%/operator_look.c \
        %D%/operator_look.h \
        %D%/operator_place.c \
        %D%/operator_place.h \
        %D%/operator_pool.c \
        %D%/operator_pool.h \
        %D%/operator_round.c \
        %D%/operator_round.h \
        %D%/operator_session.c \
        %D%/operator_session.h \
        %D%/operator_tally.c \
        %D%/operator_tally.h \
        %D%/operator_tools.c \
        %D%/operator_tools.h \
        %D%/operator_use.c \
        %D%/operator_use.h
%C%_operator_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
# A session's clock may be ahead.
%C%_operator_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
