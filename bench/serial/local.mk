# SPDX-License-Identifier: MIT
#
# Serial structures, by whichever way. structures.c alone includes their sources; another compiler makes the way
# "compiled" of it, with another name for its table.

BENCH_PROGRAMS += bench/serial/serial

bench_serial_serial_SOURCES = \
        bench/serial/crew.c \
        bench/serial/crew.h \
        bench/serial/declared.h \
        bench/serial/declared_lru_map.c \
        bench/serial/declared_open_table.c \
        bench/serial/declared_sorted_list.c \
        bench/serial/lru_map.h \
        bench/serial/memory.h \
        bench/serial/memory_plain.c \
        bench/serial/memory_view.c \
        bench/serial/open_table.h \
        bench/serial/rb_tree.h \
        bench/serial/serial.c \
        bench/serial/sorted_list.h \
        bench/serial/structures.c \
        bench/serial/structures.h \
        bench/serial/ways.c \
        bench/serial/ways.h
bench_serial_serial_LDADD = bench/libbench.la $(XAC_LIBS)
