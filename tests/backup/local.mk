# SPDX-License-Identifier: MIT
#
# Backups and what is put together from them. A small round here; the long one is
#
#      make check-backups                    so many backups and deaths beside writers, passes over all power cuts, and one
#                                            backup during which all pages change twice

SUITES += backup
SUITE_backup = $(BACKUP_TESTS)
TESTS += $(SUITE_backup)

BACKUP_TESTS = \
        %D%/every_call \
        %D%/history \
        %D%/power_cut \
        %D%/test_backup \
        %D%/test_crafted_backup \
        %D%/test_index \
        %D%/test_restore \
        %D%/test_stream \
        %D%/twice
check_PROGRAMS += $(BACKUP_TESTS)

# Allocations are counted and let fail like system calls.
%C%_every_call_SOURCES = %D%/every_call.c tests/failure/inject.c tests/failure/inject.h
%C%_every_call_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_every_call_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc
%C%_history_SOURCES = %D%/history.c %D%/story.c %D%/story.h tests/libxac/stamped.c tests/libxac/stamped.h \
        $(TREES_DEEDS) $(HEAP_DEEDS)
%C%_history_LDADD = tests/support/libsupport.la libxactrees-core.la libxacheap-core.la $(UNIT_LIBS)
# CRASH_ENGINE is tests/crash's.
%C%_power_cut_SOURCES = %D%/power_cut.c $(CRASH_ENGINE)
%C%_power_cut_LDADD = $(CRASH_LIBS)
%C%_test_backup_SOURCES = %D%/test_backup.c %D%/stand.h
%C%_test_backup_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_crafted_backup_SOURCES = %D%/test_crafted_backup.c %D%/stand.h
%C%_test_crafted_backup_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_index_SOURCES = %D%/test_index.c %D%/stand.h
%C%_test_index_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_restore_SOURCES = %D%/test_restore.c %D%/stand.h
%C%_test_restore_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_stream_SOURCES = %D%/test_stream.c %D%/stand.h
%C%_test_stream_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_twice_SOURCES = %D%/twice.c
%C%_twice_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

BACKUPS = 50
BACKUP_KILLS = 200
BACKUP_PASSES = 50
BACKUP_MIB = 2048
check-backups: %D%/history %D%/power_cut %D%/twice $(SWEEP)
	$(AM_TESTS_ENVIRONMENT) $(TEST_RUN) %D%/twice --mib $(BACKUP_MIB) --log-mib 256
	$(AM_TESTS_ENVIRONMENT) $(TEST_RUN) %D%/power_cut --passes $(BACKUP_PASSES)
	$(AM_TESTS_ENVIRONMENT) $(TEST_RUN) %D%/history --backups $(BACKUPS) --kills $(BACKUP_KILLS)
