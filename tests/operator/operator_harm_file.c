/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_harm_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recovery/checksums.h"
#include "tests/operator/operator_place.h"
#include "tests/support/check.h"

enum { PATH = 4400, NAMES = 64 };

unsigned harm_part_of(const char *name)
{
        static const struct {
                const char *prefix;
                unsigned part;
        } known[] = {
                { "xac.sums.", HARM_CHECKSUMS },   { "xac.log", HARM_LOG },   { "xac.area.", HARM_DOUBLE_WRITE },
                { "xac.manifest", HARM_MANIFEST }, { "xac.lock", HARM_LOCK },
        };

        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
                if (strncmp(name, known[i].prefix, strlen(known[i].prefix)) == 0)
                        return known[i].part;
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                if (strcmp(name, history_file[file]) == 0)
                        return HARM_DATA;
        return 0;
}

void harm_file_note(struct harm *harm, unsigned part, bool keeps_time)
{
        harm->parts |= part;
        if (!keeps_time)
                harm->seen |= part;
}

void harm_file_note_log(struct harm *harm, const struct moment *other)
{
        harm->is_log_shortened = true;
        if (!harm->log_end || other > harm->log_end)
                harm->log_end = other;
}

/* ---- Which file ---- */

struct target {
        const char *directory;
        char name[IMAGE_NAME], path[PATH];
        unsigned part;
        int fd;
        struct stat st;
};

struct wanted {
        const char *directory;
        unsigned parts; /* of files in an environment; 0: any file */
        unsigned part;  /* what is noted */
};

static bool is_wanted(const struct wanted *wanted, const char *name)
{
        return name[0] != '.' && (!wanted->parts || harm_part_of(name) & wanted->parts);
}

static int pick(const struct wanted *wanted, struct chance *chance, char names[NAMES][IMAGE_NAME], unsigned *chosen)
{
        DIR *all = opendir(wanted->directory);
        unsigned count = 0;

        if (all == NULL)
                return 0;
        for (struct dirent *entry; count < NAMES && (entry = readdir(all)) != NULL;)
                if (is_wanted(wanted, entry->d_name))
                        snprintf(names[count++], IMAGE_NAME, "%.90s", entry->d_name);
        closedir(all);
        /* In an order that does not depend on the directory, so that a seed repeats it. */
        qsort(names, count, IMAGE_NAME, (int (*)(const void *, const void *))strcmp);
        *chosen = count ? (unsigned)chance_below(chance, count) : 0;
        return (int)count;
}

static void open_target(struct target *target, const char *directory, const char *name)
{
        target->directory = directory;
        snprintf(target->name, sizeof(target->name), "%s", name);
        snprintf(target->path, sizeof(target->path), "%s/%s", directory, name);
        target->fd = open(target->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        check(target->fd >= 0 && fstat(target->fd, &target->st) == 0);
}

static struct wanted draw_wanted(struct chance *chance)
{
        const struct wanted choices[] = {
                { here.store, HARM_DATA, 0 },         { here.store, HARM_DATA, 0 },
                { here.store, HARM_CHECKSUMS, 0 },    { here.store, HARM_LOG, 0 },
                { here.store, HARM_DOUBLE_WRITE, 0 }, { here.store, HARM_MANIFEST, 0 },
                { here.store, HARM_LOCK, 0 },         { here.full, 0, HARM_FULL_BACKUP },
                { here.next, 0, HARM_NEXT_BACKUP },   { here.archive, 0, HARM_ARCHIVE },
        };
        static const unsigned char weight[] = { 20, 8, 18, 17, 12, 8, 1, 6, 4, 6 };
        uint64_t left = chance_below(chance, 100);

        for (size_t i = 0;; i++) {
                if (left < weight[i])
                        return choices[i];
                left -= weight[i];
        }
}

static bool draw_target(struct target *target, const struct wanted *wanted, struct chance *chance)
{
        static char names[NAMES][IMAGE_NAME];
        unsigned chosen;

        if (!pick(wanted, chance, names, &chosen))
                return false;
        open_target(target, wanted->directory, names[chosen]);
        target->part = wanted->part ? wanted->part : harm_part_of(names[chosen]);
        return true;
}

/* Its time of change stays, or not. */
static void finish(struct harm *harm, struct target *target, bool keeps_time)
{
        const struct timespec times[2] = { target->st.st_mtim, target->st.st_mtim };

        if (keeps_time)
                check_equal(futimens(target->fd, times), 0);
        else
                check_equal(futimens(target->fd, NULL), 0);
        close(target->fd);
        harm_file_note(harm, target->part, keeps_time);
        harm_say(harm, "%s; ", keeps_time ? " with its time" : "");
}

/* ---- What is done to it ---- */

static void flip(struct harm *harm, struct target *target, struct chance *chance)
{
        const unsigned count = 1 + (unsigned)chance_below(chance, chance_percent(chance, 30) ? 20 : 1);

        /* One bit costs a group; more of them also what would prove it. */
        harm->is_log_shortened |= target->part == HARM_LOG && (count > 1 || harm->parts & HARM_LOG);
        harm_say(harm, "%s/%s at", strrchr(target->directory, '/') + 1, target->name);
        for (unsigned i = 0; target->st.st_size && i < count; i++) {
                off_t at = (off_t)chance_below(chance, (uint64_t)target->st.st_size);
                unsigned char byte;

                /* The first bytes of files say more than others. */
                if (chance_percent(chance, 30) && target->st.st_size > 512)
                        at = (off_t)(at % 16 * 512 % target->st.st_size + at % 64);
                check_equal(pread(target->fd, &byte, 1, at), 1);
                byte ^= (unsigned char)(1U << chance_below(chance, 8));
                check_equal(pwrite(target->fd, &byte, 1, at), 1);
                harm_say(harm, " %lld", (long long)at);
        }
}

static void cut(struct harm *harm, struct target *target, struct chance *chance)
{
        uint64_t byte_len = chance_below(chance, (uint64_t)target->st.st_size + 1);

        if (chance_percent(chance, 60))
                byte_len = byte_len / HISTORY_PAGE * HISTORY_PAGE;
        /* Often the last pages alone. */
        if (chance_percent(chance, 40) && target->st.st_size > 3L * HISTORY_PAGE)
                byte_len = (uint64_t)target->st.st_size - HISTORY_PAGE * (1 + chance_below(chance, 2));
        check_equal(ftruncate(target->fd, (off_t)byte_len), 0);
        harm_say(harm, "%s/%s to %llu of %lld", strrchr(target->directory, '/') + 1, target->name,
                 (unsigned long long)byte_len, (long long)target->st.st_size);
        harm->is_log_shortened |= target->part == HARM_LOG;
}

static void zero_stretch(const struct target *target, uint64_t at, uint64_t byte_len)
{
        static const unsigned char zeros[HISTORY_PAGE];

        while (byte_len > 0) {
                const size_t part = byte_len < sizeof(zeros) ? byte_len : sizeof(zeros);

                check_equal(pwrite(target->fd, zeros, part, (off_t)at), part);
                at += part;
                byte_len -= part;
        }
}

static void zero(struct harm *harm, struct target *target, struct chance *chance)
{
        static const unsigned unit[] = { 1, 4, 512, 4096 };
        const unsigned size = unit[chance_below(chance, 4)];
        const uint64_t units = ((uint64_t)target->st.st_size + size - 1) / size;
        uint64_t at = units ? chance_below(chance, units) * size : 0;
        uint64_t byte_len = size * (1 + chance_below(chance, chance_percent(chance, 30) ? 8 : 1));

        if (chance_percent(chance, 15))
                at = 0, byte_len = (uint64_t)target->st.st_size;
        if (at + byte_len > (uint64_t)target->st.st_size)
                byte_len = (uint64_t)target->st.st_size - at;
        zero_stretch(target, at, byte_len);
        harm_say(harm, "%s/%s from %llu, %llu bytes", strrchr(target->directory, '/') + 1, target->name,
                 (unsigned long long)at, (unsigned long long)byte_len);
        harm->is_log_shortened |= target->part == HARM_LOG;
}

/* Of another moment, or of another backup. */
static const struct image_file *draw_other(struct harm *harm, const struct target *target, struct chance *chance)
{
        const struct pool *pool = harm->pool;

        if (target->part == HARM_FULL_BACKUP) {
                const uint64_t number = chance_below(chance, pool->backups);

                harm_say(harm, "%s as of backup %d", target->name, (int)number);
                return image_find(&pool->backup[number].image, target->name);
        }
        const struct moment *moment = pool_draw(pool, chance);

        harm_say(harm, "%s as of moment %d", target->name, (int)(moment - pool->moment));
        if (target->part == HARM_LOG)
                harm_file_note_log(harm, moment);
        return image_find(&moment->store, target->name);
}

static void older(struct harm *harm, struct target *target, struct chance *chance, bool keeps_time)
{
        const struct image_file *file = draw_other(harm, target, chance);

        if (!file)
                return;
        image_put_file(file, target->directory, true);
        if (keeps_time)
                target->st.st_mtim = file->changed;
}

static bool swap(struct harm *harm, struct target *target, const struct wanted *wanted, struct chance *chance)
{
        struct target other;

        if (!draw_target(&other, wanted, chance))
                return false;
        close(other.fd);
        check_equal(renameat2(AT_FDCWD, target->path, AT_FDCWD, other.path, RENAME_EXCHANGE), 0);
        harm_say(harm, "%s and %s", target->name, other.name);
        harm->seen |= target->part;
        harm->is_log_shortened |= target->part == HARM_LOG;
        return true;
}

/* ---- Pages, and their checksums ---- */

/* Pages that are zeros in the one file, and the checksums of zeros in the other. */
static bool zero_both(struct harm *harm, struct chance *chance)
{
        const unsigned file = (unsigned)chance_below(chance, HISTORY_FILES);
        const bool keeps_time = chance_percent(chance, 60);
        struct target data, checksums;
        char name[CHECKSUMS_NAME_BYTES];

        checksums_name(file, name);
        snprintf(data.path, sizeof(data.path), "%s/%s", here.store, history_file[file]);
        snprintf(checksums.path, sizeof(checksums.path), "%s/%s", here.store, name);
        if (access(data.path, R_OK) || access(checksums.path, R_OK))
                return false;
        open_target(&data, here.store, history_file[file]);
        open_target(&checksums, here.store, name);
        data.part = HARM_DATA;
        checksums.part = HARM_CHECKSUMS;

        const uint64_t pages = (uint64_t)data.st.st_size / HISTORY_PAGE;
        const uint64_t first = pages ? chance_below(chance, pages) : 0;
        const uint64_t count = pages > first ? 1 + chance_below(chance, pages - first) : 0;
        const unsigned way = (unsigned)chance_below(chance, 4);

        harm_say(harm, "%s, pages %llu to %llu", data.name, (unsigned long long)first,
                 (unsigned long long)(first + count));
        zero_stretch(&data, first * HISTORY_PAGE, count * HISTORY_PAGE);
        finish(harm, &data, keeps_time);
        if (way == 0) {
                for (uint64_t page = first; page < first + count; page++)
                        zero_stretch(&checksums, checksums_offset(page), 4);
        } else if (way == 1 && checksums.st.st_size > CHECKSUMS_HEADER_BYTES) {
                zero_stretch(&checksums, CHECKSUMS_HEADER_BYTES,
                             (uint64_t)checksums.st.st_size - CHECKSUMS_HEADER_BYTES);
        } else if (way == 2) {
                check_equal(ftruncate(checksums.fd, CHECKSUMS_HEADER_BYTES), 0);
        } else {
                check_equal(unlink(checksums.path), 0);
        }
        harm_say(harm, "%s: %s", checksums.name, way == 0 ? "these checksums" : way == 3 ? "removed" : "all checksums");
        finish(harm, &checksums, true);
        return true;
}

/* ---- One of them ---- */

static bool change_one(struct harm *harm, struct chance *chance, enum harm_kind kind, struct target *target,
                       const struct wanted *wanted)
{
        const bool keeps_time = kind != HARM_TOUCH && chance_percent(chance, 60);

        if (kind == HARM_FLIP)
                flip(harm, target, chance);
        else if (kind == HARM_CUT)
                cut(harm, target, chance);
        else if (kind == HARM_ZERO)
                zero(harm, target, chance);
        else if (kind == HARM_OLDER)
                older(harm, target, chance, keeps_time);
        else if (kind == HARM_SWAP && !swap(harm, target, wanted, chance))
                return false;
        else if (kind == HARM_REMOVE)
                check_equal(unlink(target->path), 0);
        if (kind == HARM_REMOVE || kind == HARM_TOUCH)
                harm_say(harm, "%s/%s", strrchr(target->directory, '/') + 1, target->name);
        harm->is_log_shortened |= kind == HARM_REMOVE && target->part == HARM_LOG;
        finish(harm, target, keeps_time);
        return true;
}

bool harm_file_do(struct harm *harm, struct chance *chance, enum harm_kind kind)
{
        struct wanted wanted = draw_wanted(chance);
        struct target target;

        if (kind == HARM_ZERO_BOTH)
                return zero_both(harm, chance);
        if (kind == HARM_OLDER && wanted.part != HARM_FULL_BACKUP)
                wanted = (struct wanted){ here.store, wanted.parts ? wanted.parts : HARM_DATA, 0 };
        if (wanted.part == HARM_ARCHIVE && harm->kinds & 1U << HARM_READ_ONLY)
                return false;
        if (!draw_target(&target, &wanted, chance))
                return false;
        if (target.st.st_size == 0 && (kind == HARM_FLIP || kind == HARM_CUT || kind == HARM_ZERO)) {
                close(target.fd);
                return false;
        }
        return change_one(harm, chance, kind, &target, &wanted);
}

bool harm_file_replace_first(const char *directory, const struct image_file *file, size_t byte_len)
{
        char path[PATH];
        ssize_t written;

        snprintf(path, sizeof(path), "%.4200s/%.90s", directory, file->name);
        const int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return false;
        written = pwrite(fd, file->bytes, byte_len, 0);
        close(fd);
        check_equal(written, byte_len);
        return true;
}

void harm_file_remove_others(struct harm *harm, const char *directory, const struct image *others)
{
        const struct wanted wanted = { directory, 0, 0 };
        char names[NAMES][IMAGE_NAME];
        struct chance unused = { 0 };
        unsigned chosen;
        const int count = pick(&wanted, &unused, names, &chosen);

        for (int i = 0; i < count; i++) {
                char path[PATH];

                if (image_find(others, names[i]))
                        continue;
                snprintf(path, sizeof(path), "%.4200s/%.90s", directory, names[i]);
                check_equal(unlink(path), 0);
                harm_file_note(harm, harm_part_of(names[i]), false);
                harm->is_log_shortened |= harm_part_of(names[i]) == HARM_LOG;
        }
}
