/* SPDX-License-Identifier: MIT */
#include "libxac/care/checkpoint.h"

/*
 * A checkpoint in batches, for pages that are more than a double-write buffer may have. recovery/checkpoint_plan.h says
 * which step comes when; here they are taken.
 *
 * A version that has been superseded meanwhile goes home like the others. It is not the page's newest, so its head
 * stays, but no snapshot needs what was there before.
 */

#include <errno.h>

#include "base/hook.h"
#include "libxac/care/checkpoint_steps.h"
#include "libxac/version/moves.h"
#include "recovery/checkpoint_plan.h"

/* A page of the plan has the index of its slot in checkpoint->dirty. */
struct in_batches {
        struct checkpoint *checkpoint;
        struct double_write_contents named; /* what the manifest's buffer has */
        struct vector pages;                /* of struct plan_page */
        struct checkpoint_plan plan;
        struct dirty images; /* of a step's buffer */
        struct dirty home;   /* what of a step goes home */
};

static void close_batches(struct in_batches *in)
{
        checkpoint_plan_free(&in->plan);
        double_write_contents_free(&in->named);
        vector_free(&in->pages, sizeof(struct plan_page));
        dirty_free(&in->images);
        dirty_free(&in->home);
}

/* ---- The plan ---- */

static int read_named_buffer(struct in_batches *in)
{
        const struct checkpoint *checkpoint = in->checkpoint;
        const struct manifest *manifest = &checkpoint->manifest;
        struct double_write_id id = checkpoint_buffer_id(checkpoint);
        struct double_write_damage damage;
        if (manifest->buffer < 0)
                return 0;
        id.sequence = manifest->target_sequence ? manifest->target_sequence : manifest->base_sequence;
        return double_write_read_contents(checkpoint->writer->files->directory, manifest->buffer, &id,
                                          manifest->buffer_checksum, &in->named, &damage);
}

/* I3: does a snapshot need what is at home; or the caller's open transaction the slot? */
static bool is_held_back(const struct checkpoint *checkpoint, uint32_t no, uint64_t page, uint64_t oldest)
{
        const struct home_writer *writer = checkpoint->writer;
        return atomic_load(&checkpoint->shared->slots[no].tag) > oldest ||
               (writer->is_in_use && writer->is_in_use(writer->in_use_arg, page));
}

static int list_pages(struct in_batches *in)
{
        const struct checkpoint *checkpoint = in->checkpoint;
        const struct dirty *dirty = &checkpoint->dirty;
        struct participant *self = checkpoint->writer->self;
        int err = vector_reserve(&in->pages, dirty->slots.count, sizeof(struct plan_page));
        snapshots_read(self->seen, self->shared);
        for (uint32_t i = 0; i < dirty->slots.count && !err; i++) {
                const uint32_t no = dirty_slot(dirty, i);
                const uint64_t page = dirty_page(dirty, i);
                ((struct plan_page *)in->pages.items)[in->pages.count++] =
                        (struct plan_page){ page, is_held_back(checkpoint, no, page, self->seen->oldest) };
        }
        return err;
}

static int make_plan(struct in_batches *in, bool is_begun, uint32_t most)
{
        struct vector moves = { 0 };
        int err = moves_read(in->checkpoint->shared, in->checkpoint->sequence, &moves);
        if (!err)
                err = list_pages(in);
        if (!err)
                err = checkpoint_plan_make(&in->plan, &(struct plan_wanted){ .pages = in->pages.items,
                                                                             .count = in->pages.count,
                                                                             .moves = moves.items,
                                                                             .move_count = moves.count,
                                                                             .named = &in->named,
                                                                             .is_begun = is_begun,
                                                                             .most = most });
        vector_free(&moves, sizeof(struct batches_move));
        return err;
}

/* ---- Its steps ---- */

static int choose(struct dirty *list, const struct dirty *all, const uint32_t *indices, uint32_t count)
{
        int err = 0;
        list->slots.count = 0;
        for (uint32_t i = 0; i < count && !err; i++)
                err = dirty_add(list, dirty_slot(all, indices[i]));
        return err;
}

static int write_buffer(struct in_batches *in, const struct plan_step *step)
{
        struct checkpoint *checkpoint = in->checkpoint;
        const struct double_write_batch batch = { .position = checkpoint->position,
                                                  .redo = checkpoint->redo,
                                                  .listed = step->listed,
                                                  .listed_count = step->listed_count };
        int err = choose(&in->images, &checkpoint->dirty, step->image, step->image_count);
        return err ? err : checkpoint_write_buffer(checkpoint, &in->images, step->is_last ? NULL : &batch);
}

static int name_buffer(const struct in_batches *in, const struct plan_step *step)
{
        struct checkpoint *checkpoint = in->checkpoint;
        /* Before the manifest says so: whoever finishes it finds its versions. */
        atomic_store(&checkpoint->shared->control->checkpoint_target, checkpoint->sequence);
        hook_step(HOOK_BATCHES_BEGUN);
        return checkpoint_name_buffer(checkpoint, !step->is_last);
}

static int take_home(struct in_batches *in, const struct plan_step *step)
{
        int err = choose(&in->home, &in->checkpoint->dirty, step->home, step->home_count);
        return err ? err : home_write_slots_locked(in->checkpoint->writer, &in->home);
}

static int take_step(struct in_batches *in)
{
        struct plan_step step;
        int err = checkpoint_plan_next(&in->plan, &step);
        if (!err && step.has_buffer) {
                err = write_buffer(in, &step);
                if (err == -ENOSPC)
                        return checkpoint_plan_halve(&in->plan);
                if (!err)
                        err = name_buffer(in, &step);
        }
        return err ? err : take_home(in, &step);
}

static int take_steps(struct in_batches *in)
{
        int err = 0;
        while (!err && !checkpoint_plan_is_done(&in->plan))
                err = take_step(in);
        return err;
}

/* ---- All of them ---- */

static int run(struct in_batches *in, bool is_begun, uint32_t most)
{
        int err = read_named_buffer(in);
        if (!err && is_begun) {
                in->checkpoint->position = in->named.position;
                in->checkpoint->redo = in->named.redo;
        }
        if (!err)
                err = make_plan(in, is_begun, most);
        return err ? err : take_steps(in);
}

static int run_batches(struct checkpoint *checkpoint, bool is_begun, uint32_t most)
{
        struct in_batches in = { .checkpoint = checkpoint,
                                 .images = { .shared = checkpoint->shared },
                                 .home = { .shared = checkpoint->shared } };
        int err = run(&in, is_begun, most);
        close_batches(&in);
        return err;
}

int checkpoint_batches_begin(struct checkpoint *checkpoint, uint32_t most)
{
        return run_batches(checkpoint, false, most);
}

int checkpoint_batches_go_on(struct checkpoint *checkpoint)
{
        const struct control *control = checkpoint->shared->control;
        return run_batches(checkpoint, true, double_write_pages_max(control->area_bytes, control->page_bytes));
}
