# SPDX-License-Identifier: MIT
#
# No test fails by chance: each suite LOAD_ROUNDS times, with another seed each time, beside a busy machine (load.c).
#
#      make check-load                             all suites, labs and python, in hours; goes on where it was ended
#      make check-load SUITE='libxac trees'        these
#      make check-load VARIANT=asan                in the build with sanitizers
#
# LOAD_JOBS tests run side by side, as in CI; LOAD_OPTIONS are load's.

check_PROGRAMS += %D%/load
%C%_load_SOURCES = %D%/load.c

dist_noinst_SCRIPTS += tools/check-load
LOAD_ROUNDS = 5
LOAD_JOBS =
LOAD_OPTIONS =
VARIANT =

if SANITIZERS
check-load: check-load-here
else
check-load: $(if $(VARIANT),check-load-$(VARIANT),check-load-here)
endif

check-load-asan: sub-sources
	+$(SUB_BUILD) asan 'check-load SUITE=$(SUITE) LOAD_ROUNDS=$(LOAD_ROUNDS)' --enable-sanitizers=address,undefined \
	        $(SUB_CONFIGURE) CFLAGS='-O1 -g'

check-load-here: all %D%/load
	+MAKE='$(MAKE)' builddir=. LOAD_JOBS='$(LOAD_JOBS)' LOAD_OPTIONS='$(LOAD_OPTIONS)' $(SHELL) $(srcdir)/tools/check-load \
	        '$(LOAD_ROUNDS)' $(or $(SUITE),$(SUITES) labs python)

