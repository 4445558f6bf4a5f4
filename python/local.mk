# SPDX-License-Identifier: MIT
#
# The package for Python: nothing of it is compiled here, or installed by `make install`. `pip install ./python` installs
# it, with what it compiles of accelerated/, and `make check-python` does so in an environment of its own, and runs its
# tests. The programs are those of its example.

noinst_PROGRAMS += %D%/examples/orders_writer %D%/examples/orders_sum
python_examples_orders_writer_SOURCES = %D%/examples/orders_writer.c %D%/examples/orders.h
python_examples_orders_writer_LDADD = $(XAC_LIBS)
python_examples_orders_sum_SOURCES = %D%/examples/orders_sum.c %D%/examples/orders.h
python_examples_orders_sum_LDADD = $(XAC_LIBS)

dist_noinst_SCRIPTS += tools/check-python
EXTRA_DIST += \
        %D%/README.md \
        %D%/pyproject.toml \
        %D%/setup.py \
        %D%/bench/costs.py \
        %D%/examples/live_orders.py \
        %D%/examples/live_orders.png \
        %D%/accelerated/accesses.c \
        %D%/accelerated/accesses.h \
        %D%/accelerated/calls.c \
        %D%/accelerated/calls.h \
        %D%/accelerated/elements.c \
        %D%/accelerated/elements.h \
        %D%/accelerated/handle.c \
        %D%/accelerated/handle.h \
        %D%/accelerated/levels.c \
        %D%/accelerated/levels.h \
        %D%/accelerated/library.c \
        %D%/accelerated/library.h \
        %D%/accelerated/module.c \
        %D%/accelerated/numbers.c \
        %D%/accelerated/numbers.h \
        %D%/accelerated/task.c \
        %D%/accelerated/task.h \
        %D%/accelerated/transaction.c \
        %D%/accelerated/transaction.h \
        %D%/libxac/__init__.py \
        %D%/libxac/_heap_library.py \
        %D%/libxac/_library.py \
        %D%/libxac/_send_library.py \
        %D%/libxac/_trees_library.py \
        %D%/libxac/accesses.py \
        %D%/libxac/arguments.py \
        %D%/libxac/arrow.py \
        %D%/libxac/catalog.py \
        %D%/libxac/columns.py \
        %D%/libxac/constants.py \
        %D%/libxac/ending.py \
        %D%/libxac/environment.py \
        %D%/libxac/errors.py \
        %D%/libxac/figures.py \
        %D%/libxac/heap.py \
        %D%/libxac/memory.py \
        %D%/libxac/parts.py \
        %D%/libxac/py.typed \
        %D%/libxac/range.py \
        %D%/libxac/records.py \
        %D%/libxac/snapshot.py \
        %D%/libxac/table.py \
        %D%/libxac/transaction.py \
        %D%/libxac/tree_parts.py \
        %D%/libxac/trees.py \
        %D%/tests/at_end.py \
        %D%/tests/conftest.py \
        %D%/tests/leeway.py \
        %D%/tests/library_threads.py \
        %D%/tests/faulting.py \
        %D%/tests/interrupted.py \
        %D%/tests/test_arrow.py \
        %D%/tests/test_contents.py \
        %D%/tests/test_elements.py \
        %D%/tests/test_ending.py \
        %D%/tests/test_environment.py \
        %D%/tests/test_errors.py \
        %D%/tests/test_handlers.py \
        %D%/tests/test_heap.py \
        %D%/tests/test_interrupts.py \
        %D%/tests/test_library.py \
        %D%/tests/test_library_threads.py \
        %D%/tests/test_live_orders.py \
        %D%/tests/test_lock.py \
        %D%/tests/test_misuses.py \
        %D%/tests/test_misuses_of_contents.py \
        %D%/tests/test_processes.py \
        %D%/tests/test_range.py \
        %D%/tests/test_readme.py \
        %D%/tests/test_snapshots.py \
        %D%/tests/test_tables.py \
        %D%/tests/test_transactions.py \
        %D%/tests/test_trees.py \
        %D%/tests/test_turns.py \
        %D%/tests/trees.py \
        %D%/tests/writers.py

# PYTHON: which one. PYTEST_OPTIONS: --slow, or some of the tests.
PYTHON = python3
PYTEST_OPTIONS =
check-python: libxac.la libxactrees.la libxacheap.la libxacsend.la tools/xac/xac %D%/examples/orders_writer %D%/examples/orders_sum $(SWEEP)
	@PYTHON='$(PYTHON)' srcdir='$(srcdir)' builddir=. $(TEST_RUN) $(SHELL) $(srcdir)/tools/check-python $(PYTEST_OPTIONS)

# What transactions and single elements cost from Python.
bench-python: libxac.la $(SWEEP)
	@PYTHON='$(PYTHON)' srcdir='$(srcdir)' builddir=. $(TEST_RUN) $(SHELL) $(srcdir)/tools/check-python --costs

# The package with the libraries in it, built without libsigsegv: dist/ in build-wheel. And whether it works where there
# is nothing else of libxac.
dist_noinst_SCRIPTS += tools/make-wheel tools/check-wheel
BUILD_OF_WHEEL = $(SUB_BUILD) wheel wheel-libraries --with-fault-handler=native --disable-static $(SUB_CONFIGURE)
wheel-libraries: libxac.la libxactrees.la libxacheap.la libxacsend.la
wheel: sub-sources
	+$(BUILD_OF_WHEEL)
	@PYTHON='$(PYTHON)' srcdir='$(srcdir)' $(SHELL) $(srcdir)/tools/make-wheel build-wheel
check-wheel: sub-sources tools/xac/xac $(SWEEP)
	+$(BUILD_OF_WHEEL)
	@PYTHON='$(PYTHON)' srcdir='$(srcdir)' builddir=. $(TEST_RUN) $(SHELL) $(srcdir)/tools/check-wheel build-wheel

.PHONY: check-python bench-python wheel wheel-libraries check-wheel
