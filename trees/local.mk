# SPDX-License-Identifier: MIT
#
# Search structures: serial code over an arena of pages, made concurrent and durable by libxac, of which
# they know <xac/...> alone. A library of its own, libxactrees.

xacinclude_HEADERS += include/xac/arena.h include/xac/tree.h

# Everything but the list of exported names: tests that see inside link this.
noinst_LTLIBRARIES += libxactrees-core.la
libxactrees_core_la_SOURCES = \
        %D%/arena_check.c \
        %D%/arena_check.h \
        %D%/arena_check_bptree.c \
        %D%/arena_check_cobtree.c \
        %D%/arena_check_ehash.c \
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
        %D%/bptree_cursor.c \
        %D%/bptree_delete.c \
        %D%/bptree_leaf.c \
        %D%/bptree_load.c \
        %D%/bptree_path.c \
        %D%/bptree_put.c \
        %D%/bptree_scan.c \
        %D%/bptree_scan_leaves.c \
        %D%/bptree_split.c \
        %D%/bptree_stat.c \
        %D%/cobindex.c \
        %D%/cobindex.h \
        %D%/cobindex_change.c \
        %D%/cobindex_check.c \
        %D%/cobindex_extent.c \
        %D%/cobindex_extent.h \
        %D%/cobindex_make.c \
        %D%/cobindex_room.c \
        %D%/cobindex_separator.c \
        %D%/cobindex_separator.h \
        %D%/cobindex_top.c \
        %D%/cobindex_top.h \
        %D%/cobindex_top_extents.c \
        %D%/cobtree.c \
        %D%/cobtree.h \
        %D%/cobtree_cursor.c \
        %D%/cobtree_delete.c \
        %D%/cobtree_load.c \
        %D%/cobtree_put.c \
        %D%/cobtree_share.c \
        %D%/cobtree_scan.c \
        %D%/cobtree_stat.c \
        %D%/ehash.c \
        %D%/ehash_arrange.c \
        %D%/ehash.h \
        %D%/ehash_cache.c \
        %D%/ehash_cache.h \
        %D%/ehash_cursor.c \
        %D%/ehash_delete.c \
        %D%/ehash_directory.c \
        %D%/ehash_key.h \
        %D%/ehash_put.c \
        %D%/ehash_scan.c \
        %D%/ehash_shortcut.c \
        %D%/ehash_shortcut.h \
        %D%/ehash_split.c \
        %D%/ehash_stat.c \
        %D%/ehash_trial.c \
        %D%/ehash_trial.h \
        %D%/leaf.c \
        %D%/leaf.h \
        %D%/leaf_scan.c \
        %D%/naming_drop.c \
        %D%/naming_open.c \
        %D%/overflow.c \
        %D%/overflow.h \
        %D%/pma.c \
        %D%/pma.h \
        %D%/tree.c \
        %D%/tree.h \
        %D%/tree_cursor.c \
        %D%/tree_cursor.h \
        %D%/veb.c \
        %D%/veb.h

libxactrees_core_la_LIBADD = libxacpages.la $(URCU_LIBS)

lib_LTLIBRARIES += libxactrees.la
libxactrees_la_SOURCES =
libxactrees_la_LIBADD = libxactrees-core.la libxac.la
libxactrees_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
        -export-symbols $(srcdir)/%D%/libxactrees.sym
libxactrees_la_DEPENDENCIES = libxactrees-core.la libxac.la %D%/libxactrees.sym
EXTRA_DIST += %D%/libxactrees.sym

treesdocdir = $(docdir)/trees
dist_treesdoc_DATA = %D%/README.md

# What programs link that use the trees; tests that see inside link TREES_CORE_LIBS.
TREES_LIBS = libxactrees.la libxac.la -lpthread
TREES_CORE_LIBS = libxactrees-core.la libxac.la -lpthread
