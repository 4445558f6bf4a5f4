# SPDX-License-Identifier: MIT
#
# Environments of every format that ever landed, and whether this build still reads them. A new format adds a folder
# (make.sh), and tests.

SUITES += formats
SUITE_formats = %D%/test_formats
check_PROGRAMS += $(SUITE_formats) %D%/make
TESTS += $(SUITE_formats)

%C%_test_formats_SOURCES = %D%/test_formats.c %D%/content.h
%C%_test_formats_LDADD = libxactrees.la libxacheap.la $(CONTRACT_LIBS)
%C%_make_SOURCES = %D%/make.c %D%/content.h
%C%_make_LDADD = libxactrees.la libxacheap.la libxac.la

EXTRA_DIST += %D%/make.sh %D%/heap-1/heap.tar.gz %D%/log-1/killed.tar.gz \
        %D%/log-2/clean.tar.gz %D%/log-2/killed.tar.gz %D%/log-2/trees.tar.gz %D%/log-2/volatile.tar.gz \
        %D%/log-3/clean.tar.gz %D%/log-3/killed.tar.gz %D%/log-3/trees.tar.gz %D%/log-3/volatile.tar.gz \
        %D%/log-4/clean.tar.gz %D%/log-4/killed.tar.gz %D%/log-4/trees.tar.gz %D%/log-4/volatile.tar.gz \
        %D%/log-5/clean.tar.gz %D%/log-5/killed.tar.gz %D%/log-5/trees.tar.gz %D%/log-5/volatile.tar.gz \
        %D%/manifest-4/clean.tar.gz %D%/manifest-4/killed.tar.gz %D%/manifest-4/trees.tar.gz %D%/manifest-4/volatile.tar.gz
