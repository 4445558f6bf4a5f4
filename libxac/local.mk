# SPDX-License-Identifier: MIT
#
# The rooms of libxac, the lowest first; arrows point down between them, too (tools/check-layers).

libxac_core_la_SOURCES += \
        %D%/ground/allowance.c \
        %D%/ground/allowance.h \
        %D%/ground/control.h \
        %D%/ground/directory_mark.c \
        %D%/ground/directory_mark.h \
        %D%/ground/error.c \
        %D%/ground/handlers.c \
        %D%/ground/handlers.h \
        %D%/ground/line.h \
        %D%/ground/page_id.h \
        %D%/ground/participant.c \
        %D%/ground/participant.h \
        %D%/ground/place.c \
        %D%/ground/place.h \
        %D%/ground/probe.h \
        %D%/ground/ring.c \
        %D%/ground/ring.h \
        %D%/ground/shared.c \
        %D%/ground/shared.h \
        %D%/ground/slot_list.c \
        %D%/ground/slot_list.h \
        %D%/ground/thread_local.h \
        %D%/ground/waiters.c \
        %D%/ground/waiters.h

libxac_core_la_SOURCES += \
        %D%/version/dirty.c \
        %D%/version/dirty.h \
        %D%/version/moves.c \
        %D%/version/moves.h \
        %D%/version/publish.c \
        %D%/version/publish.h \
        %D%/version/version.c \
        %D%/version/version.h

libxac_core_la_SOURCES += \
        %D%/store/address.c \
        %D%/store/address.h \
        %D%/store/at_rest.c \
        %D%/store/at_rest.h \
        %D%/store/chunks.c \
        %D%/store/chunks.h \
        %D%/store/env.h \
        %D%/store/exclusion.c \
        %D%/store/exclusion.h \
        %D%/store/file_checksums.c \
        %D%/store/file_checksums.h \
        %D%/store/files.c \
        %D%/store/files.h \
        %D%/store/home.c \
        %D%/store/home.h \
        %D%/store/lending.c \
        %D%/store/lending.h \
        %D%/store/options.c \
        %D%/store/options.h \
        %D%/store/pool.c \
        %D%/store/pool_memory.c \
        %D%/store/pool_memory.h \
        %D%/store/pool.h \
        %D%/store/pool_aliases.c \
        %D%/store/pool_aliases.h \
        %D%/store/pool_lists.c \
        %D%/store/pool_lists.h \
        %D%/store/pool_rebuild.c \
        %D%/store/pool_rebuild.h \
        %D%/store/ranges.c \
        %D%/store/ranges.h \
        %D%/store/reclaim.c \
        %D%/store/reclaim.h \
        %D%/store/read_ahead.c \
        %D%/store/read_ahead.h \
        %D%/store/regions.c \
        %D%/store/regions.h \
        %D%/store/takeover.c \
        %D%/store/takeover.h \
        %D%/store/window.c \
        %D%/store/window.h

libxac_core_la_SOURCES += \
        %D%/txn/backlog.c \
        %D%/txn/backlog.h \
        %D%/txn/checkpoint_due.c \
        %D%/txn/checkpoint_due.h \
        %D%/txn/commit.c \
        %D%/txn/commit.h \
        %D%/txn/conflict.c \
        %D%/txn/conflict.h \
        %D%/txn/patience.c \
        %D%/txn/patience.h \
        %D%/txn/redo.c \
        %D%/txn/redo.h \
        %D%/txn/redo_record.c \
        %D%/txn/strays.c \
        %D%/txn/strays.h \
        %D%/txn/tracing.c \
        %D%/txn/tracing.h \
        %D%/txn/txn.c \
        %D%/txn/txn.h \
        %D%/txn/txn_mapper.h \
        %D%/txn/txn_pages.c \
        %D%/txn/txn_pages.h \
        %D%/txn/txn_pages_move.c

libxac_core_la_SOURCES += \
        %D%/view/frames.c \
        %D%/view/frames.h \
        %D%/view/second_table.c \
        %D%/view/second_table.h \
        %D%/view/snapshot_map.c \
        %D%/view/snapshot_map.h \
        %D%/view/touch.c \
        %D%/view/touch.h \
        %D%/view/touch_declared.c \
        %D%/view/touch_move.c \
        %D%/view/touch_translate.c \
        %D%/view/translation.c \
        %D%/view/translation.h \
        %D%/view/view.c \
        %D%/view/view.h \
        %D%/view/view_mapper.c \
        %D%/view/view_mapper.h \
        %D%/view/view_move.c \
        %D%/view/view_move.h \
        %D%/view/view_sync.c \
        %D%/view/view_sync.h

libxac_core_la_SOURCES += \
        %D%/process/alive.c \
        %D%/process/alive.h \
        %D%/process/fault.c \
        %D%/process/fault.h \
        %D%/process/registry.c \
        %D%/process/registry.h \
        %D%/process/retry.c \
        %D%/process/retry.h \
        %D%/process/thread.c \
        %D%/process/thread.h \
        %D%/process/unended.c \
        %D%/process/unended.h \
        %D%/process/wait.c \
        %D%/process/wait.h

libxac_core_la_SOURCES += \
        %D%/care/archive_place.c \
        %D%/care/archive_place.h \
        %D%/care/archiving.c \
        %D%/care/archiving.h \
        %D%/care/backup.c \
        %D%/care/backup.h \
        %D%/care/checkpoint.c \
        %D%/care/checkpoint.h \
        %D%/care/checkpoint_batches.c \
        %D%/care/checkpoint_steps.h \
        %D%/care/duty.c \
        %D%/care/duty.h \
        %D%/care/inspect.c \
        %D%/care/inspect.h \
        %D%/care/inspect_changes.c \
        %D%/care/leftover.c \
        %D%/care/leftover.h \
        %D%/care/look.c \
        %D%/care/look.h \
        %D%/care/restart.c \
        %D%/care/restart.h \
        %D%/care/scrub.c \
        %D%/care/scrub.h \
        %D%/care/snapshot.c \
        %D%/care/snapshot.h \
        %D%/care/strangers.c \
        %D%/care/strangers.h

libxac_core_la_SOURCES += \
        %D%/door/api.c \
        %D%/door/close.c \
        %D%/door/close.h \
        %D%/door/mode_file.c \
        %D%/door/mode_file.h \
        %D%/door/open.c \
        %D%/door/open.h \
        %D%/door/reading.c \
        %D%/door/reading.h \
        %D%/door/stats.c \
        %D%/door/stats.h

if FAULT_LIBSIGSEGV
libxac_core_la_SOURCES += %D%/process/fault_sigsegv.c
else
libxac_core_la_SOURCES += %D%/process/fault_native.c
endif
