# SPDX-License-Identifier: MIT
#
# The suite of rewire: pools and areas, linked with what is inside the library, so that calls of the kernel can fail.

SUITES += rewire
SUITE_rewire = \
        %D%/test_rewire_area \
        %D%/test_rewire_pool \
        %D%/test_rewire_vector
check_PROGRAMS += $(SUITE_rewire)
TESTS += $(SUITE_rewire)

%C%_test_rewire_area_SOURCES = %D%/test_rewire_area.c
%C%_test_rewire_area_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_rewire_pool_SOURCES = %D%/test_rewire_pool.c
%C%_test_rewire_pool_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
%C%_test_rewire_vector_SOURCES = %D%/test_rewire_vector.c
%C%_test_rewire_vector_LDADD = tests/support/libsupport.la $(UNIT_LIBS)
