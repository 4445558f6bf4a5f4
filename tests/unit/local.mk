# SPDX-License-Identifier: MIT
#
# One program per module, linked to what is inside the library.

UNIT_TESTS = \
        %D%/test_area \
        %D%/test_backlog \
        %D%/test_backlog_others \
        %D%/test_checkpoint_reuse \
        %D%/test_checksum \
        %D%/test_commit \
        %D%/test_diff \
        %D%/test_fault \
        %D%/test_files \
        %D%/test_frames \
        %D%/test_home \
        %D%/test_log_header \
        %D%/test_log_record \
        %D%/test_log_reader \
        %D%/test_log_damage \
        %D%/test_log_segments \
        %D%/test_log_table \
        %D%/test_log_segment_faults \
        %D%/test_log_writer \
        %D%/test_log_writer_failures \
        %D%/test_log_writer_deaths \
        %D%/test_manifest \
        %D%/test_manifest_damage \
        %D%/test_participant \
        %D%/test_pool \
        %D%/test_publish \
        %D%/test_reclaim \
        %D%/test_recover \
        %D%/test_recover_damage \
        %D%/test_replay \
        %D%/test_replay_damage \
        %D%/test_replay_merged \
        %D%/test_ring \
        %D%/test_shared \
        %D%/test_shlock \
        %D%/test_sys \
        %D%/test_sys_hook \
        %D%/test_takeover \
        %D%/test_thread \
        %D%/test_touch \
        %D%/test_txn \
        %D%/test_txn_pages \
        %D%/test_vector \
        %D%/test_version \
        %D%/test_view \
        %D%/test_view_contended \
        %D%/test_view_sync

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)

UNIT_DIRECTORY = %D%/directory.h %D%/scratch.h
UNIT_ENGINE = %D%/engine.h %D%/scratch.h
UNIT_STAGE = %D%/stage.h $(UNIT_ENGINE)
UNIT_LOG = %D%/log_stand.h %D%/scratch.h
UNIT_REPLAY = %D%/replay_stand.h %D%/scratch.h
UNIT_CRASHED = %D%/crashed_stand.h %D%/crashed.h %D%/scratch.h

%C%_test_area_SOURCES = %D%/test_area.c $(UNIT_DIRECTORY)
%C%_test_area_LDADD = $(UNIT_LIBS)

%C%_test_backlog_SOURCES = %D%/test_backlog.c %D%/backlog_stand.h
%C%_test_backlog_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_backlog_others_SOURCES = %D%/test_backlog_others.c %D%/backlog_stand.h
%C%_test_backlog_others_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_checksum_SOURCES = %D%/test_checksum.c %D%/scratch.h
%C%_test_checksum_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_commit_SOURCES = %D%/test_commit.c $(UNIT_STAGE)
%C%_test_commit_LDADD = $(UNIT_LIBS)

%C%_test_fault_SOURCES = %D%/test_fault.c
%C%_test_fault_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_files_SOURCES = %D%/test_files.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_files_LDADD = $(UNIT_LIBS)
%C%_test_frames_SOURCES = %D%/test_frames.c %D%/view_sync_stand.h %D%/view_stand.h $(UNIT_STAGE)
%C%_test_frames_LDADD = $(UNIT_LIBS)

%C%_test_checkpoint_reuse_SOURCES = %D%/test_checkpoint_reuse.c
%C%_test_checkpoint_reuse_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_home_SOURCES = %D%/test_home.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_home_LDADD = $(UNIT_LIBS)

%C%_test_manifest_SOURCES = %D%/test_manifest.c %D%/manifest_image.h $(UNIT_DIRECTORY)
%C%_test_manifest_LDADD = $(UNIT_LIBS)

%C%_test_manifest_damage_SOURCES = %D%/test_manifest_damage.c %D%/manifest_image.h $(UNIT_DIRECTORY)
%C%_test_manifest_damage_LDADD = $(UNIT_LIBS)

%C%_test_participant_SOURCES = %D%/test_participant.c %D%/step.h %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_participant_LDADD = $(UNIT_LIBS)

%C%_test_pool_SOURCES = %D%/test_pool.c $(UNIT_ENGINE)
%C%_test_pool_LDADD = $(UNIT_LIBS)

%C%_test_publish_SOURCES = %D%/test_publish.c $(UNIT_ENGINE)
%C%_test_publish_LDADD = $(UNIT_LIBS)

%C%_test_reclaim_SOURCES = %D%/test_reclaim.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_reclaim_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_recover_SOURCES = %D%/test_recover.c $(UNIT_CRASHED)
%C%_test_recover_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_recover_damage_SOURCES = %D%/test_recover_damage.c $(UNIT_CRASHED)
%C%_test_recover_damage_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_ring_SOURCES = %D%/test_ring.c %D%/step.h $(UNIT_ENGINE)
%C%_test_ring_LDADD = $(UNIT_LIBS)

%C%_test_shared_SOURCES = %D%/test_shared.c $(UNIT_ENGINE)
%C%_test_shared_LDADD = $(UNIT_LIBS)

%C%_test_shlock_SOURCES = %D%/test_shlock.c %D%/patient_futex.h %D%/scratch.h
%C%_test_shlock_LDADD = $(UNIT_LIBS)
%C%_test_shlock_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=sys_futex_wait

%C%_test_sys_SOURCES = %D%/test_sys.c %D%/sys_stand.h $(UNIT_DIRECTORY)
%C%_test_sys_LDADD = $(UNIT_LIBS)

%C%_test_sys_hook_SOURCES = %D%/test_sys_hook.c %D%/sys_stand.h $(UNIT_DIRECTORY)
%C%_test_sys_hook_LDADD = $(UNIT_LIBS)

%C%_test_takeover_SOURCES = %D%/test_takeover.c %D%/step.h %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_takeover_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_thread_SOURCES = %D%/test_thread.c
%C%_test_thread_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_touch_SOURCES = %D%/test_touch.c %D%/view_stand.h $(UNIT_STAGE)
%C%_test_touch_LDADD = $(UNIT_LIBS)

%C%_test_txn_SOURCES = %D%/test_txn.c $(UNIT_STAGE)
%C%_test_txn_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_txn_pages_SOURCES = %D%/test_txn_pages.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_txn_pages_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_vector_SOURCES = %D%/test_vector.c %D%/scratch.h
%C%_test_vector_LDADD = $(UNIT_LIBS)

%C%_test_version_SOURCES = %D%/test_version.c %D%/engine_stand.h $(UNIT_ENGINE)
%C%_test_version_LDADD = $(UNIT_LIBS)

%C%_test_view_SOURCES = %D%/test_view.c %D%/view_stand.h $(UNIT_STAGE)
%C%_test_view_LDADD = $(UNIT_LIBS)

%C%_test_view_contended_SOURCES = %D%/test_view_contended.c %D%/view_sync_stand.h %D%/view_stand.h $(UNIT_STAGE)
%C%_test_view_contended_LDADD = $(UNIT_LIBS)

%C%_test_view_sync_SOURCES = %D%/test_view_sync.c %D%/view_sync_stand.h %D%/view_stand.h $(UNIT_STAGE)
%C%_test_view_sync_LDADD = $(UNIT_LIBS)

%C%_test_diff_SOURCES = %D%/test_diff.c %D%/scratch.h
%C%_test_diff_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_log_record_SOURCES = %D%/test_log_record.c %D%/scratch.h
%C%_test_log_record_LDADD = $(UNIT_LIBS)

%C%_test_log_reader_SOURCES = %D%/test_log_reader.c %D%/hand_log.h %D%/hand_reader.h $(UNIT_DIRECTORY)
%C%_test_log_reader_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_log_damage_SOURCES = %D%/test_log_damage.c %D%/hand_log.h %D%/hand_reader.h $(UNIT_DIRECTORY)
%C%_test_log_damage_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_replay_SOURCES = %D%/test_replay.c $(UNIT_REPLAY)
%C%_test_replay_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_replay_damage_SOURCES = %D%/test_replay_damage.c $(UNIT_REPLAY)
%C%_test_replay_damage_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_replay_merged_SOURCES = %D%/test_replay_merged.c $(UNIT_REPLAY)
%C%_test_replay_merged_LDADD = tests/support/libsupport.la $(UNIT_LIBS)

%C%_test_log_header_SOURCES = %D%/test_log_header.c $(UNIT_LOG)
%C%_test_log_header_LDADD = $(UNIT_LIBS)

%C%_test_log_segments_SOURCES = %D%/test_log_segments.c %D%/segment_stand.h $(UNIT_LOG)
%C%_test_log_segments_LDADD = $(UNIT_LIBS)

%C%_test_log_table_SOURCES = %D%/test_log_table.c %D%/segment_stand.h $(UNIT_LOG)
%C%_test_log_table_LDADD = $(UNIT_LIBS)

%C%_test_log_segment_faults_SOURCES = %D%/test_log_segment_faults.c %D%/segment_stand.h %D%/log_deaths.h %D%/step.h $(UNIT_LOG)
%C%_test_log_segment_faults_LDADD = $(UNIT_LIBS)

%C%_test_log_writer_SOURCES = %D%/test_log_writer.c %D%/commit_stand.h $(UNIT_LOG)
%C%_test_log_writer_LDADD = $(UNIT_LIBS)

%C%_test_log_writer_failures_SOURCES = %D%/test_log_writer_failures.c %D%/patient_futex.h %D%/commit_stand.h $(UNIT_LOG)
%C%_test_log_writer_failures_LDADD = $(UNIT_LIBS)
%C%_test_log_writer_failures_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=sys_futex_wait

%C%_test_log_writer_deaths_SOURCES = %D%/test_log_writer_deaths.c %D%/commit_stand.h %D%/log_deaths.h %D%/step.h $(UNIT_LOG)
%C%_test_log_writer_deaths_LDADD = $(UNIT_LIBS)
