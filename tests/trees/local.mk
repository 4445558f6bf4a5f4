# SPDX-License-Identifier: MIT
#
# The trees: unit tests that see inside, and tests of the public functions by all three ways in.

TREES_TESTS = \
        %D%/test_bpnode \
        %D%/test_bpnode_check \
        %D%/test_bpnode_split \
        %D%/test_bptree \
        %D%/test_bptree_check \
        %D%/test_bptree_cursor \
        %D%/test_bptree_full \
        %D%/test_bptree_model \
        %D%/test_bptree_transactions \
        %D%/test_page_alloc \
        %D%/test_page_alloc_shared \
        %D%/test_page_arena \
        %D%/test_page_run

check_PROGRAMS += $(TREES_TESTS)
TESTS += $(TREES_TESTS)

# How many lines of trees/ exist only for transactions.
dist_check_SCRIPTS += %D%/count_lines.sh
TESTS += %D%/count_lines.sh

TREES_TEST_LIBS = tests/support/libsupport.la $(TREES_CORE_LIBS) $(CMOCKA_LIBS)
TREES_WAYS = %D%/ways.c %D%/ways.h

TREES_ACCOUNT = %D%/account.c %D%/account.h $(TREES_WAYS)

%C%_test_page_alloc_SOURCES = %D%/test_page_alloc.c $(TREES_ACCOUNT)
%C%_test_page_alloc_LDADD = $(TREES_TEST_LIBS)
%C%_test_page_alloc_shared_SOURCES = %D%/test_page_alloc_shared.c $(TREES_ACCOUNT)
%C%_test_page_alloc_shared_LDADD = $(TREES_TEST_LIBS)
%C%_test_page_arena_SOURCES = %D%/test_page_arena.c $(TREES_WAYS)
%C%_test_page_arena_LDADD = $(TREES_TEST_LIBS)
%C%_test_page_run_SOURCES = %D%/test_page_run.c $(TREES_WAYS)
%C%_test_page_run_LDADD = $(TREES_TEST_LIBS)

NODE_MODEL = %D%/node_model.c %D%/node_model.h

%C%_test_bpnode_SOURCES = %D%/test_bpnode.c $(NODE_MODEL)
%C%_test_bpnode_LDADD = $(TREES_TEST_LIBS)

%C%_test_bpnode_check_SOURCES = %D%/test_bpnode_check.c $(NODE_MODEL)
%C%_test_bpnode_check_LDADD = $(TREES_TEST_LIBS)

%C%_test_bpnode_split_SOURCES = %D%/test_bpnode_split.c $(NODE_MODEL)
%C%_test_bpnode_split_LDADD = $(TREES_TEST_LIBS)

# Processes and threads at random, judged (history_judge.h): many mixes, briefly here and for long by make check-stress.
# They see inside the library, for the numbers of its commits.
TREES_INSIDE_LIBS = tests/support/libsupport.la libxactrees-core.la $(UNIT_LIBS)
check_PROGRAMS += %D%/history
%C%_history_SOURCES = \
        %D%/history.c \
        %D%/history_desk.c \
        %D%/history_desk.h \
        %D%/history_judge.c \
        %D%/history_judge.h \
        %D%/history_keys.c \
        %D%/history_keys.h \
        %D%/history_script.c \
        %D%/history_script.h \
        %D%/history_worker.c \
        %D%/history_worker.h \
        %D%/history_world.h
%C%_history_LDADD = $(TREES_INSIDE_LIBS)

%C%_test_bptree_SOURCES = %D%/test_bptree.c $(TREES_WAYS)
%C%_test_bptree_LDADD = $(TREES_TEST_LIBS)
%C%_test_bptree_check_SOURCES = %D%/test_bptree_check.c $(TREES_WAYS)
%C%_test_bptree_check_LDADD = $(TREES_TEST_LIBS)
%C%_test_bptree_cursor_SOURCES = %D%/test_bptree_cursor.c $(TREES_WAYS)
%C%_test_bptree_cursor_LDADD = $(TREES_TEST_LIBS)
%C%_test_bptree_transactions_SOURCES = %D%/test_bptree_transactions.c $(TREES_WAYS)
%C%_test_bptree_transactions_LDADD = $(TREES_TEST_LIBS)
%C%_test_bptree_full_SOURCES = %D%/test_bptree_full.c %D%/sorted.c %D%/sorted.h $(TREES_WAYS)
%C%_test_bptree_full_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
%C%_test_bptree_full_LDADD = $(TREES_TEST_LIBS)
%C%_test_bptree_model_SOURCES = \
        %D%/test_bptree_model.c \
        %D%/bptree_model.c \
        %D%/bptree_model.h \
        %D%/bptree_model_cursors.c \
        %D%/bptree_model_records.c \
        %D%/bptree_model_state.h \
        %D%/sorted.c \
        %D%/sorted.h \
        $(TREES_WAYS)
%C%_test_bptree_model_LDADD = $(TREES_TEST_LIBS)
dist_check_SCRIPTS += %D%/test_history.sh %D%/run-history.sh
TESTS += %D%/test_history.sh

# Deaths: briefly here, for long by make check-kill.
TREES_DEEDS = %D%/deeds.c %D%/deeds.h %D%/sorted.c %D%/sorted.h
check_PROGRAMS += %D%/killed
TESTS += %D%/killed
%C%_killed_SOURCES = %D%/killed.c tests/kill/audit.c tests/kill/audit.h $(TREES_DEEDS)
%C%_killed_LDADD = $(TREES_INSIDE_LIBS)

# Calls that fail: the library's and the trees' own, and allocations.
check_PROGRAMS += %D%/failure
TESTS += %D%/failure
%C%_failure_SOURCES = %D%/failure.c %D%/failure_script.c %D%/failure_script.h %D%/failing.c %D%/failing.h \
        %D%/sorted.c %D%/sorted.h tests/kill/audit.c tests/kill/audit.h
%C%_failure_LDADD = $(TREES_INSIDE_LIBS)
%C%_failure_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=strdup \
        -Wl,--wrap=open -Wl,--wrap=fstat -Wl,--wrap=ftruncate -Wl,--wrap=mmap -Wl,--wrap=mprotect

# Room that runs out.
check_PROGRAMS += %D%/room
TESTS += %D%/room
%C%_room_SOURCES = %D%/room.c %D%/sorted.c %D%/sorted.h $(TREES_WAYS)
%C%_room_LDADD = $(TREES_TEST_LIBS)

# Larger than memory: small here, large by make check-stress.
check_PROGRAMS += %D%/large
TESTS += %D%/large
%C%_large_SOURCES = %D%/large.c
%C%_large_LDADD = $(TREES_TEST_LIBS)
