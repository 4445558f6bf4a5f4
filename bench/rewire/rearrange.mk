# SPDX-License-Identifier: MIT
#
# Rewired memory for partitions, sorting and snapshots (REARRANGE.md).

noinst_PROGRAMS += bench/rewire/rearrange
EXTRA_DIST += bench/rewire/REARRANGE.md

bench_rewire_rearrange_SOURCES = \
        bench/rewire/partition.c \
        bench/rewire/partition.h \
        bench/rewire/partition_chunks.c \
        bench/rewire/partition_growth.c \
        bench/rewire/partition_growth.h \
        bench/rewire/partition_line.h \
        bench/rewire/partition_rewired.c \
        bench/rewire/partition_run.c \
        bench/rewire/partition_task.c \
        bench/rewire/partition_two_passes.c \
        bench/rewire/rearrange.c \
        bench/rewire/rearrange.h \
        bench/rewire/rearrange_grid.c \
        bench/rewire/rearrange_grid.h \
        bench/rewire/rearrange_memory.c \
        bench/rewire/rearrange_memory.h \
        bench/rewire/snapshot.c \
        bench/rewire/snapshot.h \
        bench/rewire/snapshot_copy.c \
        bench/rewire/snapshot_fork.c \
        bench/rewire/snapshot_rewired.c \
        bench/rewire/sort.c \
        bench/rewire/sort_radix.c \
        bench/rewire/sort_radix.h
bench_rewire_rearrange_LDADD = bench/libbench.la $(XAC_LIBS)
