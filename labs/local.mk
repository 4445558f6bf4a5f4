# SPDX-License-Identifier: MIT
#
# The labs build by themselves (labs/grader/lab.mk), against this tree or an installed libxac. Here they are only packed,
# and judged: `make check-labs` grades the skeleton, the solution and a wrong answer of each lab, with LABS_OPTIONS=--times=20 all of
# them and the solution so often.

EXTRA_DIST += \
        labs/Makefile \
        labs/README.md \
        labs/grader/access.c \
        labs/grader/access.h \
        labs/grader/attempt.c \
        labs/grader/attempt.h \
        labs/grader/calls.c \
        labs/grader/calls.h \
        labs/grader/confine.c \
        labs/grader/confine.h \
        labs/grader/confine_main.c \
        labs/grader/environment.c \
        labs/grader/environment.h \
        labs/grader/grader.c \
        labs/grader/grader.h \
        labs/grader/host.c \
        labs/grader/host.h \
        labs/grader/host_here.c \
        labs/grader/host_start.h \
        labs/grader/lab.mk \
        labs/grader/memory.c \
        labs/grader/memory.h \
        labs/grader/no_hidden.c \
        labs/grader/random.c \
        labs/grader/random.h \
        labs/grader/report.c \
        labs/grader/report.h \
        labs/grader/scratch.c \
        labs/grader/scoreboard.py \
        labs/grader/scratch.h \
        labs/grader/serve.c \
        labs/grader/steps.c \
        labs/grader/steps.h \
        labs/grader/stops.c \
        labs/grader/stops.h \
        labs/grader/worker.c \
        labs/grader/variant.py \
        labs/grader/worker.h

EXTRA_DIST += \
        labs/race/Makefile \
        labs/race/README.md \
        labs/race/acts.c \
        labs/race/acts.h \
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
        labs/race/variant.h \
        labs/instructor/race/constants \
        labs/instructor/race/answers.md \
        labs/instructor/race/expected \
        labs/instructor/race/hidden.c \
        labs/instructor/race/solution/bank.c \
        labs/instructor/race/wrong-bare.patch \
        labs/instructor/race/wrong-behind.patch \
        labs/instructor/race/wrong-forked.patch \
        labs/instructor/race/wrong-helper.patch \
        labs/instructor/race/wrong-lock.patch \
        labs/instructor/race/wrong-numbers.patch \
        labs/instructor/race/wrong-onelook.patch \
        labs/instructor/race/wrong-outside.patch \
        labs/instructor/race/wrong-reads.patch \
        labs/instructor/race/wrong-receipt.patch \
        labs/instructor/race/wrong-stubborn.patch \
        labs/instructor/race/wrong-two.patch

EXTRA_DIST += \
        labs/isolation/Makefile \
        labs/isolation/README.md \
        labs/isolation/acts.c \
        labs/isolation/acts.h \
        labs/isolation/checker.c \
        labs/isolation/crowd.c \
        labs/isolation/crowd.h \
        labs/isolation/duty.c \
        labs/isolation/grade.c \
        labs/isolation/graph.c \
        labs/isolation/histories.c \
        labs/isolation/histories.h \
        labs/isolation/history.h \
        labs/isolation/judge.c \
        labs/isolation/judge.h \
        labs/isolation/meeting.c \
        labs/isolation/meeting.h \
        labs/isolation/recorder.h \
        labs/isolation/replay.c \
        labs/isolation/replay.h \
        labs/isolation/show.c \
        labs/isolation/ward.c \
        labs/isolation/ward.h \
        labs/instructor/isolation/answers.md \
        labs/instructor/isolation/expected \
        labs/instructor/isolation/hidden.c \
        labs/instructor/isolation/mutants \
        labs/instructor/isolation/solution/checker.c \
        labs/instructor/isolation/solution/duty.c \
        labs/instructor/isolation/wrong-all.patch \
        labs/instructor/isolation/wrong-common.patch \
        labs/instructor/isolation/wrong-first.patch \
        labs/instructor/isolation/wrong-hidden.patch \
        labs/instructor/isolation/wrong-looksaway.patch \
        labs/instructor/isolation/wrong-neighbour.patch \
        labs/instructor/isolation/wrong-pairs.patch \
        labs/instructor/isolation/wrong-quiet.patch \
        labs/instructor/isolation/wrong-unseen.patch \
        labs/instructor/isolation/wrong-wr.patch

EXTRA_DIST += \
        labs/queue/Makefile \
        labs/queue/README.md \
        labs/queue/acts.c \
        labs/queue/acts.h \
        labs/queue/deaths.c \
        labs/queue/deaths.h \
        labs/queue/grade.c \
        labs/queue/office.c \
        labs/queue/office.h \
        labs/queue/queue.c \
        labs/queue/queue.h \
        labs/queue/show.c \
        labs/queue/variant.h \
        labs/instructor/queue/constants \
        labs/queue/waiting.c \
        labs/queue/waiting.h \
        labs/instructor/queue/answers.md \
        labs/instructor/queue/expected \
        labs/instructor/queue/hidden.c \
        labs/instructor/queue/mutants \
        labs/instructor/queue/solution/queue.c \
        labs/instructor/queue/wrong-again.patch \
        labs/instructor/queue/wrong-child.patch \
        labs/instructor/queue/wrong-forever.patch \
        labs/instructor/queue/wrong-last.patch \
        labs/instructor/queue/wrong-limit.patch \
        labs/instructor/queue/wrong-memory.patch \
        labs/instructor/queue/wrong-naps.patch \
        labs/instructor/queue/wrong-oracle.patch \
        labs/instructor/queue/wrong-pid.patch \
        labs/instructor/queue/wrong-polling.patch \
        labs/instructor/queue/wrong-reads.patch \
        labs/instructor/queue/wrong-thread.patch \
        labs/instructor/queue/wrong-timed.patch \
        labs/instructor/queue/wrong-two.patch

EXTRA_DIST += \
        labs/versions/Makefile \
        labs/versions/README.md \
        labs/versions/acts.c \
        labs/versions/acts.h \
        labs/versions/grade.c \
        labs/versions/meeting.c \
        labs/versions/meeting.h \
        labs/versions/model.c \
        labs/versions/model.h \
        labs/versions/readers.c \
        labs/versions/readers.h \
        labs/versions/show.c \
        labs/versions/store.c \
        labs/versions/store.h \
        labs/versions/versions.c \
        labs/instructor/versions/answers.md \
        labs/instructor/versions/expected \
        labs/instructor/versions/hidden.c \
        labs/instructor/versions/solution/versions.c \
        labs/instructor/versions/wrong-calls.patch \
        labs/instructor/versions/wrong-copy.patch \
        labs/instructor/versions/wrong-deaf.patch \
        labs/instructor/versions/wrong-flags.patch \
        labs/instructor/versions/wrong-forward.patch \
        labs/instructor/versions/wrong-goes.patch \
        labs/instructor/versions/wrong-held.patch \
        labs/instructor/versions/wrong-memcpy.patch \
        labs/instructor/versions/wrong-oldest.patch \
        labs/instructor/versions/wrong-once.patch \
        labs/instructor/versions/wrong-reads.patch \
        labs/instructor/versions/wrong-signal.patch \
        labs/instructor/versions/wrong-spin.patch \
        labs/instructor/versions/wrong-told.patch \
        labs/instructor/versions/wrong-twice.patch \
        labs/instructor/versions/wrong-waits.patch \
        labs/instructor/versions/wrong-walk.patch

EXTRA_DIST += \
        labs/recovery/Makefile \
        labs/recovery/README.md \
        labs/recovery/acts.c \
        labs/recovery/acts.h \
        labs/recovery/answer.c \
        labs/recovery/disk.c \
        labs/recovery/disk.h \
        labs/recovery/engine.c \
        labs/recovery/engine.h \
        labs/recovery/grade.c \
        labs/recovery/images.c \
        labs/recovery/images.h \
        labs/recovery/log.c \
        labs/recovery/log.h \
        labs/recovery/recovery.c \
        labs/recovery/show.c \
        labs/recovery/story.c \
        labs/recovery/story.h \
        labs/recovery/tell.c \
        labs/recovery/tell.h \
        labs/instructor/recovery/answers.md \
        labs/instructor/recovery/expected \
        labs/instructor/recovery/hidden.c \
        labs/instructor/recovery/mutants \
        labs/instructor/recovery/solution/recovery.c \
        labs/instructor/recovery/wrong-away.patch \
        labs/instructor/recovery/wrong-checksum.patch \
        labs/instructor/recovery/wrong-flood.patch \
        labs/instructor/recovery/wrong-incarnation.patch \
        labs/instructor/recovery/wrong-kept.patch \
        labs/instructor/recovery/wrong-looks.patch \
        labs/instructor/recovery/wrong-locks.patch \
        labs/instructor/recovery/wrong-order.patch \
        labs/instructor/recovery/wrong-predict.patch \
        labs/instructor/recovery/wrong-remembers.patch \
        labs/instructor/recovery/wrong-twice.patch

EXTRA_DIST += \
        labs/structure/Makefile \
        labs/structure/README.md \
        labs/structure/acts.c \
        labs/structure/acts.h \
        labs/structure/changes.c \
        labs/structure/changes.h \
        labs/structure/grade.c \
        labs/structure/measure.c \
        labs/structure/measure.h \
        labs/structure/model.c \
        labs/structure/model.h \
        labs/structure/pairs.c \
        labs/structure/pairs.h \
        labs/structure/rivals.c \
        labs/structure/rivals.h \
        labs/structure/serial.c \
        labs/structure/serial.h \
        labs/structure/show.c \
        labs/structure/table.c \
        labs/structure/table.h \
        labs/structure/variant.h \
        labs/instructor/structure/constants \
        labs/instructor/structure/answers.md \
        labs/instructor/structure/expected \
        labs/instructor/structure/hidden.c \
        labs/instructor/structure/mutants \
        labs/instructor/structure/solution/table.c \
        labs/instructor/structure/wrong-asked.patch \
        labs/instructor/structure/wrong-beside.patch \
        labs/instructor/structure/wrong-counter.patch \
        labs/instructor/structure/wrong-early.patch \
        labs/instructor/structure/wrong-full.patch \
        labs/instructor/structure/wrong-lazy.patch \
        labs/instructor/structure/wrong-nodes.patch \
        labs/instructor/structure/wrong-outside.patch \
        labs/instructor/structure/wrong-parts.patch \
        labs/instructor/structure/wrong-scan.patch \
        labs/instructor/structure/wrong-unseen.patch \
        labs/instructor/structure/wrong-wide.patch

EXTRA_DIST += \
        labs/instructor/forged/calls.c.in \
        labs/instructor/forged/compiler.c.in \
        labs/instructor/forged/constructor.c.in \
        labs/instructor/forged/daemon.c.in \
        labs/instructor/forged/files.c.in \
        labs/instructor/forged/functions.c.in \
        labs/instructor/forged/incbin.c.in \
        labs/instructor/forged/include.c.in \
        labs/instructor/forged/include_name.c.in \
        labs/instructor/forged/judge.c.in \
        labs/instructor/forged/library.c.in \
        labs/instructor/forged/line.c.in \
        labs/instructor/forged/memory.c.in \
        labs/instructor/forged/signals.c.in

EXTRA_DIST += labs/classroom/race.yml labs/instructor/gradescope/Containerfile

dist_noinst_SCRIPTS += labs/grader/judge labs/grader/quote labs/gradeall labs/instructor/check labs/instructor/handout labs/instructor/mutants labs/instructor/wrong \
        labs/instructor/gradescope/grade_class labs/instructor/gradescope/pack labs/instructor/gradescope/run_autograder \
        labs/instructor/gradescope/setup.sh labs/instructor/classroom labs/classroom/install_libxac labs/classroom/test \
        labs/classroom/workflow

LABS_OPTIONS = --sample
check-labs: libxac.la libxactrees.la libxacheap.la $(SWEEP)
	@MAKE='$(MAKE)' CC='$(CC)' OUT='$(abs_builddir)/build-labs' SEED="$${XAC_TEST_SEED-}" \
	        XAC_BUILD='$(abs_builddir)' XAC_SOURCE='$(abs_srcdir)' $(TEST_RUN) $(SHELL) $(srcdir)/labs/instructor/check $(LABS_OPTIONS)

# Each mutant of each solution, two at a time: an hour. MUTANTS_OPTIONS=--sample=0/10: the first of each ten.
MUTANTS_OPTIONS = --jobs=2
check-mutants: libxac.la libxactrees.la libxacheap.la $(SWEEP)
	@MAKE='$(MAKE)' CC='$(CC)' OUT='$(abs_builddir)/build-labs' SEED="$${XAC_TEST_SEED-}" XAC_BUILD='$(abs_builddir)' \
	        XAC_SOURCE='$(abs_srcdir)' $(TEST_RUN) $(srcdir)/labs/instructor/mutants $(MUTANTS_OPTIONS)

# What Gradescope takes as an autograder, and what a container is built from: `make gradescope LAB=race` makes race-gradescope.zip.
# VARIANTS=--variants: each student has other constants.
LAB = race
VARIANTS =
gradescope: dist-gzip
	$(srcdir)/labs/instructor/gradescope/pack $(VARIANTS) $(LAB) $(distdir).tar.gz $(LAB)-gradescope.zip

# The folder race-classroom, which is pushed as a template for GitHub Classroom.
classroom: dist-gzip
	sh $(srcdir)/labs/instructor/classroom $(LAB) $(distdir).tar.gz $(LAB)-classroom

.PHONY: check-labs check-mutants classroom gradescope
