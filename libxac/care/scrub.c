/* SPDX-License-Identifier: MIT */
#include "libxac/care/scrub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "libxac/care/checkpoint.h"
#include "libxac/ground/participant.h"
#include "libxac/process/registry.h"
#include "libxac/store/takeover.h"
#include "libxac/version/version.h"
#include "recovery/checksums.h"
#include "recovery/seal.h"
#include "recovery/stretch.h"

enum { PIECE_BYTES = 256 * 1024, PIECE_PAGES_MAX = PIECE_BYTES / 4096, NAP_LONGEST_NS = 100000000 };

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
        bool is_harmed; /* its checksums are not what they were: of a sector that is a hole nothing is known */
        uint64_t first;
        uint32_t count;
        bool is_home[PIECE_PAGES_MAX];
        bool is_checksum_lost[PIECE_PAGES_MAX];
        bool gets_checksum[PIECE_PAGES_MAX];
        uint32_t checksum[PIECE_PAGES_MAX];
        /* What is no hole. */
        struct stretch data, checksums, heads;
        uint64_t told_sector; /* of checksums, and 1: the last one that was told of; 0: none */
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

/* A sector that is being written may look damaged. */
static int read_checksums_again(struct scrub *scrub)
{
        const int fd = file_of(scrub)->checksums.fd;
        checkpoint_hold(scrub->shared, scrub->self.owner);
        int err = checksums_read(fd, scrub->first, scrub->expected, scrub->count, NULL);
        for (uint32_t i = 0; !err && i < scrub->count; i++) {
                int worth = scrub->expected[i] == CHECKSUMS_UNKNOWN ? checksums_judge_sector(fd, scrub->first + i)
                                                                    : CHECKSUMS_SOUND;
                scrub->is_checksum_lost[i] = worth == CHECKSUMS_LOST;
                err = worth < 0 ? worth : 0;
        }
        checkpoint_release(scrub->shared);
        return err;
}

static int distrust_holes(struct scrub *scrub)
{
        int worth = CHECKSUMS_SOUND;
        for (uint32_t i = 0; worth >= 0 && i < scrub->count; i++) {
                if (i == 0 || (scrub->first + i) % CHECKSUMS_SECTOR_PAGES == 0)
                        worth = checksums_judge_sector(file_of(scrub)->checksums.fd, scrub->first + i);
                if (worth == CHECKSUMS_HOLE)
                        scrub->expected[i] = CHECKSUMS_UNKNOWN;
        }
        return worth < 0 ? worth : 0;
}

static int read_checksums(struct scrub *scrub)
{
        uint64_t lost;
        memset(scrub->is_checksum_lost, 0, sizeof(scrub->is_checksum_lost));
        for (uint32_t i = 0; i < scrub->count; i++)
                scrub->expected[i] = CHECKSUMS_UNKNOWN;
        if (!file_checksums_are_there(&file_of(scrub)->checksums))
                return 0;
        int err = checksums_read(file_of(scrub)->checksums.fd, scrub->first, scrub->expected, scrub->count, &lost);
        if (!err && lost)
                err = read_checksums_again(scrub);
        return err || !scrub->is_harmed ? err : distrust_holes(scrub);
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
                err = read_checksums(scrub);
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

/* Once for a sector. */
static void tell_of_damaged_checksums(struct scrub *scrub, uint32_t i)
{
        const xac_scrub_options *options = scrub->options;
        const uint64_t sector = (scrub->first + i) / CHECKSUMS_SECTOR_PAGES;
        char name[CHECKSUMS_NAME_BYTES];
        if (!options->damage || scrub->told_sector == sector + 1)
                return;
        scrub->told_sector = sector + 1;
        checksums_name(scrub->file_no, name);
        options->damage(options->arg, name, checksums_offset(sector * CHECKSUMS_SECTOR_PAGES));
}

/* The next checkpoint seals them. */
static int make_checksums(struct scrub *scrub)
{
        bool is_any = false;
        for (uint32_t i = 0; i < scrub->count; i++)
                is_any |= scrub->gets_checksum[i];
        if (!is_any)
                return 0;
        checkpoint_hold(scrub->shared, scrub->self.owner);
        int err = files_break_seal(&scrub->env->files, scrub->file_no);
        for (uint32_t i = 0; i < scrub->count && !err; i++) {
                if (!scrub->gets_checksum[i])
                        continue;
                err = file_checksums_put(&file_of(scrub)->checksums, scrub->first + i, &scrub->checksum[i], 1);
                scrub->result->summed += !err;
        }
        checkpoint_release(scrub->shared);
        return err;
}

static void judge(struct scrub *scrub, uint32_t i)
{
        const uint32_t page_bytes = scrub->shared->page_bytes;
        const uint32_t checksum = checksums_of(scrub->bytes + (size_t)i * page_bytes, page_bytes);
        xac_scrub_result *result = scrub->result;
        result->pages++;
        scrub->checksum[i] = checksum;
        scrub->gets_checksum[i] = false;
        if (!scrub->is_home[i]) {
                result->in_pool++;
        } else if (scrub->expected[i] == CHECKSUMS_UNKNOWN && scrub->options->flags & XAC_SCRUB_SUM) {
                scrub->gets_checksum[i] = true;
        } else if (scrub->is_checksum_lost[i]) {
                result->sums_damaged++;
                tell_of_damaged_checksums(scrub, i);
        } else if (scrub->expected[i] == CHECKSUMS_UNKNOWN) {
                result->unknown++;
        } else if (checksum == scrub->expected[i]) {
                result->verified++;
        } else {
                result->damaged++;
                tell_of_damage(scrub, i);
        }
}

static int scrub_piece(struct scrub *scrub)
{
        look(scrub, participant_begin(&scrub->self));
        int err = read_piece(scrub);
        if (!err)
                err = files_check_rest(&scrub->env->files); /* else a writer's work would look like damage */
        for (uint32_t i = 0; !err && i < scrub->count; i++)
                judge(scrub, i);
        if (!err)
                err = make_checksums(scrub);
        participant_end(&scrub->self);
        return err;
}

/* ---- All of them ---- */

static void wait_for_rate(const struct scrub *scrub)
{
        const uint64_t rate = scrub->options->bytes_per_second;
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

/* Are its checksums those that the last checkpoint, or close, has left? */
static int check_seal(struct scrub *scrub)
{
        const xac_scrub_options *options = scrub->options;
        enum seal_verdict verdict;
        char name[CHECKSUMS_NAME_BYTES];
        checkpoint_hold(scrub->shared, scrub->self.owner);
        int err = seal_judge_in_use(scrub->env->directory, scrub->file_no, &verdict);
        checkpoint_release(scrub->shared);
        scrub->is_harmed = !err && verdict != SEAL_WHOLE;
        if (err || verdict != SEAL_BROKEN) /* lost sectors are told of, each */
                return err;
        if (options->flags & XAC_SCRUB_SUM) {
                checkpoint_hold(scrub->shared, scrub->self.owner);
                err = files_break_seal(&scrub->env->files, scrub->file_no);
                checkpoint_release(scrub->shared);
                return err;
        }
        scrub->result->sums_changed++;
        checksums_name(scrub->file_no, name);
        if (options->damage)
                options->damage(options->arg, name, 0);
        return 0;
}

static void find_damage(struct scrub *scrub, uint64_t page_no)
{
        scrub->first = page_no;
        scrub->result->damaged++;
        tell_of_damage(scrub, 0);
}

/* A file that was cut, after a crash or before it was opened, ends before pages that have checksums. */
static int find_cut(struct scrub *scrub, uint64_t pages)
{
        uint64_t page_no;
        int err = files_find_cut(&scrub->env->files, scrub->file_no, pages, &page_no);
        if (err || page_no == UINT64_MAX)
                return err;
        scrub->result->pages++;
        find_damage(scrub, page_no);
        return 0;
}

/* A file is made before the manifest names it. */
static int find_missing(struct scrub *scrub)
{
        scrub->result->pages++;
        find_damage(scrub, 0);
        return 0;
}

/* One that was cut while it was open ends before its length. Of what it lacks, the zeros have the right checksum. */
static int find_cut_in_use(struct scrub *scrub, uint64_t pages)
{
        struct stat st;
        int err = sys_stat(file_of(scrub)->fd, &st);
        if (err)
                return err;
        const uint32_t page_bytes = scrub->shared->page_bytes;
        const uint64_t there = ((uint64_t)st.st_size + page_bytes - 1) / page_bytes;
        if (there < pages)
                find_damage(scrub, there);
        return 0;
}

static void find_holes(struct scrub *scrub)
{
        const struct data_file *file = file_of(scrub);
        scrub->data = (struct stretch){ .fd = file->fd };
        scrub->checksums = (struct stretch){ .fd = file->checksums.fd };
        scrub->heads = (struct stretch){ .fd = scrub->shared->heads_fd };
}

/* Somebody may have made the file longer than any disk. So many pages from `first` on are holes of the file and of its
 * checksums, which are those of zeros, and nobody has changed them. */
static uint64_t pages_of_hole(struct scrub *scrub, uint64_t first, uint64_t pages)
{
        const uint64_t heads_begin = scrub->file_no * FILE_PAGES_MAX;
        uint64_t end = pages;
        const uint64_t found[] = {
                stretch_find(&scrub->data, first << scrub->shared->page_shift) >> scrub->shared->page_shift,
                checksums_skip_hole(&scrub->checksums, first),
                stretch_find(&scrub->heads, (heads_begin + first) * sizeof(uint64_t)) / sizeof(uint64_t) - heads_begin
        };
        for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
                if (found[i] < end)
                        end = found[i];
        return end > first ? end - first : 0;
}

/* The piece at hand begins behind it. */
static void pass_over_hole(struct scrub *scrub, uint64_t pages)
{
        const bool is_known = !scrub->is_harmed && file_checksums_are_there(&file_of(scrub)->checksums);
        const uint64_t count = is_known ? pages_of_hole(scrub, scrub->first, pages) : 0;
        scrub->result->pages += count;
        scrub->result->verified += count;
        scrub->first += count;
}

static int scrub_file(struct scrub *scrub, uint32_t file_no)
{
        struct files *files = &scrub->env->files;
        const uint32_t piece = PIECE_BYTES >> scrub->shared->page_shift;
        scrub->file_no = file_no;
        scrub->told_sector = 0;
        int err = files_attach(files, file_no);
        if (!err && !shared_map_heads(scrub->shared, file_no))
                err = -ENOMEM;
        if (!err)
                err = check_seal(scrub);
        if (err)
                return err;
        const uint64_t summed = scrub->result->summed, damaged = scrub->result->damaged;
        const uint64_t pages = files_byte_len(files, file_no) >> scrub->shared->page_shift;
        find_holes(scrub);
        for (scrub->first = 0; !err && scrub->first < pages; scrub->first += scrub->count) {
                pass_over_hole(scrub, pages);
                scrub->count = pages - scrub->first < piece ? (uint32_t)(pages - scrub->first) : piece;
                err = scrub_piece(scrub);
                if (!err)
                        err = tell_progress(scrub, pages);
                if (!err)
                        wait_for_rate(scrub);
        }
        if (!err && scrub->result->damaged == damaged)
                err = find_cut_in_use(scrub, pages);
        if (!err)
                err = find_cut(scrub, pages);
        if (!err && scrub->result->summed != summed)
                err = file_checksums_sync(&files->file[file_no].checksums);
        return err;
}

static int scrub_files(struct scrub *scrub)
{
        struct shared *shared = scrub->shared;
        int err = participant_join_with(&scrub->self, shared, NULL);
        if (err == XAC_LIMIT) {
                takeover_dead(shared, control_owner_of_process(shared->process_no));
                err = participant_join_with(&scrub->self, shared, NULL);
        }
        if (err)
                return err;
        const uint32_t count = atomic_load(&shared->control->file_count);
        for (uint32_t i = 0; !err && i < count; i++) {
                err = scrub_file(scrub, i);
                if (err == -EINVAL) /* it never got a length, or was cut */
                        err = find_cut(scrub, 0);
                if (err == -ENOENT)
                        err = find_missing(scrub);
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
        registry_hold(env);
        int err = scrub_files(scrub);
        const int stale = files_check_rest(&env->files);
        free(scrub);
        int close_err = registry_release(env);
        if (stale)
                return stale;
        if (!err)
                err = close_err;
        return !err && (result->damaged || result->sums_damaged || result->sums_changed) ? XAC_CORRUPT : err;
}
