# SPDX-License-Identifier: MIT
#
# Serial structures, in several ways. structures.c is all of their source: compiled once more, by another compiler and with
# another name for its table (-DSTRUCTURES_TABLE=...), it is another way: compiled by xac-cc, if that is built.

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
bench_serial_serial_CPPFLAGS = $(AM_CPPFLAGS) $(SERIAL_COMPILED_FLAGS)
bench_serial_serial_LDADD = bench/libbench.la $(XAC_LIBS)

if COMPILER
SERIAL_COMPILED_FLAGS = -DWITH_COMPILED
bench_serial_serial_LDADD += bench/serial/structures-compiled.o compiler/libxacrt.a
CLEANFILES += bench/serial/structures-compiled.o
bench/serial/structures-compiled.o: bench/serial/structures.c bench/serial/structures.h bench/serial/lru_map.h \
		bench/serial/open_table.h bench/serial/rb_tree.h bench/serial/sorted_list.h compiler/build-cc $(PLUGINS)
	@$(MKDIR_P) bench/serial
	$(AM_V_CC)compiler/build-cc $(AM_CPPFLAGS) -O2 -g -DSTRUCTURES_TABLE=structures_compiled -c $< -o $@
endif
