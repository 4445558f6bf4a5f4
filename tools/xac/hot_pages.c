/* SPDX-License-Identifier: MIT */
#include "tools/xac/hot_pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "recovery/page_name.h"
#include "tools/xac/live.h"

/* Pages beyond so many in one interval are left out: of bulk loads, none of whose pages is hot. */
enum { PAGES_MAX = 4096, PLACE_BITS = 13, PLACES = 1 << PLACE_BITS };

/* What the looks of this interval found. */
struct entry {
        uint64_t looks;   /* since the first that found it */
        uint64_t hits;    /* of them, that found it changed */
        uint64_t commits; /* that they looked back over */
        uint64_t before;  /* commits in the interval before */
};

struct hot_pages {
        struct inspect_page page[PAGES_MAX];
        struct entry entry[PAGES_MAX];
        uint32_t count;
        uint16_t place[PLACES]; /* a hash table: indices + 1 */
        uint64_t sequence;      /* as of the last look; 0: there was none */
        uint64_t begun_ns;      /* when the interval began, and as of which commit */
        uint64_t begun_sequence;
        uint64_t looked_ns;
};

struct hot_pages *hot_pages_new(void)
{
        return calloc(1, sizeof(struct hot_pages));
}

void hot_pages_free(struct hot_pages *hot)
{
        free(hot);
}

void hot_pages_reset(struct hot_pages *hot)
{
        memset(hot, 0, sizeof(*hot));
}

/* ---- Looking ---- */

/* Where the page's index is, or belongs. */
static uint16_t *find(struct hot_pages *hot, uint32_t file_no, uint64_t page_no)
{
        uint64_t key = page_name(file_no, page_no);
        uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACE_BITS));

        for (;; at = (at + 1) % PLACES) {
                const struct inspect_page *page;

                if (!hot->place[at])
                        return &hot->place[at];
                page = &hot->page[hot->place[at] - 1];
                if (page->page_no == page_no && page->file_no == file_no)
                        return &hot->place[at];
        }
}

static void add(void *hot_, uint32_t file_no, uint64_t page_no)
{
        struct hot_pages *hot = hot_;
        uint16_t *place = find(hot, file_no, page_no);

        if (*place || hot->count == PAGES_MAX)
                return;
        hot->page[hot->count] = (struct inspect_page){ .file_no = file_no, .page_no = page_no };
        hot->entry[hot->count] = (struct entry){ .before = hot->sequence - hot->begun_sequence };
        *place = (uint16_t)++hot->count;
}

static void count_look(const struct hot_pages *hot, const struct inspect_page *page, struct entry *entry)
{
        bool is_hit = page->sequence > hot->sequence;

        entry->looks++;
        entry->hits += is_hit;
        entry->commits += is_hit ? page->now - page->sequence + 1 : page->now - hot->sequence;
}

/* What follows the first look of all. */
static int look_again(struct hot_pages *hot, const struct place *place)
{
        uint64_t sequence;
        int err = inspect_changes(place->directory, &place->manifest, hot->sequence, add, hot, &sequence);

        if (!err)
                err = inspect_pages(place->directory, &place->manifest, hot->page, hot->count);
        if (err)
                return err;
        if (sequence < hot->sequence) {
                hot_pages_reset(hot); /* it is other memory */
                return 0;
        }
        for (uint32_t i = 0; i < hot->count; i++)
                count_look(hot, &hot->page[i], &hot->entry[i]);
        hot->sequence = hot->count ? hot->page[hot->count - 1].now : sequence;
        return 0;
}

int hot_pages_look(struct hot_pages *hot, const struct place *place, uint64_t *took_ns)
{
        uint64_t begun_ns = sys_monotonic_ns();
        bool is_first = !hot->sequence;
        int err = is_first ? inspect_changes(place->directory, &place->manifest, UINT64_MAX, add, hot, &hot->sequence)
                           : look_again(hot, place);

        if (err)
                return err;
        hot->looked_ns = sys_monotonic_ns();
        *took_ns += hot->looked_ns - begun_ns;
        if (is_first) {
                hot->begun_ns = hot->looked_ns;
                hot->begun_sequence = hot->sequence;
        }
        return 0;
}

/* ---- Ranking ---- */

/* In changes per commit. */
static double frequency(const struct entry *entry)
{
        bool is_in_motion = entry->looks > 1 && entry->hits == entry->looks;
        uint64_t commits = entry->commits + (is_in_motion ? 0 : entry->before);

        return entry->hits ? (double)entry->hits / (double)commits : 0;
}

/* Keeps the best of `max`, in order. */
static uint32_t rank(struct hot_page *pages, uint32_t count, uint32_t max, const struct hot_page *page)
{
        uint32_t at = count;

        while (at > 0 && pages[at - 1].changes < page->changes)
                at--;
        if (at == max)
                return count;
        if (count < max)
                count++;
        memmove(&pages[at + 1], &pages[at], (count - at - 1) * sizeof(*pages));
        pages[at] = *page;
        return count;
}

/* Goes on with the pages that most looks found changed. */
static void begin_interval(struct hot_pages *hot)
{
        uint32_t count = hot->count;

        memset(hot->place, 0, sizeof(hot->place));
        hot->begun_ns = hot->looked_ns;
        hot->begun_sequence = hot->sequence;
        hot->count = 0;
        for (uint32_t i = 0; i < count; i++)
                if (hot->entry[i].hits * 2 > hot->entry[i].looks)
                        add(hot, hot->page[i].file_no, hot->page[i].page_no);
}

uint32_t hot_pages_take(struct hot_pages *hot, struct hot_page *pages, uint32_t max)
{
        double commits = (double)(hot->sequence - hot->begun_sequence);
        double seconds = (double)(hot->looked_ns - hot->begun_ns) / 1e9;
        uint32_t count = 0;

        for (uint32_t i = 0; i < hot->count && seconds > 0; i++) {
                struct hot_page page = { .file_no = hot->page[i].file_no,
                                         .page_no = hot->page[i].page_no,
                                         .changes = frequency(&hot->entry[i]) * commits / seconds };

                if (page.changes > 0)
                        count = rank(pages, count, max, &page);
        }
        begin_interval(hot);
        return count;
}
