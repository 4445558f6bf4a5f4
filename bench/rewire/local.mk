# SPDX-License-Identifier: MIT
#
# What rewired memory costs, and what it saves (README.md).

noinst_PROGRAMS += bench/rewire/rewire
dist_noinst_SCRIPTS += bench/rewire/run
EXTRA_DIST += \
        bench/rewire/README.md \
        bench/rewire/vector_std.cc

# The tables, memory and orders by chance are those of bench/snapshots.
bench_rewire_rewire_SOURCES = \
        bench/rewire/alone.c \
        bench/rewire/alone.h \
        bench/rewire/micro_allocation.c \
        bench/rewire/micro_faults.c \
        bench/rewire/micro_patterns.c \
        bench/rewire/micro_shuffle.c \
        bench/rewire/pages.c \
        bench/rewire/pages.h \
        bench/rewire/report.c \
        bench/rewire/report.h \
        bench/rewire/rewire.c \
        bench/rewire/rewire.h \
        bench/rewire/vector.c \
        bench/rewire/vector_chunks.c \
        bench/rewire/vector_grown.c \
        bench/rewire/vector_rewired.c \
        bench/rewire/vector_systems.h \
        bench/snapshots/memory.c \
        bench/snapshots/memory.h \
        bench/snapshots/page_order.c \
        bench/snapshots/page_order.h \
        bench/snapshots/table.c \
        bench/snapshots/table.h
bench_rewire_rewire_LDADD = bench/libbench.la $(XAC_LIBS) -ldl

# Measures what docs/REWIRED.md and SHORTCUT.md show (half an hour; 10 GiB of memory); `make plots` draws it.
SHORTCUT = $(SHELL) $(srcdir)/bench/rewire/run . shortcut --tsv $(RACE_CSV) --experiment
bench-rewire: bench/rewire/rewire bench/rewire/shortcut
	$(SHELL) $(srcdir)/bench/rewire/run . --experiment vector --entries 100000000 --batch 1000000 --tsv $(RACE_CSV)
	$(SHELL) $(srcdir)/bench/rewire/run . --experiment allocation,faults,shuffle,patterns --tsv $(RACE_CSV)
	$(SHORTCUT) lookups,fan-in,creation --slots 1048576 --lookups 10000000
	$(SHORTCUT) shootdowns --slots 65536
	$(SHORTCUT) tables --records 10000000 --lookups 10000000
	$(SHORTCUT) phases --records 10000000 --systems EH,Shortcut-EH,EH-arranged,Shortcut-EH-arranged

.PHONY: bench-rewire
