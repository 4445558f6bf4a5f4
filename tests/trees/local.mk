# SPDX-License-Identifier: MIT
#
# The trees: unit tests that see inside, and tests of the public functions by all three ways in.

SUITES += trees
SUITE_trees = $(TREES_TESTS) %D%/count_lines.sh %D%/test_history.sh %D%/failure %D%/killed %D%/made_again %D%/room %D%/large %D%/within
SUITE_trees_NEEDS = %D%/history
TESTS += $(SUITE_trees)

TREES_TESTS = \
        %D%/test_arena_check \
        %D%/test_bpnode \
        %D%/test_bpnode_check \
        %D%/test_bpnode_split \
        %D%/test_bptree_check \
        %D%/test_bptree_leaf \
        %D%/test_cobindex \
        %D%/test_cobtree_check \
        %D%/test_cobtree_share \
        %D%/test_ehash \
        %D%/test_ehash_shortcut \
        %D%/test_page_alloc \
        %D%/test_page_alloc_groups \
        %D%/test_page_alloc_shared \
        %D%/test_arena \
        %D%/test_arena_snapshot \
        %D%/test_page_run \
        %D%/test_pma \
        %D%/test_tree \
        %D%/test_tree_cold \
        %D%/test_tree_cursor \
        %D%/test_tree_full \
        %D%/test_tree_model \
        %D%/test_tree_names \
        %D%/test_tree_pages \
        %D%/test_tree_patterns \
        %D%/test_tree_transactions \
        %D%/test_trim \
        %D%/test_veb

check_PROGRAMS += $(TREES_TESTS)

# How many lines of trees/ exist only for transactions.
dist_check_SCRIPTS += %D%/count_lines.sh

TREES_TEST_LIBS = tests/support/libsupport.la $(TREES_CORE_LIBS) $(CMOCKA_LIBS)

# What all kinds of trees promise is tested on each (xtree.h).
TREES_EITHER = %D%/xtree.c %D%/xtree.h %D%/xtree_hash.c %D%/xtree_hash.h
TREES_SORTED = %D%/sorted.c %D%/sorted.h
TREES_WAYS = %D%/ways.c %D%/ways.h $(TREES_EITHER)

TREES_ACCOUNT = %D%/account.c %D%/account.h $(TREES_WAYS)

%C%_test_page_alloc_SOURCES = %D%/test_page_alloc.c $(TREES_ACCOUNT)
%C%_test_page_alloc_LDADD = $(TREES_TEST_LIBS)
%C%_test_page_alloc_shared_SOURCES = %D%/test_page_alloc_shared.c $(TREES_ACCOUNT)
%C%_test_page_alloc_shared_LDADD = $(TREES_TEST_LIBS)
%C%_test_arena_SOURCES = %D%/test_arena.c $(TREES_WAYS)
%C%_test_arena_LDADD = $(TREES_TEST_LIBS)
%C%_test_arena_snapshot_SOURCES = %D%/test_arena_snapshot.c $(TREES_EITHER)
%C%_test_arena_snapshot_LDADD = $(TREES_TEST_LIBS)
%C%_test_page_run_SOURCES = %D%/test_page_run.c $(TREES_WAYS)
%C%_test_page_run_LDADD = $(TREES_TEST_LIBS)

%C%_test_ehash_shortcut_SOURCES = %D%/test_ehash_shortcut.c
%C%_test_ehash_shortcut_LDADD = $(TREES_TEST_LIBS)
%C%_test_ehash_shortcut_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=realloc

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
        %D%/history_world.h \
        $(TREES_EITHER)
%C%_history_LDADD = $(TREES_INSIDE_LIBS)
%C%_history_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=arena_run

%C%_test_ehash_SOURCES = %D%/test_ehash.c $(TREES_WAYS)
%C%_test_ehash_LDADD = $(TREES_TEST_LIBS)
%C%_test_tree_SOURCES = %D%/test_tree.c %D%/one_tree.h $(TREES_WAYS)
%C%_test_tree_LDADD = $(TREES_TEST_LIBS)
%C%_test_tree_names_SOURCES = %D%/test_tree_names.c %D%/one_tree.h $(TREES_WAYS)
%C%_test_tree_names_LDADD = $(TREES_TEST_LIBS)
TREES_DAMAGED = %D%/damaged.c %D%/damaged.h $(TREES_WAYS)
%C%_test_arena_check_SOURCES = %D%/test_arena_check.c $(TREES_DAMAGED)
%C%_test_arena_check_LDADD = $(TREES_TEST_LIBS)
%C%_test_bptree_check_SOURCES = %D%/test_bptree_check.c $(TREES_DAMAGED)
%C%_test_bptree_check_LDADD = $(TREES_TEST_LIBS)
%C%_test_bptree_leaf_SOURCES = %D%/test_bptree_leaf.c $(TREES_WAYS)
%C%_test_bptree_leaf_LDADD = $(TREES_TEST_LIBS)
%C%_test_cobtree_check_SOURCES = %D%/test_cobtree_check.c $(TREES_DAMAGED)
%C%_test_cobtree_check_LDADD = $(TREES_TEST_LIBS)
%C%_test_cobtree_share_SOURCES = %D%/test_cobtree_share.c $(TREES_WAYS)
%C%_test_cobtree_share_LDADD = $(TREES_TEST_LIBS)
%C%_test_tree_cold_SOURCES = %D%/test_tree_cold.c tests/support/disk_reads.c tests/support/disk_reads.h \
        bench/support/little_memory.c bench/support/little_memory.h
%C%_test_tree_cold_CPPFLAGS = $(AM_CPPFLAGS)
%C%_test_tree_cold_LDADD = $(TREES_TEST_LIBS)
%C%_test_tree_cursor_SOURCES = %D%/test_tree_cursor.c $(TREES_WAYS)
%C%_test_tree_cursor_LDADD = $(TREES_TEST_LIBS)
%C%_test_tree_transactions_SOURCES = %D%/test_tree_transactions.c $(TREES_WAYS)
%C%_test_tree_transactions_LDADD = $(TREES_TEST_LIBS)
%C%_test_trim_SOURCES = %D%/test_trim.c $(TREES_ACCOUNT)
%C%_test_trim_LDADD = $(TREES_INSIDE_LIBS) $(CMOCKA_LIBS)
%C%_test_tree_full_SOURCES = %D%/test_tree_full.c $(TREES_SORTED) $(TREES_WAYS)
%C%_test_tree_full_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
%C%_test_tree_full_LDADD = $(TREES_TEST_LIBS)
%C%_test_tree_model_SOURCES = \
        %D%/test_tree_model.c \
        %D%/tree_model.c \
        %D%/tree_model.h \
        %D%/tree_model_cursors.c \
        %D%/tree_model_records.c \
        %D%/tree_model_state.h \
        $(TREES_SORTED) \
        $(TREES_WAYS)
%C%_test_tree_model_LDADD = $(TREES_TEST_LIBS)
dist_check_SCRIPTS += %D%/run-model.sh
# For long: make check-trees-model TREES_OPERATIONS=10000000
TREES_OPERATIONS = 1000000
check-trees-model: %D%/test_tree_model $(SWEEP)
	$(TEST_RUN) $(SHELL) $(srcdir)/%D%/run-model.sh --operations $(TREES_OPERATIONS)

# Sees inside the library, for what its commits write.
%C%_test_tree_patterns_SOURCES = %D%/test_tree_patterns.c %D%/patterns.c %D%/patterns.h $(TREES_WAYS)
%C%_test_tree_patterns_LDADD = $(TREES_INSIDE_LIBS)
%C%_test_tree_patterns_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=commit_written -Wl,--wrap=arena_move
dist_check_SCRIPTS += %D%/test_history.sh %D%/run-history.sh

# Deaths: briefly here, for long by make check-kill.
TREES_DEEDS = %D%/deeds.c %D%/deeds.h $(TREES_SORTED) $(TREES_EITHER)
check_PROGRAMS += %D%/made_again
%C%_made_again_SOURCES = %D%/made_again.c $(TREES_WAYS)
%C%_made_again_LDADD = $(TREES_TEST_LIBS)
check_PROGRAMS += %D%/killed
%C%_killed_SOURCES = %D%/killed.c tests/kill/audit.c tests/kill/audit.h $(TREES_DEEDS)
%C%_killed_LDADD = $(TREES_INSIDE_LIBS)
%C%_test_tree_pages_SOURCES = %D%/test_tree_pages.c tests/kill/audit.c tests/kill/audit.h $(TREES_DEEDS)
%C%_test_tree_pages_LDADD = $(TREES_INSIDE_LIBS)

# Calls that fail: the library's and the trees' own, and allocations.
check_PROGRAMS += %D%/failure
%C%_failure_SOURCES = %D%/failure.c %D%/failure_script.c %D%/failure_script.h %D%/failing.c %D%/failing.h \
        $(TREES_SORTED) $(TREES_EITHER) tests/kill/audit.c tests/kill/audit.h
%C%_failure_LDADD = $(TREES_INSIDE_LIBS)
%C%_failure_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=reallocarray \
        -Wl,--wrap=strdup -Wl,--wrap=open -Wl,--wrap=fstat -Wl,--wrap=ftruncate -Wl,--wrap=mmap -Wl,--wrap=mprotect

# Room that runs out.
check_PROGRAMS += %D%/room
%C%_room_SOURCES = %D%/room.c $(TREES_SORTED) $(TREES_WAYS)
%C%_room_LDADD = $(TREES_TEST_LIBS)

# Larger than memory: small here, large by make check-stress.
check_PROGRAMS += %D%/large
%C%_large_SOURCES = %D%/large.c bench/support/little_memory.c bench/support/little_memory.h $(TREES_EITHER)
%C%_large_CPPFLAGS = $(AM_CPPFLAGS)
%C%_large_LDADD = $(TREES_TEST_LIBS)

# In control groups, by default options: minutes of it by make check-within.
check_PROGRAMS += %D%/within
%C%_within_SOURCES = %D%/within.c bench/support/little_memory.c bench/support/little_memory.h
%C%_within_CPPFLAGS = $(AM_CPPFLAGS)
%C%_within_LDADD = $(TREES_TEST_LIBS)

# What the cache-oblivious tree is made of.
%C%_test_veb_SOURCES = %D%/test_veb.c
%C%_test_veb_LDADD = $(TREES_TEST_LIBS) -lm
%C%_test_pma_SOURCES = %D%/test_pma.c
%C%_test_pma_LDADD = $(TREES_TEST_LIBS)
%C%_test_cobindex_SOURCES = %D%/test_cobindex.c %D%/cobindex_model.c %D%/cobindex_model.h $(TREES_WAYS)
%C%_test_cobindex_LDADD = $(TREES_TEST_LIBS)
%C%_test_cobindex_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=xac_page_write -Wl,--wrap=xac_page_move
%C%_test_page_alloc_groups_SOURCES = %D%/test_page_alloc_groups.c $(TREES_ACCOUNT)
%C%_test_page_alloc_groups_LDADD = $(TREES_TEST_LIBS)
