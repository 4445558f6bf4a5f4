/* SPDX-License-Identifier: MIT */
#include "libxac/care/backup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup/backup_writer.h"
#include "base/say.h"
#include "base/sys.h"
#include "libxac/care/checkpoint.h"
#include "libxac/care/snapshot.h"
#include "libxac/process/registry.h"
#include "libxac/process/thread.h"
#include "libxac/version/version.h"
#include "recovery/seal.h"

struct backup {
        struct xac_env *env;
        xac_snapshot *snapshot;
        uint64_t sequence;
        struct manifest manifest; /* of the environment: names, places, modes */
        struct backup_writer writer;
        struct pace pace;
        struct trouble trouble;
        unsigned char *bytes; /* of pages that are one after the other */
        uint64_t *words;      /* their versions */
        uint64_t read_bytes;
        uint64_t unknown; /* pages at home without a checksum */

        /* The file that is being read. */
        uint32_t file_no;
        uint64_t pages;
        uint64_t size;          /* at home; it may be shorter than the file's pages */
        bool is_harmed;         /* its checksums are not what they were: of a sector that is a hole nothing is known */
        uint64_t judged_sector; /* of checksums, and 1: the one that was judged last; 0: none */
        bool sector_tells;
        uint64_t data_begin, data_end;           /* a stretch at home that is no hole, and none lies before it */
        uint64_t checksums_begin, checksums_end; /* the same of its checksums */
};

/* ---- Pages at home ---- */

/* The first stretch of data that ends behind `offset`. What it says holds for pages that were found at home before it
 * is asked: their data were synced before their heads said so (R13), so that no file system takes them for a hole that
 * it has yet to fill. Pages that go home later may lie in what is a hole now. */
static int find_data(struct backup *backup, uint64_t offset)
{
        const int fd = backup->env->files.file[backup->file_no].fd;
        int err = sys_find_data(fd, offset, &backup->data_begin, &backup->data_end);

        if (err == -ENXIO)
                backup->data_begin = backup->data_end = UINT64_MAX;
        return err == -ENXIO ? 0 : err;
}

static int say_cut(struct backup *backup)
{
        return trouble_say(&backup->trouble, XAC_CORRUPT, "%s was cut by somebody else, and what it had there is lost",
                           backup->manifest.file_name[backup->file_no]);
}

/* A file that was cut ends in no hole. */
static int check_length(struct backup *backup)
{
        const uint64_t page_bytes = backup->env->shared.page_bytes;
        struct stat st;
        int err = backup->pages ? sys_stat(backup->env->files.file[backup->file_no].fd, &st) : 0;

        if (err || !backup->pages)
                return err;
        backup->size = (uint64_t)st.st_size; /* it grows before its length does */
        return (backup->size + page_bytes - 1) / page_bytes < backup->pages ? say_cut(backup) : 0;
}

/* A sector of checksums that is being written may look damaged. */
static int judge_sector(const struct backup *backup, uint64_t page_no)
{
        const int fd = backup->env->files.file[backup->file_no].checksums.fd;
        struct thread *thread;
        int worth = checksums_judge_sector(fd, page_no);

        if (worth != CHECKSUMS_LOST)
                return worth;
        int err = thread_of(backup->env, &thread);
        if (err)
                return err;
        checkpoint_hold(&backup->env->shared, thread->self.owner);
        worth = checksums_judge_sector(fd, page_no);
        checkpoint_release(&backup->env->shared);
        return worth;
}

/* Does the sector tell anything of its pages? */
static bool tells(struct backup *backup, uint64_t page_no)
{
        const uint64_t sector = page_no / CHECKSUMS_SECTOR_PAGES;

        if (!file_checksums_are_there(&backup->env->files.file[backup->file_no].checksums))
                return false;
        if (backup->judged_sector != sector + 1) {
                const int worth = judge_sector(backup, page_no);

                backup->judged_sector = sector + 1;
                backup->sector_tells = worth == CHECKSUMS_SOUND || (worth == CHECKSUMS_HOLE && !backup->is_harmed);
        }
        return backup->sector_tells;
}

static bool is_known(struct backup *backup, uint64_t page_no)
{
        return file_checksums_know(&backup->env->files.file[backup->file_no].checksums, page_no) &&
               tells(backup, page_no);
}

/* Rot is not laundered: what is copied from home is what its checksum says, holes included (R29). */
static int verify_home(struct backup *backup, uint64_t page_no, uint32_t count, const unsigned char *bytes)
{
        const struct shared *shared = &backup->env->shared;

        for (uint32_t i = 0; i < count; i++) {
                int err = files_verify_home(&backup->env->files, page_id(backup->file_no, page_no + i),
                                            bytes + ((size_t)i << shared->page_shift));
                if (err)
                        return trouble_say(&backup->trouble, err,
                                           "%s, offset %llu: the page is not what its checksum says; 'xac scrub' finds "
                                           "all of them, 'xac repair' takes them from a backup",
                                           backup->manifest.file_name[backup->file_no],
                                           (unsigned long long)(page_no + i) << shared->page_shift);
                backup->unknown += !is_known(backup, page_no + i);
        }
        return 0;
}

/* `count` pages of zeros, or what the file has there. */
static int read_home(struct backup *backup, uint64_t page_no, uint32_t count, unsigned char *to)
{
        const struct shared *shared = &backup->env->shared;
        const uint64_t offset = page_no << shared->page_shift;
        uint64_t byte_len = (uint64_t)count << shared->page_shift, there;
        int err = backup->data_end > offset ? 0 : find_data(backup, offset);

        memset(to, 0, byte_len);
        if (err || backup->data_begin >= offset + byte_len)
                return err ? err : verify_home(backup, page_no, count, to);
        there = offset < backup->size ? backup->size - offset : 0;
        backup->read_bytes += byte_len;
        err = sys_read_all(backup->env->files.file[backup->file_no].fd, to, byte_len < there ? byte_len : there,
                           offset);
        if (err)
                return err == -ENODATA ? say_cut(backup) : err;
        return verify_home(backup, page_no, count, to);
}

/* So many pages from here on have checksums that are a hole, too: those of zeros. */
static int find_checksums(struct backup *backup, uint64_t page_no, uint64_t *count)
{
        const struct file_checksums *checksums = &backup->env->files.file[backup->file_no].checksums;
        const int fd = checksums->fd;
        const uint64_t offset = checksums_offset(page_no);
        int err = 0;

        *count = 0;
        if (!file_checksums_are_there(checksums))
                return 0;
        if (offset >= backup->checksums_end)
                err = sys_find_data(fd, offset, &backup->checksums_begin, &backup->checksums_end);
        if (err == -ENXIO) {
                backup->checksums_begin = backup->checksums_end = UINT64_MAX;
                err = 0;
        }
        const uint64_t sectors = (backup->checksums_begin - CHECKSUMS_HEADER_BYTES) / CHECKSUMS_SECTOR_BYTES;
        const uint64_t until = backup->checksums_begin > offset ? sectors * CHECKSUMS_SECTOR_PAGES : page_no;
        *count = !err && until > page_no ? until - page_no : 0;
        return err;
}

/* Somebody may have made the file longer than any disk. */
static int verify_hole(struct backup *backup, uint64_t page_no, uint64_t count)
{
        const unsigned char *zeros = (const unsigned char *)shared_zeros(&backup->env->shared);
        const uint64_t end = page_no + count;
        int err = 0;

        while (!err && page_no < end) {
                err = find_checksums(backup, page_no, &count);
                if (!err && !count)
                        err = verify_home(backup, page_no, 1, zeros);
                else if (!err && backup->is_harmed)
                        backup->unknown += count < end - page_no ? count : end - page_no;
                page_no += count ? count : 1;
        }
        return err;
}

/* ---- Pages as of the snapshot ---- */

/* So many pages from here on are home as ever, and a hole there: they need no look. */
static uint64_t skip_hole(struct backup *backup, uint64_t page_no)
{
        struct shared *shared = &backup->env->shared;
        uint64_t until = page_no;

        while (until < backup->pages && !version_head(shared, page_id(backup->file_no, until)))
                until += HEADS_PER_CHUNK - until % HEADS_PER_CHUNK;
        if (until > backup->data_begin >> shared->page_shift)
                until = backup->data_begin >> shared->page_shift;
        if (until > backup->pages)
                until = backup->pages;
        return until > page_no ? until - page_no : 0;
}

static int read_slot(struct backup *backup, uint64_t page_no, uint64_t word, unsigned char *to)
{
        const struct shared *shared = &backup->env->shared;

        memcpy(to, files_version_bytes(&backup->env->files, page_id(backup->file_no, page_no), version_slot(word)),
               shared->page_bytes);
        backup->read_bytes += shared->page_bytes;
        return 0;
}

/* Neighbours at home are read by one call. */
static int read_pages(struct backup *backup, uint64_t page_no, uint32_t count)
{
        struct shared *shared = &backup->env->shared;
        int err = 0;

        for (uint32_t i = 0; i < count; i++)
                backup->words[i] = version_visible(shared, page_id(backup->file_no, page_no + i), backup->sequence);
        err = check_length(backup);
        if (!err)
                err = find_data(backup, page_no << shared->page_shift);
        for (uint32_t i = 0, run; !err && i < count; i += run) {
                unsigned char *to = backup->bytes + ((size_t)i << shared->page_shift);

                for (run = 0; i + run < count && version_slot(backup->words[i + run]) == SLOT_HOME; run++)
                        ;
                if (run) {
                        err = read_home(backup, page_no + i, run, to);
                } else {
                        run = 1;
                        err = read_slot(backup, page_no + i, backup->words[i], to);
                }
        }
        return err;
}

static int copy_pages(struct backup *backup)
{
        const uint32_t step = PACE_STEP_BYTES >> backup->env->shared.page_shift;
        int err = 0;

        for (uint64_t page_no = 0; !err && page_no < backup->pages;) {
                uint32_t count = backup->pages - page_no < step ? (uint32_t)(backup->pages - page_no) : step;
                uint64_t hole;

                err = find_data(backup, page_no << backup->env->shared.page_shift);
                hole = err ? 0 : skip_hole(backup, page_no);
                backup->read_bytes = 0;
                if (!err)
                        err = hole ? verify_hole(backup, page_no, hole) : read_pages(backup, page_no, count);
                if (!err && backup->read_bytes)
                        err = backup_writer_put(&backup->writer, page_no, backup->bytes, count, backup->read_bytes);
                else if (!err)
                        err = backup_writer_skip(&backup->writer, hole ? hole : count);
                page_no += hole ? hole : count;
        }
        return err;
}

/* ---- Files ---- */

/* A file that was cut while nobody had it open, or after a crash, has less than its checksums are of. */
static int check_checksums(struct backup *backup)
{
        uint64_t page_no;
        int err = files_find_cut(&backup->env->files, backup->file_no, backup->pages, &page_no);

        return err || page_no == UINT64_MAX ? err : say_cut(backup);
}

/* A file that never got a length has no pages, and cannot be opened. */
static int open_file(struct backup *backup, uint32_t file_no, struct stat *st)
{
        struct xac_env *env = backup->env;
        const char *name = backup->manifest.file_name[file_no];
        uint32_t found_no = file_no;
        int err = sys_stat_at(env->directory, name, st);

        if (!err && st->st_size > 0)
                err = files_open(&env->files, name, 0, &found_no);
        if (!err && found_no != file_no)
                err = XAC_CORRUPT;
        backup->file_no = file_no;
        backup->pages = err ? 0 : files_byte_len(&env->files, file_no) >> env->shared.page_shift;
        backup->data_begin = backup->data_end = 0;
        backup->checksums_begin = backup->checksums_end = 0;
        backup->judged_sector = 0;
        if (!err && backup->pages && !st->st_size)
                return say_cut(backup);
        if (!err)
                err = check_length(backup);
        if (!err)
                err = check_checksums(backup);
        if (backup->trouble.text[0])
                return err;
        if (err == -ENOENT)
                return trouble_say(&backup->trouble, XAC_CORRUPT, "%s is missing, although a file of the environment",
                                   name);
        return err ? trouble_say(&backup->trouble, err, "%s: %s", name, xac_strerror(err)) : 0;
}

/* What its pages are compared with. */
static int check_seal(struct backup *backup)
{
        const char *name = backup->manifest.file_name[backup->file_no];
        enum seal_verdict verdict;
        struct thread *thread;
        int err = thread_of(backup->env, &thread);

        if (err)
                return err;
        checkpoint_hold(&backup->env->shared, thread->self.owner);
        err = seal_judge_in_use(backup->env->directory, backup->file_no, &verdict);
        checkpoint_release(&backup->env->shared);
        backup->is_harmed = !err && verdict == SEAL_BROKEN_BESIDE;
        if (err || verdict == SEAL_WHOLE || backup->is_harmed)
                return err;
        if (verdict == SEAL_LOST)
                return trouble_say(&backup->trouble, XAC_CORRUPT,
                                   "%s: some of its checksums (" CHECKSUMS_NAME_PREFIX
                                   "%u) are damaged: 'xac repair' compares the pages with a backup, 'xac scrub --sum' "
                                   "takes them for sound",
                                   name, backup->file_no);
        return trouble_say(&backup->trouble, XAC_CORRUPT,
                           "%s: its checksums (" CHECKSUMS_NAME_PREFIX "%u) are not those that " MANIFEST_NAME
                           " was written for: changed, or of another moment; 'xac scrub --sum' takes pages and "
                           "checksums as they are",
                           name, backup->file_no);
}

static int copy_file(struct backup *backup, uint32_t file_no)
{
        struct stat st;
        int err = open_file(backup, file_no, &st);

        if (!err)
                err = check_seal(backup);
        if (!err)
                err = backup_writer_begin_file(&backup->writer, file_no,
                                               backup->pages << backup->env->shared.page_shift, st.st_mode);
        if (!err)
                err = copy_pages(backup);
        return err ? err : backup_writer_end_file(&backup->writer);
}

static int count_pages(struct backup *backup, uint64_t *pages)
{
        struct stat st;
        int err = 0;

        *pages = 0;
        for (uint32_t i = 0; !err && i < backup->manifest.file_count; i++) {
                err = open_file(backup, i, &st);
                *pages += backup->pages;
        }
        return err;
}

/* ---- All of it ---- */

/* A fault in a view is nobody's then (I8). */
static int sync_in_library(struct thread *thread)
{
        int err;

        thread->is_in_library = true;
        err = thread_sync(thread);
        thread->is_in_library = false;
        return err;
}

/* What was committed before the call is in the backup, if it can be. After a failed write it cannot: then as of what is
 * known to be on disk. */
static int open_snapshot(struct backup *backup)
{
        const bool is_durable = shared_is_durable(&backup->env->shared);
        struct thread *thread;
        int err = thread_of(backup->env, &thread);

        if (!err && is_durable)
                err = sync_in_library(thread);
        if (err == XAC_POISONED)
                err = 0;
        if (!err)
                err = snapshot_open(backup->env, is_durable ? XAC_DURABLE : 0, &backup->snapshot);
        if (!err)
                backup->sequence = snapshot_sequence(backup->snapshot);
        return err;
}

static uint64_t count_commits(void *control)
{
        return atomic_load(&((struct control *)control)->sequence);
}

static void order_of(const char *destination, const xac_backup_options *options, struct pace *pace,
                     struct backup_order *order)
{
        *order = (struct backup_order){ .destination = destination,
                                        .stream_fd = options->stream ? options->stream : STDOUT_FILENO,
                                        .since = options->since,
                                        .pace = pace,
                                        .progress = { options->progress, options->progress_arg } };
}

static void tell_result(const struct backup *backup, xac_backup_result *result)
{
        const struct backup_index *index = &backup->writer.index;

        result->sequence = index->sequence;
        result->since_sequence = index->since_sequence;
        result->files = index->manifest.file_count;
        for (uint32_t i = 0; i < index->manifest.file_count; i++)
                result->pages += index->file[i].checksum_count;
        result->pages_copied = index->pages_here;
        result->bytes_copied = index->pages_here * index->manifest.page_bytes;
        result->pages_unknown = backup->unknown;
}

static int copy_files(struct backup *backup)
{
        int err = 0;

        for (uint32_t i = 0; !err && i < backup->manifest.file_count; i++)
                err = copy_file(backup, i);
        return err;
}

/* The manifest is read after the snapshot began: it has the snapshot's files, and no number that xac_self() has given
 * and that somebody may have stored is of a later generation. */
static int begin(struct backup *backup, const struct backup_order *order)
{
        uint64_t pages;
        int err = open_snapshot(backup);

        if (err)
                return err;
        err = manifest_read(backup->env->directory, &backup->manifest);
        if (!shared_is_durable(&backup->env->shared))
                backup->manifest.history = MANIFEST_NO_HISTORY;
        else if (!err)
                backup->manifest.base_position = log_end(&backup->env->shared.log); /* at least as of the snapshot */
        if (!err)
                err = count_pages(backup, &pages);
        if (!err)
                err = backup_writer_open(&backup->writer, order, &backup->manifest, backup->sequence, pages,
                                         &backup->trouble);
        if (err)
                (void)snapshot_close(backup->snapshot);
        return err;
}

/* Once all is copied others get back what the snapshot has kept from them. */
static int backup_all(struct backup *backup, const struct backup_order *order, xac_backup_result *result)
{
        int closed;
        int err = begin(backup, order);

        if (err)
                return err;
        err = copy_files(backup);
        closed = snapshot_close(backup->snapshot);
        if (closed == -ESTALE && err) { /* a writer has come: what looked like damage was its work */
                err = closed;
                backup->trouble.text[0] = '\0';
        }
        err = backup_writer_finish(&backup->writer, err ? err : closed);
        if (!err)
                tell_result(backup, result);
        backup_writer_close(&backup->writer);
        return err;
}

/* The environment stays open while this is under way, whatever other threads close. */
static int backup_held(struct backup *backup, const char *destination, const xac_backup_options *options,
                       xac_backup_result *result)
{
        struct xac_env *env = backup->env;
        struct backup_order order;
        int err = -ENOMEM, released;

        backup->pace = (struct pace){ .bytes_per_second = options->bytes_per_second,
                                      .commits = count_commits,
                                      .arg = env->shared.control };
        order_of(destination, options, &backup->pace, &order);
        backup->bytes = malloc(PACE_STEP_BYTES);
        backup->words = malloc(PACE_STEP_BYTES / env->shared.page_bytes * sizeof(*backup->words));
        registry_hold(env);
        if (backup->bytes && backup->words)
                err = backup_all(backup, &order, result);
        released = registry_release(env);
        free(backup->bytes);
        free(backup->words);
        return err ? err : released;
}

int backup_env(struct xac_env *env, const char *destination, const xac_backup_options *options)
{
        static const xac_backup_options defaults;
        struct backup *backup = calloc(1, sizeof(*backup));
        xac_backup_result result = { 0 };
        const char *problem = "";
        int err = -ENOMEM;

        if (!options)
                options = &defaults;
        if (backup) {
                backup->env = env;
                err = backup_held(backup, destination, options, &result);
                problem = backup->trouble.text;
        }
        if (err)
                say_text(result.problem, sizeof(result.problem), "%s", *problem ? problem : xac_strerror(err));
        free(backup);
        if (options->result)
                *options->result = result;
        return err;
}
