# SPDX-License-Identifier: MIT
#
# What a lab's Makefile includes, after it has said
#
#       LAB = race              its folder
#       ANSWER_FILES = bank.c   what students write
#       ANSWER_NAMES = ...      the functions in them that the tests call; all others are the answer's own
#       LAB_FILES = ...         further sources of the tests, beside grade.c
#       GIVEN_FILES = ...       what the answer calls and the tests do, too; acts.c, which calls the answer, is always there
#       GIVEN_NAMES = ...       functions of acts.c that the answer may call, too
#       SHOW_FILES = show.c     of `make show`, a program that shows something; none: no such target
#       XAC = libxac            what it is built against, as pkg-config knows it; empty: nothing
#       ACCESS = yes            the grader sees each access of the answer (access.h)
#       WRAP = ...              functions of libxac: where the answer calls NAME(), it calls __wrap_NAME() of acts.c
#       MEASURE = yes           the grader measures answers that get all marks: they are compiled a second time, optimized
#       SHOW_FAST = yes         `make show` measures: for it the answer is optimized, and its accesses are not seen
#
#       make grade                      grades the files in this folder
#       make grade ANSWER=FOLDER        those in another one; what it lacks is taken from here
#       make grade ONLY=TEST SEED=N     repeats one test
#       make grade LOUD=1               what the answer prints is shown at once
#       make show                       runs the lab's demonstration
#       make debug ONLY=TEST            one test in gdb, in one process, without a limit
#       make trace ONLY=TEST            one test, run in the same way, writes what conflicts to OUT/xac.trace, for `xac trace`
#       make grade HIDDEN=1             with the hidden tests, where labs/instructor is
#       make grade VARIANT=FILE         with this in the place of the lab's variant.h
#       make grade JSON=FILE            where the verdict goes; OUT/grade.json
#
# `make grade` builds the grader once for all answers, and the script `judge` compiles the answer into a program of its
# own. `make show` and `make debug` link the answer and what calls it into one.
#
# Against libxac in a build tree, XAC_BUILD, if there is one around these labs, else against the installed one. All that is
# built goes to OUT, ./build.

LABS := $(patsubst %/grader/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
HERE := $(LABS)/$(LAB)
ANSWER = .
OUT = $(HERE)/build
HIDDEN =
ONLY =
SEED =
LOUD =
VARIANT =
JSON = $(abspath $(OUT))/grade.json
# As it is: a name may have spaces, or anything.
override ANSWER := $(value ANSWER)
export ANSWER

ifneq ($(shell printf %s '$(SEED)' | tr -d 0-9),)
  $(error SEED=$(SEED) is no number)
endif

# To be linked with what shows it, a folder must have a name that make can read.
answer := $(if $(filter 1,$(words $(ANSWER))),$(abspath $(ANSWER)),$(HERE))

# Kept apart: what shows or debugs each answer; and the grader, with and without the hidden tests, of each variant.
variant := $(if $(VARIANT),-$(basename $(notdir $(VARIANT))))
WORK := $(abspath $(OUT))/$(if $(filter $(HERE),$(answer)),own,$(subst /,_,$(patsubst $(LABS)/%,%,$(answer))))$(HIDDEN:%=-hidden)$(variant)
GRADER := $(abspath $(OUT))/grader$(HIDDEN:%=-hidden)$(variant)
hidden := $(LABS)/instructor/$(LAB)
ifneq ($(HIDDEN),)
  ifeq ($(wildcard $(hidden)/hidden.c),)
    $(error The hidden tests are in labs/instructor, which is not here: `make grade` without HIDDEN gives the points of all others)
  endif
endif
variant_header := $(if $(VARIANT),$(GRADER)/variant/labs/$(LAB)/variant.h)

ifneq ($(strip $(XAC)),)
  XAC_SOURCE ?= $(abspath $(LABS)/..)
  ifneq ($(wildcard $(LABS)/../libxac.la),)
    XAC_BUILD ?= $(abspath $(LABS)/..)
  endif
  ifneq ($(strip $(XAC_BUILD)),)
    xac_cflags := -I$(XAC_SOURCE)/include
    xac_readable := $(XAC_SOURCE)/include/xac $(XAC_BUILD)/.libs
    xac_libs := -L$(XAC_BUILD)/.libs $(XAC:lib%=-l%) -lxac -Wl,-rpath,$(XAC_BUILD)/.libs
  else
    xac_cflags := $(shell pkg-config --cflags $(XAC))
    xac_libs := $(shell pkg-config --libs $(XAC))
    xac_readable := $(patsubst -I%,%,$(filter -I%,$(xac_cflags))) $(patsubst -L%,%,$(filter -L%,$(xac_libs)))
    ifeq ($(strip $(xac_libs)),)
      $(error libxac was not found: install it (pkg-config $(XAC)), or say where it was built: XAC_BUILD=FOLDER)
    endif
  endif
endif

CC ?= cc
CFLAGS = -O1 -g
answer_cflags = -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror=return-type -pthread $(xac_cflags) $(CFLAGS)
lab_cflags = $(answer_cflags) $(if $(VARIANT),-I$(GRADER)/variant) -I$(GRADER)/include -MMD -MP
# Not optimized, so that each access in the source is one, and none is moved out of a loop because nobody else is there.
# clang leaves a read out that a write of the same place follows, unless it is told not to.
ifneq ($(ACCESS),)
  clang_cflags := $(if $(findstring clang,$(shell $(CC) --version)),-mllvm -tsan-instrument-read-before-write=1)
  access_cflags := -fsanitize=thread -O0 $(clang_cflags)
  access_libs := -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset
endif
libs = $(LDFLAGS) $(access_libs) $(xac_libs)
# Of what has acts.c.
host_libs = $(LDFLAGS) $(access_libs) $(WRAP:%=-Wl,--wrap=%) $(xac_libs)

# What tests and acts share; tests; the host, which the answer becomes part of.
shared = memory.c random.c $(if $(strip $(XAC)),environment.c)
host_files = $(if $(ACCESS),access.c stops.c)
test_files = attempt.c calls.c confine.c grader.c report.c scratch.c worker.c $(if $(ACCESS),steps.c) $(if $(HIDDEN),,no_hidden.c)
# Each is compiled as the host needs it and as a test does, from the same source.
object = $(patsubst %.c,$(GRADER)/$(1)/%.o,$(2))
host_objects = $(call object,host,serve.c $(shared) $(host_files) acts.c $(GIVEN_FILES))
grade_objects = $(call object,grader,$(shared) $(test_files) host.c $(if $(ACCESS),access.c stops.c)) \
        $(call object,lab,grade.c $(LAB_FILES) $(GIVEN_FILES)) $(if $(HIDDEN),$(GRADER)/hidden/hidden.o)
# In one process: what takes the place of the host, and all of the acts.
answer_objects = $(ANSWER_FILES:%.c=$(WORK)/answer/%.o)
show_answer = $(if $(SHOW_FAST),$(ANSWER_FILES:%.c=$(WORK)/fast/%.o),$(answer_objects))
here_objects = $(call object,grader,$(shared) $(host_files) $(test_files) host_here.c) \
        $(call object,lab,acts.c $(LAB_FILES) $(GIVEN_FILES))

callers := $(PWD)
again = make $(if $(filter $(HERE),$(CURDIR)),,-C $(HERE) )grade$(if $(filter .,$(ANSWER)),, ANSWER=$$quoted)$(if $(HIDDEN), HIDDEN=1)$(if $(VARIANT), VARIANT=$(VARIANT))

grade: stale $(GRADER)/settings $(GRADER)/confine $(GRADER)/grade $(host_objects)
	@case $$ANSWER in /*) ;; *) test -d "$$ANSWER" || ANSWER='$(callers)'/$$ANSWER ;; esac; \
	quoted=$$(sh $(LABS)/grader/quote "$$ANSWER"); \
	sh $(LABS)/grader/judge $(GRADER) "$$ANSWER" $(HERE) '$(JSON)' --again "$(subst ",\",$(again))" $(ONLY:%=--only %) \
	        $(SEED:%=--seed %) $(LOUD:%=--loud) || test $$? -eq 1

# What says how the last answer did says nothing of this one.
stale:
	@rm -f '$(JSON)'

grader: $(GRADER)/settings $(GRADER)/confine $(GRADER)/grade $(host_objects)

debug: $(WORK)/debug
	gdb $(if $(strip $(XAC)),-ex 'handle SIGSEGV nostop noprint pass') --args $< --here $(ONLY:%=--only %) $(SEED:%=--seed %)

# By that program, as a host may make no files. The trace goes on where an old one ends.
ifneq ($(strip $(XAC)),)
trace: $(WORK)/debug
	@rm -f $(abspath $(OUT))/xac.trace
	@XAC_TRACE=$(abspath $(OUT))/xac.trace $< --here $(ONLY:%=--only %) $(SEED:%=--seed %) || test $$? -eq 1
endif

ifneq ($(strip $(SHOW_FILES)),)
show: $(WORK)/show
	@$<

$(WORK)/show: $(show_answer) $(here_objects) $(SHOW_FILES:%.c=$(GRADER)/lab/%.o)
	@$(CC) $(lab_cflags) -o $@ $^ $(host_libs)
endif

clean:
	rm -rf $(OUT)

$(WORK)/debug: $(answer_objects) $(here_objects) $(GRADER)/lab/grade.o $(if $(HIDDEN),$(GRADER)/hidden/hidden.o)
	@$(CC) $(lab_cflags) -o $@ $^ $(host_libs)

# Nobody else reads what it has of the hidden tests.
$(GRADER)/grade: $(grade_objects)
	@$(CC) $(lab_cflags) -o $@ $(grade_objects) $(libs)
	@chmod 700 $@

$(GRADER)/confine: $(GRADER)/grader/confine_main.o $(GRADER)/grader/confine.o
	@$(CC) $(lab_cflags) -o $@ $^ $(LDFLAGS)

# For `judge`.
$(GRADER)/settings: always | $(GRADER)/include/labs
	@printf '%s\n' "LAB='$(LAB)'" "LABS='$(LABS)'" "CC='$(CC)'" "CFLAGS='$(answer_cflags)'" "ACCESS='$(access_cflags)'" \
	        "LIBS='$(host_libs)'" "MEASURE='$(MEASURE)'" "VARIANT='$(abspath $(VARIANT))'" "ANSWER_FILES='$(ANSWER_FILES)'" "ANSWER_NAMES='$(ANSWER_NAMES)'" \
	        "GIVEN_FILES='$(GIVEN_FILES)'" "GIVEN_NAMES='$(GIVEN_NAMES)'" "READABLE='$(xac_readable)'" >$@

ifneq ($(VARIANT),)
$(variant_header): $(VARIANT)
	@mkdir -p $(dir $@)
	@cp -f '$(VARIANT)' $@
endif

# A name of an #include begins with labs/, whatever the folder of the labs is called.
$(GRADER)/include/labs:
	@mkdir -p $(GRADER)/include $(GRADER)/host $(GRADER)/grader $(GRADER)/lab $(GRADER)/hidden
	@ln -sfn $(LABS) $@

$(WORK):
	@mkdir -p $@/answer $@/fast

# From the answer if it has the file, else from the lab.
.SECONDEXPANSION:
$(answer_objects): $(WORK)/answer/%.o: $$(firstword $$(wildcard $(answer)/$$*.c) $(HERE)/$$*.c) | $(GRADER)/include/labs $(variant_header) $(WORK)
	@$(CC) $(lab_cflags) $(access_cflags) -c -o $@ $<
$(ANSWER_FILES:%.c=$(WORK)/fast/%.o): $(WORK)/fast/%.o: $$(firstword $$(wildcard $(answer)/$$*.c) $(HERE)/$$*.c) | $(GRADER)/include/labs $(variant_header) $(WORK)
	@$(CC) $(lab_cflags) -O2 -c -o $@ $<
$(GRADER)/grader/%.o: $(LABS)/grader/%.c | $(GRADER)/include/labs $(variant_header)
	@$(CC) $(lab_cflags) -c -o $@ $<
$(GRADER)/host/%.o: $(LABS)/grader/%.c | $(GRADER)/include/labs $(variant_header)
	@$(CC) $(lab_cflags) -c -o $@ $<
$(GRADER)/lab/%.o: $(HERE)/%.c | $(GRADER)/include/labs $(variant_header)
	@$(CC) $(lab_cflags) -c -o $@ $<
$(GRADER)/host/%.o: $(HERE)/%.c | $(GRADER)/include/labs $(variant_header)
	@$(CC) $(lab_cflags) -c -o $@ $<
$(GRADER)/hidden/%.o: $(hidden)/%.c | $(GRADER)/include/labs $(variant_header)
	@$(CC) $(lab_cflags) -c -o $@ $<

-include $(wildcard $(WORK)/*/*.d $(GRADER)/*/*.d)

.PHONY: always clean debug grade grader show stale trace
