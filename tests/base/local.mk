# SPDX-License-Identifier: MIT
#
# The suite of base: one program per module, linked with what is inside the library.

SUITES += base
SUITE_base = \
        %D%/test_byte_lock \
        %D%/test_checksum \
        %D%/test_memory_group \
        %D%/test_say \
        %D%/test_search \
        %D%/test_shlock \
        %D%/test_sys \
        %D%/test_sys_hook \
        %D%/test_vector
check_PROGRAMS += $(SUITE_base)
TESTS += $(SUITE_base)

UNIT_DIRECTORY = tests/base/directory.h tests/base/scratch.h

%C%_test_byte_lock_SOURCES = %D%/test_byte_lock.c
%C%_test_byte_lock_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_checksum_SOURCES = %D%/test_checksum.c %D%/scratch.h
%C%_test_checksum_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_memory_group_SOURCES = %D%/test_memory_group.c %D%/scratch.h
%C%_test_memory_group_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_say_SOURCES = %D%/test_say.c %D%/scratch.h
%C%_test_say_LDADD = $(UNIT_LIBS)
%C%_test_search_SOURCES = %D%/test_search.c %D%/scratch.h
%C%_test_search_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_shlock_SOURCES = %D%/test_shlock.c %D%/patient_futex.h %D%/scratch.h
%C%_test_shlock_LDADD = $(UNIT_LIBS)
%C%_test_shlock_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=sys_futex_wait
%C%_test_sys_SOURCES = %D%/test_sys.c %D%/sys_stand.h $(UNIT_DIRECTORY)
%C%_test_sys_LDADD = $(UNIT_LIBS)
%C%_test_sys_hook_SOURCES = %D%/test_sys_hook.c %D%/sys_stand.h $(UNIT_DIRECTORY)
%C%_test_sys_hook_LDADD = $(UNIT_LIBS)
%C%_test_vector_SOURCES = %D%/test_vector.c %D%/scratch.h
%C%_test_vector_LDADD = $(UNIT_LIBS)
