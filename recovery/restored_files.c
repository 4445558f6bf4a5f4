/* SPDX-License-Identifier: MIT */
#include "recovery/restored_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "recovery/archive.h"
#include "recovery/manifest_slot.h"
#include "recovery/page_name.h"

/* ---- Judging ---- */

static void name_part(const struct restored_files *files, char name[ARCHIVE_NAME_BYTES])
{
        archive_file_name(name, files->part->from, files->part->to, files->part->session.incarnation);
}

static int read_list(struct restored_files *files)
{
        char name[ARCHIVE_NAME_BYTES];
        struct archive_part part;

        name_part(files, name);
        int err = archive_look(files->archive, name, &part, &files->files);
        return err == XAC_CORRUPT ? findings_add(files->findings, "%s: it is damaged", name) : err;
}

static int check_name(const struct restored_files *files, const struct manifest *manifest, uint32_t i)
{
        const char *file_name = files->files.file[i].name;
        char name[ARCHIVE_NAME_BYTES];

        if (i >= manifest->file_count || strcmp(file_name, manifest->file_name[i]) == 0)
                return 0;
        name_part(files, name);
        return findings_add(files->findings, "%s: its file %u is %s, not %s as in the backup", name, i, file_name,
                            manifest->file_name[i]);
}

/* What lies there already may be anything. */
static int check_place(const struct restored_files *files, const struct manifest *manifest, const char *name)
{
        struct stat st;
        int err = sys_stat_at(files->directory, name, &st);

        if (err)
                return err == -ENOENT ? 0 : err;
        if (!S_ISREG(st.st_mode))
                return findings_add(files->findings, "%s is no plain file", name);
        if ((uint64_t)st.st_size > manifest->page_bytes * PAGE_NAME_NUMBERS)
                return findings_add(files->findings, "%s is longer than a data file can be", name);
        return 0;
}

int restored_files_plan(struct restored_files *files, struct manifest *manifest)
{
        char name[ARCHIVE_NAME_BYTES];
        int err = read_list(files);

        for (uint32_t i = 0; !err && i < files->files.count; i++) {
                const struct archive_file *file = &files->files.file[i];

                err = check_name(files, manifest, i);
                if (!err)
                        err = check_place(files, manifest, file->name);
                memcpy(manifest->file_name[i], file->name, sizeof(file->name));
                manifest->file_place[i] = file->place;
        }
        if (err)
                return err;
        if (files->files.count > manifest->file_count)
                manifest->file_count = files->files.count;
        if (manifest_makes_sense(manifest))
                return 0;
        name_part(files, name);
        return findings_add(files->findings,
                            "%s: no environment has such files: a name is there twice, or a place lies where no "
                            "addresses are",
                            name);
}

/* ---- Making ---- */

static int make_file(const struct restored_files *files, const struct archive_file *file, uint32_t mode)
{
        struct stat st;
        int fd;
        int err = sys_open(files->directory, file->name, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &fd);

        if (err)
                return err;
        err = sys_stat(fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = XAC_CORRUPT;
        if (!err)
                err = sys_chmod(fd, (mode_t)mode);
        if (!err && (uint64_t)st.st_size < file->byte_len)
                err = sys_truncate(fd, file->byte_len);
        if (!err)
                err = sys_sync(fd);
        sys_close(fd);
        return err;
}

int restored_files_make(const struct restored_files *files, uint32_t mode)
{
        int err = 0;

        for (uint32_t i = 0; !err && i < files->files.count; i++)
                err = make_file(files, &files->files.file[i], mode);
        return err ? err : sys_sync(files->directory);
}
