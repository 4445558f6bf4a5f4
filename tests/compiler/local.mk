# SPDX-License-Identifier: MIT
#
# The suite of xac-cc: programs that it compiles.

SUITES += compiler
scripts_of_compiler = \
        %D%/test_bank.sh \
        %D%/test_calls.sh \
        %D%/test_containers.sh \
        %D%/test_forms.sh \
        %D%/test_intrinsics.sh \
        %D%/test_lua.sh \
        %D%/test_mixes.sh \
        %D%/test_modes.sh \
        %D%/test_programs.sh \
        %D%/test_says.sh \
        %D%/test_sizes.sh \
        %D%/test_trees.sh
SUITE_compiler = $(scripts_of_compiler)
TESTS += $(SUITE_compiler)
dist_check_SCRIPTS += $(scripts_of_compiler)
EXTRA_DIST += tests/support/remove-env.sh %D%/.clang-tidy %D%/compile.sh %D%/containers.cc %D%/forms.c %D%/forms_addresses.h %D%/forms_intrinsics.h %D%/mixes.c %D%/mixes.h %D%/mixes_other.c %D%/modes.c %D%/modes.h %D%/modes_more.c %D%/modes_work.c %D%/modes_work.cc %D%/no_faults.c %D%/outside.c %D%/generate.c %D%/programs.h %D%/virtuals.cc

# What compiled code calls, called by a test.
if COMPILER
SUITE_compiler += %D%/test_strings
check_PROGRAMS += %D%/test_strings
%C%_test_strings_SOURCES = %D%/test_strings.c
%C%_test_strings_LDADD = compiler/libxacrt.a tests/support/libsupport.la $(CHECK_LIBS)
endif
