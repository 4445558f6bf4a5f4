/* SPDX-License-Identifier: MIT */
#include "backup/backup_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "backup/page_checksum.h"
#include "base/sys.h"
#include "recovery/checksums.h"

struct verify {
        int directory;
        const struct backup_index *index;
        const struct manifest *manifest; /* of what the files become; NULL: of pieces */
        const struct backup_progress *progress;
        struct pace *pace;
        struct trouble *trouble;
        unsigned char *bytes;
        uint64_t done, total;              /* pages */
        struct checksums_batch *checksums; /* that are made; NULL: of pieces there are none */
        uint64_t file_page;                /* of the data file, of which the next page is that number */
};

static int tell(struct verify *verify, uint64_t pages)
{
        int err;

        verify->done += pages;
        do
                err = backup_progress_tell(verify->progress, verify->trouble, "verify", verify->done, verify->total);
        while (!err && pace_rest(verify->pace));
        return err;
}

/* Pages that lie one after the other, in the file `name`. */
static int verify_pages(struct verify *verify, int fd, const char *name, uint64_t offset, const uint64_t *checksums,
                        uint64_t count)
{
        const uint32_t page_bytes = verify->index->manifest.page_bytes;
        int err = 0;

        for (uint64_t i = 0; !err && i < count;) {
                uint64_t step = count - i < PACE_STEP_BYTES / page_bytes ? count - i : PACE_STEP_BYTES / page_bytes;

                err = sys_read_all(fd, verify->bytes, step * page_bytes, offset + i * page_bytes);
                for (uint64_t k = 0; !err && k < step; k++) {
                        if (page_checksum(verify->bytes + k * page_bytes, page_bytes) != checksums[i + k])
                                err = trouble_say(verify->trouble, XAC_CORRUPT,
                                                  "%s, offset %" PRIu64 ": the disk does not hold what was written",
                                                  name, offset + (i + k) * page_bytes);
                        else if (verify->checksums)
                                err = checksums_batch_put(verify->checksums, verify->file_page++,
                                                          checksums_of(verify->bytes + k * page_bytes, page_bytes));
                }
                i += step;
                pace_step(verify->pace, step * page_bytes);
                if (!err)
                        err = tell(verify, step);
        }
        return err == -ENODATA ? trouble_say(verify->trouble, XAC_CORRUPT, "%s was cut while it was verified", name)
                               : err;
}

static int verify_begin(struct verify *verify)
{
        verify->bytes = malloc(PACE_STEP_BYTES);
        return verify->bytes ? 0 : -ENOMEM;
}

/* ---- Files ---- */

static int verify_runs(struct verify *verify, int fd, uint32_t file_no)
{
        const struct backup_file *file = &verify->index->file[file_no];
        struct stat st;
        int err = sys_stat(fd, &st);

        if (!err && (uint64_t)st.st_size != file->byte_len)
                err = trouble_say(verify->trouble, XAC_CORRUPT, "%s does not have the length that it was given",
                                  verify->index->manifest.file_name[file_no]);
        for (uint32_t i = 0; !err && i < file->run_count; i++) {
                verify->file_page = file->runs[i].first;
                err = verify_pages(verify, fd, verify->index->manifest.file_name[file_no],
                                   file->runs[i].first * verify->index->manifest.page_bytes,
                                   file->checksums + file->runs[i].checksum_at, file->runs[i].count);
        }
        return err;
}

/* What is in no run is zeros, as a hole in the file of checksums says. */
static int verify_runs_and_put_checksums(struct verify *verify, int fd, uint32_t file_no)
{
        const struct manifest *manifest = verify->manifest;
        struct checksums_id id = { .file_no = file_no, .page_bytes = manifest->page_bytes, .mode = manifest->mode };
        struct checksums_batch batch = { .fd = -1 };
        struct checksums_note note;

        memcpy(id.uuid, manifest->uuid, sizeof(id.uuid));
        int err = checksums_make(verify->directory, &id, 0, &batch.fd);
        if (err)
                return err;
        err = checksums_grow(batch.fd, verify->index->file[file_no].byte_len / manifest->page_bytes + 1);
        verify->checksums = &batch;
        if (!err)
                err = verify_runs(verify, fd, file_no);
        verify->checksums = NULL;
        if (!err)
                err = checksums_batch_flush(&batch);
        if (!err)
                err = sys_sync(batch.fd);
        if (!err)
                err = checksums_note_of(fd, &note);
        if (!err)
                err = checksums_put_note(batch.fd, &note);
        sys_close(batch.fd);
        return err;
}

static int verify_file(struct verify *verify, uint32_t file_no)
{
        int fd;
        int err = sys_open(verify->directory, verify->index->manifest.file_name[file_no], O_RDONLY, 0, &fd);

        if (err)
                return err;
        err = verify_runs_and_put_checksums(verify, fd, file_no);
        sys_close(fd);
        return err;
}

int backup_verify_files(int directory, const struct backup_index *index, const struct manifest *manifest,
                        const struct backup_progress *progress, struct pace *pace, struct trouble *trouble)
{
        struct verify verify = { .directory = directory,
                                 .index = index,
                                 .manifest = manifest,
                                 .progress = progress,
                                 .pace = pace,
                                 .trouble = trouble };
        int err = verify_begin(&verify);

        for (uint32_t i = 0; i < index->manifest.file_count; i++)
                verify.total += index->file[i].checksum_count;
        for (uint32_t i = 0; !err && i < index->manifest.file_count; i++)
                err = verify_file(&verify, i);
        free(verify.bytes);
        return err;
}

/* ---- Pieces ---- */

/* Part of a run: as many of its pages, from number `at` of the backup's own on, as lie in one piece. */
static int verify_part(struct verify *verify, uint64_t at, const uint64_t *checksums, uint32_t count)
{
        const uint32_t page_bytes = verify->index->manifest.page_bytes;
        const uint32_t in_piece = backup_piece_pages(page_bytes);
        char name[BACKUP_PIECE_NAME_BYTES];
        int fd, err;

        backup_piece_name(at / in_piece, name);
        err = sys_open(verify->directory, name, O_RDONLY, 0, &fd);
        if (err)
                return err;
        err = verify_pages(verify, fd, name, at % in_piece * page_bytes, checksums, count);
        sys_close(fd);
        return err;
}

static int verify_run(struct verify *verify, const struct backup_file *file, const struct backup_run *run)
{
        const uint32_t in_piece = backup_piece_pages(verify->index->manifest.page_bytes);
        int err = 0;

        for (uint32_t i = 0; !err && i < run->count;) {
                uint32_t room = in_piece - (uint32_t)((run->here_at + i) % in_piece);
                uint32_t count = run->count - i < room ? run->count - i : room;

                err = verify_part(verify, run->here_at + i, file->checksums + run->checksum_at + i, count);
                i += count;
        }
        return err;
}

int backup_verify_pieces(int directory, const struct backup_index *index, const struct backup_progress *progress,
                         struct pace *pace, struct trouble *trouble)
{
        struct verify verify = {
                .directory = directory, .index = index, .progress = progress, .pace = pace, .trouble = trouble
        };
        int err = verify_begin(&verify);

        verify.total = index->pages_here;
        for (uint32_t i = 0; i < index->manifest.file_count; i++)
                for (uint32_t k = 0; !err && k < index->file[i].run_count; k++)
                        if (index->file[i].runs[k].is_here)
                                err = verify_run(&verify, &index->file[i], &index->file[i].runs[k]);
        free(verify.bytes);
        return err;
}
