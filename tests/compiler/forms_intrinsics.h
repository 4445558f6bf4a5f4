/* SPDX-License-Identifier: MIT */

/* Forms (forms.c) of which clang makes intrinsics of its own: lists of arguments, jumps, vectors that are cut. */

struct with_list {
        va_list list;
        uint64_t other;
};

/* A list that is a parameter may be anywhere. */
static APART uint64_t sum_of_list(int count, va_list list)
{
        va_list again;
        uint64_t sum = 0;
        va_copy(again, list);
        for (int i = 0; i < count; i++)
                sum = sum * 3 + va_arg(again, uint64_t) + (uint64_t)va_arg(again, double);
        va_end(again);
        return sum * 5 + va_arg(list, uint64_t);
}

static APART uint64_t sum_by_lists(struct with_list *there, int count, ...)
{
        va_start(there[0].list, count);
        va_copy(there[1].list, there[0].list);
        uint64_t sum = va_arg(there[0].list, uint64_t) + sum_of_list(count, there[1].list);
        sum = sum * 7 + sum_of_list(count, there[0].list) / 2;
        va_end(there[1].list);
        va_end(there[0].list);
        return sum;
}

static APART uint64_t lists_in_structs(byte *at, uint64_t seed)
{
        struct with_list *there = (struct with_list *)at;
        uint64_t sum =
                sum_by_lists(there, 3, seed, 1.0, seed + 1, 2.0, seed + 2, 3.0, seed + 3, 4.0, seed + 4, 5.0, seed + 5);
        memset(there, 0, 2 * sizeof(*there)); /* they differ from memory to memory */
        return sum;
}

#if defined(__x86_64__)
static APART _Noreturn void jump_there(void **buffer)
{
        __builtin_longjmp(buffer, 1);
}

static APART uint64_t builtin_jumps(byte *at, uint64_t seed)
{
        void **buffer = (void **)(at + 16);
        volatile uint64_t times = 0;
        byte *volatile there = at;
        if (__builtin_setjmp(buffer) == 0 || times < 2) {
                times = times + 1;
                *there += 1;
                jump_there((void **)(there + 16));
        }
        memset(there + 16, 0, 5 * sizeof(*buffer));
        return times + *there + (seed & 1);
}

__attribute__((target("avx512f,avx512vl,avx512bw"))) static APART uint64_t truncated(byte *at, uint64_t seed)
{
        if (!__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw"))
                return 0;
        uint64_t own[8];
        memcpy(own, at + 256, sizeof(own));
        const __m512i words = _mm512_loadu_si512(own);
        const __m256i half = _mm512_castsi512_si256(words);
        _mm512_mask_cvtepi64_storeu_epi8(at, (__mmask8)seed, words);
        _mm512_mask_cvtusepi32_storeu_epi16(at + 8, (__mmask16)(seed >> 3), words);
        _mm512_mask_cvtsepi16_storeu_epi8(at + 40, (__mmask32)(seed >> 5), words);
        _mm256_mask_cvtepi64_storeu_epi32(at + 80, (__mmask8)(seed >> 1 | 1), half);
        _mm256_mask_cvtsepi32_storeu_epi8(at + 97, (__mmask8)(seed >> 2), half);
        return at[0] + at[80];
}
#endif
