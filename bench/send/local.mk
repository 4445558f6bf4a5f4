# SPDX-License-Identifier: MIT
#
# What it costs to send what is in a file (docs/SEND.md).

noinst_PROGRAMS += bench/send/send
dist_noinst_SCRIPTS += bench/plot/send
EXTRA_DIST += bench/plot/send_others.gp bench/plot/send_ways.gp

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

# Measures what docs/SEND.md shows (seven minutes), and draws it. SEND_ARGS: options of bench/send/send.
SEND_ARGS =
bench-send: bench/send/send$(EXEEXT)
	bench/send/send --tsv $(RACE_CSV) $(SEND_ARGS)
	$(SHELL) $(srcdir)/bench/plot/send $(RACE_CSV) $(srcdir)/docs/plots

.PHONY: bench-send
