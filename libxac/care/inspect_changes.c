/* SPDX-License-Identifier: MIT */
#include "libxac/care/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/sys.h"
#include "libxac/care/look.h"
#include "libxac/version/version.h"

static int read_newest_commit(const struct look *look, uint64_t *newest)
{
        _Atomic uint64_t sequence = 0;
        int err = look_read(look, offsetof(struct control, sequence), sizeof(sequence), &sequence);
        if (!err)
                *newest = atomic_load(&sequence);
        return err;
}

/* ---- Changes, by the descriptors of slots ---- */

struct search {
        const struct look *look;
        uint64_t after;
        inspect_visit visit;
        void *arg;
        struct slot *slots; /* room for AT_ONCE */
};

enum { AT_ONCE = 1024 };

/* A slot may have been copied while it changed: what is no page of this environment is none. */
static void visit_slot(const struct search *search, const struct slot *slot)
{
        const struct control *control = &search->look->control;
        enum slot_state state = slot_state(slot);
        uint64_t page = atomic_load(&slot->page);

        if ((state == SLOT_PUBLISHED || state == SLOT_RETIRED) && atomic_load(&slot->tag) > search->after &&
            page_id_file(page) < look_at_most(atomic_load(&control->file_count), FILES_MAX))
                search->visit(search->arg, page_id_file(page), page_id_no(page));
}

static int visit_range(struct search *search, uint32_t first, uint32_t end)
{
        for (; first < end; first += AT_ONCE) {
                uint32_t count = look_at_most(end - first, AT_ONCE);
                int err = look_read(search->look, search->look->layout.slots + first * sizeof(struct slot),
                                    count * sizeof(struct slot), search->slots);
                if (err)
                        return err;
                for (uint32_t i = 0; i < count; i++)
                        visit_slot(search, &search->slots[i]);
        }
        return 0;
}

static int visit_all(struct search *search)
{
        const struct control *control = &search->look->control;
        uint32_t pool_slots = control->pool_slots;
        uint32_t end = look_at_most(atomic_load(&control->slots_allocated), pool_slots);
        uint32_t aliases_end =
                look_at_most(atomic_load(&control->aliases_end), pool_slots + control_aliases_max(pool_slots));
        int err = visit_range(search, 1, end);
        if (!err)
                err = visit_range(search, pool_slots, aliases_end);
        return err;
}

int inspect_changes(int directory, const struct manifest *manifest, uint64_t after, inspect_visit visit, void *arg,
                    uint64_t *sequence)
{
        struct search search = { .after = after, .visit = visit, .arg = arg };
        struct look *look;
        int err = look_open(directory, NULL, manifest, &look);
        if (err)
                return err;
        search.look = look;
        search.slots = look_make_room(AT_ONCE * sizeof(struct slot));
        err = search.slots ? visit_all(&search) : -ENOMEM;
        if (!err)
                err = read_newest_commit(look, sequence);
        free(search.slots);
        look_close(look);
        return err;
}

/* ---- Pages, by their heads ---- */

/* Of a head that may be read in any chunk, for those that have no memory are holes, which are zeros. */
static int read_head(const struct look *look, int heads_fd, struct inspect_page *page)
{
        uint64_t index = (uint64_t)page->file_no * FILE_PAGES_MAX + version_head_index(page->page_no);
        _Atomic uint64_t head = 0;
        int err = read_newest_commit(look, &page->now);
        if (!err)
                err = sys_read_all(heads_fd, &head, sizeof(head), index * sizeof(head));
        if (err)
                return err;
        uint64_t word = atomic_load(&head);
        uint64_t behind = (page->now - (word >> SLOT_BITS)) & SEQUENCE_MASK;
        bool is_newer = behind > SEQUENCE_MASK / 2; /* it has come since */
        if (is_newer)
                page->now += SEQUENCE_MASK + 1 - behind;
        page->sequence = !word ? 0 : is_newer ? page->now : page->now - behind;
        return 0;
}

int inspect_pages(int directory, const struct manifest *manifest, struct inspect_page *pages, uint32_t count)
{
        struct look *look;
        int heads_fd;
        int err = look_open(directory, NULL, manifest, &look);
        if (err)
                return err;
        err = look_open_part(look, "heads", &heads_fd);
        if (err)
                goto fail_heads;
        for (uint32_t i = 0; !err && i < count; i++)
                err = read_head(look, heads_fd, &pages[i]);
        sys_close(heads_fd);
fail_heads:
        look_close(look);
        return err == -ENODATA ? -ENOENT : err;
}
