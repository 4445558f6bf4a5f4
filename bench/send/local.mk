# SPDX-License-Identifier: MIT
#
# What writers lose while what is in a file is sent (docs/SEND.md).

noinst_PROGRAMS += bench/send/send

bench_send_send_SOURCES = \
        bench/send/bench.h \
        bench/send/channel.c \
        bench/send/channel.h \
        bench/send/send.c \
        bench/send/store.c \
        bench/send/store.h \
        bench/send/veth.c \
        bench/send/veth.h \
        bench/send/writers.c
bench_send_send_LDADD = bench/libbench.la $(SEND_LIBS)
