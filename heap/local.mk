# SPDX-License-Identifier: MIT
#
# malloc in a file: serial code over pages, made concurrent and durable by libxac, of which it knows <xac/...> alone. A
# library of its own, libxacheap.

xacinclude_HEADERS += include/xac/heap.h

# Everything but the list of exported names: tests that see inside link this.
noinst_LTLIBRARIES += libxacheap-core.la
libxacheap_core_la_SOURCES = \
        %D%/check.c \
        %D%/check_roots.c \
        %D%/check.h \
        %D%/malloc.c \
        %D%/objects.c \
        %D%/objects.h \
        %D%/opening.c \
        %D%/roots.c \
        %D%/roots.h \
        %D%/roots_chain.c \
        %D%/roots_chain.h \
        %D%/roots_tree.c \
        %D%/roots_tree.h \
        %D%/run.c \
        %D%/run.h \
        %D%/size_class.c \
        %D%/size_class.h \
        %D%/slab.c \
        %D%/slab.h \
        %D%/small.c \
        %D%/small.h \
        %D%/xac_heap.c \
        %D%/xac_heap.h
libxacheap_core_la_LIBADD = libxacpages.la

lib_LTLIBRARIES += libxacheap.la
libxacheap_la_SOURCES =
libxacheap_la_LIBADD = libxacheap-core.la libxac.la
libxacheap_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
        -export-symbols $(srcdir)/%D%/libxacheap.sym
libxacheap_la_DEPENDENCIES = libxacheap-core.la libxac.la %D%/libxacheap.sym
EXTRA_DIST += %D%/libxacheap.sym

# What programs link that use the heap; tests that see inside link HEAP_CORE_LIBS.
HEAP_LIBS = libxacheap.la libxac.la -lpthread
HEAP_CORE_LIBS = libxacheap-core.la libxac.la -lpthread
