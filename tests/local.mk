# SPDX-License-Identifier: MIT
#
# What all tests share, and the suites. A suite is a folder whose local.mk adds its name to SUITES and its tests, as
# SUITE_<name>, to TESTS; it is then part of `make check`, and `make check-<name>` runs it alone. What its scripts run is
# SUITE_<name>_NEEDS.

check_LTLIBRARIES += %D%/support/libsupport.la
%C%_support_libsupport_la_SOURCES = \
        %D%/support/actor.c \
        %D%/support/actor.h \
        %D%/support/bank.c \
        %D%/support/bank.h \
        %D%/support/cancel.c \
        %D%/support/cancel.h \
        %D%/support/chance.c \
        %D%/support/chance.h \
        %D%/support/check.c \
        %D%/support/check.h \
        %D%/support/crash.c \
        %D%/support/crash.h \
        %D%/support/closed.c \
        %D%/support/closed.h \
        %D%/support/crew.c \
        %D%/support/crew.h \
        %D%/support/fd.c \
        %D%/support/fd.h \
        %D%/support/heard.h \
        %D%/support/isolate.c \
        %D%/support/isolate.h \
        %D%/support/leeway.c \
        %D%/support/leeway.h \
        %D%/support/own_shm.c \
        %D%/support/own_shm.h \
        %D%/support/places.h \
        %D%/support/program.c \
        %D%/support/program.h \
        %D%/support/scratch.c \
        %D%/support/scratch.h \
        %D%/support/seat.c \
        %D%/support/seat.h

# Removes what a run of tests left (tools/test-run).
SWEEP = %D%/support/sweep$(EXEEXT)
check_PROGRAMS += %D%/support/sweep
%C%_support_sweep_SOURCES = %D%/support/sweep.c

# Each test of `make check` is run by it.
LIMIT = %D%/support/limit$(EXEEXT)
check_PROGRAMS += %D%/support/limit
%C%_support_limit_SOURCES = %D%/support/limit.c

# For long: RUN_KILLS times `make check-RUN_KILLS_SUITE` is killed.
RUN_KILLS = 10
RUN_KILLS_SUITE = libxac
check-run-kills: all $(SWEEP)
	+$(MAKE) $(AM_MAKEFLAGS) $(filter $(check_PROGRAMS),$(SUITE_$(RUN_KILLS_SUITE))) $(SUITE_$(RUN_KILLS_SUITE)_NEEDS)
	+MAKE='$(MAKE)' $(SHELL) $(srcdir)/%D%/support/killed_runs.sh --kills $(RUN_KILLS) --suite $(RUN_KILLS_SUITE)
dist_noinst_SCRIPTS += %D%/support/killed_runs.sh
EXTRA_DIST += %D%/support/compile-again.sh %D%/support/leeway.sh
CLEANFILES += compile.lock

CONTRACT_LIBS = %D%/support/libsupport.la $(CHECK_LIBS)

# The longest tests are of the suite system: they begin first, so that no processor waits for them in the end.
TESTS += $(SUITE_system)

include tests/base/local.mk
include tests/recovery/local.mk
include tests/rewire/local.mk
include tests/trace/local.mk
include tests/libxac/local.mk
include tests/trees/local.mk
include tests/heap/local.mk
include tests/send/local.mk
include tests/backup/local.mk
include tests/htap/local.mk
include tests/cxx/local.mk
include tests/compiler/local.mk
include tests/programs/local.mk
include tests/programs/boost_lua.mk
include tests/boost/local.mk
include tests/formats/local.mk

# The whole, in use: random transactions against a model, deaths, failures, power cuts, bytes from disk that may be
# anything. Their long runs have targets of their own: check-model, check-kill, check-crash, check-fuzz.
SUITES += system
SUITE_system =
SUITE_system_NEEDS = tests/model/model
include tests/failure/local.mk
include tests/model/local.mk
include tests/kill/local.mk
include tests/crash/local.mk
include tests/fuzz/local.mk
include tests/crafted/local.mk
include tests/operator/local.mk
include tests/limits/local.mk

include tests/tools/local.mk
include tests/load/local.mk
include tests/outsiders/local.mk
