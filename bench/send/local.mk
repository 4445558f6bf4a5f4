# SPDX-License-Identifier: MIT
#
# What it costs to send what is in a file (docs/SEND.md).

noinst_PROGRAMS += bench/send/send

bench_send_send_SOURCES = \
        bench/rewire/report.c \
        bench/rewire/report.h \
        bench/send/bench.h \
        bench/send/channel.c \
        bench/send/channel.h \
        bench/send/deltas.c \
        bench/send/send.c \
        bench/send/store.c \
        bench/send/store.h \
        bench/send/stream.c \
        bench/send/stream.h \
        bench/send/veth.c \
        bench/send/veth.h \
        bench/send/ways.c \
        bench/send/writers.c \
        bench/snapshots/table.c \
        bench/snapshots/table.h
bench_send_send_LDADD = bench/libbench.la $(SEND_LIBS)
