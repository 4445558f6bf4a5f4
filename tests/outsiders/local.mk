# SPDX-License-Identifier: MIT
#
# Programs that nobody here wrote, all their memory on the heap, by their own tests: OUTSIDERS_NAMES, or all of them. They
# are fetched from Debian, and compiled, so that this is no part of `make check`.

OUTSIDERS_NAMES =
check-outsiders: $(COMPILER_IN_PLACE) libxac.la libxacheap.la tests/support/libsupport.la
	builddir=. $(SHELL) $(srcdir)/%D%/check.sh $(OUTSIDERS_NAMES) || [ $$? -eq 77 ]
dist_check_SCRIPTS += %D%/check.sh
EXTRA_DIST += %D%/calls.c %D%/faults.c %D%/fetch %D%/memory.c %D%/outsider.h %D%/redis_tests.c \
        %D%/bwa.sh %D%/jansson.sh %D%/lz4.sh %D%/quickjs.sh %D%/redis.sh %D%/sqlite.sh %D%/sqlite_bank.c \
        %D%/yyjson.sh %D%/zlib.sh %D%/zstd.sh
