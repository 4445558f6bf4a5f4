# SPDX-License-Identifier: MIT
#
# The program xac. It looks at environments from below, and so is linked to what is inside the library.

bin_PROGRAMS += %D%/xac

# Reads traces and tells what is in them; tests do, too.
TRACE_READER = \
        %D%/histogram.c \
        %D%/histogram.h \
        %D%/json.c \
        %D%/json.h \
        %D%/text.c \
        %D%/text.h \
        %D%/trace_cursor.c \
        %D%/trace_cursor.h \
        %D%/trace_data.c \
        %D%/trace_data.h \
        %D%/trace_file.c \
        %D%/trace_file.h \
        %D%/trace_heap.c \
        %D%/trace_heap.h \
        %D%/trace_json.c \
        %D%/trace_list.c \
        %D%/trace_list.h \
        %D%/trace_perfetto.c \
        %D%/trace_ranges.c \
        %D%/trace_ranges.h \
        %D%/trace_rare.c \
        %D%/trace_rare.h \
        %D%/trace_report.c \
        %D%/trace_report.h \
        %D%/trace_sum.c \
        %D%/trace_sum.h \
        %D%/trace_winner.c \
        %D%/trace_winner.h \
        %D%/trace_words.c \
        %D%/trace_words.h

%C%_xac_SOURCES = \
        %D%/address.c \
        %D%/address.h \
        %D%/backup.c \
        %D%/archive.c \
        %D%/archive_check.c \
        %D%/archive_check.h \
        %D%/archive_list.c \
        %D%/archive_list.h \
        %D%/calibration.c \
        %D%/calibration.h \
        %D%/check.c \
        %D%/check_files.c \
        %D%/check_files.h \
        %D%/clean.c \
        %D%/compact.c \
        %D%/get.c \
        %D%/get_list.c \
        %D%/get_list.h \
        %D%/get_pages.c \
        %D%/get_pages.h \
        %D%/heap.c \
        %D%/hot_pages.c \
        %D%/hot_pages.h \
        %D%/interrupt.c \
        %D%/interrupt.h \
        %D%/listen.c \
        %D%/listen.h \
        %D%/live.c \
        %D%/live.h \
        %D%/log.c \
        %D%/log_entry.c \
        %D%/log_entry.h \
        %D%/machine.c \
        %D%/machine.h \
        %D%/main.c \
        %D%/maps.c \
        %D%/maps.h \
        %D%/memory.c \
        %D%/memory.h \
        %D%/meter.c \
        %D%/meter.h \
        %D%/opening.c \
        %D%/opening.h \
        %D%/moment.c \
        %D%/moment.h \
        %D%/owner.c \
        %D%/owner.h \
        %D%/peer.c \
        %D%/peer.h \
        %D%/place.c \
        %D%/place.h \
        %D%/process.c \
        %D%/process.h \
        %D%/recover.c \
        %D%/remains.c \
        %D%/remains.h \
        %D%/restore.c \
        %D%/restore_until.c \
        %D%/restore_until.h \
        %D%/repair.c \
        %D%/repair_double_write.c \
        %D%/repair_double_write.h \
        %D%/repair_file.c \
        %D%/repair_file.h \
        %D%/repair_line.c \
        %D%/repair_line.h \
        %D%/repair_source.c \
        %D%/repair_source.h \
        %D%/sampler.c \
        %D%/sampler.h \
        %D%/screen.c \
        %D%/screen.h \
        %D%/scrub.c \
        %D%/send.c \
        %D%/serve.c \
        %D%/serve_client.c \
        %D%/serve_client.h \
        %D%/serve_files.c \
        %D%/serve_files.h \
        %D%/serve_list.c \
        %D%/serve_list.h \
        %D%/serve_moments.c \
        %D%/serve_moments.h \
        %D%/stat.c \
        %D%/stat_json.c \
        %D%/stat_json.h \
        %D%/live_json.c \
        %D%/live_json.h \
        %D%/check_json.c \
        %D%/check_json.h \
        %D%/stat_backup.c \
        %D%/stat_backup.h \
        %D%/tool.c \
        %D%/tool.h \
        %D%/top.c \
        %D%/top_report.c \
        %D%/top_report.h \
        %D%/trace.c \
        %D%/trace_heap_find.c \
        %D%/trace_heap_find.h \
        %D%/trace_html.c \
        %D%/trace_html.h \
        %D%/trace_page.h \
        %D%/trace_part.c \
        %D%/trace_part.h \
        $(TRACE_READER)
nodist_%C%_xac_SOURCES = %D%/trace_page.c
%C%_xac_LDADD = libxacsend-core.la libxactrees-core.la libxacheap-core.la libxac-core.la $(FAULT_LIBS) -lpthread

# The page of `xac trace --html`, as an array.
EXTRA_DIST += %D%/embed-page %D%/trace_page.html %D%/trace_page.css %D%/trace_page.js
CLEANFILES += %D%/trace_page.c
%D%/trace_page.c: %D%/embed-page %D%/trace_page.html %D%/trace_page.css %D%/trace_page.js
	$(AM_V_GEN)$(MKDIR_P) %D% && $(SHELL) $(srcdir)/%D%/embed-page $(srcdir)/%D%/trace_page.html >$@.tmp && mv $@.tmp $@

dist_man1_MANS += docs/man/xac.1
