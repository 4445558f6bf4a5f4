# SPDX-License-Identifier: MIT
#
# Every state that a power cut can leave (P5). A small round here; the long one is
#
#      make check-crash                      100,000 different images (CRASH_IMAGES=..., or CRASH_SECONDS=...)

CRASH_ENGINE = \
        %D%/choices.c \
        %D%/choices.h \
        %D%/disk.c \
        %D%/disk.h \
        %D%/disk_cells.c \
        %D%/disk_cells.h \
        %D%/disk_image.c \
        %D%/disk_parts.h \
        %D%/engine.c \
        %D%/engine.h \
        %D%/image.c \
        %D%/image.h \
        %D%/recorder.c \
        %D%/recorder.h \
        %D%/seen.c \
        %D%/seen.h \
        %D%/trace.c \
        %D%/trace.h
CRASH_LIBS = tests/support/libsupport.la $(UNIT_LIBS)

%C%_crash_SOURCES = \
        %D%/crash.c \
        %D%/look.c \
        %D%/look.h \
        %D%/look_archive.c \
        %D%/look_heap.c \
        %D%/look_tree.c \
        %D%/verify.c \
        %D%/verify.h \
        %D%/workload_commit.c \
        %D%/workload_heap.c \
        %D%/workload_run.c \
        %D%/workload_table.c \
        %D%/workload_tree.c \
        %D%/workloads.h \
        %D%/world.c \
        %D%/world.h \
        $(TREES_DEEDS) \
        $(HEAP_DEEDS) \
        $(CRASH_ENGINE)
%C%_crash_LDADD = tests/support/libsupport.la libxactrees-core.la libxacheap-core.la $(UNIT_LIBS)

%C%_test_engine_SOURCES = %D%/test_engine.c $(CRASH_ENGINE)
%C%_test_engine_LDADD = $(CRASH_LIBS)

CRASH_TESTS = %D%/crash %D%/test_engine
check_PROGRAMS += $(CRASH_TESTS)
SUITE_system += $(CRASH_TESTS)
# So many images, or for so long.
CRASH_IMAGES = 100000
CRASH_SECONDS =
check-crash: %D%/crash $(SWEEP)
	$(AM_TESTS_ENVIRONMENT) $(TEST_RUN) %D%/crash $(if $(CRASH_SECONDS),--seconds $(CRASH_SECONDS),--images $(CRASH_IMAGES))
