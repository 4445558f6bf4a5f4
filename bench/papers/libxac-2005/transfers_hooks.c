/* SPDX-License-Identifier: MIT */
#include "bench/papers/libxac-2005/transfers_hooks.h"

static struct {
        const char *begin;
        size_t byte_len;
        void (*touch)(void *arg, uint64_t at, size_t byte_len);
        void *arg;
} watch;

void hooks_watch(const char *begin, size_t byte_len, void (*touch)(void *arg, uint64_t at, size_t byte_len), void *arg)
{
        watch.begin = begin;
        watch.byte_len = begin ? byte_len : 0;
        watch.touch = touch;
        watch.arg = arg;
}

void hooks_note(const void *addr, size_t byte_len)
{
        const uintptr_t at = (uintptr_t)addr - (uintptr_t)watch.begin;
        if (at < watch.byte_len)
                watch.touch(watch.arg, at, byte_len);
}

/* ---- what the compiler calls ---- */

/* Names that it has chosen, and below the linker. NOLINTBEGIN(bugprone-reserved-identifier) */
#define HOOK(access, len)                            \
        void __tsan_##access##len(const void *addr); \
        void __tsan_##access##len(const void *addr)  \
        {                                            \
                hooks_note(addr, len);               \
        }
#define HOOKS(len)                 \
        HOOK(read, len)            \
        HOOK(write, len)           \
        HOOK(unaligned_read, len)  \
        HOOK(unaligned_write, len) \
        HOOK(volatile_read, len)   \
        HOOK(volatile_write, len)

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

/* Of the shortcuts of hash tables, which are not measured: done, and not noted. */
#define ATOMICS(bits)                                                                                                \
        uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order);                     \
        void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, int order);              \
        uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t *at, uint##bits##_t value, int order); \
        uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order)                      \
        {                                                                                                            \
                (void)order;                                                                                         \
                return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                        \
        }                                                                                                            \
        void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, int order)               \
        {                                                                                                            \
                (void)order;                                                                                         \
                __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                       \
        }                                                                                                            \
        uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t *at, uint##bits##_t value, int order)  \
        {                                                                                                            \
                (void)order;                                                                                         \
                return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                             \
        }

ATOMICS(8)  /* NOLINT(readability-non-const-parameter): it is written through */
ATOMICS(64) /* NOLINT(readability-non-const-parameter): it is written through */

void __tsan_read_range(const void *addr, size_t byte_len);
void __tsan_write_range(const void *addr, size_t byte_len);
void __tsan_func_entry(const void *caller);
void __tsan_func_exit(void);
void __tsan_init(void);

void __tsan_read_range(const void *addr, size_t byte_len)
{
        hooks_note(addr, byte_len);
}

void __tsan_write_range(const void *addr, size_t byte_len)
{
        hooks_note(addr, byte_len);
}

void __tsan_func_entry(const void *caller)
{
        (void)caller;
}

void __tsan_func_exit(void)
{
}

void __tsan_init(void)
{
}

/* ---- what the linker puts in place of the C library's ---- */

void *__real_memcpy(void *to, const void *from, size_t byte_len);
void *__real_memmove(void *to, const void *from, size_t byte_len);
void *__real_memset(void *to, int byte, size_t byte_len);
int __real_memcmp(const void *a, const void *b, size_t byte_len);
void *__wrap_memcpy(void *to, const void *from, size_t byte_len);
void *__wrap_memmove(void *to, const void *from, size_t byte_len);
void *__wrap_memset(void *to, int byte, size_t byte_len);
int __wrap_memcmp(const void *a, const void *b, size_t byte_len);
/* So some compilers call them. */
void *__tsan_memcpy(void *to, const void *from, size_t byte_len) __attribute__((alias("__wrap_memcpy")));
void *__tsan_memmove(void *to, const void *from, size_t byte_len) __attribute__((alias("__wrap_memmove")));
void *__tsan_memset(void *to, int byte, size_t byte_len) __attribute__((alias("__wrap_memset")));

void *__wrap_memcpy(void *to, const void *from, size_t byte_len)
{
        hooks_note(from, byte_len);
        hooks_note(to, byte_len);
        return __real_memcpy(to, from, byte_len);
}

void *__wrap_memmove(void *to, const void *from, size_t byte_len)
{
        hooks_note(from, byte_len);
        hooks_note(to, byte_len);
        return __real_memmove(to, from, byte_len);
}

void *__wrap_memset(void *to, int byte, size_t byte_len)
{
        hooks_note(to, byte_len);
        return __real_memset(to, byte, byte_len);
}

/* As far as the first byte that differs: the rest need not be looked at. */
int __wrap_memcmp(const void *a, const void *b, size_t byte_len)
{
        const unsigned char *left = a, *right = b;
        size_t equal = 0;

        while (equal < byte_len && left[equal] == right[equal])
                equal++;
        const size_t looked_at = equal < byte_len ? equal + 1 : byte_len;
        hooks_note(a, looked_at);
        hooks_note(b, looked_at);
        return __real_memcmp(a, b, byte_len);
}

/* NOLINTEND(bugprone-reserved-identifier) */
