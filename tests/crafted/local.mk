# SPDX-License-Identifier: MIT
#
# Crafted directories through every subcommand of xac (crafted.c):
#
#      make check-crafted                    for CRAFTED_SECONDS (600); CRAFTED_OPTIONS='--keep-going'
#
# Not a part of `make check`.

CRAFTED_SECONDS = 600
CRAFTED_OPTIONS =
check-crafted: %D%/crafted tools/xac/xac $(SWEEP)
	$(TEST_RUN) %D%/crafted --seconds $(CRAFTED_SECONDS) $(CRAFTED_OPTIONS)
check_PROGRAMS += %D%/crafted

%C%_crafted_SOURCES = \
        %D%/crafted.c \
        %D%/crafted_change.c \
        %D%/crafted_change.h \
        %D%/crafted_ground.c \
        %D%/crafted_ground.h \
        %D%/crafted_run.c \
        %D%/crafted_run.h
%C%_crafted_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=main -Wl,-z,now
%C%_crafted_DEPENDENCIES = $(tools_xac_xac_OBJECTS) $(tools_xac_xac_DEPENDENCIES) tests/support/libsupport.la
%C%_crafted_LDADD = $(tools_xac_xac_OBJECTS) libxacsend-core.la tests/support/libsupport.la libxactrees-core.la libxacheap-core.la $(UNIT_LIBS)
