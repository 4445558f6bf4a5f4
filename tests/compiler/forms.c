/* SPDX-License-Identifier: MIT */

/*
 * Each form in which compiled code can access memory, on ordinary memory and on a view that another thread shares,
 * where an access that the pass has left out ends the program. Both must hold the same bytes afterwards, and give the
 * same results. Compiled by xac-cc at every level of optimisation (test_forms.sh).
 *
 *      forms DIRECTORY        runs all, at all places
 */

#include <complex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include <xac/translate.h>
#include <xac/xac.h>

enum { AREA = 4 * 4096, MIDDLE = 2 * 4096 };

typedef unsigned char byte;

/* A form works on the bytes around `at`, up to 512 behind it and 256 before, and returns something of what it saw. */
struct form {
        const char *name;
        uint64_t (*run)(byte *at, uint64_t seed);
        size_t align; /* of `at` */
};

#define PACKED __attribute__((packed, aligned(1)))
#define APART  __attribute__((noinline))

/* ---- numbers of each size, where they belong and anywhere ---- */

#define NUMBER_FORMS(name, type)                                       \
        static APART uint64_t name##_aligned(byte *at, uint64_t seed)  \
        {                                                              \
                type *p = (type *)at;                                  \
                type sum = 0;                                          \
                for (int i = 0; i < 5; i++) {                          \
                        sum += p[i];                                   \
                        p[i] = (type)(seed % 97 + (uint64_t)i);        \
                }                                                      \
                return (uint64_t)sum;                                  \
        }                                                              \
        struct name##_packed {                                         \
                type value;                                            \
        } PACKED;                                                      \
        static APART uint64_t name##_anywhere(byte *at, uint64_t seed) \
        {                                                              \
                struct name##_packed *p = (struct name##_packed *)at;  \
                type before = p->value;                                \
                p->value = (type)(seed % 89 + 1);                      \
                p[1].value = before;                                   \
                return (uint64_t)p->value;                             \
        }

NUMBER_FORMS(u8, uint8_t)
NUMBER_FORMS(u16, uint16_t)
NUMBER_FORMS(u32, uint32_t)
NUMBER_FORMS(u64, uint64_t)
__extension__ typedef unsigned __int128 u128_t;
NUMBER_FORMS(u128, u128_t)

/* Where they do not belong, by a type that says they do: not C, but what processors allow, and programs do. The step is
 * not known to the compiler, so that it makes no vectors of them. */
#define MISALIGNED_FORM(name, type)                                      \
        static APART uint64_t name##_misaligned(byte *at, uint64_t seed) \
        {                                                                \
                uint64_t sum = 0;                                        \
                for (int i = 0; i < 3; i++) {                            \
                        type *p = (type *)(at + seed % 7 * (unsigned)i); \
                        sum += (uint64_t)*p;                             \
                        *p = (type)(seed % 89 + (unsigned)i);            \
                }                                                        \
                return sum;                                              \
        }

MISALIGNED_FORM(u16, uint16_t)
MISALIGNED_FORM(u32, uint32_t)
MISALIGNED_FORM(u64, uint64_t)

/* Of any bits a floating-point number: only whole numbers are stored and read. */
#define FLOAT_FORM(name, type)                                        \
        struct name##_packed {                                        \
                type value;                                           \
        } PACKED;                                                     \
        static APART uint64_t name##_form(byte *at, uint64_t seed)    \
        {                                                             \
                struct name##_packed *p = (struct name##_packed *)at; \
                p->value = (type)(seed % 1000);                       \
                p->value += 1;                                        \
                return (uint64_t)p->value;                            \
        }

FLOAT_FORM(f32, float)
FLOAT_FORM(f64, double)
FLOAT_FORM(f80, long double)

static APART uint64_t of_complex(byte *at, uint64_t seed)
{
        double complex *p = (double complex *)at;
        p[0] = (double)(seed % 50) + 2.0 * I;
        p[1] = p[0] * p[0];
        return (uint64_t)(int64_t)creal(p[1]);
}

static APART uint64_t a_pointer(byte *at, uint64_t seed)
{
        byte **p = (byte **)at;
        *p = at + 64;
        (*p)[0] = (byte)seed;
        byte seen = **p;
        *p = NULL; /* it differs from memory to memory */
        return seen;
}

static APART uint64_t bit_fields(byte *at, uint64_t seed)
{
        struct fields {
                unsigned a : 3, b : 11, c : 18;
                uint64_t d : 37, e : 27;
        } *p = (struct fields *)at;
        p->b = seed & 0x7ff;
        p->d = seed;
        p->c++;
        return p->a + p->b + p->d + p->e;
}

static APART uint64_t seen_by_volatile(byte *at, uint64_t seed)
{
        volatile uint32_t *p = (volatile uint32_t *)at;
        p[0] = (uint32_t)seed;
        p[1] += p[0];
        return p[1];
}

/* ---- structs and arrays ---- */

struct small {
        uint64_t a, b;
};

struct large {
        uint64_t words[40];
};

static APART struct small make_small(const struct small *from, uint64_t seed)
{
        struct small made = *from;
        made.a += seed;
        return made;
}

static APART uint64_t structs_in_registers(byte *at, uint64_t seed)
{
        struct small *p = (struct small *)at;
        p[1] = make_small(p, seed);
        p[2] = p[1];
        return p[2].a ^ p[2].b;
}

static APART struct large make_large(uint64_t seed)
{
        struct large made;
        for (int i = 0; i < 40; i++)
                made.words[i] = seed * (uint64_t)(i + 1);
        return made;
}

static APART uint64_t a_struct_returned_there(byte *at, uint64_t seed)
{
        struct large *p = (struct large *)at;
        *p = make_large(seed);
        return p->words[39];
}

static APART uint64_t sum_of(struct large by_value)
{
        uint64_t sum = 0;
        for (int i = 0; i < 40; i++)
                sum = sum * 3 + by_value.words[i];
        by_value.words[0] = 1;
        return sum + by_value.words[0];
}

static APART uint64_t a_struct_by_value(byte *at, uint64_t seed)
{
        (void)seed;
        return sum_of(*(struct large *)at);
}

static APART uint64_t sum_of_some(int count, ...)
{
        va_list list;
        uint64_t sum = 0;
        va_start(list, count);
        for (int i = 0; i < count; i++) {
                struct large one = va_arg(list, struct large);
                sum = sum * 5 + sum_of(one) + va_arg(list, uint32_t) + (uint64_t)va_arg(list, double);
        }
        va_end(list);
        return sum;
}

static APART uint64_t a_struct_among_others(byte *at, uint64_t seed)
{
        struct large *p = (struct large *)at;
        return sum_of_some(2, *p, (uint32_t)seed % 10, 3.0, *p, 7u, 4.0);
}

static APART uint64_t a_struct_assigned(byte *at, uint64_t seed)
{
        struct large *p = (struct large *)(at - 128);
        struct large own = *p;
        own.words[3] = seed;
        *p = own;
        p->words[5] ^= own.words[7];
        return own.words[39];
}

static APART uint64_t an_array_cleared(byte *at, uint64_t seed)
{
        uint32_t *p = (uint32_t *)at;
        for (int i = 0; i < 100; i++)
                p[i] = 0;
        p[seed % 100] = 1;
        return p[99];
}

/* ---- vectors ---- */

typedef uint32_t vector4 __attribute__((vector_size(16)));
typedef uint64_t vector8 __attribute__((vector_size(64)));
typedef uint32_t vector4_anywhere __attribute__((vector_size(16), aligned(1)));

static APART uint64_t vectors(byte *at, uint64_t seed)
{
        vector4 *p = (vector4 *)at;
        vector8 *q = (vector8 *)(at + 64);
        p[1] = p[0] + (vector4){ (uint32_t)seed, 2, 3, 4 };
        q[1] = q[0] ^ seed;
        return p[1][0] + q[1][7];
}

static APART uint64_t vectors_anywhere(byte *at, uint64_t seed)
{
        vector4_anywhere *p = (vector4_anywhere *)at;
        p[1] = p[0] * (uint32_t)seed;
        return p[1][3];
}

/* The optimiser makes vectors of these, with gathers and masks where the machine has them. */
static APART uint64_t a_loop_for_vectors(byte *at, uint64_t seed)
{
        uint32_t *p = (uint32_t *)at;
        uint32_t own[64];
        for (int i = 0; i < 64; i++)
                own[i] = p[i] ^ (uint32_t)seed;
        for (int i = 0; i < 64; i++)
                p[i] = own[63 - i] + p[i];
        return own[5];
}

static APART uint64_t a_loop_with_conditions(byte *at, uint64_t seed)
{
        uint32_t *p = (uint32_t *)at;
        uint32_t sum = 0;
        for (int i = 0; i < 64; i++)
                if (p[i] & 1)
                        p[i] = (uint32_t)seed + (uint32_t)i;
        for (int i = 0; i < 64; i++)
                if (p[i] > seed)
                        sum += p[i + 32];
        return sum;
}

static APART uint64_t a_loop_over_indices(byte *at, uint64_t seed)
{
        uint32_t *p = (uint32_t *)at;
        uint32_t sum = (uint32_t)seed;
        for (int i = 0; i < 32; i++)
                sum += p[p[i] % 100];
        for (int i = 0; i < 32; i++)
                p[(p[i] & 31) + 64] = sum;
        return sum;
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f,avx512vl,avx2"))) static APART uint64_t masked(byte *at, uint64_t seed)
{
        if (!__builtin_cpu_supports("avx512vl"))
                return 0;
        const __mmask8 mask = (__mmask8)(seed | 1);
        __m256i seen = _mm256_mask_loadu_epi32(_mm256_set1_epi32(7), mask, at);
        seen = _mm256_add_epi32(seen, _mm256_set1_epi32((int)seed));
        _mm256_mask_storeu_epi32(at + 40, mask, seen);
        uint32_t out[8];
        memcpy(out, &seen, sizeof(out));
        return out[0] + out[7] * (uint64_t)3;
}

__attribute__((target("avx512f,avx512vl,avx2"))) static APART uint64_t gathered(byte *at, uint64_t seed)
{
        if (!__builtin_cpu_supports("avx512vl"))
                return 0;
        uint64_t *p = (uint64_t *)at;
        uint64_t sum = seed;
#pragma clang loop vectorize(enable) vectorize_width(8)
        for (int i = 0; i < 32; i++)
                sum += p[(i * 7) & 31];
#pragma clang loop vectorize(enable) vectorize_width(8)
        for (int i = 0; i < 16; i++)
                if (p[i] & 1)
                        p[i * 2] = sum;
        return sum;
}
#endif

#include "tests/compiler/forms_intrinsics.h"

/* ---- atomic operations ---- */

#define ATOMIC_FORM(name, type)                                                 \
        static APART uint64_t name##_atomic(byte *at, uint64_t seed)            \
        {                                                                       \
                _Atomic(type) *p = (_Atomic(type) *)at;                         \
                type expected = (type)seed;                                     \
                atomic_store_explicit(&p[0], (type)seed, memory_order_release); \
                type sum = atomic_load_explicit(&p[1], memory_order_acquire);   \
                sum += atomic_fetch_add(&p[0], 3);                              \
                sum += atomic_exchange(&p[2], (type)(seed + 5));                \
                sum += atomic_fetch_xor(&p[3], (type)0x55);                     \
                sum += atomic_compare_exchange_strong(&p[0], &expected, 9);     \
                sum += atomic_compare_exchange_strong(&p[0], &expected, 9);     \
                return (uint64_t)sum + atomic_fetch_sub(&p[1], 1);              \
        }

ATOMIC_FORM(u8, uint8_t)
ATOMIC_FORM(u16, uint16_t)
ATOMIC_FORM(u32, uint32_t)
ATOMIC_FORM(u64, uint64_t)

/* ---- <string.h> ---- */

static APART uint64_t copies(byte *at, uint64_t seed)
{
        byte own[300];
        memcpy(own, at - 100, sizeof(own));
        memmove(at - 50, at - 60, 200 + seed % 50);
        memmove(at + 10, at, 300);
        memcpy(at - 200, own, seed % 90);
        memset(at + 20, (int)seed, seed % 70);
        memset(at - 10, 0, 20);
        return own[seed % 300];
}

static APART uint64_t constant_copies(byte *at, uint64_t seed)
{
        uint64_t word;
        struct small pair;
        memcpy(&word, at, 8);
        word += seed;
        memcpy(at - 3, &word, 8);
        memcpy(&pair, at + 1, sizeof(pair));
        pair.b ^= seed;
        memcpy(at + 32, &pair, sizeof(pair));
        memmove(at + 60, at + 50, 24);
#if __has_builtin(__builtin_memcpy_inline)
        __builtin_memcpy_inline(at + 100, at - 9, 33);
#endif
        return word;
}

/* Moves over three pages, both ways. */
static APART uint64_t moves_over_pages(byte *at, uint64_t seed)
{
        byte *from = at - 5000, *to = from + 1 + seed % 300;
        memmove(to, from, 9000);
        memmove(from + 7, to, 8500);
        return from[4000];
}

static int sign(int order)
{
        return (order > 0) - (order < 0);
}

static APART uint64_t comparisons(byte *at, uint64_t seed)
{
        byte own[200];
        memcpy(own, at, sizeof(own));
        int sum = sign(memcmp(own, at, sizeof(own))) + 1;
        own[seed % 200]++;
        sum = sum * 3 + sign(memcmp(own, at, sizeof(own))) + 1;
        sum = sum * 3 + (bcmp(at, at + 8, 16) != 0);
        sum = sum * 3 + (memcmp(at, at + 1, 24) == 0);
        byte *found = memchr(at, at[seed % 100], 200);
        byte *last = memrchr(at, at[3], 200);
        return (uint64_t)sum * 1000 + (uint64_t)(found - at) * 7 + (uint64_t)(last - at);
}

static APART uint64_t texts(byte *at, uint64_t seed)
{
        char *text = (char *)at - 100;
        char own[400];
        memset(text, 'a' + (int)(seed % 20), 150);
        text[150] = '\0';
        uint64_t sum = strlen(text) + strnlen(text, 77) + strnlen(text, 400);
        strcpy(own, text);
        strcat(text, "xyz");
        stpcpy(text + 153, "-end");
        sum = sum * 3 + (uint64_t)(sign(strcmp(own, text)) + 1);
        sum = sum * 3 + (uint64_t)(sign(strncmp(text, own, 150)) + 1);
        sum = sum * 3 + (uint64_t)(sign(strcasecmp(text, "AAAA")) + 1) +
              (uint64_t)(sign(strncasecmp(text, own, 90)) + 1);
        strncpy(text + 200, own, 20);
        strncpy(text + 220, "ab", 10);
        strncat(text, own, 5);
        sum = sum * 7 + (uint64_t)(strchr(text, 'x') - text) + (uint64_t)(strrchr(text, '-') - text);
        sum = sum * 7 + (uint64_t)(strstr(text, "yz-") - text) + (strchr(text, '#') != NULL);
        sum = sum * 7 + strcspn(text, "z") + strspn(text, own) + (uint64_t)(strpbrk(text, "-z") - text);
        char *copy = strdup(text), *part = strndup(text, 10);
        sum = sum * 7 + strlen(copy) + strlen(part);
        free(copy);
        free(part);
        return sum;
}

static APART uint64_t texts_of_gnu(byte *at, uint64_t seed)
{
        char *text = (char *)at - 100;
        char own[400];
        memset(text, 'a' + (int)(seed % 20), 150);
        text[150] = '\0';
        char *end = stpncpy(own, text, 90);
        uint64_t sum = (uint64_t)(end - own);
        end = stpncpy(text + 150, "xYz", 5);
        sum = sum * 7 + (uint64_t)(end - text) + (uint64_t)(strchrnul(text, 'Y') - text);
        sum = sum * 7 + (uint64_t)(strchrnul(text, '#') - text);
        sum = sum * 7 + (uint64_t)(index(text, 'x') - text) + (uint64_t)(rindex(text, 'z') - text);
        sum = sum * 7 + (uint64_t)(strcasestr(text, "XyZ") - text) + (strcasestr(text, "xx") != NULL);
        sum = sum * 7 + (uint64_t)(strcasestr(own, "") - own);
        return sum * 7 + (index(text, '#') == NULL) + (rindex(text, '#') == NULL);
}

static APART uint64_t bytes_of_gnu(byte *at, uint64_t seed)
{
        byte own[300];
        bcopy(at - 90, own, 200);          // NOLINT(clang-analyzer-security.insecureAPI.bcopy): a form
        bcopy(at, at + 7 + seed % 5, 300); // NOLINT(clang-analyzer-security.insecureAPI.bcopy): a form
        byte *end = memccpy(own, at, at[77], 200);
        uint64_t sum = (uint64_t)(end - own);
        at[90] = 1;
        memset(at + 91, 2, 90);
        sum = sum * 7 + (memccpy(at + 200, at + 91, 1, 50) == NULL);
        sum = sum * 7 + (uint64_t)((byte *)rawmemchr(at, 2) - at);
        byte *found = memmem(at - 50, 300, at + 80, 15);
        sum = sum * 7 + (uint64_t)(found - at) + (memmem(at + 91, 40, at + 88, 9) != NULL);
        sum = sum * 7 + (memmem(at, 3, at, 4) != NULL) + (memmem(at, 3, at, 0) == at);
        explicit_bzero(at + 30, seed % 60);
        return sum * 7 + own[seed % 200];
}

static APART uint64_t sum_of_piece(uint64_t sum, const char *piece, const byte *at)
{
        return sum * 31 + (piece ? strlen(piece) * 7 + (uint64_t)((const byte *)piece - at) : 5);
}

/* They go on where they were, which is kept on the stack, in a view, or by the function itself. */
static APART uint64_t texts_in_pieces(byte *at, uint64_t seed)
{
        static const char line[] = ",;one,,two;three, four ;;five,";
        char *text = (char *)at + 8, *own = NULL, **there = (char **)at;
        uint64_t sum = 0;
        memcpy(text, line, sizeof(line));
        text[seed % sizeof(line)] = ';';
        for (char *p = strtok_r(text, ",;", &own); p; p = strtok_r(NULL, ",;", &own))
                sum = sum_of_piece(sum, p, at);
        memcpy(text, line, sizeof(line));
        for (char *p = strtok_r(text, ", ", there); p; p = strtok_r(NULL, ";", there))
                sum = sum_of_piece(sum, p, at);
        memcpy(text, line, sizeof(line));
        for (char *p = strtok(text, ",;"); p; p = strtok(NULL, ";,"))
                sum = sum_of_piece(sum, p, at);
        memcpy(text, line, sizeof(line));
        own = text;
        for (int i = 0; i < 12; i++)
                sum = sum_of_piece(sum, strsep(&own, ";, "), at);
        memcpy(text, line, sizeof(line));
        *there = text;
        for (int i = 0; i < 12; i++)
                sum = sum_of_piece(sum, strsep(there, ";,"), at);
        *there = NULL; /* it differs from memory to memory */
        return sum;
}

/* ---- ways to get at an address ---- */

static APART byte *pick(byte *one, byte *other, uint64_t seed)
{
        return seed & 1 ? one : other;
}

static APART uint64_t one_of_two(byte *at, uint64_t seed)
{
        byte own[16] = { 1, 2, 3 };
        byte *p = seed & 2 ? own : at;
        *p += 5;
        byte *q = pick(own, at, seed);
        *q += 7;
        return own[0] + *p;
}

struct offset_pointer {
        ptrdiff_t offset;
};

/* As Boost's: relative to where the pointer itself lies, be that the stack or a view. */
static APART uint64_t offset_pointers(byte *at, uint64_t seed)
{
        struct offset_pointer own, *there = (struct offset_pointer *)at;
        own.offset = (ptrdiff_t)((uintptr_t)(at + 100) - (uintptr_t)&own);
        byte *p = (byte *)((uintptr_t)&own + (uintptr_t)own.offset);
        *p = (byte)seed;
        there->offset = 32;
        byte *q = (byte *)there + there->offset;
        *q += *p;
        return *q;
}

struct member {
        uint64_t before[4];
        uint64_t here;
};

static APART uint64_t container_of_member(byte *at, uint64_t seed)
{
        uint64_t *here = &((struct member *)at)->here;
        struct member *whole = (struct member *)((byte *)here - offsetof(struct member, here));
        whole->before[2] = seed;
        *here += whole->before[3];
        return *here;
}

#include "tests/compiler/forms_addresses.h"

static _Thread_local uint64_t own_of_thread;
static uint64_t own_of_all;

static APART uint64_t variables(byte *at, uint64_t seed)
{
        own_of_thread = seed;
        own_of_all = own_of_thread + at[0];
        at[1] = (byte)own_of_all;
        return own_of_thread + own_of_all;
}

/* Addresses known only to code that was compiled elsewhere: the pointers are in memory. */
static APART uint64_t a_list(byte *at, uint64_t seed)
{
        struct node {
                struct node *next;
                uint64_t value;
        } *first = NULL, *node;
        for (int i = 0; i < 12; i++) {
                node = (struct node *)(at + 16 + i * 24);
                node->next = first;
                node->value = seed + (uint64_t)i;
                first = node;
        }
        uint64_t sum = 0;
        for (node = first; node; node = node->next)
                sum = sum * 3 + node->value;
        for (node = first; node;) {
                struct node *next = node->next;
                node->next = NULL;
                node = next;
        }
        return sum;
}

/* ---- flow ---- */

static APART void jump(jmp_buf *out, byte *at)
{
        *at += 1;
        longjmp(*out, *at | 1);
}

static APART uint64_t jumps(byte *at, uint64_t seed)
{
        jmp_buf out;
        volatile uint64_t sum = seed;
        int came = setjmp(out);
        if (came)
                return sum + (uint64_t)came + at[0];
        at[1] = (byte)seed;
        sum += at[1];
        jump(&out, at);
        return 0;
}

static APART uint64_t switches(byte *at, uint64_t seed)
{
        static void *const places[] = { &&zero, &&one, &&two };
        goto *places[at[seed % 64] % 3];
zero:
        at[0]++;
        return 0;
one:
        at[1] += 2;
        return at[1];
two:
        switch (at[2]) {
        case 3:
                return at[3];
        default:
                at[4] = at[5];
                return at[4];
        }
}

static byte *in_view;

/* ---- accesses that the source does not do ---- */

/* The optimiser knows that there is memory behind `there`, and could load ahead: between transactions, where the view
 * must not be touched. */
static APART uint64_t only_if(int is_inside, const struct large there[static 1])
{
        return is_inside ? there->words[5] : 0;
}

/* A transaction would have read it, and could lose for that. */
static int is_loaded_ahead(xac_env *env)
{
        const void *there = in_view;
        volatile int is_inside = 0;
        int failed = only_if(is_inside, there) != 0;
        failed += xbegin(env, 0) != 0;
        failed += only_if(is_inside, there) != 0;
        if (xac_entry_of(xac_kept->of_reads, there)->unit == (uintptr_t)there >> XAC_TRANSLATE_SHIFT) {
                printf("what the source does not load is loaded\n");
                failed++;
        }
        return failed + (xend(env) != 0);
}

/* ---- all of them, at all places ---- */

#define NUMBERS(name, type)                                 \
        { #name " aligned", name##_aligned, sizeof(type) }, \
        {                                                   \
#name " anywhere", name##_anywhere, 1       \
        }

static const struct form forms[] = {
        NUMBERS(u8, uint8_t),
        NUMBERS(u16, uint16_t),
        NUMBERS(u32, uint32_t),
        NUMBERS(u64, uint64_t),
        NUMBERS(u128, u128_t),
        { "16 bits, misaligned", u16_misaligned, 1 },
        { "32 bits, misaligned", u32_misaligned, 1 },
        { "64 bits, misaligned", u64_misaligned, 1 },
        { "float", f32_form, 1 },
        { "double", f64_form, 1 },
        { "long double", f80_form, 1 },
        { "complex", of_complex, 8 },
        { "pointer", a_pointer, 8 },
        { "bit-fields", bit_fields, 8 },
        { "volatile", seen_by_volatile, 4 },
        { "structs in registers", structs_in_registers, 8 },
        { "struct returned", a_struct_returned_there, 8 },
        { "struct by value", a_struct_by_value, 8 },
        { "struct among variable arguments", a_struct_among_others, 8 },
        { "lists in structs", lists_in_structs, 8 },
        { "struct assigned", a_struct_assigned, 8 },
        { "array cleared", an_array_cleared, 4 },
        { "vectors", vectors, 64 },
        { "vectors anywhere", vectors_anywhere, 1 },
        { "loop for vectors", a_loop_for_vectors, 4 },
        { "loop with conditions", a_loop_with_conditions, 4 },
        { "loop over indices", a_loop_over_indices, 4 },
#if defined(__x86_64__)
        { "builtin jumps", builtin_jumps, 8 },
        { "truncated", truncated, 1 },
        { "masked", masked, 4 },
        { "gathered", gathered, 8 },
#endif
        { "u8 atomic", u8_atomic, 1 },
        { "u16 atomic", u16_atomic, 2 },
        { "u32 atomic", u32_atomic, 4 },
        { "u64 atomic", u64_atomic, 8 },
        { "copies", copies, 1 },
        { "constant copies", constant_copies, 1 },
        { "moves over pages", moves_over_pages, 1 },
        { "comparisons", comparisons, 1 },
        { "texts", texts, 1 },
        { "texts of GNU", texts_of_gnu, 1 },
        { "bytes of GNU", bytes_of_gnu, 1 },
        { "texts in pieces", texts_in_pieces, 8 },
        { "one of two", one_of_two, 1 },
        { "offset pointers", offset_pointers, 8 },
        { "container of member", container_of_member, 8 },
        { "rebuilt from NULL", rebuilt_from_null, 4 },
        { "rebuilt from a global", rebuilt_from_global, 1 },
        { "rebuilt from a local", rebuilt_from_local, 1 },
        { "rebuilt from memory", rebuilt_from_memory, 1 },
        { "rebuilt by a distance", rebuilt_by_distance, 1 },
        { "variables", variables, 1 },
        { "list", a_list, 8 },
        { "jumps", jumps, 1 },
        { "switches", switches, 1 },
};

static const struct form *form;
static byte *place_in_view, *place_in_memory;
static uint64_t seed_of_run;

/* Most of the program's time. */
static APART void fill(byte *bytes, uint64_t seed)
{
        uint64_t *words = (uint64_t *)bytes;

        for (size_t i = 0; i < AREA / sizeof(*words); i++) {
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
                words[i] = seed ^ seed >> 32;
        }
}

/* A transaction: everything begins anew, is compared, and stays. */
static int run_both(void *unused)
{
        (void)unused;
        fill(in_view, seed_of_run);
        fill(in_memory, seed_of_run);
        const uint64_t seen = form->run(place_in_view, seed_of_run);
        const uint64_t expected = form->run(place_in_memory, seed_of_run);
        if (seen == expected && !memcmp(in_view, in_memory, AREA))
                return 0;
        size_t at = 0;
        while (at < AREA && in_view[at] == in_memory[at])
                at++;
        printf("%s: gives %llx instead of %llx; first different byte: %zd from the place\n", form->name,
               (unsigned long long)seen, (unsigned long long)expected,
               at < AREA ? (ssize_t)at - (place_in_view - in_view) : 0);
        return 1;
}

static int run_at(xac_env *env, long offset)
{
        place_in_view = in_view + MIDDLE + offset;
        place_in_memory = in_memory + MIDDLE + offset;
        seed_of_run = seed_of_run * 25 + (uint64_t)offset + 77;
        int err = xac_run(env, 0, run_both, NULL);
        if (err)
                printf("%s at %ld: %s\n", form->name, offset, err == 1 ? "differs" : xac_strerror(err));
        return err;
}

static int run_form(xac_env *env)
{
        const long step = form->align > 1 ? (long)form->align : 1;
        int failed = 0;
        for (long offset = -128 / step * step; !failed && offset <= 64; offset += step)
                failed = run_at(env, offset);
        return failed;
}

static void *share(void *env)
{
        void *view = xac_mmap(env, "forms", AREA, XAC_SHARED);
        if (view == MAP_FAILED) {
                perror("xac_mmap");
                exit(1);
        }
        return view;
}

static pthread_barrier_t barrier;

/* A second thread has the view: so nothing of it can be touched. */
static void *stay(void *env)
{
        void *view = share(env);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        return view;
}

int main(int count, char **arguments)
{
        xac_env *env;
        pthread_t other;
        int failed = 0;
        if (count != 2)
                return 2;
        int err = xac_open(arguments[1], XAC_CREATE | XAC_VOLATILE | XAC_STRICT, NULL, &env);
        if (err) {
                printf("%s\n", xac_strerror(err));
                return 1;
        }
        in_memory = aligned_alloc(4096, AREA);
        in_view = share(env);
        pthread_barrier_init(&barrier, NULL, 2);
        pthread_create(&other, NULL, stay, env);
        pthread_barrier_wait(&barrier);
        for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
                form = &forms[i];
                failed += run_form(env) != 0;
        }
        failed += is_loaded_ahead(env);
        pthread_barrier_wait(&barrier);
        pthread_join(other, NULL);
        xac_stats stats;
        xac_stat(env, &stats);
        if (stats.read_faults + stats.write_faults) {
                printf("%llu faults\n", (unsigned long long)(stats.read_faults + stats.write_faults));
                failed++;
        }
        free(in_memory);
        return xac_close(env) || failed;
}
