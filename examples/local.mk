# SPDX-License-Identifier: MIT
#
# The examples are compiled and run by `make check` (tools/check-examples); `make demo` runs
# the large one on real input.

EXAMPLE_PROGRAMS = \
        examples/counter \
        examples/bank_processes \
        examples/bank_threads \
        examples/nested \
        examples/two_files \
        examples/wrapped_list \
        examples/declared \
        examples/durable_log

DEMO_PROGRAMS = examples/demo/wordcount

check_PROGRAMS += $(EXAMPLE_PROGRAMS) $(DEMO_PROGRAMS)

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

EXTRA_DIST += \
        examples/expected/counter.txt \
        examples/expected/bank_processes.txt \
        examples/expected/bank_threads.txt \
        examples/expected/nested.txt \
        examples/expected/two_files.txt \
        examples/expected/wrapped_list.txt \
        examples/expected/declared.txt \
        examples/expected/durable_log.txt

examples_demo_wordcount_SOURCES = \
        examples/demo/acks.c \
        examples/demo/acks.h \
        examples/demo/children.c \
        examples/demo/children.h \
        examples/demo/crash.c \
        examples/demo/crash.h \
        examples/demo/index.c \
        examples/demo/index.h \
        examples/demo/jobs.c \
        examples/demo/jobs.h \
        examples/demo/report.c \
        examples/demo/report.h \
        examples/demo/table.c \
        examples/demo/table.h \
        examples/demo/text.c \
        examples/demo/text.h \
        examples/demo/wordcount.c
examples_demo_wordcount_LDADD = $(XAC_LIBS)

dist_check_SCRIPTS += tools/check-examples
dist_noinst_SCRIPTS += tools/demo.sh

demo: $(DEMO_PROGRAMS)
	@$(SHELL) $(srcdir)/tools/demo.sh .

.PHONY: demo
