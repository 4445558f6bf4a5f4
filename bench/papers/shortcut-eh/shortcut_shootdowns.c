/* SPDX-License-Identifier: MIT */

/*
 * What it costs to point pages elsewhere while other threads read (figure 6 of the paper): the kernel interrupts their
 * processors, as these may know the old place. One thread points pages by chance elsewhere, one by one, and fills the
 * page table; readers read all words of all pages in sequence, of the area, or of an array that has nothing to do with
 * it. Then they read as many pages while nothing else happens. Of 2 MiB a sixteenth as many pages are pointed
 * elsewhere.
 *
 * The one thread has processor 0, and readers have the others. Their time is that of their processor, so that readers
 * who share one do not wait in it.
 */

#include "bench/papers/shortcut-eh/shortcut.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench/papers/shortcut-eh/shortcut_node.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/processor.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

enum { READERS_MOST = 7, SMALL_MOST = 1 << 14, HUGE_MOST = 128, HUGE_SHARE = 16, PLACE_BITS = 18 };

static const struct target {
        const char *name;
        bool is_array;
        size_t page_bytes;
} targets[] = {
        { "shortcut", false, SMALL_PAGE },
        { "array", true, SMALL_PAGE },
        { "shortcut", false, HUGE_PAGE },
        { "array", true, HUGE_PAGE },
};
enum { TARGETS = sizeof(targets) / sizeof(targets[0]) };

struct run {
        const struct shortcut_bench *bench;
        const struct target *target;
        int readers;
        double remap_ns, read_ns, alone_ns; /* of a page */
};

struct range {
        const uint64_t *words;
        uint64_t pages, page_words;
};

struct reader {
        pthread_t thread;
        const struct range *range;
        _Atomic bool *stops; /* NULL: after so many pages */
        int no;
        uint64_t pages;
        double ns;
};

static uint64_t pages_for(const struct shortcut_bench *bench, size_t page_bytes)
{
        const uint64_t most = page_bytes == SMALL_PAGE ? SMALL_MOST : HUGE_MOST;
        const uint64_t pages = bench->slots * SMALL_PAGE / page_bytes;

        return pages < 2 ? 2 : pages > most ? most : pages;
}

/* ---- readers ---- */

static void pin_reader(int no)
{
        const long processors = sysconf(_SC_NPROCESSORS_ONLN);
        processor_pin(processors > 1 ? 1 + no % ((int)processors - 1) : 0);
}

static double processor_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Each word has its place in its page in the lowest bits: whatever page is shown, their sum is known. */
static uint64_t sum_of_places(const uint64_t *words, uint64_t count)
{
        uint64_t sum = 0;

        for (uint64_t i = 0; i < count; i++)
                sum += words[i] & ((1 << PLACE_BITS) - 1);
        return sum;
}

static bool goes_on(const struct reader *reader, uint64_t read)
{
        return reader->stops ? !atomic_load_explicit(reader->stops, memory_order_relaxed) : read < reader->pages;
}

static void *read_pages(void *reader_)
{
        struct reader *reader = reader_;
        const struct range *range = reader->range;
        uint64_t sum = 0, read = 0, page = 0;

        pin_reader(reader->no);
        const double start = processor_ns();
        for (; goes_on(reader, read); read++) {
                sum += sum_of_places(range->words + page * range->page_words, range->page_words);
                page = page + 1 == range->pages ? 0 : page + 1;
        }
        reader->ns = processor_ns() - start;
        reader->pages = read;
        alone_check("readers", sum, read * (range->page_words * (range->page_words - 1) / 2));
        return NULL;
}

static void start_readers(const struct run *run, struct reader *readers)
{
        for (int i = 0; i < run->readers; i++)
                must(-pthread_create(&readers[i].thread, NULL, read_pages, &readers[i]), "pthread_create");
}

/* Nanoseconds of a page, in all of them. */
static double join_readers(const struct run *run, const struct reader *readers)
{
        double ns = 0, pages = 0;

        for (int i = 0; i < run->readers; i++) {
                must(-pthread_join(readers[i].thread, NULL), "pthread_join");
                ns += readers[i].ns;
                pages += (double)readers[i].pages;
        }
        return pages > 0 ? ns / pages : 0;
}

/* ---- who points pages elsewhere ---- */

static uint64_t remaps_for(const struct run *run)
{
        const uint64_t remaps = run->bench->remaps / (run->target->page_bytes == SMALL_PAGE ? 1 : HUGE_SHARE);
        return remaps ? remaps : 1;
}

struct mapper {
        struct run *run;
        xac_rewire_area *area;
        uint64_t first, pages; /* of the pool */
};

static void *remap(void *mapper_)
{
        const struct mapper *mapper = mapper_;
        const uint64_t remaps = remaps_for(mapper->run);
        uint64_t random = mapper->run->bench->seed;

        processor_pin(0);
        const uint64_t start = measure_now_ns();
        for (uint64_t i = 0; i < remaps; i++) {
                const uint64_t at = (measure_random(&random) >> 32) * mapper->pages >> 32;
                const uint64_t page = mapper->first + ((measure_random(&random) >> 32) * mapper->pages >> 32);
                must(xac_rewire_area_map(mapper->area, at, page, 1), "xac_rewire_area_map");
                must(xac_rewire_area_populate(mapper->area, at, 1), "xac_rewire_area_populate");
        }
        mapper->run->remap_ns = (double)(measure_now_ns() - start) / (double)remaps;
        return NULL;
}

static void race(struct run *run, const struct range *range, xac_rewire_area *area, uint64_t first)
{
        struct mapper mapper = { .run = run, .area = area, .first = first, .pages = range->pages };
        pthread_t thread;
        struct reader readers[READERS_MOST] = { 0 };
        _Atomic bool stops = false;

        for (int i = 0; i < run->readers; i++)
                readers[i] = (struct reader){ .range = range, .stops = &stops, .no = i };
        start_readers(run, readers);
        must(-pthread_create(&thread, NULL, remap, &mapper), "pthread_create");
        must(-pthread_join(thread, NULL), "pthread_join");
        atomic_store(&stops, true);
        run->read_ns = join_readers(run, readers);
        for (int i = 0; i < run->readers; i++)
                readers[i].stops = NULL; /* the same pages again, alone */
        start_readers(run, readers);
        run->alone_ns = join_readers(run, readers);
}

static void fill(uint64_t *words, const struct range *range)
{
        for (uint64_t i = 0; i < range->pages * range->page_words; i++)
                words[i] = i / range->page_words << PLACE_BITS | i % range->page_words;
}

static void measure(void *shared)
{
        struct run *run = shared;
        const size_t page_bytes = run->target->page_bytes;
        const uint64_t pages = pages_for(run->bench, page_bytes), byte_len = pages * page_bytes;
        const xac_rewire_pool_options options = { .page_bytes = page_bytes, .max_bytes = byte_len };
        struct range range = { .pages = pages, .page_words = page_bytes / sizeof(uint64_t) };
        xac_rewire_pool *pool;
        xac_rewire_area *area;
        uint64_t first;

        alone_warm(2 * byte_len);
        must(xac_rewire_pool_create(&options, &pool), "xac_rewire_pool_create");
        must(xac_rewire_pool_take(pool, pages, &first), "xac_rewire_pool_take");
        must(xac_rewire_area_create(pool, pages, 0, &area), "xac_rewire_area_create");
        must(xac_rewire_area_map(area, 0, first, pages), "xac_rewire_area_map");
        fill(xac_rewire_area_address(area), &range);
        uint64_t *array = (uint64_t *)(page_bytes == SMALL_PAGE ? memory_make(byte_len) : memory_make_huge(byte_len));
        fill(array, &range);
        range.words = run->target->is_array ? array : xac_rewire_area_address(area);
        race(run, &range, area, first);
        memory_free(array, byte_len);
        xac_rewire_area_destroy(area);
        must(xac_rewire_pool_destroy(pool), "xac_rewire_pool_destroy");
}

/* ---- the table ---- */

struct figures {
        struct samples remap_ns, read_ns, alone_ns;
};

static void measure_all(const struct shortcut_bench *bench, struct figures figures[TARGETS][READERS_MOST + 1])
{
        struct run *run = memory_share(sizeof(*run));

        for (uint64_t round = 0; round < bench->rounds; round++)
                for (int t = 0; t < TARGETS; t++)
                        for (int readers = 0; readers <= READERS_MOST; readers++) {
                                struct figures *its = &figures[t][readers];
                                *run = (struct run){ .bench = bench, .target = &targets[t], .readers = readers };
                                alone_run_free(measure, run);
                                samples_add(&its->remap_ns, run->remap_ns);
                                if (!readers)
                                        continue;
                                samples_add(&its->read_ns, run->read_ns);
                                samples_add(&its->alone_ns, run->alone_ns);
                        }
        memory_free(run, sizeof(*run));
}

static void print_row(struct table *table, const struct target *target, int readers, struct figures *figures,
                      const struct figures *without)
{
        table_text(table, target->name);
        report_page(table, target->page_bytes);
        table_number(table, readers, 0);
        report_median(table, &figures->remap_ns, 0);
        report_times(table, &figures->remap_ns, &without->remap_ns);
        report_median(table, &figures->read_ns, 0);
        report_median(table, &figures->alone_ns, 0);
        report_times(table, &figures->read_ns, &figures->alone_ns);
}

void shootdowns_run(const struct shortcut_bench *bench)
{
        static const char *const headings[] = { "readers of", "page",     "readers", "remap ns", "x none",
                                                "read ns",    "alone ns", "x alone", NULL };
        struct figures figures[TARGETS][READERS_MOST + 1] = { 0 };
        struct table table;

        printf("\nPages pointed elsewhere by one thread while others read, on %ld processors: nanoseconds for each of "
               "%" PRIu64 " pages,\nand of a reader for a page, meanwhile and alone. Medians of %" PRIu64
               " rounds.\n\n",
               sysconf(_SC_NPROCESSORS_ONLN), bench->remaps, bench->rounds);
        measure_all(bench, figures);
        report_open(&table, bench->tsv, "shortcut-shootdowns", headings);
        for (int t = 0; t < TARGETS; t++)
                for (int readers = 0; readers <= READERS_MOST; readers++)
                        print_row(&table, &targets[t], readers, &figures[t][readers], &figures[t][0]);
        table_close(&table);
        for (int t = 0; t < TARGETS; t++)
                for (int readers = 0; readers <= READERS_MOST; readers++) {
                        samples_free(&figures[t][readers].remap_ns);
                        samples_free(&figures[t][readers].read_ns);
                        samples_free(&figures[t][readers].alone_ns);
                }
}
