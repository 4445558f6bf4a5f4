/* SPDX-License-Identifier: MIT */
#include "libxac/store/at_rest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "recovery/checksums.h"
#include "recovery/manifest_slot.h"
#include "recovery/seal.h"

enum { SLOTS_BYTES = 2 * MANIFEST_SLOT_BYTES, PIECE_BYTES = 4096, NO_CHECKSUMS = -1 };

struct at_rest {
        int directory;
        int manifest_fd;
        struct manifest manifest;
        unsigned char bytes[SLOTS_BYTES]; /* of the manifest; behind its end zeros */
        int checksums_fd[MANIFEST_FILES]; /* NO_CHECKSUMS: there are none that are to be believed */
        struct checksums_note note[MANIFEST_FILES];
};

/* ---- What is kept ---- */

/* A file that was cut short is damage that manifest_read judges. */
static int read_slots(int fd, unsigned char bytes[], size_t byte_len, uint64_t offset)
{
        memset(bytes, 0, byte_len);
        int err = sys_read_all(fd, bytes, byte_len, offset);
        return err == -ENODATA ? 0 : err;
}

static int keep_note(struct at_rest *at_rest, uint32_t file_no)
{
        const struct checksums_id id = seal_checksums_id(&at_rest->manifest, file_no);
        int *fd = &at_rest->checksums_fd[file_no];
        int err = checksums_open(at_rest->directory, &id, O_RDONLY | O_NONBLOCK, fd, &at_rest->note[file_no]);
        if (err)
                *fd = NO_CHECKSUMS;
        return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
}

static int keep(struct at_rest *at_rest)
{
        int err = read_slots(at_rest->manifest_fd, at_rest->bytes, SLOTS_BYTES, 0);
        if (!err)
                err = manifest_read(at_rest->directory, &at_rest->manifest);
        for (uint32_t i = 0; !err && i < at_rest->manifest.file_count; i++)
                err = keep_note(at_rest, i);
        return err;
}

int at_rest_begin(int directory, struct at_rest **out)
{
        struct at_rest *at_rest = calloc(1, sizeof(*at_rest));
        if (!at_rest)
                return -ENOMEM;
        at_rest->directory = directory;
        for (uint32_t i = 0; i < MANIFEST_FILES; i++)
                at_rest->checksums_fd[i] = NO_CHECKSUMS;
        int err = sys_open(directory, MANIFEST_NAME, O_RDONLY | O_NONBLOCK, 0, &at_rest->manifest_fd);
        if (err)
                goto fail_open;
        err = keep(at_rest);
        if (err)
                goto fail_keep;
        *out = at_rest;
        return 0;

fail_keep:
        at_rest_end(at_rest);
        return err;
fail_open:
        free(at_rest);
        return err;
}

void at_rest_forget_in_child(struct at_rest *at_rest)
{
        sys_close(at_rest->manifest_fd);
        for (uint32_t i = 0; i < MANIFEST_FILES; i++)
                if (at_rest->checksums_fd[i] != NO_CHECKSUMS)
                        sys_close(at_rest->checksums_fd[i]);
}

void at_rest_end(struct at_rest *at_rest)
{
        at_rest_forget_in_child(at_rest);
        free(at_rest);
}

const struct manifest *at_rest_manifest(const struct at_rest *at_rest)
{
        return &at_rest->manifest;
}

/* ---- Is it as it was? ---- */

/* Somebody may have put another file in its place. */
static int check_slots(const struct at_rest *at_rest)
{
        unsigned char now[PIECE_BYTES];
        struct stat st;
        int err = sys_stat(at_rest->manifest_fd, &st);
        if (!err && !st.st_nlink)
                err = -ESTALE;
        for (uint64_t at = 0; !err && at < SLOTS_BYTES; at += PIECE_BYTES) {
                err = read_slots(at_rest->manifest_fd, now, PIECE_BYTES, at);
                if (!err && memcmp(now, at_rest->bytes + at, PIECE_BYTES))
                        err = -ESTALE;
        }
        return err;
}

static bool are_equal(const struct checksums_note *a, const struct checksums_note *b)
{
        return a->state == b->state && a->size == b->size && a->seconds == b->seconds &&
               a->nanoseconds == b->nanoseconds && a->number == b->number && a->is_lost == b->is_lost;
}

/* A session that finds none makes them before it writes home. */
static int check_absence(const struct at_rest *at_rest, uint32_t file_no)
{
        const struct checksums_id id = seal_checksums_id(&at_rest->manifest, file_no);
        struct checksums_note note;
        int fd;
        int err = checksums_open(at_rest->directory, &id, O_RDONLY | O_NONBLOCK, &fd, &note);
        if (err)
                return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
        sys_close(fd);
        return -ESTALE;
}

static int check_note(const struct at_rest *at_rest, uint32_t file_no)
{
        struct checksums_note now;
        if (at_rest->checksums_fd[file_no] == NO_CHECKSUMS)
                return check_absence(at_rest, file_no);
        int err = checksums_get_note(at_rest->checksums_fd[file_no], &now);
        if (err)
                return err == XAC_CORRUPT ? -ESTALE : err;
        return are_equal(&now, &at_rest->note[file_no]) ? 0 : -ESTALE;
}

int at_rest_check(const struct at_rest *at_rest)
{
        atomic_thread_fence(memory_order_seq_cst); /* what was read of home was read before */
        int err = check_slots(at_rest);
        for (uint32_t i = 0; !err && i < at_rest->manifest.file_count; i++)
                err = check_note(at_rest, i);
        return err;
}
