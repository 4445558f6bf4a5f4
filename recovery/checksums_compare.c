/* SPDX-License-Identifier: MIT */
#include "recovery/checksums_compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "recovery/page_name.h"

enum { RUN_PAGES = CHECKSUMS_SECTOR_PAGES };

/* The pages of one sector of checksums. */
struct run {
        struct checksums_compare *compare;
        uint64_t size; /* of the data file */
        uint64_t lost; /* pages of the sector whose checksums are */
        struct stretch data, checksums;
        bool is_hole; /* these pages are one */
        unsigned char *bytes;
        uint32_t expected[RUN_PAGES];
};

static int judge_page(struct run *run, const struct checksums_page *page)
{
        struct checksums_compare *compare = run->compare;

        if (page->checksum == page->expected)
                return 0;
        compare->lost += page->is_lost;
        if (page->expected == CHECKSUMS_UNKNOWN)
                compare->unknown++;
        else
                compare->differing++;
        return compare->visit(compare->arg, page);
}

/* What the last page lacks at the file's end is zeros. */
static int read_data(const struct run *run, uint64_t first, uint32_t count)
{
        uint64_t offset = first * run->compare->page_bytes;
        uint64_t byte_len = (uint64_t)count * run->compare->page_bytes;
        uint64_t there = run->size - offset < byte_len ? run->size - offset : byte_len;

        memset(run->bytes + there, 0, byte_len - there);
        return sys_read_all(run->compare->data_fd, run->bytes, (size_t)there, offset);
}

/* Bytes of a hole are zeros from the last time on. */
static int read_pages(struct run *run, uint64_t first, uint32_t count)
{
        const uint64_t byte_len = (uint64_t)count * run->compare->page_bytes;
        const bool were_zeros = run->is_hole;
        const uint64_t offset = first * run->compare->page_bytes;

        run->is_hole = offset + byte_len <= stretch_find(&run->data, offset);
        if (!run->is_hole)
                return read_data(run, first, count);
        if (!were_zeros)
                memset(run->bytes, 0, (size_t)RUN_PAGES * run->compare->page_bytes);
        return 0;
}

static int compare_run(struct run *run, uint64_t first, uint32_t count)
{
        const uint32_t page_bytes = run->compare->page_bytes;
        int err = read_pages(run, first, count);

        if (!err)
                err = checksums_read(run->compare->checksums_fd, first, run->expected, count, &run->lost);
        for (uint32_t i = 0; !err && i < count; i++) {
                struct checksums_page page = { .page_no = first + i,
                                               .expected = run->expected[i],
                                               .is_lost = run->lost != 0,
                                               .bytes = run->bytes + (size_t)i * page_bytes };

                page.checksum = run->is_hole ? 0 : checksums_of(page.bytes, page_bytes);
                err = judge_page(run, &page);
        }
        return err;
}

/* The checksums go on where the file has ended. */
static int compare_behind(struct run *run, uint64_t first, uint64_t end)
{
        struct stretch checksums = { .fd = run->compare->checksums_fd };
        int err = 0;

        while (!err && (first = checksums_skip_hole(&checksums, first)) < end) {
                uint32_t count = RUN_PAGES - (uint32_t)(first % RUN_PAGES);

                err = checksums_read(run->compare->checksums_fd, first, run->expected, count, NULL);
                for (uint32_t i = 0; !err && i < count; i++) {
                        struct checksums_page page = { .page_no = first + i, .expected = run->expected[i] };

                        if (page.expected != CHECKSUMS_UNKNOWN) /* of no page there is nothing to know */
                                err = judge_page(run, &page);
                }
                first += count;
        }
        return err;
}

/* The first run from there on that is no hole in both files. What is one in both is zeros, and known to be. Somebody
 * may have made them longer than any disk. */
static uint64_t skip_holes(struct run *run, uint64_t first)
{
        const uint32_t page_bytes = run->compare->page_bytes;
        const uint64_t with_checksums = checksums_skip_hole(&run->checksums, first);
        const uint64_t with_data = stretch_find(&run->data, first * page_bytes) / page_bytes;
        const uint64_t next = with_checksums < with_data ? with_checksums : with_data;

        return next - next % RUN_PAGES;
}

static void tell(const struct checksums_compare *compare, uint64_t done)
{
        if (compare->progress)
                compare->progress(compare->arg, done, compare->pages);
}

static int compare_all(struct run *run)
{
        struct checksums_compare *compare = run->compare;
        uint64_t entries, done = 0;
        int err = checksums_count(compare->checksums_fd, &entries);

        for (uint64_t first = 0; !err && (first = skip_holes(run, first)) < compare->pages; first += RUN_PAGES) {
                uint64_t left = compare->pages - first;
                uint32_t count = left < RUN_PAGES ? (uint32_t)left : RUN_PAGES;

                err = compare_run(run, first, count);
                done = first + count;
                if (!err)
                        tell(compare, done);
        }
        if (!err && done < compare->pages)
                tell(compare, compare->pages);
        return err ? err : compare_behind(run, compare->pages, entries);
}

int checksums_compare(struct checksums_compare *compare)
{
        struct run *run = malloc(sizeof(*run));
        struct stat st;
        int err = sys_stat(compare->data_fd, &st);

        if (run)
                *run = (struct run){ .compare = compare,
                                     .data.fd = compare->data_fd,
                                     .checksums.fd = compare->checksums_fd,
                                     .bytes = malloc((size_t)RUN_PAGES * compare->page_bytes) };
        if (!err && (!run || !run->bytes))
                err = -ENOMEM;
        compare->differing = 0;
        compare->unknown = 0;
        compare->lost = 0;
        compare->pages = 0;
        if (!err) {
                run->size = (uint64_t)st.st_size;
                compare->pages = (run->size + compare->page_bytes - 1) / compare->page_bytes;
                err = compare->pages > PAGE_NAME_NUMBERS ? XAC_CORRUPT : compare_all(run);
        }
        if (run)
                free(run->bytes);
        free(run);
        return err;
}
