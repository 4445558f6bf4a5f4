/* SPDX-License-Identifier: MIT */
#include "tests/kill/trace.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "tests/support/check.h"

enum {
        BREAK_VISITS_COST = 2, /* stops for each visit of a breakpoint: itself, and over it */
        LOOK_BACK = 400        /* instructions among which a place for the breakpoint is chosen */
};

/* ---- the machine ---- */

#if defined(__x86_64__)
#define PC rip
enum { BREAK_BYTES = 1, PC_AFTER_BREAK = 1 };
static const unsigned char break_code[BREAK_BYTES] = { 0xcc }; /* int3 */
#elif defined(__aarch64__)
#define PC pc
enum { BREAK_BYTES = 4, PC_AFTER_BREAK = 0 };
static const unsigned char break_code[BREAK_BYTES] = { 0x00, 0x00, 0x20, 0xd4 }; /* brk #0 */
#else
#define MACHINE_IS_UNKNOWN
#endif

#ifdef MACHINE_IS_UNKNOWN

bool trace_me(void)
{
        return false;
}

/* What follows a trace_me that failed; the rest is never called. */
bool trace_await_marker(pid_t child, int *status)
{
        check_equal(waitpid(child, status, 0), child);
        return false;
}

bool trace_to_marker(pid_t child, int *status)
{
        return trace_await_marker(child, status);
}

void trace_record(pid_t child, struct trace_path *path)
{
        (void)child, (void)path;
}

void trace_free(struct trace_path *path)
{
        (void)path;
}

enum trace_stop trace_go_to(pid_t child, const struct trace_path *path, uint32_t k)
{
        (void)child, (void)path, (void)k;
        return TRACE_ENDED;
}

enum trace_stop trace_step_to(pid_t child, uint32_t k)
{
        (void)child, (void)k;
        return TRACE_ENDED;
}

#else

static void get_registers(pid_t child, struct user_regs_struct *registers)
{
        struct iovec all = { registers, sizeof(*registers) };

        check_equal(ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &all), 0);
}

static uint64_t get_pc(pid_t child)
{
        struct user_regs_struct registers = { 0 };

        get_registers(child, &registers);
        return registers.PC;
}

static void set_pc(pid_t child, uint64_t pc)
{
        struct user_regs_struct registers = { 0 };
        struct iovec all = { &registers, sizeof(registers) };

        get_registers(child, &registers);
        registers.PC = pc;
        check_equal(ptrace(PTRACE_SETREGSET, child, NT_PRSTATUS, &all), 0);
}

/* Puts the breakpoint there; *before is what stood there. */
static void set_break(pid_t child, uint64_t pc, long *before)
{
        long word;

        errno = 0;
        word = ptrace(PTRACE_PEEKTEXT, child, pc, NULL);
        check_equal(errno, 0);
        *before = word;
        memcpy(&word, break_code, BREAK_BYTES);
        check_equal(ptrace(PTRACE_POKETEXT, child, pc, word), 0);
}

static void clear_break(pid_t child, uint64_t pc, long before)
{
        check_equal(ptrace(PTRACE_POKETEXT, child, pc, before), 0);
}

/* ---- stops ---- */

bool trace_me(void)
{
        return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

/* Goes on by PTRACE_CONT or PTRACE_SINGLESTEP until the next stop. Signals that are the
 * child's own business (a fault in a view) are handed on. */
static enum trace_stop go_on(pid_t child, int how)
{
        int status, handed_on = 0;

        for (;;) {
                check_equal(ptrace(how, child, NULL, handed_on), 0);
                check_equal(waitpid(child, &status, 0), child);
                if (!WIFSTOPPED(status))
                        return TRACE_ENDED;
                if (WSTOPSIG(status) == SIGSTOP)
                        return TRACE_MARKER;
                if (WSTOPSIG(status) == SIGTRAP)
                        return TRACE_THERE;
                handed_on = WSTOPSIG(status);
        }
}

bool trace_await_marker(pid_t child, int *status)
{
        for (;;) {
                check_equal(waitpid(child, status, 0), child);
                if (!WIFSTOPPED(*status))
                        return false;
                if (WSTOPSIG(*status) == SIGSTOP)
                        return true;
                check_equal(ptrace(PTRACE_CONT, child, NULL, WSTOPSIG(*status)), 0);
        }
}

bool trace_to_marker(pid_t child, int *status)
{
        check_equal(ptrace(PTRACE_CONT, child, NULL, 0), 0);
        return trace_await_marker(child, status);
}

/* ---- recording ---- */

static void note(struct trace_path *path, uint64_t pc, uint32_t *room)
{
        if (path->count == *room) {
                *room = *room ? 2 * *room : 4096;
                path->pc = realloc(path->pc, *room * sizeof(*path->pc));
                check(path->pc != NULL);
        }
        path->pc[path->count++] = pc;
}

static int compare_places(const void *a_, const void *b_, void *pc_)
{
        const uint64_t *pc = pc_;
        uint32_t a = *(const uint32_t *)a_, b = *(const uint32_t *)b_;

        if (pc[a] != pc[b])
                return pc[a] < pc[b] ? -1 : 1;
        return a < b ? -1 : a > b;
}

/* Sorted by address, then by time, each visit of an address follows the one before. */
static void count_visits(struct trace_path *path)
{
        uint32_t *order = calloc(path->count + 1, sizeof(*order));

        path->visit = calloc(path->count + 1, sizeof(*path->visit));
        check(order != NULL && path->visit != NULL);
        for (uint32_t i = 0; i < path->count; i++)
                order[i] = i;
        qsort_r(order, path->count, sizeof(*order), compare_places, path->pc);
        for (uint32_t i = 0; i < path->count; i++) {
                bool is_again = i > 0 && path->pc[order[i]] == path->pc[order[i - 1]];

                path->visit[order[i]] = is_again ? path->visit[order[i - 1]] + 1 : 1;
        }
        free(order);
}

void trace_record(pid_t child, struct trace_path *path)
{
        enum trace_stop stop;
        uint32_t room = 0;

        *path = (struct trace_path){ 0 };
        do
                note(path, get_pc(child), &room);
        while ((stop = go_on(child, PTRACE_SINGLESTEP)) == TRACE_THERE);
        check_equal(stop, TRACE_MARKER);
        count_visits(path);
}

void trace_free(struct trace_path *path)
{
        free(path->pc);
        free(path->visit);
}

/* ---- going there ---- */

enum trace_stop trace_step_to(pid_t child, uint32_t k)
{
        enum trace_stop stop = TRACE_THERE;

        for (uint32_t i = 0; i < k && stop == TRACE_THERE; i++)
                stop = go_on(child, PTRACE_SINGLESTEP);
        return stop;
}

/* Runs to the visit-th time that the child comes to pc. */
static enum trace_stop run_to(pid_t child, uint64_t pc, uint32_t visit)
{
        enum trace_stop stop;
        long before;

        for (uint32_t i = get_pc(child) == pc ? 2 : 1;; i++) {
                if (get_pc(child) == pc) {
                        stop = go_on(child, PTRACE_SINGLESTEP);
                        if (stop != TRACE_THERE)
                                return stop;
                }
                set_break(child, pc, &before);
                stop = go_on(child, PTRACE_CONT);
                if (stop != TRACE_THERE)
                        return stop;
                check_equal(get_pc(child), pc + PC_AFTER_BREAK);
                clear_break(child, pc, before);
                set_pc(child, pc);
                if (i >= visit)
                        return TRACE_THERE;
        }
}

/* Where the breakpoint goes: the sum of visits before and of steps after is least. */
static uint32_t choose_place(const struct trace_path *path, uint32_t k)
{
        uint32_t best = k, least = UINT32_MAX;

        for (uint32_t m = k > LOOK_BACK ? k - LOOK_BACK : 0; m <= k; m++) {
                uint32_t cost = BREAK_VISITS_COST * path->visit[m] + (k - m);

                if (cost < least) {
                        least = cost;
                        best = m;
                }
        }
        return best;
}

enum trace_stop trace_go_to(pid_t child, const struct trace_path *path, uint32_t k)
{
        uint32_t place = choose_place(path, k);
        enum trace_stop stop;

        if (k < 2 * BREAK_VISITS_COST || place == 0)
                return trace_step_to(child, k);
        stop = run_to(child, path->pc[place], path->visit[place]);
        return stop == TRACE_THERE ? trace_step_to(child, k - place) : stop;
}

#endif
