/* SPDX-License-Identifier: MIT */
#include "backup/backup_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xac/xac.h>

#include "backup/page_checksum.h"
#include "base/sys.h"
#include "base/zeros.h"
#include "recovery/manifest_slot.h"
#include "recovery/recover.h"
#include "recovery/seal.h"

/* ---- Begin ---- */

static int check_since(struct backup_writer *writer)
{
        const struct backup_index *since = &writer->since;
        const char *name = writer->order->since;

        if (memcmp(since->source, writer->index.source, BACKUP_ID_BYTES) != 0 ||
            since->manifest.page_bytes != writer->index.manifest.page_bytes)
                return trouble_say(
                        writer->trouble, -EINVAL,
                        "%s is a backup of another environment; make a full one, without a backup to continue", name);
        if (since->sequence > writer->index.sequence)
                return trouble_say(writer->trouble, -EINVAL,
                                   "%s is of commit %" PRIu64 ", and the environment is at %" PRIu64
                                   ": it was set back since, or was open without a log (XAC_VOLATILE) then; make a "
                                   "full one",
                                   name, since->sequence, writer->index.sequence);
        memcpy(writer->index.since, since->id, BACKUP_ID_BYTES);
        writer->index.since_sequence = since->sequence;
        writer->piece = malloc(BACKUP_PIECE_BYTES);
        return writer->piece ? 0 : -ENOMEM;
}

static int open_since(struct backup_writer *writer)
{
        int err = backup_index_load(&writer->since, writer->order->since, writer->trouble);

        if (err)
                return err;
        writer->is_incremental = true;
        return check_since(writer);
}

/* An empty directory keeps its owner. */
static int open_directory(struct backup_writer *writer)
{
        int err = sink_open_directory(&writer->sink, writer->order->destination, writer->trouble);

        if (err)
                return err;
        err = partial_ask_owner(&writer->sink.partial, NULL, writer->trouble);
        if (err)
                partial_abandon(&writer->sink.partial);
        return err;
}

static int open_sink(struct backup_writer *writer)
{
        const struct backup_order *order = writer->order;

        if (strcmp(order->destination, "-") != 0)
                return open_directory(writer);
        sink_open_stream(&writer->sink, order->stream_fd, writer->index.time);
        return 0;
}

int backup_writer_open(struct backup_writer *writer, const struct backup_order *order, const struct manifest *manifest,
                       uint64_t sequence, uint64_t total, struct trouble *trouble)
{
        struct backup_index *index = &writer->index;
        int err;

        memset(writer, 0, sizeof(*writer));
        writer->order = order;
        writer->trouble = trouble;
        writer->total = total;
        index->manifest = *manifest;
        manifest_begin_log(&index->manifest,
                           sequence); /* where its own log and checkpoint are is of no use elsewhere */
        index->manifest.session.history = manifest->history; /* which archived log goes on from here */
        index->manifest.session.time_ns = manifest_logged_last(manifest);
        index->sequence = sequence;
        index->time = (uint64_t)time(NULL);
        memcpy(index->source, manifest->uuid, BACKUP_ID_BYTES);
        err = sys_random(index->id, BACKUP_ID_BYTES);
        if (!err && order->since)
                err = open_since(writer);
        if (!err)
                err = open_sink(writer);
        writer->sink.pace = order->pace;
        pace_begin(order->pace);
        if (err)
                backup_writer_close(writer);
        return err;
}

void backup_writer_close(struct backup_writer *writer)
{
        backup_index_free(&writer->index);
        backup_index_free(&writer->since);
        free(writer->piece);
        writer->piece = NULL;
}

/* ---- Pages ---- */

int backup_writer_begin_file(struct backup_writer *writer, uint32_t file_no, uint64_t byte_len, mode_t mode)
{
        struct backup_file *file = &writer->index.file[file_no];

        writer->file_no = file_no;
        file->byte_len = byte_len;
        file->mode = mode & 0777;
        if (writer->is_incremental)
                return 0;
        return sink_begin_file(&writer->sink, writer->index.manifest.file_name[file_no], byte_len, file->mode);
}

/* Pages that are in the piece by now, and no longer counted by the ones before it. */
static uint32_t pages_in_piece(const struct backup_writer *writer)
{
        return (uint32_t)(writer->index.pages_here % backup_piece_pages(writer->index.manifest.page_bytes));
}

static int write_piece(struct backup_writer *writer, uint64_t piece, uint32_t pages)
{
        char name[BACKUP_PIECE_NAME_BYTES];

        backup_piece_name(piece, name);
        return sink_put_file(&writer->sink, name, writer->piece, (size_t)pages * writer->index.manifest.page_bytes,
                             writer->index.manifest.mode);
}

/* Names that the earlier backup does not have are new: their pages have no checksums there. */
static bool has_changed(const struct backup_writer *writer, uint64_t page_no, uint64_t checksum)
{
        const struct backup_run *run = backup_index_find(&writer->since, writer->file_no, page_no);

        return !run || backup_index_checksum(&writer->since, writer->file_no, run, page_no) != checksum;
}

static int put_changed(struct backup_writer *writer, uint64_t page_no, const unsigned char *bytes)
{
        const uint32_t page_bytes = writer->index.manifest.page_bytes;
        const uint64_t checksum = page_checksum(bytes, page_bytes);
        const bool is_here = has_changed(writer, page_no, checksum);
        int err;

        if (is_here)
                memcpy(writer->piece + (size_t)pages_in_piece(writer) * page_bytes, bytes, page_bytes);
        err = backup_index_add(&writer->index, writer->file_no, page_no, checksum, is_here);
        if (!err && is_here && !pages_in_piece(writer))
                err = write_piece(writer, writer->index.pages_here / backup_piece_pages(page_bytes) - 1,
                                  backup_piece_pages(page_bytes));
        return err;
}

/* Up to the next page of zeros: how many. */
static int put_run(struct backup_writer *writer, uint64_t page_no, const unsigned char *bytes, uint32_t count)
{
        const uint32_t page_bytes = writer->index.manifest.page_bytes;
        uint32_t run = 0;
        int err = 0;

        for (; !err && run < count && !are_zeros(bytes + (size_t)run * page_bytes, page_bytes); run++) {
                const unsigned char *page = bytes + (size_t)run * page_bytes;

                if (writer->is_incremental)
                        err = put_changed(writer, page_no + run, page);
                else
                        err = backup_index_add(&writer->index, writer->file_no, page_no + run,
                                               page_checksum(page, page_bytes), true);
        }
        if (!err && run && !writer->is_incremental)
                err = sink_write(&writer->sink, bytes, (size_t)run * page_bytes, page_no * page_bytes);
        return err ? err : (int)run;
}

static int tell(const struct backup_writer *writer)
{
        int err;

        do
                err = backup_progress_tell(&writer->order->progress, writer->trouble, "backup", writer->done,
                                           writer->total);
        while (!err && pace_rest(writer->order->pace));
        return err;
}

int backup_writer_put(struct backup_writer *writer, uint64_t page_no, const void *bytes, uint32_t count,
                      uint64_t read_bytes)
{
        const uint32_t page_bytes = writer->index.manifest.page_bytes;

        for (uint32_t i = 0; i < count;) {
                int run =
                        put_run(writer, page_no + i, (const unsigned char *)bytes + (size_t)i * page_bytes, count - i);

                if (run < 0)
                        return run;
                i += run ? (uint32_t)run : 1;
        }
        writer->done += count;
        pace_step(writer->order->pace, read_bytes);
        return tell(writer);
}

int backup_writer_skip(struct backup_writer *writer, uint64_t count)
{
        writer->done += count;
        return tell(writer);
}

int backup_writer_end_file(struct backup_writer *writer)
{
        return writer->is_incremental ? 0 : sink_end_file(&writer->sink);
}

/* ---- The end ---- */

int backup_new_manifest(const struct backup_index *index, struct manifest *manifest)
{
        *manifest = index->manifest;
        return sys_random(manifest->uuid, sizeof(manifest->uuid));
}

static void take_finding(void *trouble, const char *sentence)
{
        trouble_say(trouble, 0, "%s", sentence);
}

static int check_environment(int directory, struct trouble *trouble)
{
        struct recovery recovery = { .directory = directory };
        struct manifest manifest;
        int err = manifest_read(directory, &manifest);

        return err ? err : recover_check(&recovery, &manifest, take_finding, trouble);
}

int backup_make_environment(int directory, struct manifest *manifest, struct trouble *trouble)
{
        int err = seal_close(directory, manifest, false);

        if (!err)
                err = manifest_create_as(directory, manifest);
        return err ? err : check_environment(directory, trouble);
}

static int write_index(struct backup_writer *writer)
{
        unsigned char *bytes;
        size_t byte_len;
        int err = backup_index_encode(&writer->index, &bytes, &byte_len);

        if (err)
                return err;
        err = sink_put_file(&writer->sink, BACKUP_INDEX_NAME, bytes, byte_len, writer->index.manifest.mode);
        free(bytes);
        return err;
}

/* The last file, so that a stream that was cut leaves nothing that opens. */
static int end_stream(struct backup_writer *writer, const struct manifest *manifest)
{
        unsigned char slots[2 * MANIFEST_SLOT_BYTES];
        int err = 0;

        manifest_slot_encode(slots, manifest, 0);
        manifest_slot_encode(slots + MANIFEST_SLOT_BYTES, manifest, 1);
        if (!writer->is_incremental)
                err = sink_put_file(&writer->sink, MANIFEST_NAME, slots, sizeof(slots), manifest->mode);
        return err ? err : tar_finish(&writer->sink.tar);
}

static int end_directory(struct backup_writer *writer, struct manifest *manifest)
{
        struct partial *partial = &writer->sink.partial;
        const struct backup_progress *progress = &writer->order->progress;
        struct pace *pace = writer->order->pace;
        int err = sys_sync(partial->directory);

        if (!err && writer->is_incremental)
                err = backup_verify_pieces(partial->directory, &writer->index, progress, pace, writer->trouble);
        else if (!err)
                err = backup_verify_files(partial->directory, &writer->index, manifest, progress, pace,
                                          writer->trouble);
        if (!err && !writer->is_incremental)
                err = backup_make_environment(partial->directory, manifest, writer->trouble);
        return err ? err : partial_finish(partial, manifest->mode, NULL, writer->trouble);
}

static int finish(struct backup_writer *writer)
{
        const uint32_t in_piece = backup_piece_pages(writer->index.manifest.page_bytes);
        struct manifest manifest;
        int err = 0;

        if (writer->is_incremental && pages_in_piece(writer))
                err = write_piece(writer, writer->index.pages_here / in_piece, pages_in_piece(writer));
        if (!err)
                err = write_index(writer);
        if (!err)
                err = backup_new_manifest(&writer->index, &manifest);
        if (err)
                return err;
        return writer->sink.is_stream ? end_stream(writer, &manifest) : end_directory(writer, &manifest);
}

int backup_writer_finish(struct backup_writer *writer, int err)
{
        if (!err)
                err = finish(writer);
        sink_drop_file(&writer->sink);
        if (!err)
                return 0;
        if (!writer->sink.is_stream)
                partial_abandon(&writer->sink.partial);
        return trouble_with(writer->trouble, err, writer->order->destination);
}
