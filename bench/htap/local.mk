# SPDX-License-Identifier: MIT
#
# Transactions and queries on the same tables: the system of the AnKerDB paper (README.md).

noinst_PROGRAMS += bench/htap/htap

noinst_LTLIBRARIES += bench/htap/libhtap.la
bench_htap_libhtap_la_SOURCES = \
        bench/htap/collector.c \
        bench/htap/dictionary.c \
        bench/htap/dictionary.h \
        bench/htap/engine.h \
        bench/htap/generator.c \
        bench/htap/generator.h \
        bench/htap/heterogeneous.c \
        bench/htap/homogeneous.c \
        bench/htap/homogeneous.h \
        bench/htap/kernels.c \
        bench/htap/kernels.h \
        bench/htap/olap.c \
        bench/htap/olap.h \
        bench/htap/oltp.c \
        bench/htap/oltp.h \
        bench/htap/precision.c \
        bench/htap/precision.h \
        bench/htap/scan.c \
        bench/htap/scan.h \
        bench/htap/snapshots.c \
        bench/htap/snapshots.h \
        bench/htap/tables.c \
        bench/htap/tables.h \
        bench/htap/version_pool.c \
        bench/htap/version_pool.h \
        bench/htap/versions.c \
        bench/htap/versions.h

bench_htap_htap_SOURCES = \
        bench/htap/answers.c \
        bench/htap/crew.c \
        bench/htap/crew.h \
        bench/htap/dump.c \
        bench/htap/experiments.c \
        bench/htap/experiments.h \
        bench/htap/experiments_scans.c \
        bench/htap/experiments_throughput.c \
        bench/htap/htap.c \
        bench/htap/sql.c \
        bench/htap/sql.h \
        bench/htap/sql_ops.h \
        bench/htap/systems.c \
        bench/htap/systems.h
bench_htap_htap_CPPFLAGS = $(AM_CPPFLAGS)
bench_htap_htap_LDADD = bench/htap/libhtap.la bench/libbench.la $(XAC_LIBS)
if HAVE_SQLITE
bench_htap_htap_SOURCES += bench/htap/sqlite.c
bench_htap_htap_CPPFLAGS += -DHAVE_SQLITE $(SQLITE_CFLAGS)
bench_htap_htap_LDADD += $(SQLITE_LIBS)
else
EXTRA_DIST += bench/htap/sqlite.c
endif

dist_noinst_SCRIPTS += bench/htap/run bench/htap/duckdb_baseline.py bench/plot/htap
EXTRA_DIST += \
        bench/htap/README.md \
        bench/plot/htap.awk \
        bench/plot/htap_latency.gp \
        bench/plot/htap_scaling.gp \
        bench/plot/htap_throughput.gp \
        bench/plot/htap_versioned.gp

# Measures what the pictures docs/plots/htap_*.svg show, and draws them (nine minutes). PYTHON=... is one that has duckdb.
htap: bench/htap/htap$(EXEEXT)
	PLOTS=$(srcdir)/docs/plots $(SHELL) $(srcdir)/bench/htap/run $(RACE_CSV)

.PHONY: htap
