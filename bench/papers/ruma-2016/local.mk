# SPDX-License-Identifier: MIT
#
# What rewired memory costs, and what it saves (README.md).

PAPER_BENCHMARKS += %D%/rewire %D%/rearrange
dist_noinst_SCRIPTS += %D%/run
EXTRA_DIST += \
        %D%/EXPERIMENTS.md \
        %D%/REARRANGE.md \
        %D%/plot \
        %D%/rewire.gp \
        %D%/vector_std.cc

%C%_rewire_SOURCES = \
        %D%/micro_allocation.c \
        %D%/micro_faults.c \
        %D%/micro_patterns.c \
        %D%/micro_shuffle.c \
        %D%/pages.c \
        %D%/pages.h \
        %D%/rewire.c \
        %D%/rewire.h \
        %D%/vector.c \
        %D%/vector_chunks.c \
        %D%/vector_grown.c \
        %D%/vector_rewired.c \
        %D%/vector_systems.h
%C%_rewire_LDADD = bench/libbench.la $(XAC_LIBS) -ldl

# Partitions, sorting and snapshots (REARRANGE.md).
%C%_rearrange_SOURCES = \
        %D%/partition.c \
        %D%/partition.h \
        %D%/partition_chunks.c \
        %D%/partition_growth.c \
        %D%/partition_growth.h \
        %D%/partition_line.h \
        %D%/partition_rewired.c \
        %D%/partition_run.c \
        %D%/partition_task.c \
        %D%/partition_two_passes.c \
        %D%/rearrange.c \
        %D%/rearrange.h \
        %D%/rearrange_grid.c \
        %D%/rearrange_grid.h \
        %D%/rearrange_memory.c \
        %D%/rearrange_memory.h \
        %D%/snapshot.c \
        %D%/snapshot.h \
        %D%/snapshot_copy.c \
        %D%/snapshot_fork.c \
        %D%/snapshot_rewired.c \
        %D%/sort.c \
        %D%/sort_radix.c \
        %D%/sort_radix.h
%C%_rearrange_LDADD = bench/libbench.la $(XAC_LIBS)

# Measures what docs/REWIRED.md shows of it (five minutes; 3 GiB of memory); `make plots` draws it.
bench-rewire: %D%/rewire$(EXEEXT)
	$(SHELL) $(srcdir)/%D%/run . --experiment vector --entries 100000000 --batch 1000000 --tsv $(RACE_CSV)
	$(SHELL) $(srcdir)/%D%/run . --experiment allocation,faults,shuffle,patterns --tsv $(RACE_CSV)

.PHONY: bench-rewire
