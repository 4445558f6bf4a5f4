# SPDX-License-Identifier: MIT
#
# The labs build by themselves (labs/grader/lab.mk), against this tree or an installed libxac. Here they are only packed,
# and judged: `make check-labs` grades the skeleton, the solution and a wrong answer of each lab, with LABS='--times 20' all
# of them and the solution so often.

EXTRA_DIST += \
        labs/Makefile \
        labs/README.md \
        labs/grader/access.c \
        labs/grader/access.h \
        labs/grader/attempt.c \
        labs/grader/attempt.h \
        labs/grader/environment.c \
        labs/grader/environment.h \
        labs/grader/grader.c \
        labs/grader/grader.h \
        labs/grader/lab.mk \
        labs/grader/no_hidden.c \
        labs/grader/report.c \
        labs/grader/report.h \
        labs/grader/scratch.c \
        labs/grader/scratch.h \
        labs/grader/steps.c \
        labs/grader/steps.h \
        labs/grader/worker.c \
        labs/grader/worker.h

EXTRA_DIST += \
        labs/race/Makefile \
        labs/race/README.md \
        labs/race/bank.c \
        labs/race/bank.h \
        labs/race/counter.c \
        labs/race/counter.h \
        labs/race/grade.c \
        labs/race/meeting.c \
        labs/race/meeting.h \
        labs/race/show.c \
        labs/race/tellers.c \
        labs/race/tellers.h \
        labs/instructor/race/expected \
        labs/instructor/race/hidden.c \
        labs/instructor/race/solution/bank.c \
        labs/instructor/race/wrong-outside/bank.c \
        labs/instructor/race/wrong-receipt/bank.c \
        labs/instructor/race/wrong-two/bank.c

dist_noinst_SCRIPTS += labs/instructor/check

LABS = --sample
check-labs: libxac.la libxactrees.la libxacheap.la
	@MAKE='$(MAKE)' CC='$(CC)' OUT='$(abs_builddir)/build-labs' SEED="$${XAC_TEST_SEED-}" \
	        XAC_BUILD='$(abs_builddir)' XAC_SOURCE='$(abs_srcdir)' $(SHELL) $(srcdir)/labs/instructor/check $(LABS)

.PHONY: check-labs
