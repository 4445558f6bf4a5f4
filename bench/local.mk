# SPDX-License-Identifier: MIT
#
# The benchmarks are compiled with everything else, so that they do not rot, and run by
# `make bench` only.

BENCH_PROGRAMS = \
        bench/page_touch \
        bench/hot_path \
        bench/long_reader \
        bench/concurrency \
        bench/durable

noinst_PROGRAMS += $(BENCH_PROGRAMS)

# Not the library's: what the benchmarks share.
noinst_LTLIBRARIES += bench/libbench.la
bench_libbench_la_SOURCES = \
        bench/support/csv.c \
        bench/support/csv.h \
        bench/support/histogram.c \
        bench/support/histogram.h \
        bench/support/measure.c \
        bench/support/measure.h \
        bench/support/options.c \
        bench/support/options.h \
        bench/support/scratch.c \
        bench/support/scratch.h

bench_page_touch_SOURCES = \
        bench/page_touch.c \
        bench/primitives.c \
        bench/primitives.h \
        bench/touch.c \
        bench/touch.h
bench_page_touch_LDADD = bench/libbench.la $(XAC_LIBS)
bench_hot_path_SOURCES = bench/hot_path.c
bench_hot_path_LDADD = bench/libbench.la $(XAC_LIBS)
bench_long_reader_SOURCES = bench/long_reader.c
bench_long_reader_LDADD = bench/libbench.la $(XAC_LIBS)

bench_concurrency_SOURCES = \
        bench/concurrency.c \
        bench/concurrency_crew.c \
        bench/concurrency_crew.h \
        bench/concurrency_mutex.c \
        bench/concurrency_systems.h \
        bench/concurrency_xac.c
bench_concurrency_CPPFLAGS = $(AM_CPPFLAGS)
bench_concurrency_LDADD = bench/libbench.la $(XAC_LIBS)
# Nothing but this links LMDB.
if HAVE_LMDB
bench_concurrency_SOURCES += bench/concurrency_lmdb.c
bench_concurrency_CPPFLAGS += -DHAVE_LMDB $(LMDB_CFLAGS)
bench_concurrency_LDADD += $(LMDB_LIBS)
else
EXTRA_DIST += bench/concurrency_lmdb.c
endif

bench_durable_SOURCES = \
        bench/concurrency_crew.c \
        bench/concurrency_crew.h \
        bench/concurrency_systems.h \
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

EXTRA_DIST += \
        bench/README.md \
        bench/plot/concurrency.gp \
        bench/plot/durable.gp \
        bench/plot/hot_path.gp \
        bench/plot/long_reader.gp \
        bench/plot/medians.awk \
        bench/plot/page_touch.gp
dist_noinst_SCRIPTS += bench/plot/draw

CLEANFILES += bench-results/*.csv bench-results/*.svg

bench: $(BENCH_PROGRAMS)
	@$(MKDIR_P) bench-results; \
	for program in $(BENCH_PROGRAMS); do \
	        name=$$(basename $$program); result=bench-results/$$name; \
	        ./$$program --csv $$result.csv && \
	        $(SHELL) $(srcdir)/bench/plot/draw $$name $$result.csv $$result.svg || exit 1; \
	done

.PHONY: bench
