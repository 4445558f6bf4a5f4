/* SPDX-License-Identifier: MIT */
#include "recovery/lost.h"

#include <stdio.h>
#include <string.h>

#include "base/say.h"
#include "base/search.h"

static struct lost_page *at(const struct lost *lost, uint32_t i)
{
        return (struct lost_page *)lost->pages.items + i;
}

static uint32_t find(const struct lost *lost, uint64_t page)
{
        const uint64_t *first = lost->pages.items; /* its page */

        return search_first(first, lost->pages.count, sizeof(struct lost_page), page);
}

static bool is_at(const struct lost *lost, uint32_t i, uint64_t page)
{
        return i < lost->pages.count && at(lost, i)->page == page;
}

int lost_add(struct lost *lost, uint64_t page, bool is_changed)
{
        const uint32_t i = find(lost, page);

        if (is_at(lost, i, page)) {
                at(lost, i)->is_changed |= is_changed;
                return 0;
        }
        int err = vector_reserve(&lost->pages, lost->pages.count + 1, sizeof(struct lost_page));
        if (err)
                return err;
        memmove(at(lost, i + 1), at(lost, i), (lost->pages.count++ - i) * sizeof(struct lost_page));
        *at(lost, i) = (struct lost_page){ page, is_changed };
        return 0;
}

void lost_remove(struct lost *lost, uint64_t page)
{
        const uint32_t i = find(lost, page);

        if (is_at(lost, i, page))
                memmove(at(lost, i), at(lost, i + 1), (--lost->pages.count - i) * sizeof(struct lost_page));
}

void lost_free(struct lost *lost)
{
        vector_free(&lost->pages, sizeof(struct lost_page));
}

void lost_tell(const struct lost *lost, const struct home_files *homes, void (*tell)(void *arg, const char *sentence),
               void *arg)
{
        for (uint32_t i = 0; i < lost->pages.count; i++) {
                const uint64_t page = at(lost, i)->page;
                char sentence[RECOVER_SENTENCE];

                say_text(sentence, sizeof(sentence), "%s: offset %llu: %s", home_files_name(homes, page),
                         (unsigned long long)home_files_offset(homes, page),
                         at(lost, i)->is_changed
                                 ? "the page is lost; commits in the log go on from it, so that no backup has it"
                                 : "the page is lost; 'xac repair' can take it from a backup that has it as the "
                                   "checkpoint left it");
                tell(arg, sentence);
        }
}
