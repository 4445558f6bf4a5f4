# SPDX-License-Identifier: MIT
#
# Failures, room that runs out, damage, mapping pressure, and other users. They see inside the
# library: they make system calls fail, and audit the pool afterwards.

# The longest come first, so that nothing waits for them at the end.
FAILURE_TESTS = \
        %D%/every_call \
        %D%/mappings \
        %D%/ceilings \
        %D%/damaged \
        %D%/data_files \
        %D%/full \
        %D%/log_damage \
        %D%/poison \
        %D%/rot \
        %D%/security \
        %D%/small_disk

check_PROGRAMS += $(FAILURE_TESTS)
SUITE_system += $(FAILURE_TESTS)

FAILURE_LIBS = tests/support/libsupport.la $(UNIT_LIBS)
FAILURE_WORLD = %D%/world.c %D%/world.h tests/kill/audit.c tests/kill/audit.h

%C%_ceilings_SOURCES = %D%/ceilings.c %D%/small_pool.h $(FAILURE_WORLD)
%C%_ceilings_LDADD = $(FAILURE_LIBS)

%C%_damaged_SOURCES = %D%/damaged.c %D%/remains.c %D%/remains.h $(FAILURE_WORLD)
%C%_damaged_LDADD = $(FAILURE_LIBS)

%C%_data_files_SOURCES = %D%/data_files.c %D%/remains.c %D%/remains.h $(FAILURE_WORLD)
%C%_data_files_LDADD = $(FAILURE_LIBS)

# Allocations are counted and let fail like system calls.
%C%_every_call_SOURCES = \
        %D%/every_call.c \
        %D%/inject.c \
        %D%/inject.h \
        %D%/scripts.c \
        %D%/scripts.h \
        $(FAILURE_WORLD)
%C%_every_call_LDADD = $(FAILURE_LIBS)
%C%_every_call_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc

%C%_full_SOURCES = %D%/full.c %D%/small_pool.h $(FAILURE_WORLD)
%C%_full_LDADD = $(FAILURE_LIBS)

# A world of its own: it must know the content after each commit.
%C%_log_damage_SOURCES = %D%/log_damage.c %D%/ledger.c %D%/ledger.h
%C%_log_damage_LDADD = $(FAILURE_LIBS)

%C%_mappings_SOURCES = %D%/mappings.c
%C%_mappings_LDADD = $(FAILURE_LIBS)

%C%_poison_SOURCES = %D%/poison.c %D%/inject.c %D%/inject.h $(FAILURE_WORLD)
%C%_poison_LDADD = $(FAILURE_LIBS)
%C%_poison_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc

%C%_small_disk_SOURCES = %D%/small_disk.c
%C%_small_disk_LDADD = $(FAILURE_LIBS)

%C%_rot_SOURCES = %D%/rot.c
%C%_rot_LDADD = $(FAILURE_LIBS)

%C%_security_SOURCES = %D%/security.c $(FAILURE_WORLD)
%C%_security_LDADD = $(FAILURE_LIBS)
