# SPDX-License-Identifier: MIT
#
# xac-cc: an LLVM pass that finds the accesses, the runtime that what it compiles is linked with, and the commands. A
# plug-in for each version of LLVM that configure has found.

PASS_FILES = \
        %D%/accesses.cc \
        %D%/buffers.cc \
        %D%/calls.cc \
        %D%/intrinsics.cc \
        %D%/loops.cc \
        %D%/lookups.cc \
        %D%/pass.cc \
        %D%/references.cc \
        %D%/reports.cc \
        %D%/roots.cc \
        %D%/stretches.cc
RUNTIME_FILES = \
        %D%/runtime/access.c \
        %D%/runtime/fortified.c \
        %D%/runtime/memory.c \
        %D%/runtime/numbers.c \
        %D%/runtime/search.c \
        %D%/runtime/string.c
# What programs would have from libstdc++.so.
RUNTIME_CXX_FILES = \
        %D%/runtime/casts.cc \
        %D%/runtime/containers.cc \
        %D%/runtime/resources.cc
EXTRA_DIST += $(PASS_FILES) $(RUNTIME_FILES) %D%/pass.h %D%/runtime/replaced.h %D%/runtime/runtime.h \
        $(RUNTIME_CXX_FILES) %D%/xac-cc.in docs/man/xac-cc.1 docs/man/xac-c++.1

if COMPILER

plugindir = $(libdir)/xac
PASS_FLAGS = -std=c++17 -O1 -fPIC -fno-rtti -fno-exceptions -Wall -Wextra -Wno-unused-parameter -Wno-comment
RUNTIME_FLAGS = -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -Wall -Wextra -I$(top_srcdir)/include -I$(top_srcdir)

PLUGINS = $(XAC_LLVM:%=%D%/xac-pass-%.so)
FIRST_PLUGIN = %D%/xac-pass-$(XAC_LLVM_FIRST).so
plugin_DATA = $(PLUGINS)
# What it takes to run build-cc.
COMPILER_IN_PLACE = %D%/build-cc $(FIRST_PLUGIN) $(archive_DATA) libxac.la
dist_plugin_DATA = %D%/runtime/containers.h
CLEANFILES += $(PLUGINS)
$(PLUGINS): %D%/xac-pass-%.so: $(PASS_FILES) %D%/pass.h include/xac/translate.h
	@$(MKDIR_P) %D%
	$(AM_V_GEN)$(PASS_CXX) $$(llvm-config-$* --cppflags) $(PASS_FLAGS) -I$(top_srcdir)/include -shared \
		$(filter %.cc,$^) -o $@

# By clang, as the pass calls it (XACRT_COLD).
archivedir = $(libdir)
archive_DATA = %D%/libxacrt.a %D%/libxacrt-static.a
RUNTIME_OBJECTS = $(RUNTIME_FILES:.c=.o)
RUNTIME_CXX_OBJECTS = $(RUNTIME_CXX_FILES:.cc=.o)
CLEANFILES += $(archive_DATA) $(RUNTIME_OBJECTS) $(RUNTIME_CXX_OBJECTS)
$(RUNTIME_OBJECTS): %D%/runtime/%.o: %D%/runtime/%.c %D%/runtime/replaced.h %D%/runtime/runtime.h include/xac/translate.h
	@$(MKDIR_P) %D%/runtime
	$(AM_V_CC)clang-$(XAC_LLVM_FIRST) $(RUNTIME_FLAGS) -c $< -o $@
# By xac-c++: it is what the pass is for.
$(RUNTIME_CXX_OBJECTS): %D%/runtime/%.o: %D%/runtime/%.cc %D%/runtime/containers.h %D%/build-c++ $(FIRST_PLUGIN)
	@$(MKDIR_P) %D%/runtime
	$(AM_V_GEN)%D%/build-c++ -std=c++17 -O2 -g -fPIC -Wall -Wextra -c $< -o $@
%D%/libxacrt.a: $(RUNTIME_OBJECTS) $(RUNTIME_CXX_OBJECTS)
	$(AM_V_AR)rm -f $@ && $(AR) cr $@ $(RUNTIME_OBJECTS) $(RUNTIME_CXX_OBJECTS)
# For programs that have libstdc++ in them.
%D%/libxacrt-static.a: $(RUNTIME_OBJECTS) $(RUNTIME_CXX_OBJECTS)
	$(AM_V_AR)rm -f $@ && $(AR) cr $@ $(RUNTIME_OBJECTS) $(RUNTIME_CXX_OBJECTS:%D%/runtime/resources.o=)

# The commands, and the same in the build folder, for tests.
bin_SCRIPTS = %D%/xac-cc %D%/xac-c++
man1_MANS = docs/man/xac-cc.1 docs/man/xac-c++.1
noinst_SCRIPTS = %D%/build-cc %D%/build-c++
CLEANFILES += $(bin_SCRIPTS) $(noinst_SCRIPTS)
WRAPPER = -e 's|[@]versions[@]|$(XAC_LLVM)|; s|[@]fault_libs[@]|$(FAULT_LIBS) $(ZSTD_LIBS) $(COVERAGE_LIBS)|' $(srcdir)/%D%/xac-cc.in
INSTALLED = -e 's|[@]plugins[@]|$(plugindir)|; s|[@]libs[@]|$(libdir)|; s|[@]include[@]|$(includedir)|'
BUILT = -e 's|[@]plugins[@]|$(abs_builddir)/%D%|; s|[@]libs[@]|$(abs_builddir)/.libs|' \
        -e 's|[@]include[@]|$(abs_top_srcdir)/include|; s|$$plugins/containers.h|$(abs_srcdir)/%D%/runtime/containers.h|; s|[$$]libs/[$$]runtime|$(abs_builddir)/%D%/$$runtime|'
# Before paths come in, which may have the name in them, too.
AS_CXX = $(SED) -e 's|[@]plus[@]|++|; s|xac-cc|xac-c++|g'
AS_CC = $(SED) -e 's|[@]plus[@]||'
%D%/xac-cc: %D%/xac-cc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && $(AS_CC) $(INSTALLED) $(WRAPPER) >$@ && chmod +x $@
%D%/xac-c++: %D%/xac-cc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && $(AS_CXX) $(INSTALLED) $(WRAPPER) >$@ && chmod +x $@
%D%/build-cc: %D%/xac-cc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && $(AS_CC) $(BUILT) $(WRAPPER) >$@ && chmod +x $@
%D%/build-c++: %D%/xac-cc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && $(AS_CXX) $(BUILT) $(WRAPPER) >$@ && chmod +x $@

endif
