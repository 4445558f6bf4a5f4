/* SPDX-License-Identifier: MIT */

/*
 * Where a byte or a part is: strchr(), strstr() and their relatives. Each looks no further than the C library's does,
 * and takes as many steps, up to a factor: a text in a view need not end.
 */

#include "compiler/runtime/runtime.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* ---- a byte, or the end of the text ---- */

#if defined(__SSE2__)

#define INLINE static inline __attribute__((always_inline))
#define AVX2   __attribute__((target("avx2")))

enum { BLOCK = 64 };

/* Bit i: byte i of the block is the one that is looked for, or 0. The lesser of it and of its difference is 0 then. */
typedef uint64_t (*either_fn)(const char *block, char byte);

INLINE uint64_t either_by_sse2(const char *block, char byte)
{
        enum { VECTORS = BLOCK / sizeof(__m128i) };
        const __m128i wanted = _mm_set1_epi8(byte), zero = _mm_setzero_si128();
        __m128i least[VECTORS], all = _mm_set1_epi8(-1);
        for (int i = 0; i < VECTORS; i++) {
                const __m128i bytes = _mm_load_si128((const __m128i *)block + i);
                least[i] = _mm_min_epu8(bytes, _mm_xor_si128(bytes, wanted));
                all = _mm_min_epu8(all, least[i]);
        }
        if (!_mm_movemask_epi8(_mm_cmpeq_epi8(all, zero)))
                return 0;
        uint64_t found = 0;
        for (int i = 0; i < VECTORS; i++)
                found |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(least[i], zero)) << i * 16;
        return found;
}

INLINE AVX2 uint64_t either_by_avx2(const char *block, char byte)
{
        const __m256i wanted = _mm256_set1_epi8(byte), zero = _mm256_setzero_si256();
        const __m256i low = _mm256_load_si256((const __m256i *)block);
        const __m256i high = _mm256_load_si256((const __m256i *)block + 1);
        const __m256i least_low = _mm256_min_epu8(low, _mm256_xor_si256(low, wanted));
        const __m256i least_high = _mm256_min_epu8(high, _mm256_xor_si256(high, wanted));
        if (!_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(least_low, least_high), zero)))
                return 0;
        return (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(least_high, zero)) << 32 |
               (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(least_low, zero));
}

/* `len` if neither is there. Whole blocks are read, which lie in the same page. */
INLINE size_t find_by(either_fn either_in, const char *bytes, size_t len, char byte)
{
        const size_t before = (uintptr_t)bytes % BLOCK;
        const char *block = bytes - before, *end = bytes + len;
        uint64_t found = either_in(block, byte) >> before << before;
        while (!found && end - block > BLOCK)
                found = either_in(block += BLOCK, byte);
        return found ? xacrt_lesser((size_t)(block - bytes) + (size_t)__builtin_ctzll(found), len) : len;
}

AVX2 static size_t find_by_avx2(const char *bytes, size_t len, char byte)
{
        return find_by(either_by_avx2, bytes, len, byte);
}

static size_t find_either(const char *bytes, size_t len, char byte)
{
        return __builtin_cpu_supports("avx2") ? find_by_avx2(bytes, len, byte)
                                              : find_by(either_by_sse2, bytes, len, byte);
}

#else

static size_t find_either(const char *bytes, size_t len, char byte)
{
        const size_t text_len = strnlen(bytes, len);
        const char *found = memchr(bytes, byte, text_len);
        return found ? (size_t)(found - bytes) : text_len;
}

#endif

/* Its address in the view; *is_end says that it is the text's end, not the byte. */
static char *find_byte_or_end(const char *text, char byte, bool *is_end)
{
        for (;;) {
                const size_t piece = xacrt_piece(text, XACRT_UNIT);
                const char *seen = xac_for_read(text);
                const size_t at = find_either(seen, piece, byte);
                if (at < piece) {
                        *is_end = seen[at] != byte;
                        return (char *)(uintptr_t)text + at;
                }
                text += piece;
        }
}

XACRT_WEAK char *xacrt_strchr(const char *text, int byte)
{
        bool is_end;
        if (!xac_in_window(text))
                return strchr(text, byte);
        char *found = find_byte_or_end(text, (char)byte, &is_end);
        return is_end ? NULL : found;
}

XACRT_WEAK char *xacrt_strchrnul(const char *text, int byte)
{
        bool is_end;
        if (!xac_in_window(text))
                return strchrnul(text, byte);
        return find_byte_or_end(text, (char)byte, &is_end);
}

XACRT_WEAK char *xacrt_strrchr(const char *text, int byte)
{
        char *last = NULL;
        if (!xac_in_window(text))
                return strrchr(text, byte);
        for (;;) {
                const size_t piece = xacrt_piece(text, XACRT_UNIT);
                const char *seen = xac_for_read(text);
                const size_t len = strnlen(seen, piece);
                const char *found = memrchr(seen, byte, len < piece ? len + 1 : len);
                if (found)
                        last = (char *)(uintptr_t)text + (found - seen);
                if (len < piece)
                        return last;
                text += piece;
        }
}

XACRT_WEAK char *xacrt_index(const char *text, int byte)
{
        return xacrt_strchr(text, byte);
}

XACRT_WEAK char *xacrt_rindex(const char *text, int byte)
{
        return xacrt_strrchr(text, byte);
}

/* ---- a part ---- */

/* What is searched, from where it has been read to. */
struct searched {
        const char *at;
        size_t left;
        bool is_text; /* it may end before */
        bool folds;   /* case does not count */
};

/* Reads on. Less than `len` bytes: that is all. */
static size_t read_on(struct searched *searched, char *to, size_t len)
{
        size_t have = 0;
        while (have < len && searched->left) {
                const size_t piece = xacrt_piece(searched->at, xacrt_lesser(len - have, searched->left));
                const char *seen = xac_for_read(searched->at);
                const size_t some = searched->is_text ? strnlen(seen, piece) : piece;
                memcpy(to + have, seen, some);
                have += some;
                searched->at += some;
                searched->left -= some;
                if (some < piece)
                        break;
        }
        return have;
}

/* By the C library's: of texts they are faster. Both end in a 0 that does not count. */
static const char *find_in(const struct searched *searched, char *bytes, size_t len, const char *part, size_t part_len)
{
        bytes[len] = '\0';
        return !searched->is_text ? memmem(bytes, len, part, part_len)
               : searched->folds  ? strcasestr(bytes, part)
                                  : strstr(bytes, part);
}

enum { FIRST_READ = 256, ROOM = 4096 };

/* A text may end the program where its file ends, behind the part: what was read is searched before another unit is. A
 * part longer than a unit is not looked for so often. */
static size_t next_read(const struct searched *searched, size_t part_len, size_t room)
{
        return part_len > XACRT_UNIT ? room : xacrt_piece(searched->at, room);
}

/* The room holds the part twice. Each time its end is kept, in which the part may have begun. */
static char *find_in_room(struct searched *searched, const char *part, size_t part_len, char *room, size_t room_len)
{
        const char *begin = searched->at; /* of what is in the room */
        size_t wanted = next_read(searched, part_len, xacrt_lesser(part_len + FIRST_READ, room_len));
        for (size_t kept = 0;;) {
                const size_t some = read_on(searched, room + kept, wanted);
                const size_t len = kept + some;
                const char *found = find_in(searched, room, len, part, part_len);
                if (found)
                        return (char *)(uintptr_t)begin + (found - room);
                if (some < wanted)
                        return NULL;
                kept = xacrt_lesser(len, part_len - 1);
                memmove(room, room + len - kept, kept);
                begin += len - kept;
                wanted = next_read(searched, part_len, room_len - kept);
        }
}

/* There is no memory for a long part: it is compared where it lies, from each byte on. */
static char *find_slowly(const struct searched *searched, const char *part, size_t part_len)
{
        const char *at = searched->at, *last = searched->is_text ? NULL : at + searched->left - part_len;
        for (; !last || at <= last; at++) {
                const int differ = !searched->is_text ? xacrt_memcmp(at, part, part_len)
                                   : searched->folds  ? xacrt_strncasecmp(at, part, part_len)
                                                      : xacrt_strncmp(at, part, part_len);
                if (!differ)
                        return (char *)(uintptr_t)at;
                if (searched->is_text && *(const char *)xac_for_read(at) == '\0')
                        break;
        }
        return NULL;
}

/* From the system: the program may have a malloc() that gives memory in a view, and a search is to write to none. */
static char *take_room(size_t byte_len)
{
        void *room = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return room == MAP_FAILED ? NULL : room;
}

static char *find_part(struct searched *searched, const void *part, size_t part_len)
{
        char own[ROOM];
        const size_t part_room = part_len + 1;
        const size_t room_len = 3 * part_room < ROOM ? ROOM - part_room - 1 : 2 * part_len;
        const size_t byte_len = part_room + room_len + 1;
        if (!part_len)
                return (char *)(uintptr_t)searched->at;
        char *plain = byte_len <= ROOM ? own : take_room(byte_len);
        if (!plain)
                return find_slowly(searched, part, part_len);
        xacrt_memcpy(plain, part, part_len);
        plain[part_len] = '\0';
        char *found = find_in_room(searched, plain, part_len, plain + part_room, room_len);
        if (plain != own)
                munmap(plain, byte_len);
        return found;
}

XACRT_WEAK char *xacrt_strstr(const char *text, const char *part)
{
        struct searched searched = { .at = text, .left = SIZE_MAX, .is_text = true };
        if (!xac_in_window(text) && !xac_in_window(part))
                return strstr(text, part);
        return find_part(&searched, part, xacrt_strlen(part));
}

XACRT_WEAK char *xacrt_strcasestr(const char *text, const char *part)
{
        struct searched searched = { .at = text, .left = SIZE_MAX, .is_text = true, .folds = true };
        if (!xac_in_window(text) && !xac_in_window(part))
                return strcasestr(text, part);
        return find_part(&searched, part, xacrt_strlen(part));
}

XACRT_WEAK void *xacrt_memmem(const void *bytes, size_t len, const void *part, size_t part_len)
{
        struct searched searched = { .at = bytes, .left = len };
        if (!xac_in_window(bytes) && !xac_in_window(part))
                return memmem(bytes, len, part, part_len);
        return part_len > len ? NULL : find_part(&searched, part, part_len);
}

/* ---- the first bytes that are in a set, or are not ---- */

enum { SET = UINT8_MAX + 1, FIRST_SPAN = 128, SPAN = 1024 };

/* Each byte once, in memory of the program's own. */
static const char *plain_set(const char *set, char plain[SET])
{
        bool is_there[SET] = { true };
        size_t len = 0;
        if (!xac_in_window(set))
                return set;
        for (unsigned char byte; (byte = *(const unsigned char *)xac_for_read(set)) != '\0'; set++) {
                if (!is_there[byte])
                        plain[len++] = (char)byte;
                is_there[byte] = true;
        }
        plain[len] = '\0';
        return plain;
}

typedef size_t (*span_fn)(const char *, const char *);

/* The C library's works on a copy, which ends where the piece does. */
static size_t span(const char *text, const char *set, span_fn of_library)
{
        char plain[SET], copy[SPAN + 1];
        size_t len = 0, wanted = FIRST_SPAN;
        set = plain_set(set, plain);
        if (!xac_in_window(text))
                return of_library(text, set);
        for (;;) {
                const size_t piece = xacrt_piece(text + len, wanted);
                memcpy(copy, xac_for_read(text + len), piece);
                copy[piece] = '\0';
                const size_t some = of_library(copy, set);
                len += some;
                if (some < piece)
                        return len;
                wanted = SPAN;
        }
}

XACRT_WEAK size_t xacrt_strspn(const char *text, const char *set)
{
        if (!xac_in_window(text) && !xac_in_window(set))
                return strspn(text, set);
        return span(text, set, strspn);
}

XACRT_WEAK size_t xacrt_strcspn(const char *text, const char *set)
{
        if (!xac_in_window(text) && !xac_in_window(set))
                return strcspn(text, set);
        return span(text, set, strcspn);
}

XACRT_WEAK char *xacrt_strpbrk(const char *text, const char *set)
{
        if (!xac_in_window(text) && !xac_in_window(set))
                return strpbrk(text, set);
        char *found = (char *)(uintptr_t)text + span(text, set, strcspn);
        return *(const char *)xac_for_read(found) ? found : NULL;
}
