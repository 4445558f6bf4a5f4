# SPDX-License-Identifier: MIT
#
# Fuzz targets. `make check` builds each as a plain program that runs its corpus and some mutations of it;
# `make check-fuzz` builds them with clang and libFuzzer and runs each FUZZ_RUNS times.

FUZZ_TARGETS = \
        %D%/fuzz_archive \
        %D%/fuzz_double_write \
        %D%/fuzz_backup \
        %D%/fuzz_bpnode \
        %D%/fuzz_bptree \
        %D%/fuzz_cobtree \
        %D%/fuzz_diff \
        %D%/fuzz_ehash \
        %D%/fuzz_get \
        %D%/fuzz_heap \
        %D%/fuzz_log_reader \
        %D%/fuzz_manifest \
        %D%/fuzz_range \
        %D%/fuzz_request \
        %D%/fuzz_replay \
        %D%/fuzz_rings \
        %D%/fuzz_sender \
        %D%/fuzz_checksums \
        %D%/fuzz_tar \
        %D%/fuzz_trace

# What makes the seeds anew (make_corpus.sh) is no test, but must go on compiling.
check_PROGRAMS += $(FUZZ_TARGETS) %D%/make_corpus
SUITE_system += $(FUZZ_TARGETS)

FUZZ_COMMON = %D%/fuzz.c %D%/fuzz.h %D%/fuzz_main.c %D%/model.c %D%/model.h
FUZZ_LIBS = tests/support/libsupport.la $(UNIT_LIBS)

%C%_fuzz_archive_SOURCES = %D%/fuzz_archive.c $(FUZZ_COMMON)
%C%_fuzz_archive_LDADD = $(FUZZ_LIBS)

%C%_fuzz_double_write_SOURCES = %D%/fuzz_double_write.c $(FUZZ_COMMON)
%C%_fuzz_double_write_LDADD = $(FUZZ_LIBS)

%C%_fuzz_backup_SOURCES = %D%/fuzz_backup.c $(FUZZ_COMMON)
%C%_fuzz_backup_LDADD = $(FUZZ_LIBS)

%C%_fuzz_bpnode_SOURCES = %D%/fuzz_bpnode.c $(TREES_SORTED) $(TREES_EITHER) $(FUZZ_COMMON)
%C%_fuzz_bpnode_LDADD = tests/support/libsupport.la libxactrees-core.la $(UNIT_LIBS)

FUZZ_STAGE = %D%/stage.c %D%/stage.h $(TREES_SORTED) $(TREES_EITHER) $(FUZZ_COMMON)
FUZZ_TREE = %D%/fuzz_tree.c %D%/fuzz_tree.h $(FUZZ_STAGE)

%C%_fuzz_bptree_SOURCES = %D%/fuzz_bptree.c $(FUZZ_TREE)
%C%_fuzz_bptree_LDADD = tests/support/libsupport.la libxactrees-core.la $(UNIT_LIBS)

%C%_fuzz_cobtree_SOURCES = %D%/fuzz_cobtree.c $(FUZZ_TREE)
%C%_fuzz_cobtree_LDADD = tests/support/libsupport.la libxactrees-core.la $(UNIT_LIBS)

%C%_fuzz_diff_SOURCES = %D%/fuzz_diff.c $(FUZZ_COMMON)
%C%_fuzz_diff_LDADD = $(FUZZ_LIBS)

%C%_fuzz_ehash_SOURCES = %D%/fuzz_ehash.c $(FUZZ_STAGE)
%C%_fuzz_ehash_LDADD = tests/support/libsupport.la libxactrees-core.la $(UNIT_LIBS)

%C%_fuzz_get_SOURCES = %D%/fuzz_get.c tools/xac/address.c tools/xac/get_list.c tools/xac/get_pages.c tools/xac/peer.c \
        tools/xac/tool.c $(FUZZ_COMMON)
%C%_fuzz_get_LDADD = tests/support/libsupport.la libxacsend-core.la libxactrees-core.la $(UNIT_LIBS)
%C%_fuzz_heap_SOURCES = %D%/fuzz_heap.c $(FUZZ_COMMON)
%C%_fuzz_heap_LDADD = tests/support/libsupport.la libxacheap-core.la $(UNIT_LIBS)

%C%_fuzz_log_reader_SOURCES = %D%/fuzz_log_reader.c %D%/log_image.c %D%/log_image.h $(FUZZ_COMMON)
%C%_fuzz_log_reader_LDADD = $(FUZZ_LIBS)

%C%_fuzz_manifest_SOURCES = %D%/fuzz_manifest.c $(FUZZ_COMMON)
%C%_fuzz_manifest_LDADD = $(FUZZ_LIBS)

%C%_fuzz_request_SOURCES = %D%/fuzz_request.c $(FUZZ_COMMON)
%C%_fuzz_request_LDADD = tests/support/libsupport.la libxacsend-core.la libxactrees-core.la $(UNIT_LIBS)
%C%_fuzz_range_SOURCES = %D%/fuzz_range.c tests/send/stream.c tests/send/stream.h $(FUZZ_COMMON)
%C%_fuzz_range_LDADD = tests/support/libsupport.la libxacsend-core.la libxactrees-core.la $(UNIT_LIBS)

%C%_fuzz_replay_SOURCES = %D%/fuzz_replay.c $(FUZZ_COMMON)
%C%_fuzz_replay_LDADD = $(FUZZ_LIBS)

%C%_fuzz_rings_SOURCES = %D%/fuzz_rings.c $(FUZZ_COMMON)
%C%_fuzz_rings_LDADD = $(FUZZ_LIBS)

%C%_fuzz_sender_SOURCES = %D%/fuzz_sender.c $(FUZZ_COMMON)
%C%_fuzz_sender_LDADD = tests/support/libsupport.la libxacsend-core.la libxactrees-core.la $(UNIT_LIBS)

%C%_fuzz_checksums_SOURCES = %D%/fuzz_checksums.c $(FUZZ_COMMON)
%C%_fuzz_checksums_LDADD = $(FUZZ_LIBS)

%C%_fuzz_tar_SOURCES = %D%/fuzz_tar.c $(FUZZ_COMMON)
%C%_fuzz_tar_LDADD = $(FUZZ_LIBS)

%C%_fuzz_trace_SOURCES = %D%/fuzz_trace.c $(TRACE_TESTED) $(FUZZ_COMMON)
%C%_fuzz_trace_LDADD = $(FUZZ_LIBS)

%C%_make_corpus_SOURCES = %D%/make_corpus.c $(SENT_MODEL)
%C%_make_corpus_LDADD = tests/support/libsupport.la libxactrees-core.la $(UNIT_LIBS)

dist_check_SCRIPTS += %D%/run.sh %D%/make_corpus.sh
EXTRA_DIST += %D%/corpus

FUZZ_RUNS = 1000000
check-fuzz: $(SWEEP)
	srcdir='$(srcdir)' FUZZ_RUNS='$(FUZZ_RUNS)' $(TEST_RUN) $(SHELL) $(srcdir)/%D%/run.sh
