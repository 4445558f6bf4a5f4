# SPDX-License-Identifier: MIT
#
# Boost's own tests, which are fetched. Minutes, and not a part of `make check`.

EXTRA_DIST += %D%/check-boost %D%/names.hpp %D%/source

check-boost: libxac.la libxacheap.la
	@CXX='$(CXX)' XAC_CFLAGS='$(XAC_CFLAGS)' ARCHIVE_LIBS='$(ARCHIVE_LIBS)' srcdir='$(srcdir)' builddir=. $(TEST_RUN) $(SHELL) \
		$(srcdir)/tests/boost/check-boost $(BOOST_CHECKED)
