# SPDX-License-Identifier: MIT
#
# What snapshots cost. `run` measures all of it; `make plots` draws what docs/ANALYTICS.md shows.

noinst_PROGRAMS += bench/snapshots/snapshots
dist_noinst_SCRIPTS += bench/snapshots/run bench/snapshots/markdown

bench_snapshots_snapshots_SOURCES = \
        bench/snapshots/bench.h \
        bench/snapshots/columns.c \
        bench/snapshots/columns.h \
        bench/snapshots/creation.c \
        bench/snapshots/creation.h \
        bench/snapshots/creation_copy.c \
        bench/snapshots/creation_fork.c \
        bench/snapshots/creation_rewiring.c \
        bench/snapshots/creation_snapshot.c \
        bench/snapshots/memory.c \
        bench/snapshots/memory.h \
        bench/snapshots/page_order.c \
        bench/snapshots/page_order.h \
        bench/snapshots/reading.c \
        bench/snapshots/reading.h \
        bench/snapshots/rewired.c \
        bench/snapshots/rewired.h \
        bench/snapshots/scans.c \
        bench/snapshots/series.c \
        bench/snapshots/snapshots.c \
        bench/snapshots/table.c \
        bench/snapshots/table.h \
        bench/snapshots/workload.c \
        bench/snapshots/workload.h \
        bench/snapshots/writers.c
bench_snapshots_snapshots_LDADD = bench/libbench.la $(TREES_LIBS)

# All of it, in less than six minutes: into what `make plots` draws.
bench-snapshots: bench/snapshots/snapshots
	$(SHELL) $(srcdir)/bench/snapshots/run . $(srcdir)/docs/plots/data

.PHONY: bench-snapshots
