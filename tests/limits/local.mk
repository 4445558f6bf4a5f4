# SPDX-License-Identifier: MIT
#
# Limits times calls: what each call returns (limits.c):
#
#      make check-limits     every cell, compared with the table in docs/RESTRICTIONS.md
#      make limits-save      writes that table
#
# Not a part of `make check`. It does nothing where it is not root.

LIMITS_OPTIONS =
check-limits: %D%/limits $(SWEEP)
	$(TEST_RUN) %D%/limits --document $(srcdir)/docs/RESTRICTIONS.md $(LIMITS_OPTIONS) || test $$? = 77
limits-save: %D%/limits $(SWEEP)
	$(TEST_RUN) %D%/limits --document $(srcdir)/docs/RESTRICTIONS.md --save --rounds 3
check_PROGRAMS += %D%/limits

%C%_limits_SOURCES = \
        %D%/limits.c \
        %D%/limits_calls.c \
        %D%/limits_calls.h \
        %D%/limits_cell.c \
        %D%/limits_cell.h \
        %D%/limits_ground.c \
        %D%/limits_ground.h \
        %D%/limits_kinds.c \
        %D%/limits_kinds.h
%C%_limits_LDADD = tests/support/libsupport.la libxacheap.la libxactrees.la libxac.la -lpthread
