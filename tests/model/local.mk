# SPDX-License-Identifier: MIT
#
# The model test: random transactions of several processes against a serial replay. A short run here; the long ones are
# `make check-model` and `make check-stress`.

check_PROGRAMS += %D%/model
%C%_model_SOURCES = \
        %D%/history.c \
        %D%/history.h \
        %D%/model.c \
        %D%/order.c \
        %D%/order.h \
        %D%/record.h \
        %D%/replay.c \
        %D%/replay.h \
        %D%/script.c \
        %D%/script.h \
        %D%/worker.c \
        %D%/worker.h \
        %D%/world.c \
        %D%/world.h
%C%_model_LDADD = $(CONTRACT_LIBS)

dist_check_SCRIPTS += %D%/run-mixes.sh %D%/test_model.sh
EXTRA_DIST += tests/support/planted.sh tests/support/random-runs.sh
SUITE_system += %D%/test_model.sh
