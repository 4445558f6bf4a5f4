# SPDX-License-Identifier: MIT
#
# The program xac, run as a user runs it.

SUITES += tools
# In a browser, if there is one: test_trace_page.sh. docs/OPERATIONS.md as it stands: test_operations.sh. Runs of tests that
# are killed: test_run_cleanup.sh. What the checks of the structure find: test_structure_checks.sh.
SUITE_tools = $(TOOL_TESTS) %D%/test_limit.sh %D%/test_operations.sh %D%/test_run_cleanup.sh %D%/test_structure_checks.sh %D%/test_trace_page.sh
SUITE_tools_NEEDS = %D%/ledger %D%/page_trace
TESTS += $(SUITE_tools)

TOOL_TESTS = \
        %D%/test_address \
        %D%/test_backup \
        %D%/test_archive \
        %D%/test_archive_care \
        %D%/test_archive_crafted \
        %D%/test_archive_histories \
        %D%/test_calibrate \
        %D%/test_check \
        %D%/test_clean \
        %D%/test_gone \
        %D%/test_crafted \
        %D%/test_crowd \
        %D%/test_damaged_double_write \
        %D%/test_give_up \
        %D%/test_get \
        %D%/test_compact \
        %D%/test_heap \
        %D%/test_json \
        %D%/test_log \
        %D%/test_long_tree \
        %D%/test_moments \
        %D%/test_names \
        %D%/test_other_users \
        %D%/test_opening \
        %D%/test_recover \
        %D%/test_restore_place \
        %D%/test_scrub \
        %D%/test_serve \
        %D%/test_serve_list \
        %D%/test_serve_moments \
        %D%/test_serve_shm \
        %D%/test_serve_turns \
        %D%/test_stat \
        %D%/test_stat_memory \
        %D%/test_stat_stopped \
        %D%/test_top \
        %D%/test_trace \
        %D%/test_trace_bounds \
        %D%/test_trace_part \
        %D%/test_usage

check_PROGRAMS += $(TOOL_TESTS) %D%/ledger %D%/page_trace
dist_check_SCRIPTS += %D%/test_limit.sh %D%/test_operations.sh %D%/test_run_cleanup.sh %D%/test_structure_checks.sh %D%/test_trace_page.sh
EXTRA_DIST += %D%/trace_page_checks.js

TOOL_COMMON = %D%/tool.c %D%/tool.h
# What makes traces, and reads them in all ways.
TRACE_TESTED = %D%/json_check.c %D%/json_check.h %D%/trace_chew.c %D%/trace_chew.h %D%/trace_make.c %D%/trace_make.h \
        $(TRACE_READER) tools/xac/tool.c tools/xac/tool.h

%C%_test_address_SOURCES = %D%/test_address.c tools/xac/address.c tools/xac/address.h
%C%_test_address_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_backup_SOURCES = %D%/test_backup.c %D%/json_check.c %D%/json_check.h $(TOOL_COMMON)
%C%_test_backup_LDADD = $(CONTRACT_LIBS)
%C%_ledger_SOURCES = %D%/ledger.c
%C%_ledger_LDADD = libxac.la
%C%_test_archive_SOURCES = %D%/test_archive.c $(TOOL_COMMON)
%C%_test_archive_LDADD = $(CONTRACT_LIBS)
%C%_test_archive_care_SOURCES = %D%/test_archive_care.c $(TOOL_COMMON)
%C%_test_archive_care_LDADD = $(CONTRACT_LIBS)
%C%_test_archive_crafted_SOURCES = %D%/test_archive_crafted.c $(TOOL_COMMON)
%C%_test_archive_crafted_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_archive_histories_SOURCES = %D%/test_archive_histories.c $(TOOL_COMMON)
%C%_test_archive_histories_LDADD = tests/support/libsupport.la $(UNIT_LIBS) # it sets a clock back
%C%_test_calibrate_SOURCES = %D%/test_calibrate.c $(TOOL_COMMON)
%C%_test_calibrate_LDADD = tests/support/libsupport.la $(SEND_CORE_LIBS) $(CMOCKA_LIBS)
%C%_test_check_SOURCES = %D%/test_check.c $(TOOL_COMMON)
%C%_test_check_LDADD = $(CONTRACT_LIBS)
%C%_test_clean_SOURCES = %D%/test_clean.c $(TOOL_COMMON)
%C%_test_clean_LDADD = $(CONTRACT_LIBS)
%C%_test_gone_SOURCES = %D%/test_gone.c $(TOOL_COMMON)
%C%_test_gone_LDADD = tests/support/libsupport.la $(UNIT_LIBS) # it looks for what is gone
%C%_test_names_SOURCES = %D%/test_names.c $(TOOL_COMMON)
%C%_test_names_LDADD = tests/support/libsupport.la libxacheap-core.la $(UNIT_LIBS) # it makes manifests
%C%_test_moments_SOURCES = %D%/test_moments.c $(TOOL_COMMON)
%C%_test_moments_LDADD = $(CONTRACT_LIBS)
%C%_test_serve_SOURCES = %D%/test_serve.c $(TOOL_COMMON)
%C%_test_serve_LDADD = tests/support/libsupport.la $(SEND_CORE_LIBS) $(CMOCKA_LIBS)
%C%_test_serve_list_SOURCES = %D%/test_serve_list.c tools/xac/serve_list.c tools/xac/serve_list.h tools/xac/serve_files.c \
        tools/xac/serve_files.h
%C%_test_serve_list_LDADD = tests/support/libsupport.la libxacsend-core.la libxactrees-core.la $(UNIT_LIBS)
%C%_test_serve_moments_SOURCES = %D%/test_serve_moments.c tools/xac/serve_moments.c tools/xac/serve_moments.h
%C%_test_serve_moments_LDADD = $(CONTRACT_LIBS)
%C%_test_serve_shm_SOURCES = %D%/test_serve_shm.c $(TOOL_COMMON)
%C%_test_serve_shm_LDADD = tests/support/libsupport.la $(SEND_CORE_LIBS) $(CMOCKA_LIBS)
%C%_test_serve_turns_SOURCES = %D%/test_serve_turns.c $(TOOL_COMMON)
%C%_test_serve_turns_LDADD = tests/support/libsupport.la $(SEND_CORE_LIBS) $(CMOCKA_LIBS)
%C%_test_crafted_SOURCES = %D%/test_crafted.c $(TOOL_COMMON)
%C%_test_crafted_LDADD = tests/support/libsupport.la $(UNIT_LIBS) # it makes manifests and checksums
%C%_test_long_tree_SOURCES = %D%/test_long_tree.c $(TOOL_COMMON)
%C%_test_long_tree_LDADD = tests/support/libsupport.la $(SEND_CORE_LIBS) $(CMOCKA_LIBS)
%C%_test_crowd_SOURCES = %D%/test_crowd.c $(TOOL_COMMON)
%C%_test_crowd_LDADD = tests/support/libsupport.la $(SEND_CORE_LIBS) $(CMOCKA_LIBS)
%C%_test_damaged_double_write_SOURCES = %D%/test_damaged_double_write.c $(TOOL_COMMON)
%C%_test_damaged_double_write_LDADD = $(CONTRACT_LIBS)
%C%_test_give_up_SOURCES = %D%/test_give_up.c $(TOOL_COMMON)
%C%_test_give_up_LDADD = $(CONTRACT_LIBS)
%C%_test_get_SOURCES = %D%/test_get.c tests/send/stream.c tests/send/stream.h $(TOOL_COMMON)
%C%_test_get_LDADD = tests/support/libsupport.la $(SEND_CORE_LIBS) $(CMOCKA_LIBS)
%C%_test_compact_SOURCES = %D%/test_compact.c $(TOOL_COMMON)
%C%_test_compact_LDADD = tests/support/libsupport.la $(TREES_LIBS) $(HEAP_LIBS) $(CMOCKA_LIBS)
%C%_test_heap_SOURCES = %D%/test_heap.c $(TOOL_COMMON)
%C%_test_heap_LDADD = tests/support/libsupport.la $(HEAP_LIBS) $(CMOCKA_LIBS)
%C%_test_json_SOURCES = %D%/test_json.c %D%/json_check.c %D%/json_check.h $(TOOL_COMMON)
%C%_test_json_LDADD = $(CONTRACT_LIBS)
%C%_test_log_SOURCES = %D%/test_log.c $(TOOL_COMMON)
%C%_test_log_LDADD = tests/support/libsupport.la $(UNIT_LIBS) # it makes records
%C%_test_other_users_SOURCES = %D%/test_other_users.c $(TOOL_COMMON)
%C%_test_other_users_LDADD = tests/support/libsupport.la $(UNIT_LIBS) # it looks at a lock while a name is removed
%C%_test_opening_SOURCES = %D%/test_opening.c $(TOOL_COMMON)
%C%_test_opening_LDADD = $(CONTRACT_LIBS)
%C%_test_recover_SOURCES = %D%/test_recover.c $(TOOL_COMMON)
%C%_test_recover_LDADD = $(CONTRACT_LIBS)
%C%_test_restore_place_SOURCES = %D%/test_restore_place.c $(TOOL_COMMON)
%C%_test_restore_place_LDADD = $(CONTRACT_LIBS)
%C%_test_scrub_SOURCES = %D%/test_scrub.c $(TOOL_COMMON)
%C%_test_scrub_LDADD = $(CONTRACT_LIBS)
%C%_test_stat_SOURCES = %D%/test_stat.c $(TOOL_COMMON)
%C%_test_stat_LDADD = $(CONTRACT_LIBS)
%C%_test_stat_memory_SOURCES = %D%/test_stat_memory.c bench/support/little_memory.c bench/support/little_memory.h $(TOOL_COMMON)
%C%_test_stat_memory_CFLAGS = $(AM_CFLAGS)
%C%_test_stat_memory_LDADD = $(CONTRACT_LIBS)
%C%_test_stat_stopped_SOURCES = %D%/test_stat_stopped.c $(TOOL_COMMON)
%C%_test_stat_stopped_LDADD = tests/support/libsupport.la $(UNIT_LIBS) # it stops in the middle of a system call
%C%_test_top_SOURCES = %D%/test_top.c $(TOOL_COMMON)
%C%_test_top_LDADD = $(CONTRACT_LIBS)
%C%_test_trace_SOURCES = %D%/test_trace.c $(TRACE_TESTED) $(TOOL_COMMON)
%C%_test_trace_LDADD = tests/support/libsupport.la $(UNIT_LIBS) # it looks at figures, too
%C%_test_trace_bounds_SOURCES = %D%/test_trace_bounds.c $(TRACE_TESTED) $(TOOL_COMMON)
%C%_test_trace_bounds_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_trace_part_SOURCES = %D%/test_trace_part.c $(TRACE_TESTED) tools/xac/trace_part.c tools/xac/trace_part.h
%C%_test_trace_part_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_usage_SOURCES = %D%/test_usage.c $(TOOL_COMMON)
%C%_test_usage_LDADD = $(CONTRACT_LIBS)
%C%_page_trace_SOURCES = %D%/page_trace.c %D%/trace_make.c %D%/trace_make.h
%C%_page_trace_LDADD = $(CONTRACT_LIBS)
