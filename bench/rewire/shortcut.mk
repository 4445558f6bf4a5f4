# SPDX-License-Identifier: MIT
#
# A directory as page tables, and hash tables beside it (SHORTCUT.md).

noinst_PROGRAMS += bench/rewire/shortcut
EXTRA_DIST += bench/rewire/SHORTCUT.md

bench_rewire_shortcut_SOURCES = \
        bench/rewire/alone.c \
        bench/rewire/alone.h \
        bench/rewire/hash_chained.c \
        bench/rewire/hash_data.c \
        bench/rewire/hash_ehash.c \
        bench/rewire/hash_incremental.c \
        bench/rewire/hash_memory.c \
        bench/rewire/hash_memory.h \
        bench/rewire/hash_open.c \
        bench/rewire/hash_table.h \
        bench/rewire/report.c \
        bench/rewire/report.h \
        bench/rewire/shortcut.c \
        bench/rewire/shortcut.h \
        bench/rewire/shortcut_creation.c \
        bench/rewire/shortcut_lookups.c \
        bench/rewire/shortcut_node.c \
        bench/rewire/shortcut_node.h \
        bench/rewire/shortcut_phases.c \
        bench/rewire/shortcut_shootdowns.c \
        bench/rewire/shortcut_systems.c \
        bench/rewire/shortcut_systems.h \
        bench/rewire/shortcut_tables.c \
        bench/snapshots/memory.c \
        bench/snapshots/memory.h \
        bench/snapshots/page_order.c \
        bench/snapshots/page_order.h \
        bench/snapshots/table.c \
        bench/snapshots/table.h
bench_rewire_shortcut_LDADD = bench/libbench.la $(TREES_LIBS)
