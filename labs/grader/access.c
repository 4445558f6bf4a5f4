/* SPDX-License-Identifier: MIT */

/* What -fsanitize=thread calls, under the names that gcc and clang have agreed on. Hidden from libraries: libxac
 * looks for __tsan_init to learn whether the real sanitizer is there. */

#include "labs/grader/access.h"

#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { WORD_BYTES = 8 };

static uintptr_t watched_start;
static size_t watched_len;
static access_hook *watched_by, *judged_by;

void access_watch(const void *start, size_t byte_len, access_hook *hook)
{
        watched_start = (uintptr_t)start;
        watched_len = byte_len;
        watched_by = hook;
}

access_hook *access_judge(access_hook *judge)
{
        access_hook *before = judged_by;
        judged_by = judge;
        return before;
}

static void note_words(uintptr_t addr, size_t byte_len, bool is_write)
{
        const uintptr_t end = addr + byte_len;
        for (uintptr_t word = addr, next; word < end; word = next) {
                next = (word | (WORD_BYTES - 1)) + 1;
                next = next < end ? next : end;
                if (watched_by != NULL && word - watched_start < watched_len)
                        watched_by((const void *)word, next - word, is_write);
        }
}

static inline void note(const void *addr, size_t byte_len, bool is_write)
{
        if (judged_by != NULL)
                judged_by(addr, byte_len, is_write);
        if (watched_by != NULL)
                note_words((uintptr_t)addr, byte_len, is_write);
}

// NOLINTBEGIN(bugprone-reserved-identifier,readability-non-const-parameter)

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_read_range(void *addr, unsigned long byte_len);
void __tsan_write_range(void *addr, unsigned long byte_len);
void *__tsan_memcpy(void *to, const void *from, unsigned long byte_len);
void *__tsan_memmove(void *to, const void *from, unsigned long byte_len);
void *__tsan_memset(void *to, int byte, unsigned long byte_len);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
        (void)caller;
}

void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *addr, unsigned long byte_len)
{
        note(addr, byte_len, false);
}

void __tsan_write_range(void *addr, unsigned long byte_len)
{
        note(addr, byte_len, true);
}

/* The functions of the C library that the answer calls, or the compiler for it: clang under the name that begins with
 * __tsan_, gcc under their own, which the linker turns into __wrap_. */
#define OF_LIBC __attribute__((visibility("default")))
OF_LIBC void *__real_memcpy(void *to, const void *from, size_t byte_len);
OF_LIBC void *__real_memmove(void *to, const void *from, size_t byte_len);
OF_LIBC void *__real_memset(void *to, int byte, size_t byte_len);
void *__wrap_memcpy(void *to, const void *from, size_t byte_len);
void *__wrap_memmove(void *to, const void *from, size_t byte_len);
void *__wrap_memset(void *to, int byte, size_t byte_len);

static bool is_seen(void)
{
        return judged_by != NULL || watched_by != NULL;
}

/* One word of them, or what is left behind the last one. */
static void copy_word(char *to, const char *from, size_t at, size_t byte_len)
{
        const size_t part = byte_len - at < WORD_BYTES ? byte_len - at : WORD_BYTES;
        note(from + at, part, false);
        note(to + at, part, true);
        __real_memmove(to + at, from + at, part);
}

void *__wrap_memmove(void *to, const void *from, size_t byte_len)
{
        const bool is_upwards = (uintptr_t)to - (uintptr_t)from < byte_len;
        const size_t words = (byte_len + WORD_BYTES - 1) / WORD_BYTES;
        if (!is_seen())
                return __real_memmove(to, from, byte_len);
        for (size_t i = 0; i < words; i++)
                copy_word(to, from, (is_upwards ? words - 1 - i : i) * WORD_BYTES, byte_len);
        return to;
}

void *__wrap_memcpy(void *to, const void *from, size_t byte_len)
{
        return is_seen() ? __wrap_memmove(to, from, byte_len) : __real_memcpy(to, from, byte_len);
}

void *__wrap_memset(void *to, int byte, size_t byte_len)
{
        if (!is_seen())
                return __real_memset(to, byte, byte_len);
        for (size_t at = 0; at < byte_len; at += WORD_BYTES) {
                const size_t part = byte_len - at < WORD_BYTES ? byte_len - at : WORD_BYTES;
                note((char *)to + at, part, true);
                __real_memset((char *)to + at, byte, part);
        }
        return to;
}

void *__tsan_memcpy(void *to, const void *from, unsigned long byte_len)
{
        return __wrap_memcpy(to, from, byte_len);
}

void *__tsan_memmove(void *to, const void *from, unsigned long byte_len)
{
        return __wrap_memmove(to, from, byte_len);
}

void *__tsan_memset(void *to, int byte, unsigned long byte_len)
{
        return __wrap_memset(to, byte, byte_len);
}

#define ACCESS(name, byte_len, is_write)        \
        void __tsan_##name(void *addr);         \
        void __tsan_##name(void *addr)          \
        {                                       \
                note(addr, byte_len, is_write); \
        }
ACCESS(read1, 1, false)
ACCESS(read2, 2, false)
ACCESS(read4, 4, false)
ACCESS(read8, 8, false)
ACCESS(read16, 16, false)
ACCESS(write1, 1, true)
ACCESS(write2, 2, true)
ACCESS(write4, 4, true)
ACCESS(write8, 8, true)
ACCESS(write16, 16, true)
ACCESS(unaligned_read2, 2, false)
ACCESS(unaligned_read4, 4, false)
ACCESS(unaligned_read8, 8, false)
ACCESS(unaligned_read16, 16, false)
ACCESS(unaligned_write2, 2, true)
ACCESS(unaligned_write4, 4, true)
ACCESS(unaligned_write8, 8, true)
ACCESS(unaligned_write16, 16, true)

/* Atomic access is an access, too. Orders are all the strongest. */
#define ATOMIC(bits)                                                                                               \
        uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *a, int order);                    \
        uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *a, int order)                     \
        {                                                                                                          \
                (void)order;                                                                                       \
                note((const void *)a, sizeof(*a), false);                                                          \
                return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                       \
        }                                                                                                          \
        void __tsan_atomic##bits##_store(volatile uint##bits##_t *a, uint##bits##_t value, int order);             \
        void __tsan_atomic##bits##_store(volatile uint##bits##_t *a, uint##bits##_t value, int order)              \
        {                                                                                                          \
                (void)order;                                                                                       \
                note((const void *)a, sizeof(*a), true);                                                           \
                __atomic_store_n(a, value, __ATOMIC_SEQ_CST);                                                      \
        }                                                                                                          \
        int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *a, uint##bits##_t *expected,    \
                                                          uint##bits##_t value, int order, int failure);           \
        int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *a, uint##bits##_t *expected,    \
                                                          uint##bits##_t value, int order, int failure)            \
        {                                                                                                          \
                (void)order;                                                                                       \
                (void)failure;                                                                                     \
                note((const void *)a, sizeof(*a), true);                                                           \
                return __atomic_compare_exchange_n(a, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        }                                                                                                          \
        int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t *a, uint##bits##_t *expected,      \
                                                        uint##bits##_t value, int order, int failure);             \
        int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t *a, uint##bits##_t *expected,      \
                                                        uint##bits##_t value, int order, int failure)              \
        {                                                                                                          \
                return __tsan_atomic##bits##_compare_exchange_strong(a, expected, value, order, failure);          \
        }

#define ATOMIC_CHANGE(bits, name, builtin)                                                                     \
        uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *a, uint##bits##_t by, int order); \
        uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *a, uint##bits##_t by, int order)  \
        {                                                                                                      \
                (void)order;                                                                                   \
                note((const void *)a, sizeof(*a), true);                                                       \
                return builtin(a, by, __ATOMIC_SEQ_CST);                                                       \
        }

#define ATOMIC_CHANGES(bits)                               \
        ATOMIC(bits)                                       \
        ATOMIC_CHANGE(bits, exchange, __atomic_exchange_n) \
        ATOMIC_CHANGE(bits, fetch_add, __atomic_fetch_add) \
        ATOMIC_CHANGE(bits, fetch_sub, __atomic_fetch_sub) \
        ATOMIC_CHANGE(bits, fetch_or, __atomic_fetch_or)   \
        ATOMIC_CHANGE(bits, fetch_and, __atomic_fetch_and) \
        ATOMIC_CHANGE(bits, fetch_xor, __atomic_fetch_xor)
ATOMIC_CHANGES(8)
ATOMIC_CHANGES(16)
ATOMIC_CHANGES(32)
ATOMIC_CHANGES(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
        (void)order;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
        (void)order;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// NOLINTEND(bugprone-reserved-identifier,readability-non-const-parameter)

#pragma GCC visibility pop
