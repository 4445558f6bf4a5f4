/* SPDX-License-Identifier: MIT */
#include "bench/papers/libxac-2005/primitives.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "bench/support/scratch.h"

enum { PAGE = SCRATCH_PAGE, COPIES = 16384 };

const char *const primitive_name[PRIMITIVES] = {
        "signal", "copy", "rewire", "first_touch", "protect_page", "protect_run", "sum",
};

/* The faulting store. */

static char writable_byte[64];

/* Stores through a register that the handler knows. */
static inline void store_through_register(uintptr_t address)
{
#if defined(__x86_64__)
        __asm__ volatile("movb $1, (%0)" : "+D"(address) : : "memory");
#elif defined(__aarch64__)
        register uintptr_t x0 __asm__("x0") = address;
        __asm__ volatile("strb wzr, [%0]" : "+r"(x0) : : "memory");
#else
        (void)address;
        raise(SIGSEGV); /* without the page fault: a lower floor */
#endif
}

static void redirect_store(int signal_number, siginfo_t *info, void *context)
{
        ucontext_t *interrupted = context;
        (void)signal_number;
        (void)info;
#if defined(__x86_64__)
        interrupted->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)writable_byte;
#elif defined(__aarch64__)
        interrupted->uc_mcontext.regs[0] = (uintptr_t)writable_byte;
#else
        (void)interrupted;
#endif
}

static void signal_loop(const char *from, size_t n)
{
        for (size_t i = 0; i < n; i++)
                store_through_register((uintptr_t)from + i * PAGE);
}

/* The rig. */

static void *must_map(void *address, size_t byte_len, int prot, int flags, int fd, off_t offset)
{
        void *memory = mmap(address, byte_len, prot, flags, fd, offset);
        if (memory == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        return memory;
}

/* Neighbouring pages never lie in neighbouring slots, so no two mappings can be merged. */
static size_t slot_of(const struct rig *rig, size_t page_no)
{
        return page_no * 769 % rig->pages * 2 + rig->turn[page_no];
}

static void rewire(struct rig *rig, size_t page_no, int prot)
{
        must_map(rig->view + page_no * PAGE, PAGE, prot, MAP_SHARED | MAP_FIXED, rig->pool_fd,
                 (off_t)(slot_of(rig, page_no) * PAGE));
}

void rig_open(struct rig *rig, size_t pages)
{
        const size_t pool_bytes = 2 * pages * PAGE;

        *rig = (struct rig){ .pages = pages, .turn = calloc(pages, 1) };
        rig->pool_fd = memfd_create("pool", MFD_CLOEXEC);
        if (!rig->turn || rig->pool_fd < 0 || ftruncate(rig->pool_fd, (off_t)pool_bytes) != 0)
                scratch_fail(-errno, "memfd_create");
        rig->pool = must_map(NULL, pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rig->pool_fd, 0);
        memset(rig->pool, 1, pool_bytes);
        rig->view = must_map(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        for (size_t page_no = 0; page_no < pages; page_no++) {
                rewire(rig, page_no, PROT_READ);
                (void)*(volatile char *)(rig->view + page_no * PAGE);
        }
}

void rig_close(struct rig *rig)
{
        munmap(rig->view, rig->pages * PAGE);
        munmap(rig->pool, 2 * rig->pages * PAGE);
        close(rig->pool_fd);
        free(rig->turn);
}

/* Copies to the slot that each page will show next. */
static void copy_loop(struct rig *rig, size_t first, size_t n)
{
        for (size_t page_no = first; page_no < first + n; page_no++) {
                const char *from = rig->pool + slot_of(rig, page_no) * PAGE;
                rig->turn[page_no] ^= 1;
                memcpy(rig->pool + slot_of(rig, page_no) * PAGE, from, PAGE);
        }
}

static void protect_loop(char *from, size_t n, size_t run)
{
        for (size_t i = 0; i < n; i += run)
                must(mprotect(from + i * PAGE, run * PAGE, PROT_READ) ? -errno : 0, "mprotect");
}

/* Ends one measurement and starts the next; returns nanoseconds per page. */
static double note(struct samples *samples, uint64_t *start, size_t pages)
{
        uint64_t end = measure_now_ns();
        double ns = (double)(end - *start) / (double)pages;

        samples_add(samples, ns);
        *start = measure_now_ns();
        return ns;
}

void rig_cycle(struct rig *rig, size_t first, size_t pages, size_t run, struct samples samples[PRIMITIVES])
{
        struct sigaction ours = { .sa_sigaction = redirect_store, .sa_flags = SA_SIGINFO }, theirs;
        char *from = rig->view + first * PAGE;
        const bool is_by_page = run > 1 && rig->cycles++ % 4 == 0;
        const enum primitive protect = is_by_page ? PRIMITIVE_PROTECT_PAGE : PRIMITIVE_PROTECT_RUN;
        double sum = 0;

        sigaction(SIGSEGV, &ours, &theirs); /* the library's handler steps aside */
        uint64_t start = measure_now_ns();
        signal_loop(from, pages);
        sum += note(&samples[PRIMITIVE_SIGNAL], &start, pages);
        copy_loop(rig, first, pages);
        sum += note(&samples[PRIMITIVE_COPY], &start, pages);
        for (size_t i = 0; i < pages; i++)
                rewire(rig, first + i, PROT_READ | PROT_WRITE);
        sum += note(&samples[PRIMITIVE_REWIRE], &start, pages);
        for (size_t i = 0; i < pages; i++)
                *(volatile char *)(from + i * PAGE) = 1;
        sum += note(&samples[PRIMITIVE_TOUCH], &start, pages);
        protect_loop(from, pages, is_by_page ? 1 : run);
        sum += note(&samples[protect], &start, pages);
        if (!is_by_page)
                samples_add(&samples[PRIMITIVE_SUM], sum);
        sigaction(SIGSEGV, &theirs, NULL);
}

/* Copies. */

static double copy_ns(size_t pages)
{
        char *from = must_map(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *to = must_map(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(from, 1, pages * PAGE);
        memset(to, 2, pages * PAGE);

        uint64_t start = measure_now_ns();
        for (size_t i = 0; i < COPIES; i++) {
                /* An odd stride over a power of two visits every page, and no prefetcher follows. */
                size_t page_no = i * 5077 % pages;
                memcpy(to + page_no * PAGE, from + page_no * PAGE, PAGE);
                __asm__ volatile("" : : "r"(to) : "memory");
        }
        double result = (double)(measure_now_ns() - start) / COPIES;
        munmap(from, pages * PAGE);
        munmap(to, pages * PAGE);
        return result;
}

double primitive_copy_warm_ns(void)
{
        return copy_ns(1);
}

double primitive_copy_large_ns(void)
{
        return copy_ns(COPIES);
}
