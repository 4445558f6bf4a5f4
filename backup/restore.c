/* SPDX-License-Identifier: MIT */
#include "backup/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/xac.h>

#include "backup/backup_writer.h"
#include "backup/page_checksum.h"
#include "base/sys.h"
#include "base/zeros.h"

/* One of the backups. */
struct link {
        const char *path;
        int directory;
        int fd;           /* of the file or piece that was read last; -1: none */
        uint64_t file_no; /* which: a file's number, or a piece's */
        struct backup_index index;
};

struct restore {
        const struct restore_order *order;
        struct trouble *trouble;
        struct link *links;
        struct sink sink;
        struct pace pace;
        unsigned char *bytes; /* pages that are read and not yet written */
        uint64_t first;
        uint32_t pages;
        uint64_t done, total;
};

/* The newest backup says what there is to be. */
static const struct backup_index *wanted(const struct restore *restore)
{
        return &restore->links[restore->order->count - 1].index;
}

/* ---- Do they fit? ---- */

static int check_first(const struct link *link, struct trouble *trouble)
{
        if (backup_index_is_full(&link->index))
                return 0;
        return trouble_say(trouble, -EINVAL,
                           "%s has only what changed since commit %" PRIu64 "; name the full backup first, and then "
                           "those that continue it in their order",
                           link->path, link->index.since_sequence);
}

static int check_next(const struct link *before, const struct link *link, struct trouble *trouble)
{
        if (memcmp(link->index.source, before->index.source, BACKUP_ID_BYTES) != 0)
                return trouble_say(trouble, -EINVAL, "%s and %s are backups of different environments", before->path,
                                   link->path);
        if (backup_index_is_full(&link->index))
                return trouble_say(trouble, -EINVAL, "%s is a full backup; begin with it", link->path);
        if (memcmp(link->index.since, before->index.id, BACKUP_ID_BYTES) != 0)
                return trouble_say(trouble, -EINVAL,
                                   "%s does not continue %s: it has what changed since a backup of commit %" PRIu64
                                   ", and that is another one (of commit %" PRIu64 "); a backup is missing between "
                                   "them, or the order is wrong",
                                   link->path, before->path, link->index.since_sequence, before->index.sequence);
        if (link->index.since_sequence != before->index.sequence)
                return trouble_say(trouble, XAC_CORRUPT,
                                   "%s says that it continues a backup of commit %" PRIu64 ", and %s is of commit "
                                   "%" PRIu64 ": somebody has changed one of them; take another backup",
                                   link->path, link->index.since_sequence, before->path, before->index.sequence);
        if (link->index.manifest.page_bytes != before->index.manifest.page_bytes)
                return trouble_say(trouble, -EINVAL, "%s has pages of another size than %s", link->path, before->path);
        return 0;
}

static int open_link(struct restore *restore, uint32_t i)
{
        struct link *link = &restore->links[i];
        int err;

        link->path = restore->order->backups[i];
        err = backup_index_load(&link->index, link->path, restore->trouble);
        if (!err)
                err = i ? check_next(link - 1, link, restore->trouble) : check_first(link, restore->trouble);
        if (!err)
                err = sys_open(AT_FDCWD, link->path, O_RDONLY | O_DIRECTORY, 0, &link->directory);
        return err ? trouble_with(restore->trouble, err, link->path) : 0;
}

static int open_links(struct restore *restore)
{
        const uint32_t count = restore->order->count;
        int err = 0;

        restore->links = calloc(count, sizeof(*restore->links));
        restore->bytes = malloc(PACE_STEP_BYTES);
        for (uint32_t i = 0; restore->links && i < count; i++)
                restore->links[i].fd = restore->links[i].directory = -1;
        if (!restore->links || !restore->bytes)
                return -ENOMEM;
        for (uint32_t i = 0; !err && i < count; i++)
                err = open_link(restore, i);
        return err;
}

static void close_links(struct restore *restore)
{
        for (uint32_t i = 0; restore->links && i < restore->order->count; i++) {
                struct link *link = &restore->links[i];

                if (link->fd >= 0)
                        sys_close(link->fd);
                if (link->directory >= 0)
                        sys_close(link->directory);
                backup_index_free(&link->index);
        }
        free(restore->links);
        free(restore->bytes);
}

/* ---- Reading ---- */

static void name_of(const struct link *link, uint64_t file_no, char name[MANIFEST_NAME_BYTES])
{
        if (backup_index_is_full(&link->index))
                memcpy(name, link->index.manifest.file_name[file_no], MANIFEST_NAME_BYTES);
        else
                backup_piece_name(file_no, name);
}

static int open_file_of(struct link *link, uint64_t file_no, const char *name)
{
        if (link->fd >= 0 && link->file_no == file_no)
                return 0;
        if (link->fd >= 0)
                sys_close(link->fd);
        link->fd = -1;
        link->file_no = file_no;
        return sys_open(link->directory, name, O_RDONLY, 0, &link->fd);
}

/* The page from this backup, which has it. */
static int read_from(struct restore *restore, struct link *link, uint32_t file_no, const struct backup_run *run,
                     uint64_t page_no, unsigned char *bytes)
{
        const uint32_t page_bytes = link->index.manifest.page_bytes;
        const uint32_t in_piece = backup_piece_pages(page_bytes);
        const uint64_t at = run->here_at + (page_no - run->first);
        const bool is_full = backup_index_is_full(&link->index);
        const uint64_t number = is_full ? file_no : at / in_piece;
        const uint64_t offset = (is_full ? page_no : at % in_piece) * page_bytes;
        char name[MANIFEST_NAME_BYTES];
        int err;

        name_of(link, number, name);
        err = open_file_of(link, number, name);
        if (!err)
                err = sys_read_all(link->fd, bytes, page_bytes, offset);
        if (err == -ENODATA || err == -ENOENT)
                return trouble_say(restore->trouble, XAC_CORRUPT, "%s/%s is missing, or ends before it should",
                                   link->path, name);
        if (err)
                return trouble_with(restore->trouble, err, link->path);
        if (are_zeros(bytes, page_bytes)) /* a hole of any length costs nothing, and would be written out */
                return trouble_say(restore->trouble, XAC_CORRUPT,
                                   "%s/%s, offset %" PRIu64
                                   ": the page is zeros, and a backup has none of these: it was "
                                   "cut off, or is a hole. Take another backup",
                                   link->path, name, offset);
        if (page_checksum(bytes, page_bytes) == backup_index_checksum(&link->index, file_no, run, page_no))
                return 0;
        return trouble_say(restore->trouble, XAC_CORRUPT,
                           "%s/%s, offset %" PRIu64 ": the page is not the one that was backed up: it is damaged, or "
                           "somebody has opened the backup and gone on with it. Take another backup",
                           link->path, name, offset);
}

/* The newest backup that has the page itself has it as the last one wants it. */
static int read_page(struct restore *restore, uint32_t file_no, uint64_t page_no, uint64_t checksum,
                     unsigned char *bytes)
{
        for (uint32_t i = restore->order->count; i-- > 0;) {
                struct link *link = &restore->links[i];
                const struct backup_run *run = backup_index_find(&link->index, file_no, page_no);

                if (run && backup_index_checksum(&link->index, file_no, run, page_no) == checksum && run->is_here)
                        return read_from(restore, link, file_no, run, page_no, bytes);
        }
        return trouble_say(restore->trouble, XAC_CORRUPT, "%s, page %" PRIu64 ": no backup has it",
                           wanted(restore)->manifest.file_name[file_no], page_no);
}

/* ---- Writing ---- */

static int write_pages(struct restore *restore)
{
        const uint32_t page_bytes = wanted(restore)->manifest.page_bytes;
        const uint32_t pages = restore->pages;
        int err;

        restore->pages = 0;
        restore->done += pages;
        if (!pages)
                return 0;
        err = backup_progress_tell(&restore->order->progress, restore->trouble, "restore", restore->done,
                                   restore->total);
        if (err || !restore->order->destination)
                return err;
        return sink_write(&restore->sink, restore->bytes, (size_t)pages * page_bytes, restore->first * page_bytes);
}

static int restore_page(struct restore *restore, uint32_t file_no, uint64_t page_no, uint64_t checksum)
{
        const uint32_t page_bytes = wanted(restore)->manifest.page_bytes;
        int err = 0;

        if (page_no != restore->first + restore->pages || restore->pages == PACE_STEP_BYTES / page_bytes)
                err = write_pages(restore);
        if (!restore->pages)
                restore->first = page_no;
        if (!err)
                err = read_page(restore, file_no, page_no, checksum,
                                restore->bytes + (size_t)restore->pages * page_bytes);
        if (!err)
                restore->pages++;
        return err;
}

static int restore_pages(struct restore *restore, uint32_t file_no)
{
        const struct backup_file *file = &wanted(restore)->file[file_no];
        int err = 0;

        for (uint32_t i = 0; !err && i < file->run_count; i++)
                for (uint32_t k = 0; !err && k < file->runs[i].count; k++)
                        err = restore_page(restore, file_no, file->runs[i].first + k,
                                           file->checksums[file->runs[i].checksum_at + k]);
        return err ? err : write_pages(restore);
}

static int restore_file(struct restore *restore, uint32_t file_no)
{
        const struct backup_index *index = wanted(restore);
        int err = 0;

        if (restore->order->destination)
                err = sink_begin_file(&restore->sink, index->manifest.file_name[file_no], index->file[file_no].byte_len,
                                      index->file[file_no].mode);
        if (!err)
                err = restore_pages(restore, file_no);
        if (!err && restore->order->destination)
                err = sink_end_file(&restore->sink);
        return err;
}

static int restore_files(struct restore *restore)
{
        int err = 0;

        for (uint32_t i = 0; !err && i < wanted(restore)->manifest.file_count; i++)
                err = restore_file(restore, i);
        return err;
}

/* ---- All of it ---- */

/* Root's files would be of no use to those whose they were. */
static int find_owner(const struct restore *restore, struct partial_owner *owner)
{
        struct stat st;
        int err;

        *owner = restore->order->owner;
        if (owner->is_given || restore->sink.partial.replaces || geteuid() != 0)
                return 0;
        err = sys_stat(restore->links[restore->order->count - 1].directory, &st);
        *owner = (struct partial_owner){ !err, st.st_uid, st.st_gid };
        return err;
}

static int end(struct restore *restore, const struct partial_owner *owner)
{
        const struct backup_index *index = wanted(restore);
        struct partial *partial = &restore->sink.partial;
        struct manifest manifest;
        int err = sys_sync(partial->directory);

        if (!err)
                err = backup_new_manifest(index, &manifest);
        if (!err)
                err = backup_verify_files(partial->directory, index, &manifest, &restore->order->progress,
                                          &restore->pace, restore->trouble);
        if (!err)
                err = backup_make_environment(partial->directory, &manifest, restore->trouble);
        if (!err && restore->order->go_on)
                err = restore->order->go_on(restore->order->go_on_arg, partial->directory);
        return err ? err : partial_finish(partial, manifest.mode, owner, restore->trouble);
}

static int restore_into(struct restore *restore)
{
        int err = sink_open_directory(&restore->sink, restore->order->destination, restore->trouble);

        struct partial_owner owner;

        if (err)
                return err;
        err = find_owner(restore, &owner);
        if (!err)
                err = partial_ask_owner(&restore->sink.partial, &owner, restore->trouble);
        if (!err)
                err = restore_files(restore);
        if (!err)
                err = end(restore, &owner);
        sink_drop_file(&restore->sink);
        if (err)
                partial_abandon(&restore->sink.partial);
        return err;
}

static void tell_result(const struct restore *restore, struct restore_result *result)
{
        const struct backup_index *index = wanted(restore);

        *result = (struct restore_result){ .sequence = index->sequence,
                                           .pages = restore->done,
                                           .byte_len = restore->done * index->manifest.page_bytes,
                                           .files = index->manifest.file_count };
}

int restore_run(const struct restore_order *order, struct restore_result *result, struct trouble *trouble)
{
        struct restore restore = { .order = order, .trouble = trouble };
        int err = order->count ? open_links(&restore) : -EINVAL;

        for (uint32_t i = 0; !err && i < wanted(&restore)->manifest.file_count; i++)
                restore.total += wanted(&restore)->file[i].checksum_count;
        if (!err)
                err = order->destination ? restore_into(&restore) : restore_files(&restore);
        if (!err)
                tell_result(&restore, result);
        close_links(&restore);
        return err ? trouble_with(trouble, err, order->destination ? order->destination : "restore") : 0;
}
