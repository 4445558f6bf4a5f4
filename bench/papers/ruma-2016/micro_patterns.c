/* SPDX-License-Identifier: MIT */

/*
 * Five patterns of access, directly to rewired pages and through a directory (section 4.6 of the paper). Each makes as
 * many accesses as there are words. A word holds the place of the next one, in one cycle through all: by chance, or the
 * neighbour's. Independent accesses do not look at it. The mixed pattern goes to a place by chance, and from there to
 * four next ones.
 */

#include <inttypes.h>

#include "bench/papers/ruma-2016/pages.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

enum pattern { RANDOM, SEQUENTIAL, RANDOM_DEPENDENT, RANDOM_MIXED, SEQUENTIAL_DEPENDENT, PATTERNS };

/* The paper's seconds for 10^9 accesses are nanoseconds for one; with huge pages. */
static const struct pattern_name {
        const char *name, *paper_indirect, *paper_rewired, *paper_times;
} names[PATTERNS] = {
        [RANDOM] = { "random independent", "14.03", "13.16", "1.07" },
        [SEQUENTIAL] = { "sequential independent", "1.58", "0.84", "1.88" },
        [RANDOM_DEPENDENT] = { "random dependent", "113.40", "106.99", "1.05" },
        [RANDOM_MIXED] = { "random mixed", "58.33", "38.19", "1.53" },
        [SEQUENTIAL_DEPENDENT] = { "sequential dependent", "6.60", "3.11", "2.12" },
};

static const struct pages_way ways[] = {
        { "indirect", PAGES_INDIRECT, SMALL_PAGE, false, false },
        { "rewired", PAGES_REWIRED, SMALL_PAGE, false, false },
        { "indirect", PAGES_INDIRECT, HUGE_PAGE, false, false },
        { "rewired", PAGES_REWIRED, HUGE_PAGE, false, false },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]), DIRECT = 0 /* instead of the shift of a directory */ };

struct run {
        const struct rewire_bench *bench;
        const struct pages_way *way;
        const uint64_t *next; /* the cycle by chance */
        double ns[PATTERNS];
        uint64_t sum[PATTERNS];
};

/* ---- the patterns; each is compiled for each way to a word ---- */

static inline uint64_t word_at(const struct pages *pages, uint64_t i, int shift)
{
        return shift == DIRECT ? pages->flat[i] : pages->directory[i >> shift][i & ((UINT64_C(1) << shift) - 1)];
}

/* Below 2^32 words. */
static inline uint64_t place(uint64_t *random, uint64_t words)
{
        return (measure_random(random) >> 32) * words >> 32;
}

static inline uint64_t sum_random(const struct pages *pages, uint64_t words, uint64_t random, int shift)
{
        uint64_t sum = 0;

        for (uint64_t i = 0; i < words; i++)
                sum += word_at(pages, place(&random, words), shift);
        return sum;
}

static inline uint64_t sum_sequential(const struct pages *pages, uint64_t words, int shift)
{
        uint64_t sum = 0;

        for (uint64_t i = 0; i < words; i++)
                sum += word_at(pages, i, shift);
        return sum;
}

static inline uint64_t sum_dependent(const struct pages *pages, uint64_t words, int shift)
{
        uint64_t sum = 0;

        for (uint64_t i = 0, at = 0; i < words; i++)
                sum += at = word_at(pages, at, shift);
        return sum;
}

static inline uint64_t sum_mixed(const struct pages *pages, uint64_t words, uint64_t random, int shift)
{
        uint64_t sum = 0;

        for (uint64_t i = 0; i < words / 5; i++) {
                uint64_t at = word_at(pages, place(&random, words), shift);
                for (int next = 0; next < 4; next++)
                        at = word_at(pages, at, shift);
                sum += at;
        }
        return sum;
}

static inline uint64_t sum_by(enum pattern pattern, const struct pages *pages, uint64_t words, uint64_t random,
                              int shift)
{
        switch (pattern) {
        case RANDOM:
                return sum_random(pages, words, random, shift);
        case SEQUENTIAL:
                return sum_sequential(pages, words, shift);
        case RANDOM_MIXED:
                return sum_mixed(pages, words, random, shift);
        default:
                return sum_dependent(pages, words, shift);
        }
}

static uint64_t sum_of(enum pattern pattern, const struct pages *pages, uint64_t words, uint64_t random)
{
        if (!pages->directory)
                return sum_by(pattern, pages, words, random, DIRECT);
        if (pages->way.page_bytes == SMALL_PAGE)
                return sum_by(pattern, pages, words, random, PAGES_SMALL_SHIFT);
        return sum_by(pattern, pages, words, random, PAGES_HUGE_SHIFT);
}

/* ---- a run ---- */

/* Without `next`, each word's next one is its neighbour. */
static void fill(const struct pages *pages, const uint64_t *next, uint64_t words)
{
        const uint64_t each = pages->way.page_bytes / sizeof(uint64_t);

        for (uint64_t page = 0; page < pages->count; page++) {
                uint64_t *word = pages_words(pages, page);
                for (uint64_t i = 0, no = page * each; i < each; i++, no++)
                        word[i] = next ? next[no] : (no + 1) % words;
        }
}

static void measure_pattern(struct run *run, const struct pages *pages, enum pattern pattern)
{
        const uint64_t words = run->bench->bytes / sizeof(uint64_t);
        const uint64_t start = measure_now_ns();

        run->sum[pattern] = sum_of(pattern, pages, words, run->bench->seed);
        run->ns[pattern] = (double)(measure_now_ns() - start) / (double)words;
}

/* No page faults are left for them: everything was written through the same addresses. */
static void measure(void *shared)
{
        struct run *run = shared;
        const uint64_t words = run->bench->bytes / sizeof(uint64_t);
        struct pages pages;

        pages_prepare(&pages, run->way, run->bench->bytes, run->bench->seed);
        must(pages_allocate(&pages), "allocation");
        fill(&pages, run->next, words);
        for (enum pattern pattern = RANDOM; pattern < SEQUENTIAL_DEPENDENT; pattern++)
                measure_pattern(run, &pages, pattern);
        fill(&pages, NULL, words);
        measure_pattern(run, &pages, SEQUENTIAL_DEPENDENT);
        pages_free(&pages);
}

/* One cycle through all words by chance (S. Sattolo, 1986). */
static uint64_t *make_cycle(uint64_t words, uint64_t seed)
{
        uint64_t *next = (uint64_t *)memory_make_huge(words * sizeof(*next));

        for (uint64_t i = 0; i < words; i++)
                next[i] = i;
        for (uint64_t i = words - 1; i > 0; i--) {
                const uint64_t other = place(&seed, i), word = next[i];
                next[i] = next[other];
                next[other] = word;
        }
        return next;
}

/* Whoever visits all words once has the sum of all places. */
static void sums_of_cycle(const struct rewire_bench *bench, const struct pages *plain, uint64_t sum[PATTERNS])
{
        const uint64_t words = bench->bytes / sizeof(uint64_t);

        for (enum pattern pattern = 0; pattern < PATTERNS; pattern++)
                sum[pattern] = words / 2 * (words - 1);
        sum[RANDOM] = sum_of(RANDOM, plain, words, bench->seed);
        sum[RANDOM_MIXED] = sum_of(RANDOM_MIXED, plain, words, bench->seed);
}

static void run_rounds(const struct rewire_bench *bench, struct samples ns[WAYS][PATTERNS])
{
        struct run *run = memory_share(sizeof(*run));
        const struct pages plain = { .flat = make_cycle(bench->bytes / sizeof(uint64_t), bench->seed) };
        uint64_t sum[PATTERNS];

        sums_of_cycle(bench, &plain, sum);
        for (uint64_t round = 0; round < bench->rounds; round++)
                for (int way = 0; way < WAYS; way++) {
                        *run = (struct run){ .bench = bench, .way = &ways[way], .next = plain.flat };
                        alone_run(measure, run);
                        for (enum pattern pattern = 0; pattern < PATTERNS; pattern++) {
                                alone_check(names[pattern].name, run->sum[pattern], sum[pattern]);
                                samples_add(&ns[way][pattern], run->ns[pattern]);
                        }
                }
        memory_free(plain.flat, bench->bytes);
        memory_free(run, sizeof(*run));
}

static void print_row(struct table *table, enum pattern pattern, size_t page_bytes, const struct samples *indirect,
                      const struct samples *rewired)
{
        const struct pattern_name *name = &names[pattern];

        table_text(table, name->name);
        report_page(table, page_bytes);
        report_median(table, indirect, 2);
        table_text(table, page_bytes == HUGE_PAGE ? name->paper_indirect : "-");
        report_median(table, rewired, 2);
        table_text(table, page_bytes == HUGE_PAGE ? name->paper_rewired : "-");
        report_times(table, indirect, rewired);
        table_text(table, page_bytes == HUGE_PAGE ? name->paper_times : "-");
}

void patterns_run(const struct rewire_bench *bench)
{
        static const char *const headings[] = {
                "pattern               ", "page", "indirect", "paper", "rewired", "paper", "times", "paper's", NULL
        };
        struct samples ns[WAYS][PATTERNS] = { 0 };
        struct table table;

        printf("\nPatterns of access to %" PRIu64 " MiB: nanoseconds of an access, medians of %" PRIu64 " rounds\n\n",
               bench->bytes >> 20, bench->rounds);
        run_rounds(bench, ns);
        report_open(&table, bench->tsv, "rewire-patterns", headings);
        for (enum pattern pattern = 0; pattern < PATTERNS; pattern++)
                for (int way = 0; way < WAYS; way += 2)
                        print_row(&table, pattern, ways[way].page_bytes, &ns[way][pattern], &ns[way + 1][pattern]);
        table_close(&table);
        for (int way = 0; way < WAYS; way++)
                for (enum pattern pattern = 0; pattern < PATTERNS; pattern++)
                        samples_free(&ns[way][pattern]);
}
