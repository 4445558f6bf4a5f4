/* SPDX-License-Identifier: MIT */
#include "tools/xac/repair_source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <xac/xac.h>

#include "backup/page_checksum.h"
#include "base/sys.h"
#include "base/zeros.h"
#include "recovery/checksums.h"
#include "recovery/seal.h"

enum tool_exit repair_source_open(struct repair_source *source, const char *path)
{
        source->is_index_read = false;
        source->has_index = false;
        source->data_fd = -1;
        source->checksums_fd = -1;
        source->index_number = -1;
        return place_open_with_manifest(&source->place, path);
}

void repair_source_close(struct repair_source *source)
{
        if (source->has_index)
                backup_index_free(&source->index);
        place_close(&source->place);
}

/* ---- One file ---- */

static int64_t number_of(const struct manifest *manifest, const char *name)
{
        for (uint32_t i = 0; i < manifest->file_count; i++)
                if (strcmp(manifest->file_name[i], name) == 0)
                        return i;
        return -1;
}

/* An index that is damaged is as good as none, and so is that of a backup that continues another. */
static void read_index(struct repair_source *source)
{
        struct trouble trouble = { "" };

        if (source->is_index_read)
                return;
        source->is_index_read = true;
        source->has_index = !backup_index_load(&source->index, source->place.path, &trouble);
        if (!source->has_index)
                return;
        if (backup_index_is_full(&source->index) &&
            source->index.manifest.page_bytes == source->place.manifest.page_bytes)
                return;
        backup_index_free(&source->index);
        source->has_index = false;
}

static int open_checksums(struct repair_source *source, uint32_t file_no)
{
        const struct checksums_id id = seal_checksums_id(&source->place.manifest, file_no);
        struct checksums_note note;
        int err = checksums_open(source->place.directory, &id, O_RDONLY | O_NONBLOCK, &source->checksums_fd, &note);

        if (err)
                source->checksums_fd = -1;
        return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
}

int repair_source_open_file(struct repair_source *source, const char *name)
{
        const int64_t number = number_of(&source->place.manifest, name);
        int err = number < 0 ? -ENOENT
                             : sys_open(source->place.directory, name, O_RDONLY | O_NONBLOCK, 0, &source->data_fd);

        source->checksums_fd = -1;
        source->index_number = -1;
        if (err) {
                source->data_fd = -1;
                return err == -ENOENT ? 0 : err;
        }
        err = open_checksums(source, (uint32_t)number);
        if (!err && source->checksums_fd < 0) {
                read_index(source);
                if (source->has_index)
                        source->index_number = number_of(&source->index.manifest, name);
        }
        if (err)
                repair_source_close_file(source);
        return err;
}

void repair_source_close_file(struct repair_source *source)
{
        if (source->data_fd >= 0)
                sys_close(source->data_fd);
        if (source->checksums_fd >= 0)
                sys_close(source->checksums_fd);
        source->data_fd = -1;
        source->checksums_fd = -1;
}

/* ---- One page ---- */

int repair_source_read(const struct repair_source *source, uint64_t page_no, unsigned char *bytes)
{
        const uint32_t page_bytes = source->place.manifest.page_bytes;
        const uint64_t offset = page_no * page_bytes;
        struct stat st;
        uint64_t there;
        int err = sys_stat(source->data_fd, &st);

        if (err)
                return err;
        there = (uint64_t)st.st_size > offset ? (uint64_t)st.st_size - offset : 0;
        if (there > page_bytes)
                there = page_bytes;
        memset(bytes, 0, page_bytes);
        return sys_read_all(source->data_fd, bytes, (size_t)there, offset);
}

/* Pages that are in no run are zeros. */
static bool index_agrees(const struct repair_source *source, uint64_t page_no, const unsigned char *bytes)
{
        const uint32_t page_bytes = source->place.manifest.page_bytes;
        const uint32_t file_no = (uint32_t)source->index_number;
        const struct backup_run *run = backup_index_find(&source->index, file_no, page_no);

        return run ? backup_index_checksum(&source->index, file_no, run, page_no) == page_checksum(bytes, page_bytes)
                   : are_zeros(bytes, page_bytes);
}

int repair_source_judge(const struct repair_source *source, uint64_t page_no, const unsigned char *bytes,
                        enum repair_trust *trust)
{
        uint32_t expected = CHECKSUMS_UNKNOWN;
        bool is_right;
        int err = source->checksums_fd >= 0 ? checksums_read(source->checksums_fd, page_no, &expected, 1, NULL) : 0;

        *trust = REPAIR_NO_CHECKSUM;
        if (err)
                return err;
        if (expected != CHECKSUMS_UNKNOWN)
                is_right = checksums_of(bytes, source->place.manifest.page_bytes) == expected;
        else if (source->index_number >= 0)
                is_right = index_agrees(source, page_no, bytes);
        else
                return 0;
        *trust = is_right ? REPAIR_SOUND : REPAIR_ROTTEN;
        return 0;
}
