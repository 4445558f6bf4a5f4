/* SPDX-License-Identifier: MIT */
#include "libxac/process/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <xac/xac.h>

#include "base/sys.h"
#include "libxac/ground/handlers.h"
#include "libxac/ground/line.h"
#include "libxac/ground/place.h"
#include "libxac/process/thread.h"
#include "libxac/store/ranges.h"
#include "libxac/view/snapshot_map.h"

enum { THREAD_NAME_BYTES = 16 }; /* PR_GET_NAME */

/* ---- messages, without stdio ---- */

static void explain_file(const char *file, uint64_t offset, const char *reason)
{
        struct line line = { .len = 0 };
        line_add(&line, "libxac: access to ");
        line_add(&line, file ? file : "a view");
        line_add(&line, " at offset ");
        line_add_hex(&line, offset);
        line_add(&line, ": ");
        line_add(&line, reason);
        line_print(&line);
}

static void explain(const void *addr, const char *reason)
{
        uint64_t offset = 0;
        const char *file = NULL;
        (void)ranges_find(addr, RANGE_OWN, &file, &offset);
        explain_file(file, offset, reason);
}

/* Libraries that compute with threads of their own do this to a program that has never heard of them. */
static void explain_other_thread(const char *file, uint64_t offset, const void *pc)
{
        char reason[3 * PLACE_BYTES], name[THREAD_NAME_BYTES] = "", place[PLACE_BYTES];

        (void)prctl(PR_GET_NAME, name);
        snprintf(reason, sizeof(reason),
                 "a view of another thread, touched by thread %ld (%s) in %s; each thread maps its own (xac_mmap), and "
                 "all may read a snapshot; give a library that computes with threads of its own (BLAS, OpenMP, DuckDB) "
                 "one thread, or a copy",
                 (long)syscall(SYS_gettid), name, pc ? place_name(pc, place) : "code that is not known");
        explain_file(file, offset, reason);
}

/* Nobody's view is there: where were those that the fork took away, or a close? */
static void explain_former(const void *addr)
{
        uint64_t offset;
        const char *file;
        if (sys_is_mapped(addr))
                return;
        if (ranges_find(addr, RANGE_PARENTS, &file, &offset))
                explain_file(file, offset, "a view of the parent process; open the environment in the child");
        else if (ranges_find_removed(addr, &file, &offset))
                explain_file(file, offset,
                             "it is mapped no more: its environment or snapshot was closed, its thread has ended, or "
                             "it was unmapped (or the program has had other memory there since)");
}

/* A line of its own, when the other is out: the stack may be damaged. */
static void explain_caller(const void *pc)
{
        char name[PLACE_BYTES];
        struct line line = { .len = 0 };
        const void *caller = pc ? place_caller(pc) : NULL;
        if (!caller)
                return;
        line_add(&line, "libxac: the call was made by ");
        line_add(&line, place_name(caller, name));
        line_print(&line);
}

/* The last thing that the program does, mostly: names of functions need no signal-safe way. Compiled code, too, faults
 * where no transaction is open. */
static void explain_common(const void *addr, const void *pc, bool is_outside)
{
        char reason[2 * PLACE_BYTES], name[PLACE_BYTES];
        const char *who = pc ? place_name(pc, name) : "the code that touches it";
        if (is_outside)
                snprintf(reason, sizeof(reason),
                         "outside of a transaction, by %s; a view that threads share (XAC_SHARED) can be touched "
                         "inside only",
                         who);
        else
                snprintf(reason, sizeof(reason),
                         "threads share this view (XAC_SHARED), and this access of %s is not translated: it is not "
                         "compiled by xac-cc, or computes the address from that of other memory; compile or wrap it, "
                         "or use declared access",
                         who);
        explain(addr, reason);
        explain_caller(pc);
}

/* ---- whose fault ---- */

static const char *why_not(enum touch_outcome outcome)
{
        switch (outcome) {
        case TOUCH_BEYOND:
                return "beyond the end of the file; xac_mmap it with a greater length first";
        case TOUCH_OUTSIDE:
                return "outside of a transaction (XAC_STRICT)";
        default:
                return "no mapping could be made for it (out of memory or mappings)";
        }
}

static bool handle_in_view(struct thread *thread, struct view *view, void *addr, enum touch_access access,
                           const void *pc)
{
        if (thread->is_in_library) {
                explain(addr, "inside a call of libxac, from a signal handler perhaps");
                return false;
        }
        enum touch_outcome outcome = touch_fault(&thread->txn, view, addr, access);
        if (outcome == TOUCH_COMMON)
                explain_common(addr, pc, !txn_is_open(&thread->txn));
        else if (outcome != TOUCH_DONE)
                explain(addr, why_not(outcome));
        return outcome == TOUCH_DONE;
}

static bool handle_in_snapshot(struct snapshot_map *map, const void *addr, enum touch_access access)
{
        const char *why = snapshot_map_touch(map, addr, access);
        if (why)
                explain(addr, why);
        return !why;
}

bool fault_handle(void *addr, enum touch_access access, const void *pc)
{
        int saved_errno = errno;
        struct thread *thread;
        bool is_done = false;
        uint64_t offset;
        const char *file;
        struct view *view = thread_find_view(addr, &thread);
        struct snapshot_map *map = view ? NULL : snapshot_map_find(addr);
        if (view)
                is_done = handle_in_view(thread, view, addr, access, pc);
        else if (map)
                is_done = handle_in_snapshot(map, addr, access);
        else if (ranges_find(addr, RANGE_OWN, &file, &offset))
                explain_other_thread(file, offset, pc);
        else
                explain_former(addr);
        errno = saved_errno;
        return is_done;
}

/* ---- home is gone: the file was truncated by somebody else ---- */

/* A view page reads as zeros from here on, and the transaction cannot commit. */
static bool handle_lost_view_page(struct thread *thread, struct view *view, const void *addr)
{
        uint64_t page_no = view_page_no(view, addr);
        uint64_t offset = page_no << view->files->shared->page_shift;
        if (txn_is_open(&thread->txn))
                txn_doom(&thread->txn, files_why_lost(view->files, view->file_no, offset));
        return !view_show_zeros(view, page_no);
}

/* The same for home as this process maps it, which declared access and copying read. */
static bool handle_lost_home_page(const char *addr)
{
        for (struct thread *thread = thread_list; thread; thread = thread->next_of_thread) {
                int reason = thread->env ? files_replace_lost_page(&thread->env->files, addr) : 0;
                if (reason && txn_is_open(&thread->txn))
                        txn_doom(&thread->txn, reason);
                if (reason)
                        return true;
        }
        return snapshot_map_replace_lost_page(addr) != 0;
}

bool fault_handle_bus(void *addr)
{
        int saved_errno = errno;
        struct thread *thread;
        struct view *view = thread_find_view(addr, &thread);
        bool is_done = view ? handle_lost_view_page(thread, view, addr) : handle_lost_home_page(addr);
        if (!is_done && snapshot_map_find(addr)) /* nobody could be told of zeros */
                explain(addr, "its data file cannot be read; somebody else has cut it, perhaps");
        errno = saved_errno;
        return is_done;
}

const void *fault_place(const void *context)
{
#if defined(__x86_64__)
        return (const void *)((const ucontext_t *)context)
                ->uc_mcontext.gregs[REG_RIP]; // NOLINT(performance-no-int-to-ptr)
#elif defined(__aarch64__)
        return (const void *)((const ucontext_t *)context)->uc_mcontext.pc; // NOLINT(performance-no-int-to-ptr)
#else
        (void)context;
        return NULL;
#endif
}

/* ---- installation ---- */

static pthread_once_t install_once = PTHREAD_ONCE_INIT;
static int install_result;

static bool mend_bus(siginfo_t *info, void *context)
{
        (void)context;
        return fault_handle_bus(info->si_addr);
}

static void install(void)
{
        install_result = fault_backend_prepare();
        if (!install_result)
                handlers_install(fault_backend_mend, mend_bus);
}

int fault_install(void)
{
        pthread_once(&install_once, install);
        handlers_look();
        return install_result;
}
