/* SPDX-License-Identifier: MIT */
#include "libxac/care/checkpoint.h"

/*
 * A checkpoint in parts, for pages that are more than a double-write area may have (recovery/parts.h has the order;
 * docs/models/checkpoint_parts.py shows each rule necessary):
 *
 *      for each part:   area (the part, and a list of what stands at C already; CP4), sync
 *                       manifest names it (CP7: the last part makes C the base)
 *                       the part's pages home, sync (CP6)
 *
 * CP8   The area before may have pages that home lacks; they are in the first part.
 * CP9   A page that a snapshot holds back stays in the pool, and is in every area from its part on.
 * CP10  Whoever goes on for somebody who died, or failed, brings home first what the named area has.
 * CP11  And nothing else of what stands at C: a write of the same bytes may be torn, and no area has them.
 *
 * A version that has been superseded meanwhile goes home like the others. It is not the page's newest, so its head
 * stays, but no snapshot needs what was there before.
 */

#include <errno.h>

#include "base/hook.h"
#include "libxac/care/checkpoint_steps.h"
#include "libxac/version/moves.h"

struct in_parts {
        struct checkpoint *checkpoint;
        struct area_contents before; /* what the manifest's area says */
        struct vector listed;        /* of uint64_t: pages that stand at C */
        struct dirty rest;           /* what does not, in the order of pages */
        struct vector pages;         /* of uint64_t: the same */
        struct dirty carried;        /* what does, and is held back */
        struct dirty images;         /* of an area */
        struct dirty home;           /* what of them goes home */
        struct parts parts;
        uint32_t most;   /* pages of an area */
        uint64_t oldest; /* snapshot */
};

static void open_parts(struct in_parts *in, struct checkpoint *checkpoint, uint32_t most)
{
        struct dirty none = { .shared = checkpoint->shared };
        struct participant *self = checkpoint->writer->self;
        snapshots_read(self->seen, self->shared);
        *in = (struct in_parts){ .checkpoint = checkpoint,
                                 .rest = none,
                                 .carried = none,
                                 .images = none,
                                 .home = none,
                                 .most = most,
                                 .oldest = self->seen->oldest };
}

static void close_parts(struct in_parts *in)
{
        area_contents_free(&in->before);
        vector_free(&in->listed, sizeof(uint64_t));
        vector_free(&in->pages, sizeof(uint64_t));
        dirty_free(&in->rest);
        dirty_free(&in->carried);
        dirty_free(&in->images);
        dirty_free(&in->home);
        parts_free(&in->parts);
}

/* I3: does a snapshot need what is at home; or the caller's open transaction the slot? */
static bool is_held_back(const struct in_parts *in, uint32_t no, uint64_t page)
{
        const struct home_writer *writer = in->checkpoint->writer;
        const struct slot *slot = &in->checkpoint->shared->slots[no];
        return atomic_load(&slot->tag) > in->oldest ||
               (writer->is_in_use && writer->is_in_use(writer->in_use_arg, page));
}

static int read_named_area(struct in_parts *in)
{
        const struct checkpoint *checkpoint = in->checkpoint;
        const struct manifest *manifest = &checkpoint->manifest;
        struct area_id id = checkpoint_area_id(checkpoint);
        struct area_damage damage;
        if (manifest->area < 0)
                return 0;
        id.sequence = manifest->target_sequence ? manifest->target_sequence : manifest->base_sequence;
        return area_read_contents(checkpoint->writer->files->directory, manifest->area, &id, manifest->area_checksum,
                                  &in->before, &damage);
}

/* ---- One part ---- */

static int add_image(struct in_parts *in, uint32_t index)
{
        uint32_t no = dirty_slot(&in->rest, index);
        uint64_t page = dirty_page(&in->rest, index);
        int err = dirty_add(&in->images, no);
        if (err)
                return err;
        return dirty_add(is_held_back(in, no, page) ? &in->carried : &in->home, no);
}

/* What the area is to have: the part's pages, and those that are carried on. */
static int collect_images(struct in_parts *in, const uint32_t *indices, uint32_t count)
{
        int err = 0;
        in->images.slots.count = 0;
        in->home.slots.count = 0;
        if (hook_has_bug(HOOK_BUG_PART_NOT_CARRIED))
                in->carried.slots.count = 0;
        for (uint32_t i = 0; i < in->carried.slots.count && !err; i++)
                err = dirty_add(&in->images, dirty_slot(&in->carried, i));
        for (uint32_t i = 0; i < count && !err; i++)
                err = add_image(in, indices[i]);
        if (!err)
                dirty_sort(&in->images);
        return err;
}

static int write_area(struct in_parts *in, const uint32_t *indices, uint32_t count)
{
        const struct checkpoint *checkpoint = in->checkpoint;
        if (hook_has_bug(HOOK_BUG_PART_NOT_LISTED))
                in->listed.count = 0;
        const struct area_part part = { .position = checkpoint->position,
                                        .redo = checkpoint->redo,
                                        .listed = in->listed.items,
                                        .listed_count = in->listed.count };
        int err = collect_images(in, indices, count);
        return err ? err
                   : checkpoint_write_area(in->checkpoint, &in->images, parts_are_done(&in->parts) ? NULL : &part);
}

/* What is carried takes half of the area at most, unless it is more: then the area has as much again. */
static uint32_t part_limit(const struct in_parts *in)
{
        uint32_t carried = in->carried.slots.count;
        return carried > in->most / 2 ? carried : in->most - carried;
}

/* The next part, or as much of it as the disk has room for, in the area. */
static int write_next_area(struct in_parts *in, const uint32_t **indices, uint32_t *count)
{
        const uint32_t carried = in->carried.slots.count;
        for (;;) {
                *count = parts_next(&in->parts, part_limit(in), indices);
                int err = write_area(in, *indices, *count);
                if (err != -ENOSPC || in->most <= AREA_PAGES_MIN)
                        return err;
                in->most /= 2;
                in->carried.slots.count = carried;
                parts_again(&in->parts);
        }
}

static int write_part(struct in_parts *in)
{
        const struct checkpoint *checkpoint = in->checkpoint;
        const uint32_t *indices;
        uint32_t count;
        int err = write_next_area(in, &indices, &count);
        bool is_last = parts_are_done(&in->parts);
        if (err)
                return err;
        /* Before the manifest says so: whoever finishes it finds its versions. */
        atomic_store(&in->checkpoint->shared->control->checkpoint_target, checkpoint->sequence);
        hook_step(HOOK_PARTS_BEGUN);
        err = checkpoint_name_area(in->checkpoint, !is_last);
        if (!err)
                err = home_write_slots_locked(checkpoint->writer, &in->home);
        return err || is_last ? err : parts_list_add(&in->listed, in->pages.items, indices, count);
}

static int write_parts(struct in_parts *in)
{
        int err;
        do
                err = write_part(in);
        while (!err && !parts_are_done(&in->parts));
        return err;
}

/* ---- All of them ---- */

static int plan(struct in_parts *in, const struct vector *first)
{
        struct vector moves = { 0 };
        int err = vector_reserve(&in->pages, in->rest.slots.count, sizeof(uint64_t));
        for (uint32_t i = 0; i < in->rest.slots.count && !err; i++)
                ((uint64_t *)in->pages.items)[in->pages.count++] = dirty_page(&in->rest, i);
        if (!err)
                err = moves_read(in->checkpoint->shared, in->checkpoint->sequence, &moves);
        if (hook_has_bug(HOOK_BUG_PARTS_UNORDERED))
                moves.count = 0;
        if (!err) {
                const struct parts_wanted wanted = { .pages = in->pages.items,
                                                     .count = in->pages.count,
                                                     .moves = moves.items,
                                                     .move_count = moves.count,
                                                     .first = first->items,
                                                     .first_count = first->count };
                err = parts_plan(&in->parts, &wanted);
        }
        vector_free(&moves, sizeof(struct parts_move));
        return err;
}

static const struct vector none;

static int begin(struct in_parts *in)
{
        const struct dirty *dirty = &in->checkpoint->dirty;
        int err = read_named_area(in);
        for (uint32_t i = 0; i < dirty->slots.count && !err; i++)
                err = dirty_add(&in->rest, dirty_slot(dirty, i));
        if (!err)
                err = plan(in, hook_has_bug(HOOK_BUG_PARTS_AREA_GIVEN_UP) ? &none : &in->before.pages);
        return err ? err : write_parts(in);
}

int checkpoint_parts_begin(struct checkpoint *checkpoint, uint32_t most)
{
        struct in_parts in;
        open_parts(&in, checkpoint, most);
        int err = begin(&in);
        close_parts(&in);
        return err;
}

/* CP10. Of what stands at C, the named area has what is held back and what may not be home. Other slots are of versions
 * that have been superseded, which are home, although no head says so (CP11). */
static int sort_out(struct in_parts *in)
{
        const struct dirty *dirty = &in->checkpoint->dirty;
        const struct vector *named = &in->before.pages;
        int err = 0;
        for (uint32_t i = 0; i < dirty->slots.count && !err; i++) {
                const uint32_t no = dirty_slot(dirty, i);
                const uint64_t page = dirty_page(dirty, i);
                if (parts_have(named->items, named->count, page))
                        err = dirty_add(is_held_back(in, no, page) ? &in->carried : &in->home, no);
                else if (!parts_have(in->listed.items, in->listed.count, page))
                        err = dirty_add(&in->rest, no);
        }
        return err;
}

static int go_on(struct in_parts *in)
{
        struct checkpoint *checkpoint = in->checkpoint;
        int err = read_named_area(in);
        if (err)
                return err;
        checkpoint->position = in->before.position;
        checkpoint->redo = in->before.redo;
        err = parts_list_add(&in->listed, in->before.listed.items, NULL, in->before.listed.count);
        if (!err)
                err = parts_list_add(&in->listed, in->before.pages.items, NULL, in->before.pages.count);
        if (!err)
                err = sort_out(in);
        if (!err)
                err = plan(in, &none);
        if (!err && !hook_has_bug(HOOK_BUG_PARTS_NOT_AGAIN))
                err = home_write_slots_locked(checkpoint->writer, &in->home);
        return err ? err : write_parts(in);
}

int checkpoint_parts_go_on(struct checkpoint *checkpoint)
{
        const struct control *control = checkpoint->shared->control;
        struct in_parts in;
        open_parts(&in, checkpoint, area_pages_max(control->area_bytes, control->page_bytes));
        int err = go_on(&in);
        close_parts(&in);
        return err;
}
