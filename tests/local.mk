# SPDX-License-Identifier: MIT
#
# The tests of the public contract, their harness, and the model test. They link only what
# a program links, and know only <xac/xac.h>.

check_LTLIBRARIES += %D%/support/libsupport.la
%C%_support_libsupport_la_SOURCES = \
        %D%/support/actor.c \
        %D%/support/actor.h \
        %D%/support/bank.c \
        %D%/support/bank.h \
        %D%/support/chance.c \
        %D%/support/chance.h \
        %D%/support/check.c \
        %D%/support/check.h \
        %D%/support/crash.c \
        %D%/support/crash.h \
        %D%/support/crew.c \
        %D%/support/crew.h \
        %D%/support/fd.c \
        %D%/support/fd.h \
        %D%/support/isolate.c \
        %D%/support/isolate.h \
        %D%/support/program.c \
        %D%/support/program.h \
        %D%/support/scratch.c \
        %D%/support/scratch.h \
        %D%/support/seat.c \
        %D%/support/seat.h

CONTRACT_LIBS = %D%/support/libsupport.la $(CHECK_LIBS)

CONTRACT_TESTS = \
        %D%/test_advise \
        %D%/test_attach \
        %D%/test_checkpoint \
        %D%/test_conflicts \
        %D%/test_declared \
        %D%/test_durable \
        %D%/test_fork \
        %D%/test_full \
        %D%/test_growth \
        %D%/test_many \
        %D%/test_mmap \
        %D%/test_move \
        %D%/test_move_model \
        %D%/test_nesting \
        %D%/test_open_close \
        %D%/test_processes \
        %D%/test_run \
        %D%/test_stat \
        %D%/test_strerror \
        %D%/test_strict \
        %D%/test_threads \
        %D%/test_track \
        %D%/test_transactions \
        %D%/test_trouble \
        %D%/test_version

check_PROGRAMS += $(CONTRACT_TESTS)
TESTS += $(CONTRACT_TESTS)

# Most of them once more, in durable environments.
dist_check_SCRIPTS += %D%/durable_too.sh
TESTS += %D%/durable_too.sh

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
%C%_test_durable_SOURCES = %D%/test_durable.c
%C%_test_durable_LDADD = $(CONTRACT_LIBS)
%C%_test_fork_SOURCES = %D%/test_fork.c
%C%_test_fork_LDADD = $(CONTRACT_LIBS)
%C%_test_full_SOURCES = %D%/test_full.c
%C%_test_full_LDADD = $(CONTRACT_LIBS)
%C%_test_growth_SOURCES = %D%/test_growth.c
%C%_test_growth_LDADD = $(CONTRACT_LIBS)
%C%_test_many_SOURCES = %D%/test_many.c
%C%_test_many_LDADD = $(CONTRACT_LIBS)
%C%_test_mmap_SOURCES = %D%/test_mmap.c
%C%_test_mmap_LDADD = $(CONTRACT_LIBS)
%C%_test_move_SOURCES = %D%/test_move.c
%C%_test_move_LDADD = $(CONTRACT_LIBS)
%C%_test_move_model_SOURCES = %D%/test_move_model.c
%C%_test_move_model_LDADD = $(CONTRACT_LIBS)
%C%_test_nesting_SOURCES = %D%/test_nesting.c
%C%_test_nesting_LDADD = $(CONTRACT_LIBS)
%C%_test_open_close_SOURCES = %D%/test_open_close.c
%C%_test_open_close_LDADD = $(CONTRACT_LIBS)
%C%_test_processes_SOURCES = %D%/test_processes.c
%C%_test_processes_LDADD = $(CONTRACT_LIBS)
%C%_test_run_SOURCES = %D%/test_run.c
%C%_test_run_LDADD = $(CONTRACT_LIBS)
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
%C%_test_trouble_SOURCES = %D%/test_trouble.c
%C%_test_trouble_LDADD = $(CONTRACT_LIBS)
%C%_test_version_SOURCES = %D%/test_version.c
%C%_test_version_LDADD = $(CONTRACT_LIBS)

# The model test: a short run here, a long one by `make check-model`.
check_PROGRAMS += %D%/model/model
%C%_model_model_SOURCES = \
        %D%/model/history.c \
        %D%/model/history.h \
        %D%/model/model.c \
        %D%/model/order.c \
        %D%/model/order.h \
        %D%/model/record.h \
        %D%/model/replay.c \
        %D%/model/replay.h \
        %D%/model/script.c \
        %D%/model/script.h \
        %D%/model/worker.c \
        %D%/model/worker.h \
        %D%/model/world.c \
        %D%/model/world.h
%C%_model_model_LDADD = $(CONTRACT_LIBS)

dist_check_SCRIPTS += %D%/model/run-mixes.sh %D%/model/test_model.sh
EXTRA_DIST += %D%/model/planted.sh %D%/support/random-runs.sh
TESTS += %D%/model/test_model.sh
