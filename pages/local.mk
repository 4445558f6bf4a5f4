# SPDX-License-Identifier: MIT
#
# Pages of a file: how they are reached, and which are free. What trees/ and heap/ are built on, and part of the library of
# each.

noinst_LTLIBRARIES += libxacpages.la
libxacpages_la_SOURCES = \
        %D%/page_alloc.c \
        %D%/page_alloc.h \
        %D%/arena.c \
        %D%/arena.h \
        %D%/page_group.c \
        %D%/page_group.h \
        %D%/page_group_whole.c \
        %D%/page_map.h \
        %D%/page_run.c \
        %D%/page_trim.c \
        %D%/page_trim.h
