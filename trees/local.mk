# SPDX-License-Identifier: MIT
#
# Search structures: serial code over an arena of pages, made concurrent and durable by libxac, of which
# they know <xac/xac.h> alone. A library of its own, libxactrees.

xacinclude_HEADERS += include/xac/page_arena.h include/xac/bptree.h

# Everything but the list of exported names: tests that see inside link this.
noinst_LTLIBRARIES += libxactrees-core.la
libxactrees_core_la_SOURCES = \
        %D%/bpnode.c \
        %D%/bpnode.h \
        %D%/bpnode_cells.c \
        %D%/bpnode_cells.h \
        %D%/bpnode_check.c \
        %D%/bpnode_find.c \
        %D%/bpnode_fixed.c \
        %D%/bpnode_fixed.h \
        %D%/bpnode_split.c \
        %D%/bptree.c \
        %D%/bptree.h \
        %D%/bptree_catalog.c \
        %D%/bptree_catalog.h \
        %D%/bptree_catalog_open.c \
        %D%/bptree_check.c \
        %D%/bptree_check.h \
        %D%/bptree_check_nodes.c \
        %D%/bptree_cursor.c \
        %D%/bptree_delete.c \
        %D%/bptree_load.c \
        %D%/bptree_path.c \
        %D%/bptree_put.c \
        %D%/bptree_scan.c \
        %D%/bptree_split.c \
        %D%/bptree_stat.c \
        %D%/overflow.c \
        %D%/overflow.h \
        %D%/page_alloc.c \
        %D%/page_alloc.h \
        %D%/page_arena.c \
        %D%/page_arena.h \
        %D%/page_map.h \
        %D%/page_run.c

lib_LTLIBRARIES += libxactrees.la
libxactrees_la_SOURCES =
libxactrees_la_LIBADD = libxactrees-core.la libxac.la
libxactrees_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
        -export-symbols $(srcdir)/%D%/libxactrees.sym
libxactrees_la_DEPENDENCIES = libxactrees-core.la libxac.la %D%/libxactrees.sym
EXTRA_DIST += %D%/libxactrees.sym %D%/README.md

# What programs link that use the trees; tests that see inside link TREES_CORE_LIBS.
TREES_LIBS = libxactrees.la libxac.la -lpthread
TREES_CORE_LIBS = libxactrees-core.la libxac.la -lpthread
