# SPDX-License-Identifier: MIT
#
# The suite of libxac: one program per module, linked with what is inside the library; and the tests of the public
# contract, which link only what a program links, and know only <xac/xac.h>.

SUITES += libxac
SUITE_libxac = $(CONTRACT_TESTS) $(LIBXAC_UNIT_TESTS) %D%/durable_too.sh %D%/exceptions.sh %D%/faulthandler.sh
TESTS += $(SUITE_libxac)

## ---- One program per module ---- ##

LIBXAC_UNIT_TESTS = \
        %D%/test_alive_names \
        %D%/test_archive \
        %D%/test_archive_place \
        %D%/test_archive_trouble \
        %D%/test_backlog \
        %D%/test_backlog_others \
        %D%/test_checkpoint_batches \
        %D%/test_checkpoint_reuse \
        %D%/test_commit \
        %D%/test_exclusion \
        %D%/test_failed_fragments \
        %D%/test_fault \
        %D%/test_files \
        %D%/test_fragments \
        %D%/test_frames \
        %D%/test_given_up \
        %D%/test_handlers \
        %D%/test_home \
        %D%/test_lending \
        %D%/test_odd_length \
        %D%/test_participant \
        %D%/test_at_rest \
        %D%/test_patience \
        %D%/test_pool \
        %D%/test_publish \
        %D%/test_reclaim \
        %D%/test_ring \
        %D%/test_second_table \
        %D%/test_shared \
        %D%/test_takeover \
        %D%/test_thread \
        %D%/test_touch \
        %D%/test_tracing \
        %D%/test_txn \
        %D%/test_txn_pages \
        %D%/test_version \
        %D%/test_view \
        %D%/test_view_contended \
        %D%/test_view_sync \
        %D%/test_window
check_PROGRAMS += $(LIBXAC_UNIT_TESTS)

UNIT_ENGINE = tests/libxac/engine.h tests/base/scratch.h
UNIT_STAGE = tests/libxac/stage.h $(UNIT_ENGINE)

%C%_test_alive_names_SOURCES = %D%/test_alive_names.c
%C%_test_alive_names_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_archive_SOURCES = %D%/test_archive.c %D%/archive_stand.h
%C%_test_archive_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_archive_place_SOURCES = %D%/test_archive_place.c %D%/archive_stand.h
%C%_test_archive_place_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_archive_trouble_SOURCES = %D%/test_archive_trouble.c %D%/archive_stand.h
%C%_test_archive_trouble_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_backlog_SOURCES = %D%/test_backlog.c %D%/backlog_stand.h
%C%_test_backlog_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_backlog_others_SOURCES = %D%/test_backlog_others.c %D%/backlog_stand.h
%C%_test_backlog_others_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_checkpoint_batches_SOURCES = %D%/test_checkpoint_batches.c
%C%_test_checkpoint_batches_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_checkpoint_reuse_SOURCES = %D%/test_checkpoint_reuse.c
%C%_test_checkpoint_reuse_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_commit_SOURCES = %D%/test_commit.c $(UNIT_STAGE)
%C%_test_commit_LDADD = $(UNIT_LIBS)
%C%_test_exclusion_SOURCES = %D%/test_exclusion.c $(UNIT_ENGINE)
%C%_test_exclusion_LDADD = $(UNIT_LIBS)
%C%_test_fault_SOURCES = %D%/test_fault.c
%C%_test_fault_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_files_SOURCES = %D%/test_files.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_files_LDADD = $(UNIT_LIBS)
%C%_test_failed_fragments_SOURCES = %D%/test_failed_fragments.c %D%/backlog_stand.h
%C%_test_failed_fragments_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_given_up_SOURCES = %D%/test_given_up.c %D%/backlog_stand.h
%C%_test_given_up_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_odd_length_SOURCES = %D%/test_odd_length.c %D%/backlog_stand.h
%C%_test_odd_length_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_fragments_SOURCES = %D%/test_fragments.c %D%/backlog_stand.h
%C%_test_fragments_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_frames_SOURCES = %D%/test_frames.c %D%/view_sync_stand.h %D%/view_stand.h $(UNIT_STAGE)
%C%_test_frames_LDADD = $(UNIT_LIBS)
%C%_test_handlers_SOURCES = %D%/test_handlers.c
%C%_test_handlers_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_home_SOURCES = %D%/test_home.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_home_LDADD = $(UNIT_LIBS)
%C%_test_participant_SOURCES = %D%/test_participant.c tests/base/step.h %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_participant_LDADD = $(UNIT_LIBS)
%C%_test_at_rest_SOURCES = %D%/test_at_rest.c
%C%_test_at_rest_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_patience_SOURCES = %D%/test_patience.c $(UNIT_STAGE)
%C%_test_patience_LDADD = $(UNIT_LIBS)
%C%_test_lending_SOURCES = %D%/test_lending.c $(UNIT_ENGINE)
%C%_test_lending_LDADD = $(UNIT_LIBS)
%C%_test_pool_SOURCES = %D%/test_pool.c $(UNIT_ENGINE)
%C%_test_pool_LDADD = $(UNIT_LIBS)
%C%_test_publish_SOURCES = %D%/test_publish.c $(UNIT_ENGINE)
%C%_test_publish_LDADD = $(UNIT_LIBS)
%C%_test_reclaim_SOURCES = %D%/test_reclaim.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_reclaim_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_ring_SOURCES = %D%/test_ring.c tests/base/step.h $(UNIT_ENGINE)
%C%_test_ring_LDADD = $(UNIT_LIBS)
%C%_test_second_table_SOURCES = %D%/test_second_table.c
%C%_test_second_table_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_shared_SOURCES = %D%/test_shared.c $(UNIT_ENGINE)
%C%_test_shared_LDADD = $(UNIT_LIBS)
%C%_test_takeover_SOURCES = %D%/test_takeover.c tests/base/step.h %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_takeover_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_thread_SOURCES = %D%/test_thread.c
%C%_test_thread_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_touch_SOURCES = %D%/test_touch.c %D%/view_stand.h $(UNIT_STAGE)
%C%_test_touch_LDADD = $(UNIT_LIBS)
%C%_test_tracing_SOURCES = %D%/test_tracing.c $(TRACE_READ)
%C%_test_tracing_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_txn_SOURCES = %D%/test_txn.c $(UNIT_STAGE)
%C%_test_txn_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_txn_pages_SOURCES = %D%/test_txn_pages.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_txn_pages_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_version_SOURCES = %D%/test_version.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_version_LDADD = $(UNIT_LIBS)
%C%_test_view_SOURCES = %D%/test_view.c %D%/view_stand.h $(UNIT_STAGE)
%C%_test_view_LDADD = $(UNIT_LIBS)
%C%_test_view_contended_SOURCES = %D%/test_view_contended.c %D%/view_sync_stand.h %D%/view_stand.h $(UNIT_STAGE)
%C%_test_view_contended_LDADD = $(UNIT_LIBS)
%C%_test_view_sync_SOURCES = %D%/test_view_sync.c %D%/view_sync_stand.h %D%/view_stand.h $(UNIT_STAGE)
%C%_test_view_sync_LDADD = $(UNIT_LIBS)
%C%_test_window_SOURCES = %D%/test_window.c
%C%_test_window_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

## ---- The contract ---- ##

CONTRACT_TESTS = \
        %D%/test_address \
        %D%/test_advise \
        %D%/test_alive \
        %D%/test_attach \
        %D%/test_cancel \
        %D%/test_checkpoint \
        %D%/test_conflicts \
        %D%/test_declared \
        %D%/test_descriptors \
        %D%/test_durable \
        %D%/test_fork \
        %D%/test_full \
        %D%/test_growth \
        %D%/test_guest \
        %D%/test_limits \
        %D%/test_held_snapshots \
        %D%/test_little_memory \
        %D%/test_pool_shrinks \
        %D%/test_read_ahead \
        %D%/test_scan_memory \
        %D%/test_regions \
        %D%/test_late_handler \
        %D%/test_many \
        %D%/test_mmap \
        %D%/test_move \
        %D%/test_move_model \
        %D%/test_nesting \
        %D%/test_no_descriptors \
        %D%/test_open_close \
        %D%/test_processes \
        %D%/test_read_only \
        %D%/test_read_only_states \
        %D%/test_readers \
        %D%/test_readers_history \
        %D%/test_run \
        %D%/test_shared_view \
        %D%/test_small_shm \
        %D%/test_snapshot \
        %D%/test_snapshot_calls \
        %D%/test_snapshot_durable \
        %D%/test_snapshot_history \
        %D%/test_snapshot_others \
        %D%/test_snapshot_pages \
        %D%/test_snapshot_ends \
        %D%/test_starving \
        %D%/test_stat \
        %D%/test_strerror \
        %D%/test_strict \
        %D%/test_threads \
        %D%/test_track \
        %D%/test_transactions \
        %D%/test_translate \
        %D%/test_trouble \
        %D%/test_unended \
        %D%/test_wait \
        %D%/test_xac_version
check_PROGRAMS += $(CONTRACT_TESTS)

# Most of them once more, in durable environments.
dist_check_SCRIPTS += %D%/durable_too.sh %D%/exceptions.sh %D%/faulthandler.sh
EXTRA_DIST += %D%/exceptions.cc

%C%_test_address_SOURCES = %D%/test_address.c
%C%_test_address_LDADD = $(CONTRACT_LIBS)
%C%_test_alive_SOURCES = %D%/test_alive.c
%C%_test_alive_LDADD = $(CONTRACT_LIBS)
%C%_test_advise_SOURCES = %D%/test_advise.c
%C%_test_advise_LDADD = $(CONTRACT_LIBS)
%C%_test_attach_SOURCES = %D%/test_attach.c
%C%_test_attach_LDADD = $(CONTRACT_LIBS)
%C%_test_checkpoint_SOURCES = %D%/test_checkpoint.c
%C%_test_checkpoint_LDADD = $(CONTRACT_LIBS)
%C%_test_conflicts_SOURCES = %D%/test_conflicts.c
%C%_test_conflicts_LDADD = $(CONTRACT_LIBS)
%C%_test_declared_SOURCES = %D%/test_declared.c
%C%_test_declared_LDADD = $(CONTRACT_LIBS)
%C%_test_descriptors_SOURCES = %D%/test_descriptors.c
%C%_test_descriptors_LDADD = $(CONTRACT_LIBS)
%C%_test_durable_SOURCES = %D%/test_durable.c
%C%_test_durable_LDADD = $(CONTRACT_LIBS)
%C%_test_fork_SOURCES = %D%/test_fork.c
%C%_test_fork_LDADD = $(CONTRACT_LIBS)
%C%_test_full_SOURCES = %D%/test_full.c
%C%_test_full_LDADD = $(CONTRACT_LIBS)
%C%_test_guest_SOURCES = %D%/test_guest.c
%C%_test_guest_LDADD = $(CONTRACT_LIBS)
%C%_test_limits_SOURCES = %D%/test_limits.c
%C%_test_limits_LDADD = $(CONTRACT_LIBS)
%C%_test_cancel_SOURCES = %D%/test_cancel.c
%C%_test_cancel_LDADD = $(CONTRACT_LIBS)
%C%_test_growth_SOURCES = %D%/test_growth.c
%C%_test_growth_LDADD = $(CONTRACT_LIBS)
%C%_test_regions_SOURCES = %D%/test_regions.c
%C%_test_regions_LDADD = $(CONTRACT_LIBS)
%C%_test_held_snapshots_SOURCES = %D%/test_held_snapshots.c
%C%_test_held_snapshots_LDADD = $(CONTRACT_LIBS)
%C%_test_little_memory_SOURCES = %D%/test_little_memory.c bench/support/little_memory.c bench/support/little_memory.h
%C%_test_little_memory_CPPFLAGS = $(AM_CPPFLAGS)
%C%_test_little_memory_LDADD = $(CONTRACT_LIBS)
%C%_test_pool_shrinks_SOURCES = %D%/test_pool_shrinks.c bench/support/little_memory.c bench/support/little_memory.h
%C%_test_pool_shrinks_CPPFLAGS = $(AM_CPPFLAGS)
%C%_test_pool_shrinks_LDADD = $(CONTRACT_LIBS)
%C%_test_read_ahead_SOURCES = %D%/test_read_ahead.c tests/support/disk_reads.c tests/support/disk_reads.h \
        bench/support/little_memory.c bench/support/little_memory.h
%C%_test_read_ahead_CPPFLAGS = $(AM_CPPFLAGS)
%C%_test_read_ahead_LDADD = $(CONTRACT_LIBS)
%C%_test_scan_memory_SOURCES = %D%/test_scan_memory.c
%C%_test_scan_memory_LDADD = $(CONTRACT_LIBS)
%C%_test_late_handler_SOURCES = %D%/test_late_handler.c
%C%_test_late_handler_LDADD = $(CONTRACT_LIBS)
%C%_test_many_SOURCES = %D%/test_many.c
%C%_test_many_LDADD = $(CONTRACT_LIBS)
%C%_test_mmap_SOURCES = %D%/test_mmap.c
%C%_test_mmap_LDADD = $(CONTRACT_LIBS)
%C%_test_move_SOURCES = %D%/test_move.c
%C%_test_move_LDADD = $(CONTRACT_LIBS)
%C%_test_move_model_SOURCES = %D%/test_move_model.c
%C%_test_move_model_LDADD = $(CONTRACT_LIBS)
%C%_test_wait_SOURCES = %D%/test_wait.c
%C%_test_wait_LDADD = $(CONTRACT_LIBS)
%C%_test_unended_SOURCES = %D%/test_unended.c
%C%_test_unended_LDADD = $(CONTRACT_LIBS)
%C%_test_no_descriptors_SOURCES = %D%/test_no_descriptors.c
%C%_test_no_descriptors_LDADD = $(CONTRACT_LIBS)
%C%_test_nesting_SOURCES = %D%/test_nesting.c
%C%_test_nesting_LDADD = $(CONTRACT_LIBS)
%C%_test_open_close_SOURCES = %D%/test_open_close.c
%C%_test_open_close_LDADD = $(CONTRACT_LIBS)
%C%_test_processes_SOURCES = %D%/test_processes.c
%C%_test_processes_LDADD = $(CONTRACT_LIBS)
%C%_test_run_SOURCES = %D%/test_run.c
%C%_test_run_LDADD = $(CONTRACT_LIBS)
%C%_test_shared_view_SOURCES = %D%/test_shared_view.c
%C%_test_shared_view_LDADD = $(CONTRACT_LIBS)
%C%_test_small_shm_SOURCES = %D%/test_small_shm.c
%C%_test_small_shm_LDADD = $(CONTRACT_LIBS)
SNAPSHOT_STAND = %D%/stamped.c %D%/stamped.h %D%/snapshot_stand.h
%C%_test_read_only_SOURCES = %D%/test_read_only.c %D%/read_only_stand.h
%C%_test_read_only_LDADD = $(CONTRACT_LIBS)
%C%_test_read_only_states_SOURCES = %D%/test_read_only_states.c %D%/read_only_stand.h
%C%_test_read_only_states_LDADD = $(CONTRACT_LIBS)
%C%_test_readers_SOURCES = %D%/test_readers.c $(SNAPSHOT_STAND)
%C%_test_readers_LDADD = $(CONTRACT_LIBS)
%C%_test_readers_history_SOURCES = %D%/test_readers_history.c $(SNAPSHOT_STAND)
%C%_test_readers_history_LDADD = $(CONTRACT_LIBS)
%C%_test_snapshot_SOURCES = %D%/test_snapshot.c $(SNAPSHOT_STAND)
%C%_test_snapshot_LDADD = $(CONTRACT_LIBS)
%C%_test_snapshot_calls_SOURCES = %D%/test_snapshot_calls.c $(SNAPSHOT_STAND)
%C%_test_snapshot_calls_LDADD = $(CONTRACT_LIBS)
%C%_test_snapshot_durable_SOURCES = %D%/test_snapshot_durable.c $(SNAPSHOT_STAND)
%C%_test_snapshot_durable_LDADD = $(CONTRACT_LIBS)
%C%_test_snapshot_ends_SOURCES = %D%/test_snapshot_ends.c $(SNAPSHOT_STAND)
%C%_test_snapshot_ends_LDADD = $(CONTRACT_LIBS)
%C%_test_snapshot_history_SOURCES = %D%/test_snapshot_history.c $(SNAPSHOT_STAND)
%C%_test_snapshot_history_LDADD = $(CONTRACT_LIBS)
%C%_test_snapshot_others_SOURCES = %D%/test_snapshot_others.c $(SNAPSHOT_STAND)
%C%_test_snapshot_others_LDADD = $(CONTRACT_LIBS)
%C%_test_snapshot_pages_SOURCES = %D%/test_snapshot_pages.c $(SNAPSHOT_STAND)
%C%_test_snapshot_pages_LDADD = $(CONTRACT_LIBS)
%C%_test_starving_SOURCES = %D%/test_starving.c
%C%_test_starving_LDADD = $(CONTRACT_LIBS)
%C%_test_stat_SOURCES = %D%/test_stat.c
%C%_test_stat_LDADD = $(CONTRACT_LIBS)
%C%_test_strerror_SOURCES = %D%/test_strerror.c
%C%_test_strerror_LDADD = $(CONTRACT_LIBS)
%C%_test_strict_SOURCES = %D%/test_strict.c
%C%_test_strict_LDADD = $(CONTRACT_LIBS)
%C%_test_threads_SOURCES = %D%/test_threads.c
%C%_test_threads_LDADD = $(CONTRACT_LIBS)
%C%_test_track_SOURCES = %D%/test_track.c
%C%_test_track_LDADD = $(CONTRACT_LIBS)
%C%_test_transactions_SOURCES = %D%/test_transactions.c
%C%_test_transactions_LDADD = $(CONTRACT_LIBS)
%C%_test_translate_SOURCES = %D%/test_translate.c
%C%_test_translate_LDADD = $(CONTRACT_LIBS)
%C%_test_trouble_SOURCES = %D%/test_trouble.c
%C%_test_trouble_LDADD = $(CONTRACT_LIBS)
%C%_test_xac_version_SOURCES = %D%/test_xac_version.c
%C%_test_xac_version_LDADD = $(CONTRACT_LIBS)
