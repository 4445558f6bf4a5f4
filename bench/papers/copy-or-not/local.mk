# SPDX-License-Identifier: MIT
#
# What it costs to send what is in a file (README.md).

PAPER_BENCHMARKS += %D%/copy_or_not
EXTRA_DIST += \
        %D%/plot \
        %D%/send_others.gp \
        %D%/send_ways.gp

# Trees and connections are those of bench/send.
%C%_copy_or_not_SOURCES = \
        %D%/copy_or_not.c \
        %D%/copy_or_not.h \
        %D%/deltas.c \
        %D%/stream.c \
        %D%/stream.h \
        %D%/ways.c \
        bench/send/channel.c \
        bench/send/channel.h \
        bench/send/store.c \
        bench/send/store.h \
        bench/send/veth.c \
        bench/send/veth.h
%C%_copy_or_not_LDADD = bench/libbench.la $(SEND_LIBS)

# Measures what docs/SEND.md shows (seven minutes), and draws it. SEND_ARGS: options of copy_or_not.
SEND_ARGS =
bench-send: bench/send/send$(EXEEXT) %D%/copy_or_not$(EXEEXT)
	%D%/copy_or_not --tsv $(RACE_CSV) $(SEND_ARGS)
	bench/send/send --tsv $(RACE_CSV)
	$(SHELL) $(srcdir)/bench/plot/pictures $(RACE_CSV) $(srcdir)/docs/plots copy-or-not || [ $$? = 77 ]

.PHONY: bench-send
