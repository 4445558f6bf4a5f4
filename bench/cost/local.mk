# SPDX-License-Identifier: MIT
#
# Loops whose instructions are counted (docs/COST.md).

noinst_PROGRAMS += bench/cost/cost
bench_cost_cost_SOURCES = \
        bench/cost/cost.c \
        bench/cost/cost.h \
        bench/cost/cost_heap.c \
        bench/cost/cost_main.c \
        bench/cost/cost_transactions.c \
        bench/cost/cost_trees.c
bench_cost_cost_LDADD = bench/libbench.la libxacheap.la $(TREES_LIBS)

# By xac-cc, where it is built. valgrind may not know what clang writes for debuggers.
EXTRA_DIST += bench/cost/cost_compiled.c
dist_noinst_SCRIPTS += bench/cost/run
if COMPILER
COST_COMPILED = bench/cost/compiled
CLEANFILES += $(COST_COMPILED)
$(COST_COMPILED): bench/cost/cost.c bench/cost/cost.h bench/cost/cost_compiled.c bench/libbench.la $(COMPILER_IN_PLACE)
	@$(MKDIR_P) bench/cost
	$(AM_V_CC)compiler/build-cc -std=gnu11 -O2 -D_GNU_SOURCE -I$(srcdir) -I$(srcdir)/include $(srcdir)/bench/cost/cost.c \
	        $(srcdir)/bench/cost/cost_compiled.c bench/.libs/libbench.a -Wl,--strip-debug -lxac -lpthread -o $@
endif

# The table, compared with that of docs/COST.md; that table with one more column; and one line by function.
COST_RUN = CC='$(CC)' COST_FLAGS='$(XAC_CFLAGS) $(CPPFLAGS) $(CFLAGS)' $(SHELL) $(srcdir)/bench/cost/run
cost: bench/cost/cost $(COST_COMPILED)
	@$(COST_RUN) $(if $(LINE),--profile='$(LINE)') .
cost-save: bench/cost/cost $(COST_COMPILED)
	@$(COST_RUN) --save .
.PHONY: cost cost-save
