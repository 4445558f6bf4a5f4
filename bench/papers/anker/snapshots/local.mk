# SPDX-License-Identifier: MIT
#
# What snapshots cost. `run` measures all of it; `make plots` draws what docs/ANALYTICS.md shows.

PAPER_BENCHMARKS += %D%/snapshots
dist_noinst_SCRIPTS += %D%/run

%C%_snapshots_SOURCES = \
        %D%/bench.h \
        %D%/columns.c \
        %D%/columns.h \
        %D%/creation.c \
        %D%/creation.h \
        %D%/creation_copy.c \
        %D%/creation_fork.c \
        %D%/creation_rewiring.c \
        %D%/creation_snapshot.c \
        %D%/reading.c \
        %D%/reading.h \
        %D%/rewired.c \
        %D%/rewired.h \
        %D%/scans.c \
        %D%/series.c \
        %D%/snapshots.c \
        %D%/workload.c \
        %D%/workload.h \
        %D%/writers.c
%C%_snapshots_LDADD = bench/libbench.la $(TREES_LIBS)

# All of it, in less than six minutes: into what `make plots` draws.
bench-snapshots: %D%/snapshots
	$(SHELL) $(srcdir)/bench/papers/anker/snapshots/run . $(srcdir)/docs/plots/data

.PHONY: bench-snapshots
