# SPDX-License-Identifier: MIT
#
# Programs that nobody here wrote. They are compiled in several ways by the scripts, and not here: their headers and
# sources may not be there. Those that one process runs: run; those that several run at once: run-crowd.

dist_noinst_SCRIPTS += bench/programs/run bench/programs/run-crowd
EXTRA_DIST += \
        bench/programs/cjson_documents.c \
        bench/programs/compile.sh \
        bench/programs/crowd.c \
        bench/programs/crowd.h \
        bench/programs/frame.c \
        bench/programs/lua_calls.c \
        bench/programs/map_of_strings.cc \
        bench/programs/program.h \
        bench/programs/uthash_table.c

# What a hash table is compared with.
noinst_PROGRAMS += bench/programs/databases
CROWD_COMMON = \
        bench/crew.c \
        bench/crew.h \
        bench/crew_systems.h \
        bench/programs/crowd_run.c \
        bench/programs/crowd_run.h
bench_programs_databases_SOURCES = \
        $(CROWD_COMMON) \
        bench/programs/crowd_keys.h \
        bench/programs/databases.c \
        bench/store.h \
        bench/store_seat.c
bench_programs_databases_CPPFLAGS = $(AM_CPPFLAGS)
bench_programs_databases_LDADD = bench/libbench.la $(XAC_LIBS)
if HAVE_LMDB
bench_programs_databases_SOURCES += bench/store_lmdb.c
bench_programs_databases_CPPFLAGS += -DHAVE_LMDB $(LMDB_CFLAGS)
bench_programs_databases_LDADD += $(LMDB_LIBS)
endif
if HAVE_SQLITE
bench_programs_databases_SOURCES += bench/store_sqlite.c
bench_programs_databases_CPPFLAGS += -DHAVE_SQLITE $(SQLITE_CFLAGS)
bench_programs_databases_LDADD += $(SQLITE_LIBS)
endif

# PROTOTYPE: another compiler of accesses to compare with (bench/README.md).
PROTOTYPE =
bench-programs: bench/libbench.la bench/programs/databases libxac.la libxacheap.la $(COMPILER_IN_PLACE)
	@$(MKDIR_P) bench-results
	@PROTOTYPE='$(PROTOTYPE)' $(SHELL) $(srcdir)/bench/programs/run . bench-results/programs.csv
	@$(SHELL) $(srcdir)/bench/programs/run-crowd . bench-results/programs-crowd.csv

.PHONY: bench-programs
