# SPDX-License-Identifier: MIT
#
# The benchmarks are compiled with everything else, so that they do not rot, and run by
# `make bench` only.

BENCH_PROGRAMS = \
        bench/moves \
        bench/handover \
        bench/heap \
        bench/roots \
        bench/home \
        bench/hot_path \
        bench/backup \
        bench/long_reader \
        bench/threads \
        bench/durable \
        bench/xacbench

noinst_PROGRAMS += $(BENCH_PROGRAMS)

# In C++, by xac-c++: the scripts compile them.
dist_noinst_SCRIPTS += bench/cxx/run bench/cxx/run-maps bench/compiler/run
EXTRA_DIST += bench/cxx/map.cc bench/cxx/maps.cc
EXTRA_DIST += bench/support/by_processes.awk

# Not the library's: what the benchmarks share.
noinst_LTLIBRARIES += bench/libbench.la
bench_libbench_la_SOURCES = \
        bench/support/alone.c \
        bench/support/alone.h \
        bench/support/csv.c \
        bench/support/csv.h \
        bench/support/histogram.c \
        bench/support/histogram.h \
        bench/support/little_memory.c \
        bench/support/little_memory.h \
        bench/support/mappings.c \
        bench/support/mappings.h \
        bench/support/measure.c \
        bench/support/measure.h \
        bench/support/memory.c \
        bench/support/memory.h \
        bench/support/options.c \
        bench/support/options.h \
        bench/support/page_order.c \
        bench/support/page_order.h \
        bench/support/processor.c \
        bench/support/processor.h \
        bench/support/report.c \
        bench/support/report.h \
        bench/support/scratch.c \
        bench/support/scratch.h \
        bench/support/table.c \
        bench/support/table.h

bench_moves_SOURCES = bench/moves.c
bench_moves_LDADD = bench/libbench.la $(XAC_LIBS)
bench_handover_SOURCES = bench/handover.c
bench_handover_LDADD = bench/libbench.la $(XAC_LIBS)
if COMPILER
BENCH_PROGRAMS += bench/strings
bench_strings_SOURCES = bench/strings.c
# The compiler would leave out calls whose result it knows.
bench_strings_CFLAGS = $(AM_CFLAGS) -fno-builtin
bench_strings_LDADD = compiler/libxacrt.a bench/libbench.la $(XAC_LIBS)
endif
bench_heap_SOURCES = bench/heap.c
bench_heap_LDADD = bench/libbench.la $(HEAP_LIBS)
bench_roots_SOURCES = bench/roots.c
bench_roots_LDADD = bench/libbench.la $(HEAP_LIBS)
bench_home_SOURCES = bench/home.c
bench_home_LDADD = bench/libbench.la $(XAC_LIBS)
bench_hot_path_SOURCES = bench/hot_path.c
bench_hot_path_LDADD = bench/libbench.la $(XAC_LIBS)
bench_backup_SOURCES = bench/backup.c
bench_backup_LDADD = bench/libbench.la $(XAC_LIBS)
bench_long_reader_SOURCES = bench/long_reader.c
bench_long_reader_LDADD = bench/libbench.la $(XAC_LIBS)

bench_threads_SOURCES = \
        bench/crew.c \
        bench/crew.h \
        bench/crew_systems.h \
        bench/threads.c
bench_threads_LDADD = bench/libbench.la $(XAC_LIBS)


bench_durable_SOURCES = \
        bench/crew.c \
        bench/crew.h \
        bench/crew_systems.h \
        bench/durable.c \
        bench/durable.h \
        bench/durable_checkpointer.c \
        bench/durable_commit.c \
        bench/durable_experiments.c \
        bench/durable_experiments.h \
        bench/durable_notes.c \
        bench/durable_notes.h \
        bench/durable_reader.c \
        bench/durable_recovery.c \
        bench/durable_systems.c \
        bench/durable_systems.h
bench_durable_LDADD = bench/libbench.la $(XAC_LIBS)

# The race of search structures; bench/papers/libxac-2005 runs the same crew on the same stores.
XACBENCH_COMMON = \
        bench/store.c \
        bench/store.h \
        bench/store_bptree.c \
        bench/store_cobtree.c \
        bench/store_ehash.c \
        bench/store_dense.c \
        bench/store_seat.c \
        bench/store_tree.h \
        bench/xacbench.h \
        bench/xacbench_check.c \
        bench/xacbench_crew.c \
        bench/xacbench_order.c \
        bench/xacbench_order.h \
        bench/xacbench_place.c \
        bench/xacbench_records.c \
        bench/xacbench_records.h \
        bench/xacbench_work.c \
        bench/xacbench_ycsb.c \
        bench/xacbench_ycsb.h
XACBENCH_CPPFLAGS = $(AM_CPPFLAGS)
XACBENCH_LIBS = bench/libbench.la $(TREES_LIBS) -lm
if HAVE_LMDB
XACBENCH_COMMON += bench/store_lmdb.c
XACBENCH_CPPFLAGS += -DHAVE_LMDB $(LMDB_CFLAGS)
XACBENCH_LIBS += $(LMDB_LIBS)
else
EXTRA_DIST += bench/store_lmdb.c
endif
if HAVE_BDB
XACBENCH_COMMON += bench/store_bdb.c
XACBENCH_CPPFLAGS += -DHAVE_BDB
XACBENCH_LIBS += $(BDB_LIBS)
else
EXTRA_DIST += bench/store_bdb.c
endif
if HAVE_ROCKSDB
XACBENCH_COMMON += bench/store_rocksdb.c
XACBENCH_CPPFLAGS += -DHAVE_ROCKSDB $(ROCKSDB_CFLAGS)
XACBENCH_LIBS += $(ROCKSDB_LIBS)
else
EXTRA_DIST += bench/store_rocksdb.c
endif
if HAVE_SQLITE
XACBENCH_COMMON += bench/store_sqlite.c
XACBENCH_CPPFLAGS += -DHAVE_SQLITE $(SQLITE_CFLAGS)
XACBENCH_LIBS += $(SQLITE_LIBS)
else
EXTRA_DIST += bench/store_sqlite.c
endif

bench_xacbench_SOURCES = \
        bench/xacbench.c \
        bench/xacbench_report.c \
        bench/xacbench_report.h \
        $(XACBENCH_COMMON)
bench_xacbench_CPPFLAGS = $(XACBENCH_CPPFLAGS)
bench_xacbench_LDADD = $(XACBENCH_LIBS)

# Of papers, what `make bench` runs like the others: by --csv, with a plot of the same name.
BENCH_OF_PAPERS =

include bench/cost/local.mk
include bench/serial/local.mk
include bench/papers/local.mk
include bench/programs/local.mk
include bench/send/local.mk

dist_docs_DATA += docs/BENCHMARKS.md
benchdocdir = $(docdir)/bench
dist_benchdoc_DATA = bench/README.md
EXTRA_DIST += \
        bench/plot/durable.gp \
        bench/plot/hot_path.gp \
        bench/plot/long_reader.gp \
        bench/plot/medians.awk \
        bench/plot/moves.gp \
        bench/plot/plot \
        bench/plot/race_bars.gp \
        bench/plot/race_lines.gp \
        bench/plot/serial.gp \
        bench/plot/threads.gp \
        bench/plot/xacbench.gp
dist_noinst_SCRIPTS += bench/plot/draw bench/plot/pictures bench/plot/shown bench/plot/trace bench/markdown bench/profile bench/table

CLEANFILES += bench-results/*.csv bench-results/*.svg bench-results/*.prof.*

# The last two have hours of work; here it is minutes.
XACBENCH_ARGS = --keys 200000 --durable-keys 10000 --reps 3 --latency-reps 1
THESIS_ARGS = --inserts 10000 --random-inserts 100000 --sorted-inserts 100000 --records 500000 --reps 1

bench: $(BENCH_PROGRAMS) $(BENCH_OF_PAPERS)
	@$(MKDIR_P) bench-results; \
	for program in $(BENCH_PROGRAMS) $(BENCH_OF_PAPERS); do \
	        name=$$(basename $$program); result=bench-results/$$name; \
	        case $$name in \
	        xacbench) args='$(XACBENCH_ARGS)' ;; \
	        thesis) args='$(THESIS_ARGS)' ;; \
	        *) args= ;; \
	        esac; \
	        ./$$program $$args --csv $$result.csv && \
	        $(SHELL) $(srcdir)/bench/plot/draw $$name $$result.csv $$result.svg || exit 1; \
	done

# The pictures of the documentation: `make race` measures what they show (six minutes), `make plots` draws them, and keeps of the
# data what they show. Tables of the documents are made before that (bench/markdown, bench/table).
RACE_SYSTEMS = bptree,cobtree,lmdb,bdb,rocksdb,sqlite
RACE_CSV = $(srcdir)/docs/plots/data
RACE_MEMORY_ARGS = --processes 1,2 --keys 500000 --reads 50 --reps 3 --latency-reps 0
RACE_DURABLE_ARGS = --processes 1,2,4,8,16 --durable-keys 10000 --reps 3

race: bench/xacbench$(EXEEXT)
	@$(MKDIR_P) $(RACE_CSV)
	bench/xacbench insert,lookup,scan,mixed --systems $(RACE_SYSTEMS) $(RACE_MEMORY_ARGS) --csv $(RACE_CSV)/memory.csv
	bench/xacbench durable-insert --systems $(RACE_SYSTEMS) $(RACE_DURABLE_ARGS) --csv $(RACE_CSV)/durable.csv
	@echo 'make plots draws them'

plots:
	@$(SHELL) $(srcdir)/bench/plot/pictures $(RACE_CSV) $(srcdir)/docs/plots
	@AWK='$(AWK)' $(SHELL) $(srcdir)/bench/plot/shown $(RACE_CSV)

# Where the time of an experiment goes, by the first worker: make profile EXPERIMENT=lookup SYSTEM=lmdb
EXPERIMENT = insert
SYSTEM = bptree
PROFILE_ARGS =
profile: bench/xacbench
	@PPROF='$(PPROF)' $(SHELL) $(srcdir)/bench/profile $(EXPERIMENT) $(SYSTEM) $(PROFILE_ARGS)

# Each experiment on each system, in small.
dist_check_SCRIPTS += tools/check-bench

.PHONY: bench plots profile race
