# SPDX-License-Identifier: MIT
#
# The examples are compiled and run by `make check` (tools/check-examples); `make demo` runs
# the large one on real input, `make lua-demo` an interpreter that nobody here wrote.

EXAMPLE_PROGRAMS = \
        examples/counter \
        examples/bank_processes \
        examples/bank_threads \
        examples/nested \
        examples/two_files \
        examples/wrapped_list \
        examples/declared \
        examples/durable_log \
        examples/queue \
        examples/dictionary \
        examples/guest_book \
        examples/tally \
        examples/task_queue \
        examples/words

DEMO_PROGRAMS = examples/demo/wordcount examples/demo/identifiers

check_PROGRAMS += $(EXAMPLE_PROGRAMS) $(DEMO_PROGRAMS)

# To be read beside the documents.
examplesdir = $(docdir)/examples
examples_DATA = $(EXAMPLE_PROGRAMS:%=%.c) examples/words.h examples/phone_book.cc
# Compiled by tools/check-examples, if there is a compiler for C++.
EXTRA_DIST += examples/phone_book.cc examples/expected/phone_book.txt

examples_counter_SOURCES = examples/counter.c
examples_counter_LDADD = $(XAC_LIBS)
examples_bank_processes_SOURCES = examples/bank_processes.c
examples_bank_processes_LDADD = $(XAC_LIBS)
examples_bank_threads_SOURCES = examples/bank_threads.c
examples_bank_threads_LDADD = $(XAC_LIBS)
examples_nested_SOURCES = examples/nested.c
examples_nested_LDADD = $(XAC_LIBS)
examples_two_files_SOURCES = examples/two_files.c
examples_two_files_LDADD = $(XAC_LIBS)
examples_wrapped_list_SOURCES = examples/wrapped_list.c
examples_wrapped_list_LDADD = $(XAC_LIBS)
examples_declared_SOURCES = examples/declared.c
examples_declared_LDADD = $(XAC_LIBS)
examples_durable_log_SOURCES = examples/durable_log.c
examples_durable_log_LDADD = $(XAC_LIBS)
examples_queue_SOURCES = examples/queue.c
examples_queue_LDADD = $(XAC_LIBS)
examples_dictionary_SOURCES = examples/dictionary.c
examples_dictionary_LDADD = $(TREES_LIBS)
examples_guest_book_SOURCES = examples/guest_book.c
examples_guest_book_LDADD = $(HEAP_LIBS)

examples_tally_SOURCES = examples/tally.c
examples_tally_LDADD = $(XAC_LIBS)
examples_task_queue_SOURCES = examples/task_queue.c
examples_task_queue_LDADD = $(XAC_LIBS)
examples_words_SOURCES = examples/words.c examples/words.h
examples_words_LDADD = $(XAC_LIBS)

EXTRA_DIST += \
        examples/expected/counter.txt \
        examples/expected/bank_processes.txt \
        examples/expected/guest_book.txt \
        examples/expected/bank_threads.txt \
        examples/expected/nested.txt \
        examples/expected/two_files.txt \
        examples/expected/wrapped_list.txt \
        examples/expected/declared.txt \
        examples/expected/durable_log.txt \
        examples/expected/queue.txt \
        examples/expected/dictionary.txt \
        examples/expected/tally.txt \
        examples/expected/task_queue.txt \
        examples/expected/words.txt

# What the demos have in common: the play, its processes, the crash, and what is shown.
DEMO_COMMON = \
        examples/demo/acks.c \
        examples/demo/acks.h \
        examples/demo/children.c \
        examples/demo/children.h \
        examples/demo/crash.c \
        examples/demo/crash.h \
        examples/demo/play.c \
        examples/demo/play.h \
        examples/demo/show.c \
        examples/demo/show.h \
        examples/demo/text.c \
        examples/demo/text.h

examples_demo_wordcount_SOURCES = $(DEMO_COMMON) \
        examples/demo/index.c \
        examples/demo/index.h \
        examples/demo/index_check.c \
        examples/demo/index_check.h \
        examples/demo/jobs.c \
        examples/demo/jobs.h \
        examples/demo/report.c \
        examples/demo/report.h \
        examples/demo/table.c \
        examples/demo/table.h \
        examples/demo/wordcount.c
examples_demo_wordcount_LDADD = $(XAC_LIBS)

examples_demo_identifiers_SOURCES = $(DEMO_COMMON) \
        examples/demo/identifiers.c \
        examples/demo/lexicon.c \
        examples/demo/lexicon.h \
        examples/demo/lexicon_check.c \
        examples/demo/lexicon_check.h \
        examples/demo/lexicon_jobs.c \
        examples/demo/lexicon_jobs.h \
        examples/demo/lexicon_report.c \
        examples/demo/lexicon_report.h \
        examples/demo/steps.c \
        examples/demo/steps.h
examples_demo_identifiers_LDADD = $(TREES_LIBS)

dist_check_SCRIPTS += tools/check-examples
dist_noinst_SCRIPTS += tools/demo.sh

demo: $(DEMO_PROGRAMS) examples/words $(COMPILER_IN_PLACE)
	@TMPDIR="$${TMPDIR:-/var/tmp}" $(TEST_RUN) $(SHELL) $(srcdir)/tools/demo.sh .

# Lua's interpreter in a heap in a file. It is not ours: examples/lua/package and examples/lua/source find it.
dist_noinst_SCRIPTS += examples/lua/build examples/lua/demo examples/lua/measure examples/lua/package examples/lua/source
EXTRA_DIST += \
        examples/lua/build_id.c \
        examples/lua/build_id.h \
        examples/lua/calls.c \
        examples/lua/heap.c \
        examples/lua/heap.h \
        examples/lua/interpreter.c \
        examples/lua/interpreter.h \
        examples/lua/words.c \
        examples/lua/words.lua

# Libraries that nobody here wrote, on the heap; compiled by tests/programs, if they are there.
dist_noinst_SCRIPTS += examples/cjson/source
EXTRA_DIST += \
        examples/cjson/inventory.c \
        examples/support/workers.c \
        examples/support/workers.h \
        examples/uthash/accounts.c

lua-demo: libxac.la libxacheap.la $(COMPILER_IN_PLACE)
	@CC='$(CC)' $(TEST_RUN) $(SHELL) $(srcdir)/examples/lua/demo .

# Boost's containers in a heap, and a program for Boost.Interprocess before and after: compiled by tests/programs/test_boost.sh.
EXTRA_DIST += \
        examples/boost/containers.cc \
        examples/boost/containers.txt \
        examples/boost/managed_file.cc \
        examples/boost/managed_file.txt \
        examples/boost/mapped_file.cc

.PHONY: demo lua-demo
