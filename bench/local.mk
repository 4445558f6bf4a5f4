# SPDX-License-Identifier: MIT
#
# The benchmarks are compiled with everything else, so that they do not rot, and run by
# `make bench` only.

BENCH_PROGRAMS = \
        bench/page_touch \
        bench/moves \
        bench/handover \
        bench/heap \
        bench/roots \
        bench/home \
        bench/hot_path \
        bench/backup \
        bench/long_reader \
        bench/concurrency \
        bench/threads \
        bench/durable \
        bench/xacbench \
        bench/thesis

noinst_PROGRAMS += $(BENCH_PROGRAMS)

# In C++, by xac-c++: the scripts compile them.
dist_noinst_SCRIPTS += bench/cxx/run bench/cxx/run-maps bench/compiler/run
EXTRA_DIST += bench/cxx/map.cc bench/cxx/maps.cc
EXTRA_DIST += bench/support/by_processes.awk

# Not the library's: what the benchmarks share.
noinst_LTLIBRARIES += bench/libbench.la
bench_libbench_la_SOURCES = \
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
        bench/support/options.c \
        bench/support/options.h \
        bench/support/processor.c \
        bench/support/processor.h \
        bench/support/scratch.c \
        bench/support/scratch.h

bench_page_touch_SOURCES = \
        bench/page_touch.c \
        bench/primitives.c \
        bench/primitives.h \
        bench/touch.c \
        bench/touch.h
bench_page_touch_LDADD = bench/libbench.la $(XAC_LIBS)
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

bench_concurrency_SOURCES = \
        bench/concurrency.c \
        bench/concurrency_crew.c \
        bench/concurrency_crew.h \
        bench/concurrency_mutex.c \
        bench/concurrency_systems.h \
        bench/concurrency_work.c \
        bench/concurrency_xac.c
bench_concurrency_CPPFLAGS = $(AM_CPPFLAGS)
bench_concurrency_LDADD = bench/libbench.la $(XAC_LIBS)
if HAVE_LMDB
bench_concurrency_SOURCES += bench/concurrency_lmdb.c
bench_concurrency_CPPFLAGS += -DHAVE_LMDB $(LMDB_CFLAGS)
bench_concurrency_LDADD += $(LMDB_LIBS)
else
EXTRA_DIST += bench/concurrency_lmdb.c
endif

bench_threads_SOURCES = \
        bench/concurrency_crew.c \
        bench/concurrency_crew.h \
        bench/concurrency_systems.h \
        bench/threads.c
bench_threads_LDADD = bench/libbench.la $(XAC_LIBS)

bench_durable_SOURCES = \
        bench/concurrency_crew.c \
        bench/concurrency_crew.h \
        bench/concurrency_systems.h \
        bench/concurrency_work.c \
        bench/concurrency_xac.c \
        bench/durable.c \
        bench/durable.h \
        bench/durable_checkpointer.c \
        bench/durable_commit.c \
        bench/durable_concurrency.c \
        bench/durable_msync.c \
        bench/durable_notes.c \
        bench/durable_notes.h \
        bench/durable_reader.c \
        bench/durable_recovery.c \
        bench/durable_systems.c \
        bench/durable_systems.h \
        bench/durable_touch.c \
        bench/touch.c \
        bench/touch.h
bench_durable_LDADD = bench/libbench.la $(XAC_LIBS)

# The race of search structures, and the thesis' chapter 5, by the same crew on the same stores.
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
        bench/xacbench_work.c
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

bench_thesis_SOURCES = \
        bench/thesis.c \
        bench/thesis.h \
        bench/thesis_inserts.c \
        bench/thesis_tables.c \
        $(XACBENCH_COMMON)
bench_thesis_CPPFLAGS = $(XACBENCH_CPPFLAGS)
bench_thesis_LDADD = $(XACBENCH_LIBS)

# The trees compiled once more, so that every access to memory is a call (transfers_hooks.h); which is what ThreadSanitizer
# does, and so not possible beside other sanitizers. Coverage is not counted in them.
if !SANITIZERS
BENCH_PROGRAMS += bench/transfers
noinst_LTLIBRARIES += bench/libtraced.la
bench_libtraced_la_SOURCES = $(libxacpages_la_SOURCES) $(libxactrees_core_la_SOURCES)
bench_libtraced_la_CPPFLAGS = $(AM_CPPFLAGS) -U_FORTIFY_SOURCE
bench_libtraced_la_CFLAGS = -std=gnu11 -pthread -fsanitize=thread
bench_transfers_SOURCES = \
        bench/transfers.c \
        bench/transfers_cache.c \
        bench/transfers_cache.h \
        bench/transfers_hooks.c \
        bench/transfers_hooks.h \
        bench/xacbench_records.c \
        bench/xacbench_records.h
bench_transfers_LDADD = bench/libbench.la bench/libtraced.la $(XAC_LIBS) $(URCU_LIBS)
bench_transfers_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset,--wrap=memcmp
endif

include bench/cost/local.mk
include bench/htap/local.mk
include bench/serial/local.mk
include bench/programs/local.mk
include bench/rewire/local.mk
include bench/snapshots/local.mk
include bench/rewire/rearrange.mk
include bench/rewire/shortcut.mk
include bench/send/local.mk

dist_docs_DATA += docs/BENCHMARKS.md
benchdocdir = $(docdir)/bench
dist_benchdoc_DATA = bench/README.md
EXTRA_DIST += \
        bench/plot/concurrency.gp \
        bench/plot/durable.gp \
        bench/plot/hot_path.gp \
        bench/plot/long_reader.gp \
        bench/plot/medians.awk \
        bench/plot/moves.gp \
        bench/plot/page_touch.gp \
        bench/plot/race_bars.gp \
        bench/plot/race_lines.gp \
        bench/plot/rewire.gp \
        bench/plot/serial.gp \
        bench/plot/shortcut.gp \
        bench/plot/shortcut_tables.gp \
        bench/plot/snapshots.gp \
        bench/plot/thesis.gp \
        bench/plot/threads.gp \
        bench/plot/transfers.gp \
        bench/plot/xacbench.gp
dist_noinst_SCRIPTS += bench/plot/draw bench/plot/race bench/plot/trace bench/profile bench/table

CLEANFILES += bench-results/*.csv bench-results/*.svg bench-results/*.prof.*

# The last two have hours of work; here it is minutes.
XACBENCH_ARGS = --keys 200000 --durable-keys 10000 --reps 3 --latency-reps 1
THESIS_ARGS = --inserts 10000 --random-inserts 100000 --sorted-inserts 100000 --records 500000 --reps 1

bench: $(BENCH_PROGRAMS)
	@$(MKDIR_P) bench-results; \
	for program in $(BENCH_PROGRAMS); do \
	        name=$$(basename $$program); result=bench-results/$$name; \
	        case $$name in \
	        xacbench) args='$(XACBENCH_ARGS)' ;; \
	        thesis) args='$(THESIS_ARGS)' ;; \
	        *) args= ;; \
	        esac; \
	        ./$$program $$args --csv $$result.csv && \
	        $(SHELL) $(srcdir)/bench/plot/draw $$name $$result.csv $$result.svg || exit 1; \
	done

# The pictures of the documentation: `make race` measures what they show (six minutes), `make plots` draws them.
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
	@$(SHELL) $(srcdir)/bench/plot/race $(RACE_CSV) $(srcdir)/docs/plots

# Where the time of an experiment goes, by the first worker: make profile EXPERIMENT=lookup SYSTEM=lmdb
EXPERIMENT = insert
SYSTEM = bptree
PROFILE_ARGS =
profile: bench/xacbench
	@PPROF='$(PPROF)' $(SHELL) $(srcdir)/bench/profile $(EXPERIMENT) $(SYSTEM) $(PROFILE_ARGS)

# Each experiment on each system, in small.
dist_check_SCRIPTS += tools/check-bench

.PHONY: bench plots profile race
