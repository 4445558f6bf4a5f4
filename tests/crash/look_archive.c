/* SPDX-License-Identifier: MIT */
#include "tests/crash/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recovery/restore_until.h"
#include "tests/support/places.h"

/*
 * The archive has every commit since the environment was made: with an empty directory for a backup it leads to the
 * same files. What the environment has beyond that (zeros of files that have grown) is not looked at.
 */

static void take_sentence(void *arg, const char *sentence)
{
        struct life_of_image *life = arg;

        snprintf(life->told->text, sizeof(life->told->text), "the archive: %s", sentence);
}

static unsigned char *read_whole(int directory, const char *name, size_t *size)
{
        int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        struct stat st;

        *size = 0;
        if (fd < 0 || fstat(fd, &st) != 0)
                return NULL;
        unsigned char *bytes = malloc((size_t)st.st_size + 1);
        if (bytes && read(fd, bytes, (size_t)st.st_size) == st.st_size)
                *size = (size_t)st.st_size;
        close(fd);
        return bytes;
}

static bool is_zero_from(const unsigned char *bytes, size_t from, size_t to)
{
        while (from < to && !bytes[from])
                from++;
        return from >= to;
}

static void compare(struct life_of_image *life, int restored, int environment, const char *name)
{
        size_t restored_len, environment_len;
        unsigned char *left = read_whole(restored, name, &restored_len);
        unsigned char *right = read_whole(environment, name, &environment_len);
        size_t both = restored_len < environment_len ? restored_len : environment_len;

        if (both && memcmp(left, right, both) != 0)
                look_wrong(life, "file %s is another one when it is restored from the archive", name);
        if ((left && !is_zero_from(left, both, restored_len)) || (right && !is_zero_from(right, both, environment_len)))
                look_wrong(life, "file %s is of another length when it is restored from the archive", name);
        free(left);
        free(right);
}

static void erase(int directory, const struct manifest *manifest)
{
        unlinkat(directory, MANIFEST_NAME, 0);
        for (uint32_t i = 0; i < manifest->file_count; i++)
                unlinkat(directory, manifest->file_name[i], 0);
}

/* An environment without any file, as of before the first commit. */
static void make_base(struct life_of_image *life, int directory, const struct manifest *manifest)
{
        struct manifest *base = malloc(sizeof(*base));

        *base = *manifest;
        base->file_count = 0;
        memset(base->file_name, 0, sizeof(base->file_name));
        memset(base->file_place, 0, sizeof(base->file_place));
        base->time_ns = 0;
        manifest_begin_log(base, 1);
        look_expect_ok(life, manifest_create_as(directory, base), "a base for the archive");
        free(base);
}

void look_inside_archive(struct life_of_image *life)
{
        char path[512];
        struct manifest *manifest = malloc(sizeof(*manifest));
        int environment = open(life->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        snprintf(path, sizeof(path), "%s/xac-archive-XXXXXX", places_memory());
        int directory = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        struct restore_until restore = { .kind = RESTORE_NEWEST, .archive = environment };
        struct findings findings = { .report = take_sentence, .arg = life };
        struct archive_line line;

        look_expect_ok(life, manifest_read(environment, manifest), "manifest");
        make_base(life, directory, manifest);
        int err = archive_line_open(&line, environment, manifest->uuid, &findings);
        for (uint32_t i = 0; !err && i < line.count; i++)
                if (line.piece[i].gap)
                        look_wrong(life, "the archive has a gap before position %llu: %s",
                                   (unsigned long long)line.piece[i].begin, line.piece[i].gap);
        archive_line_close(&line);
        if (err == XAC_CORRUPT || findings.count)
                look_leave(LIFE_WRONG);
        look_expect_ok(life, restore_until_base(&restore, directory), "the base");
        memcpy(restore.uuid, manifest->uuid, sizeof(restore.uuid));
        if (err != -ENOENT) {
                err = restore_until_run(&restore);
                if (err)
                        look_wrong(life, "restoring from the archive: %d (%s) %s", err, xac_strerror(err),
                                   restore.damage);
        }
        if (manifest->base_sequence > 1 && restore.sequence != manifest->base_sequence)
                look_wrong(life, "the archive leads to commit %llu, the environment is at %llu",
                           (unsigned long long)restore.sequence, (unsigned long long)manifest->base_sequence);
        for (uint32_t i = 0; i < manifest->file_count; i++)
                compare(life, directory, environment, manifest->file_name[i]);
        erase(directory, manifest);
        close(directory);
        rmdir(path);
        close(environment);
        free(manifest);
}
