# SPDX-License-Identifier: MIT
#
# The suite of recovery: one program per module, linked with what is inside the library.

SUITES += recovery
SUITE_recovery = \
        %D%/test_adopt \
        %D%/test_archive_keep \
        %D%/test_archive_line \
        %D%/test_double_write \
        %D%/test_checkpoint_plan \
        %D%/test_diff \
        %D%/test_home_files \
        %D%/test_log_damage \
        %D%/test_log_header \
        %D%/test_log_overtaken \
        %D%/test_log_reader \
        %D%/test_log_record \
        %D%/test_log_segment_faults \
        %D%/test_log_segments \
        %D%/test_log_table \
        %D%/test_log_writer \
        %D%/test_log_writer_deaths \
        %D%/test_log_writer_failures \
        %D%/test_manifest \
        %D%/test_manifest_damage \
        %D%/test_batches \
        %D%/test_recover \
        %D%/test_recover_damage \
        %D%/test_recover_give_up \
        %D%/test_recover_lost \
        %D%/test_replay \
        %D%/test_replay_damage \
        %D%/test_replay_merged \
        %D%/test_checksums
check_PROGRAMS += $(SUITE_recovery)
TESTS += $(SUITE_recovery)

UNIT_LOG = tests/recovery/log_stand.h tests/base/scratch.h
UNIT_REPLAY = tests/recovery/replay_stand.h tests/base/scratch.h
UNIT_CRASHED = tests/recovery/crashed_stand.h tests/recovery/crashed.h tests/base/scratch.h

%C%_test_adopt_SOURCES = %D%/test_adopt.c $(UNIT_DIRECTORY)
%C%_test_adopt_LDADD = $(UNIT_LIBS)
%C%_test_archive_keep_SOURCES = %D%/test_archive_keep.c
%C%_test_archive_keep_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_archive_line_SOURCES = %D%/test_archive_line.c
%C%_test_archive_line_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_double_write_SOURCES = %D%/test_double_write.c $(UNIT_DIRECTORY)
%C%_test_double_write_LDADD = $(UNIT_LIBS)
%C%_test_checkpoint_plan_SOURCES = %D%/test_checkpoint_plan.c tests/base/scratch.h
%C%_test_checkpoint_plan_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_diff_SOURCES = %D%/test_diff.c tests/base/scratch.h
%C%_test_diff_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_home_files_SOURCES = %D%/test_home_files.c $(UNIT_DIRECTORY)
%C%_test_home_files_LDADD = $(UNIT_LIBS)
%C%_test_log_damage_SOURCES = %D%/test_log_damage.c %D%/hand_log.h %D%/hand_reader.h $(UNIT_DIRECTORY)
%C%_test_log_damage_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_log_header_SOURCES = %D%/test_log_header.c $(UNIT_LOG)
%C%_test_log_header_LDADD = $(UNIT_LIBS)
%C%_test_log_overtaken_SOURCES = %D%/test_log_overtaken.c %D%/commit_stand.h %D%/log_deaths.h tests/base/step.h $(UNIT_LOG)
%C%_test_log_overtaken_LDADD = $(UNIT_LIBS)
%C%_test_log_reader_SOURCES = %D%/test_log_reader.c %D%/hand_log.h %D%/hand_reader.h $(UNIT_DIRECTORY)
%C%_test_log_reader_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_log_record_SOURCES = %D%/test_log_record.c tests/base/scratch.h
%C%_test_log_record_LDADD = $(UNIT_LIBS)
%C%_test_log_segment_faults_SOURCES = %D%/test_log_segment_faults.c %D%/segment_stand.h %D%/log_deaths.h tests/base/step.h $(UNIT_LOG)
%C%_test_log_segment_faults_LDADD = $(UNIT_LIBS)
%C%_test_log_segments_SOURCES = %D%/test_log_segments.c %D%/segment_stand.h $(UNIT_LOG)
%C%_test_log_segments_LDADD = $(UNIT_LIBS)
%C%_test_log_table_SOURCES = %D%/test_log_table.c %D%/segment_stand.h $(UNIT_LOG)
%C%_test_log_table_LDADD = $(UNIT_LIBS)
%C%_test_log_writer_SOURCES = %D%/test_log_writer.c %D%/commit_stand.h $(UNIT_LOG)
%C%_test_log_writer_LDADD = $(UNIT_LIBS)
%C%_test_log_writer_deaths_SOURCES = %D%/test_log_writer_deaths.c %D%/commit_stand.h %D%/log_deaths.h tests/base/step.h $(UNIT_LOG)
%C%_test_log_writer_deaths_LDADD = $(UNIT_LIBS)
%C%_test_log_writer_failures_SOURCES = %D%/test_log_writer_failures.c tests/base/patient_futex.h %D%/commit_stand.h $(UNIT_LOG)
%C%_test_log_writer_failures_LDADD = $(UNIT_LIBS)
%C%_test_log_writer_failures_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=sys_futex_wait
%C%_test_manifest_SOURCES = %D%/test_manifest.c %D%/manifest_image.h $(UNIT_DIRECTORY)
%C%_test_manifest_LDADD = $(UNIT_LIBS)
%C%_test_manifest_damage_SOURCES = %D%/test_manifest_damage.c %D%/manifest_image.h $(UNIT_DIRECTORY)
%C%_test_manifest_damage_LDADD = $(UNIT_LIBS)
%C%_test_batches_SOURCES = %D%/test_batches.c tests/base/scratch.h
%C%_test_batches_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_recover_SOURCES = %D%/test_recover.c $(UNIT_CRASHED)
%C%_test_recover_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_recover_damage_SOURCES = %D%/test_recover_damage.c $(UNIT_CRASHED)
%C%_test_recover_damage_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_recover_give_up_SOURCES = %D%/test_recover_give_up.c $(UNIT_CRASHED)
%C%_test_recover_give_up_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_recover_lost_SOURCES = %D%/test_recover_lost.c $(UNIT_CRASHED)
%C%_test_recover_lost_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_replay_SOURCES = %D%/test_replay.c $(UNIT_REPLAY)
%C%_test_replay_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_replay_damage_SOURCES = %D%/test_replay_damage.c $(UNIT_REPLAY)
%C%_test_replay_damage_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_replay_merged_SOURCES = %D%/test_replay_merged.c $(UNIT_REPLAY)
%C%_test_replay_merged_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_checksums_SOURCES = %D%/test_checksums.c $(UNIT_DIRECTORY)
%C%_test_checksums_LDADD = $(UNIT_LIBS)
