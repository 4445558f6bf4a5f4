# SPDX-License-Identifier: MIT
#
# J. Sukha's thesis, of which libxac is the idea (README.md).

THESIS_BENCHMARKS = %D%/page_touch %D%/concurrency %D%/thesis %D%/thesis_durable
EXTRA_DIST += \
        %D%/EXPERIMENTS.md \
        %D%/concurrency.gp \
        %D%/page_touch.gp \
        %D%/thesis.gp \
        %D%/thesis_durable.gp \
        %D%/transfers.gp

%C%_page_touch_SOURCES = \
        %D%/page_touch.c \
        %D%/primitives.c \
        %D%/primitives.h \
        %D%/touch.c \
        %D%/touch.h
%C%_page_touch_LDADD = bench/libbench.la $(XAC_LIBS)

%C%_concurrency_SOURCES = \
        %D%/concurrency.c \
        bench/crew.c \
        bench/crew.h \
        %D%/concurrency_mutex.c \
        bench/crew_systems.h \
        %D%/concurrency_work.c \
        %D%/concurrency_xac.c
%C%_concurrency_CPPFLAGS = $(AM_CPPFLAGS)
%C%_concurrency_LDADD = bench/libbench.la $(XAC_LIBS)
if HAVE_LMDB
%C%_concurrency_SOURCES += %D%/concurrency_lmdb.c
%C%_concurrency_CPPFLAGS += -DHAVE_LMDB $(LMDB_CFLAGS)
%C%_concurrency_LDADD += $(LMDB_LIBS)
else
EXTRA_DIST += %D%/concurrency_lmdb.c
endif

%C%_thesis_durable_SOURCES = \
        bench/crew.c \
        bench/crew.h \
        bench/crew_systems.h \
        bench/durable.c \
        bench/durable.h \
        %D%/concurrency_work.c \
        %D%/concurrency_xac.c \
        %D%/durable_concurrency.c \
        %D%/durable_msync.c \
        %D%/durable_touch.c \
        %D%/thesis_durable.c \
        %D%/thesis_durable.h \
        %D%/touch.c \
        %D%/touch.h
%C%_thesis_durable_LDADD = bench/libbench.la $(XAC_LIBS)

%C%_thesis_SOURCES = \
        %D%/thesis.c \
        %D%/thesis.h \
        %D%/thesis_inserts.c \
        %D%/thesis_tables.c \
        $(XACBENCH_COMMON)
%C%_thesis_CPPFLAGS = $(XACBENCH_CPPFLAGS)
%C%_thesis_LDADD = $(XACBENCH_LIBS)

# The trees compiled once more, so that every access to memory is a call (transfers_hooks.h); which is what ThreadSanitizer
# does, and so not possible beside other sanitizers. Coverage is not counted in them.
if !SANITIZERS
THESIS_BENCHMARKS += %D%/transfers
EXTRA_LTLIBRARIES += %D%/libtraced.la
%C%_libtraced_la_SOURCES = $(libxacpages_la_SOURCES) $(libxactrees_core_la_SOURCES)
%C%_libtraced_la_CPPFLAGS = $(AM_CPPFLAGS) -U_FORTIFY_SOURCE
%C%_libtraced_la_CFLAGS = -std=gnu11 -pthread -fsanitize=thread
%C%_transfers_SOURCES = \
        %D%/transfers.c \
        %D%/transfers_cache.c \
        %D%/transfers_cache.h \
        %D%/transfers_hooks.c \
        %D%/transfers_hooks.h \
        bench/xacbench_records.c \
        bench/xacbench_records.h
%C%_transfers_LDADD = bench/libbench.la %D%/libtraced.la $(XAC_LIBS) $(URCU_LIBS)
%C%_transfers_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset,--wrap=memcmp
endif

PAPER_BENCHMARKS += $(THESIS_BENCHMARKS)
BENCH_OF_PAPERS += $(THESIS_BENCHMARKS)
