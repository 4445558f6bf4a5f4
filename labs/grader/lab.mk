# SPDX-License-Identifier: MIT
#
# What a lab's Makefile includes, after it has said
#
#       LAB = race              its folder
#       ANSWER_FILES = bank.c   what students write
#       LAB_FILES = ...         further sources of the grader, beside grade.c
#       SHOW_FILES = show.c     of `make show`, a program that shows something; none: no such target
#       XAC = libxac            what it is built against, as pkg-config knows it; empty: nothing
#       ACCESS = yes            the grader sees each access of the answer (access.h)
#       SHOW_FAST = yes         `make show` measures: for it the answer is optimized, and its accesses are not seen
#
#       make grade                      grades the files in this folder
#       make grade ANSWER=FOLDER        those in another one; what it lacks is taken from here
#       make grade ONLY=TEST SEED=N     repeats one test
#       make grade LOUD=1               what the answer prints is shown at once
#       make show                       runs the lab's demonstration
#       make debug ONLY=TEST            one test in gdb, in one process, without a limit
#       make grade HIDDEN=1             with the hidden tests, where labs/instructor is
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

ifeq ($(wildcard $(ANSWER_FILES:%=$(ANSWER)/%)),)
  $(error there is none of these in $(ANSWER): $(ANSWER_FILES))
endif
ifneq ($(shell printf %s '$(SEED)' | tr -d 0-9),)
  $(error SEED=$(SEED) is no number)
endif

# Kept apart: each answer, with and without the hidden tests.
answer := $(abspath $(ANSWER))
WORK := $(abspath $(OUT))/$(if $(filter $(HERE),$(answer)),own,$(subst /,_,$(patsubst $(LABS)/%,%,$(answer))))$(HIDDEN:%=-hidden)
hidden := $(LABS)/instructor/$(LAB)

ifneq ($(strip $(XAC)),)
  XAC_SOURCE ?= $(abspath $(LABS)/..)
  ifneq ($(wildcard $(LABS)/../libxac.la),)
    XAC_BUILD ?= $(abspath $(LABS)/..)
  endif
  ifneq ($(strip $(XAC_BUILD)),)
    xac_cflags := -I$(XAC_SOURCE)/include
    xac_libs := -L$(XAC_BUILD)/.libs $(XAC:lib%=-l%) -lxac -Wl,-rpath,$(XAC_BUILD)/.libs
  else
    xac_cflags := $(shell pkg-config --cflags $(XAC))
    xac_libs := $(shell pkg-config --libs $(XAC))
    ifeq ($(strip $(xac_libs)),)
      $(error libxac was not found: install it (pkg-config $(XAC)), or say where it was built: XAC_BUILD=FOLDER)
    endif
  endif
endif

CC ?= cc
CFLAGS = -O1 -g
lab_cflags = -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -pthread -I$(WORK)/include $(xac_cflags) $(CFLAGS) -MMD -MP
# Not optimized, so that each access in the source is one, and none is moved out of a loop because nobody else is there.
# clang leaves a read out that a write of the same place follows, unless it is told not to.
ifneq ($(ACCESS),)
  clang_cflags := $(if $(findstring clang,$(shell $(CC) --version)),-mllvm -tsan-instrument-read-before-write=1)
  access_cflags := -fsanitize=thread -O0 $(clang_cflags)
endif

grader_files = attempt.c grader.c report.c scratch.c worker.c $(if $(ACCESS),access.c steps.c) \
        $(if $(strip $(XAC)),environment.c) $(if $(HIDDEN),,no_hidden.c)
answer_objects = $(ANSWER_FILES:%.c=$(WORK)/answer/%.o)
grader_objects = $(grader_files:%.c=$(WORK)/grader/%.o)
objects = $(answer_objects) $(grader_objects) $(LAB_FILES:%.c=$(WORK)/lab/%.o)
grade_objects = $(objects) $(WORK)/lab/grade.o $(if $(HIDDEN),$(WORK)/hidden/hidden.o)
show_answer = $(if $(SHOW_FAST),$(ANSWER_FILES:%.c=$(WORK)/fast/%.o),$(answer_objects))
show_objects = $(show_answer) $(grader_objects) $(LAB_FILES:%.c=$(WORK)/lab/%.o) $(SHOW_FILES:%.c=$(WORK)/lab/%.o)

again = make $(if $(filter $(HERE),$(CURDIR)),,-C $(HERE) )grade$(if $(filter $(HERE),$(answer)),, ANSWER=$(answer))$(if $(HIDDEN), HIDDEN=1)

grade: $(WORK)/grade
	@$< --json $(WORK)/grade.json --again '$(again)' $(ONLY:%=--only %) $(SEED:%=--seed %) $(LOUD:%=--loud) || test $$? -eq 1

build: $(WORK)/grade

debug: $(WORK)/grade
	gdb $(if $(strip $(XAC)),-ex 'handle SIGSEGV nostop noprint pass') --args $< --here $(ONLY:%=--only %) $(SEED:%=--seed %)

ifneq ($(strip $(SHOW_FILES)),)
show: $(WORK)/show
	@$<

$(WORK)/show: $(show_objects)
	@$(CC) $(lab_cflags) -o $@ $(show_objects) $(LDFLAGS) $(xac_libs)
endif

clean:
	rm -rf $(OUT)

$(WORK)/grade: $(grade_objects)
	@$(CC) $(lab_cflags) -o $@ $(grade_objects) $(LDFLAGS) $(xac_libs)

# A name of an #include begins with labs/, whatever the folder of the labs is called.
$(WORK)/include/labs:
	@mkdir -p $(WORK)/include $(WORK)/answer $(WORK)/fast $(WORK)/grader $(WORK)/lab $(WORK)/hidden
	@ln -sfn $(LABS) $@

# From the answer if it has the file, else from the lab.
.SECONDEXPANSION:
$(answer_objects): $(WORK)/answer/%.o: $$(firstword $$(wildcard $(answer)/$$*.c) $(HERE)/$$*.c) | $(WORK)/include/labs
	@$(CC) $(lab_cflags) $(access_cflags) -c -o $@ $<
$(ANSWER_FILES:%.c=$(WORK)/fast/%.o): $(WORK)/fast/%.o: $$(firstword $$(wildcard $(answer)/$$*.c) $(HERE)/$$*.c) | $(WORK)/include/labs
	@$(CC) $(lab_cflags) -O2 -c -o $@ $<
$(WORK)/grader/%.o: $(LABS)/grader/%.c | $(WORK)/include/labs
	@$(CC) $(lab_cflags) -c -o $@ $<
$(WORK)/lab/%.o: $(HERE)/%.c | $(WORK)/include/labs
	@$(CC) $(lab_cflags) -c -o $@ $<
$(WORK)/hidden/%.o: $(hidden)/%.c | $(WORK)/include/labs
	@$(CC) $(lab_cflags) -c -o $@ $<

-include $(wildcard $(WORK)/*/*.d)

.PHONY: build clean debug grade show
