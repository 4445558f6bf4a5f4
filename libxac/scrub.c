/* SPDX-License-Identifier: MIT */
#include "libxac/scrub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "libxac/close.h"
#include "libxac/participant.h"
#include "libxac/takeover.h"
#include "libxac/version.h"
#include "recovery/sums.h"

enum { PIECE_BYTES = 256 * 1024, PIECE_PAGES_MAX = PIECE_BYTES / 4096, NAP_NS = 1000000, NAP_LONGEST_NS = 100000000 };

#define SECOND_NS UINT64_C(1000000000)

struct scrub {
        struct xac_env *env;
        struct shared *shared;
        struct participant self;
        const xac_scrub_options *options;
        xac_scrub_result *result;
        uint64_t begun_ns;
        uint64_t read_bytes;
        /* The piece at hand. */
        uint32_t file_no;
        uint64_t first;
        uint32_t count;
        bool is_home[PIECE_PAGES_MAX];
        uint32_t expected[PIECE_PAGES_MAX];
        unsigned char bytes[PIECE_BYTES];
};

static struct data_file *file_of(const struct scrub *scrub)
{
        return &scrub->env->files.file[scrub->file_no];
}

/* ---- A piece ---- */

/* Which of its pages does the snapshot see at home? They stay there. */
static void look(struct scrub *scrub, uint64_t snapshot)
{
        for (uint32_t i = 0; i < scrub->count; i++) {
                uint64_t page = page_id(scrub->file_no, scrub->first + i);
                scrub->is_home[i] = version_slot(version_visible(scrub->shared, page, snapshot)) == SLOT_HOME;
        }
}

/* What the last page lacks at the file's end is zeros. */
static int read_piece(struct scrub *scrub)
{
        const uint64_t offset = scrub->first << scrub->shared->page_shift;
        const uint64_t byte_len = (uint64_t)scrub->count << scrub->shared->page_shift;
        struct stat st;
        int err = sys_stat(file_of(scrub)->fd, &st);
        if (err)
                return err;
        uint64_t there = (uint64_t)st.st_size > offset ? (uint64_t)st.st_size - offset : 0;
        if (there > byte_len)
                there = byte_len;
        memset(scrub->bytes + there, 0, byte_len - there);
        err = sys_read_all(file_of(scrub)->fd, scrub->bytes, there, offset);
        if (!err)
                err = sums_read(file_of(scrub)->sums.fd, scrub->first, scrub->expected, scrub->count, NULL);
        scrub->read_bytes += there;
        return err;
}

static void tell_of_damage(const struct scrub *scrub, uint32_t i)
{
        const xac_scrub_options *options = scrub->options;
        if (options->damage)
                options->damage(options->arg, scrub->shared->control->file[scrub->file_no].name,
                                (scrub->first + i) << scrub->shared->page_shift);
}

/* Sums are written under the checkpoint lock. Whoever died with it is taken over from by others. */
static void lock_checkpoints(struct scrub *scrub)
{
        while (shlock_try(&scrub->shared->control->checkpoint_lock, scrub->self.owner)) {
                takeover_dead(scrub->shared, scrub->self.owner);
                sys_sleep_ns(NAP_NS);
        }
}

static int make_sum(struct scrub *scrub, uint32_t i, uint32_t sum)
{
        lock_checkpoints(scrub);
        int err = file_sums_put(&file_of(scrub)->sums, scrub->first + i, &sum, 1);
        shlock_unlock(&scrub->shared->control->checkpoint_lock);
        return err;
}

static int judge(struct scrub *scrub, uint32_t i)
{
        const uint32_t page_bytes = scrub->shared->page_bytes;
        const uint32_t sum = sums_of(scrub->bytes + (size_t)i * page_bytes, page_bytes);
        xac_scrub_result *result = scrub->result;
        result->pages++;
        if (!scrub->is_home[i]) {
                result->in_pool++;
        } else if (scrub->expected[i] == SUMS_UNKNOWN && scrub->options->flags & XAC_SCRUB_SUM) {
                result->summed++;
                return make_sum(scrub, i, sum);
        } else if (scrub->expected[i] == SUMS_UNKNOWN) {
                result->unknown++;
        } else if (sum == scrub->expected[i]) {
                result->verified++;
        } else {
                result->damaged++;
                tell_of_damage(scrub, i);
        }
        return 0;
}

static int scrub_piece(struct scrub *scrub)
{
        look(scrub, participant_begin(&scrub->self));
        int err = read_piece(scrub);
        for (uint32_t i = 0; !err && i < scrub->count; i++)
                err = judge(scrub, i);
        participant_end(&scrub->self);
        return err;
}

/* ---- All of them ---- */

static void wait_for_rate(const struct scrub *scrub)
{
        const uint64_t rate = scrub->options->rate;
        if (!rate)
                return;
        const double due = (double)scrub->read_bytes / (double)rate * (double)SECOND_NS;
        for (;;) {
                const double left = due - (double)(sys_monotonic_ns() - scrub->begun_ns);
                if (left <= 0)
                        return;
                sys_sleep_ns(left < NAP_LONGEST_NS ? (uint64_t)left : NAP_LONGEST_NS);
        }
}

static int tell_progress(const struct scrub *scrub, uint64_t pages)
{
        const xac_scrub_options *options = scrub->options;
        const uint32_t shift = scrub->shared->page_shift;
        if (!options->progress)
                return 0;
        return options->progress(options->arg, scrub->shared->control->file[scrub->file_no].name,
                                 (scrub->first + scrub->count) << shift, pages << shift);
}

static int scrub_file(struct scrub *scrub, uint32_t file_no)
{
        struct files *files = &scrub->env->files;
        const uint32_t piece = PIECE_BYTES >> scrub->shared->page_shift;
        scrub->file_no = file_no;
        int err = files_attach(files, file_no);
        if (!err && !shared_map_heads(scrub->shared, file_no))
                err = -ENOMEM;
        if (err)
                return err;
        const uint64_t summed = scrub->result->summed;
        const uint64_t pages = files_byte_len(files, file_no) >> scrub->shared->page_shift;
        for (uint64_t first = 0; !err && first < pages; first += piece) {
                scrub->first = first;
                scrub->count = pages - first < piece ? (uint32_t)(pages - first) : piece;
                err = scrub_piece(scrub);
                if (!err)
                        err = tell_progress(scrub, pages);
                if (!err)
                        wait_for_rate(scrub);
        }
        if (!err && scrub->result->summed != summed)
                err = file_sums_sync(&files->file[file_no].sums);
        return err;
}

static int scrub_files(struct scrub *scrub)
{
        struct shared *shared = scrub->shared;
        int err = participant_join_with(&scrub->self, shared, NULL);
        if (err == XAC_BUSY) {
                takeover_dead(shared, control_owner_of_process(shared->process_no));
                err = participant_join_with(&scrub->self, shared, NULL);
        }
        if (err)
                return err;
        const uint32_t count = atomic_load(&shared->control->file_count);
        for (uint32_t i = 0; !err && i < count; i++) {
                err = scrub_file(scrub, i);
                if (err == -ENOENT) /* nobody has made it again */
                        err = 0;
        }
        participant_leave_with(&scrub->self);
        return err;
}

int scrub_env(struct xac_env *env, const xac_scrub_options *options, xac_scrub_result *result)
{
        if (env_is_forked(env))
                return XAC_FORKED;
        struct scrub *scrub = calloc(1, sizeof(*scrub));
        if (!scrub)
                return -ENOMEM;
        scrub->env = env;
        scrub->shared = &env->shared;
        scrub->options = options;
        scrub->result = result;
        scrub->begun_ns = sys_monotonic_ns();
        close_hold(env);
        int err = scrub_files(scrub);
        free(scrub);
        int close_err = close_release(env);
        if (!err)
                err = close_err;
        return !err && result->damaged ? XAC_CORRUPT : err;
}
