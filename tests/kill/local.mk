# SPDX-License-Identifier: MIT
#
# Processes that die (P6), only seem to, or are stopped: at random moments, after each single instruction, and,
# in builds with --enable-test-hooks, at each named step. Short runs here; the long ones are in run.sh (make check-kill).

EXTRA_DIST += %D%/run.sh

KILL_COMMON = %D%/audit.c %D%/audit.h
KILL_STAGE = %D%/stage.c %D%/stage.h $(KILL_COMMON)
KILL_LIBS = tests/support/libsupport.la $(UNIT_LIBS)

KILL_TESTS = %D%/liveness %D%/random %D%/readers %D%/rounds %D%/single_step %D%/sleepers %D%/stopped

%C%_liveness_SOURCES = %D%/liveness.c $(KILL_STAGE)
%C%_liveness_LDADD = $(KILL_LIBS)

%C%_readers_SOURCES = %D%/readers.c $(KILL_STAGE)
%C%_readers_LDADD = $(KILL_LIBS)

KILL_WORKERS = %D%/tally.c %D%/tally.h %D%/worker.c %D%/worker.h $(KILL_COMMON)

%C%_random_SOURCES = %D%/random.c %D%/watch.c %D%/watch.h $(KILL_WORKERS)
%C%_random_LDADD = $(KILL_LIBS)

%C%_rounds_SOURCES = %D%/rounds.c $(KILL_WORKERS)
%C%_rounds_LDADD = $(KILL_LIBS)

%C%_single_step_SOURCES = %D%/single_step.c %D%/trace.c %D%/trace.h $(KILL_STAGE)
%C%_single_step_LDADD = $(KILL_LIBS)

%C%_sleepers_SOURCES = %D%/sleepers.c
%C%_sleepers_LDADD = $(KILL_LIBS)

%C%_stopped_SOURCES = %D%/stopped.c $(KILL_COMMON)
%C%_stopped_LDADD = $(KILL_LIBS)

if TEST_HOOKS
KILL_TESTS += %D%/steps
endif
EXTRA_PROGRAMS += %D%/steps
%C%_steps_SOURCES = %D%/steps.c $(KILL_STAGE)
%C%_steps_LDADD = $(KILL_LIBS)

check_PROGRAMS += $(KILL_TESTS)
SUITE_system += $(KILL_TESTS)
