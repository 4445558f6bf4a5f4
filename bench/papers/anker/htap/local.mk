# SPDX-License-Identifier: MIT
#
# Transactions and queries on the same tables: the system of the AnKerDB paper (README.md).

PAPER_BENCHMARKS += %D%/htap

EXTRA_LTLIBRARIES += %D%/libhtap.la
%C%_libhtap_la_SOURCES = \
        %D%/collector.c \
        %D%/dictionary.c \
        %D%/dictionary.h \
        %D%/engine.h \
        %D%/generator.c \
        %D%/generator.h \
        %D%/heterogeneous.c \
        %D%/homogeneous.c \
        %D%/homogeneous.h \
        %D%/kernels.c \
        %D%/kernels.h \
        %D%/olap.c \
        %D%/olap.h \
        %D%/oltp.c \
        %D%/oltp.h \
        %D%/precision.c \
        %D%/precision.h \
        %D%/scan.c \
        %D%/scan.h \
        %D%/snapshots.c \
        %D%/snapshots.h \
        %D%/tables.c \
        %D%/tables.h \
        %D%/version_pool.c \
        %D%/version_pool.h \
        %D%/versions.c \
        %D%/versions.h

%C%_htap_SOURCES = \
        %D%/answers.c \
        %D%/crew.c \
        %D%/crew.h \
        %D%/dump.c \
        %D%/experiments.c \
        %D%/experiments.h \
        %D%/experiments_scans.c \
        %D%/experiments_throughput.c \
        %D%/htap.c \
        %D%/sql.c \
        %D%/sql.h \
        %D%/sql_ops.h \
        %D%/systems.c \
        %D%/systems.h
%C%_htap_CPPFLAGS = $(AM_CPPFLAGS)
%C%_htap_LDADD = %D%/libhtap.la bench/libbench.la $(XAC_LIBS)
if HAVE_SQLITE
%C%_htap_SOURCES += %D%/sqlite.c
%C%_htap_CPPFLAGS += -DHAVE_SQLITE $(SQLITE_CFLAGS)
%C%_htap_LDADD += $(SQLITE_LIBS)
else
EXTRA_DIST += %D%/sqlite.c
endif

dist_noinst_SCRIPTS += %D%/run %D%/duckdb_baseline.py
EXTRA_DIST += %D%/README.md

# Measures what the pictures docs/plots/htap_*.svg show, and draws them (nine minutes). PYTHON=... is one that has duckdb.
htap: %D%/htap$(EXEEXT)
	PLOTS=$(srcdir)/docs/plots $(SHELL) $(srcdir)/bench/papers/anker/htap/run $(RACE_CSV)

.PHONY: htap
