# SPDX-License-Identifier: MIT
#
# Ranges of trees, sent from where they lie, and received. Knows <xac/...> alone, of the trees, too. A library of its own,
# libxacsend.

xacinclude_HEADERS += include/xac/send.h

# Everything but the list of exported names: tests that see inside link this.
noinst_LTLIBRARIES += libxacsend-core.la
libxacsend_core_la_SOURCES = \
        %D%/base.c \
        %D%/base.h \
        %D%/batch.c \
        %D%/batch.h \
        %D%/calibrate.c \
        %D%/calibration.c \
        %D%/cells.c \
        %D%/cells.h \
        %D%/fetch.h \
        %D%/key.h \
        %D%/outlet.c \
        %D%/outlet.h \
        %D%/pack.c \
        %D%/pack.h \
        %D%/plan.c \
        %D%/plan.h \
        %D%/range.c \
        %D%/range.h \
        %D%/range_cursor.c \
        %D%/range_expect.c \
        %D%/range_frame.c \
        %D%/range_receive.c \
        %D%/range_take.c \
        %D%/reserved.h \
        %D%/response.c \
        %D%/response.h \
        %D%/response_pages.c \
        %D%/response_pages.h \
        %D%/uring.h \
        %D%/rows.c \
        %D%/rows.h \
        %D%/segment.c \
        %D%/segment.h \
        %D%/send_format.h \
        %D%/send_list.c \
        %D%/send_list.h \
        %D%/send_request.c \
        %D%/send_request.h \
        %D%/sender.c \
        %D%/sender.h \
        %D%/source.c \
        %D%/source.h
if HAVE_URING
libxacsend_core_la_SOURCES += %D%/uring.c
else
libxacsend_core_la_SOURCES += %D%/uring_none.c
endif
libxacsend_core_la_LIBADD = $(URING_LIBS)

lib_LTLIBRARIES += libxacsend.la
libxacsend_la_SOURCES =
libxacsend_la_LIBADD = libxacsend-core.la libxactrees.la libxac.la
libxacsend_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
        -export-symbols $(srcdir)/%D%/libxacsend.sym
libxacsend_la_DEPENDENCIES = libxacsend-core.la libxactrees.la libxac.la %D%/libxacsend.sym
EXTRA_DIST += %D%/libxacsend.sym

# What programs link that send or receive; tests that see inside link SEND_CORE_LIBS.
SEND_LIBS = libxacsend.la libxactrees.la libxac.la -lpthread
SEND_CORE_LIBS = libxacsend-core.la libxactrees-core.la libxac.la -lpthread
