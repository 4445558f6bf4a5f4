# SPDX-License-Identifier: MIT
#
# A directory as page tables, and hash tables beside it (EXPERIMENTS.md).

PAPER_BENCHMARKS += %D%/shortcut
EXTRA_DIST += \
        %D%/EXPERIMENTS.md \
        %D%/plot \
        %D%/shortcut.gp \
        %D%/shortcut_tables.gp

%C%_shortcut_SOURCES = \
        %D%/hash_chained.c \
        %D%/hash_data.c \
        %D%/hash_ehash.c \
        %D%/hash_incremental.c \
        %D%/hash_memory.c \
        %D%/hash_memory.h \
        %D%/hash_open.c \
        %D%/hash_table.h \
        %D%/shortcut.c \
        %D%/shortcut.h \
        %D%/shortcut_creation.c \
        %D%/shortcut_lookups.c \
        %D%/shortcut_node.c \
        %D%/shortcut_node.h \
        %D%/shortcut_phases.c \
        %D%/shortcut_shootdowns.c \
        %D%/shortcut_systems.c \
        %D%/shortcut_systems.h \
        %D%/shortcut_tables.c
%C%_shortcut_LDADD = bench/libbench.la $(TREES_LIBS)

# Measures what the pictures show (25 minutes; 10 GiB of memory); `make plots` draws it.
SHORTCUT = %D%/shortcut --tsv $(RACE_CSV) --experiment
bench-shortcut: %D%/shortcut$(EXEEXT)
	$(SHORTCUT) lookups,fan-in,creation --slots 1048576 --lookups 10000000
	$(SHORTCUT) shootdowns --slots 65536
	$(SHORTCUT) tables --records 10000000 --lookups 10000000
	$(SHORTCUT) phases --records 10000000 --systems EH,Shortcut-EH,EH-arranged,Shortcut-EH-arranged

.PHONY: bench-shortcut
