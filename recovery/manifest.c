/* SPDX-License-Identifier: MIT */
#include "recovery/manifest.h"

/*
 * Two slots (manifest_slot.h). Believed = valid and of the highest generation; if both are, the
 * one that was written first.
 *
 * R18: the believed slot is not touched before the other one is on disk. And it must itself
 * be on disk by then, which the page cache does not tell: a sync may have failed. Hence:
 *   1. When the slots are of one generation, the one written first was synced: the second was
 *      not begun before.
 *   2. When both are valid and differ, the believed one may not be: it is first written again, over its
 *      own bytes. Should that harm it, the other one is the manifest before, and on disk: its
 *      successor was not finished, and nothing was begun on the strength of it.
 *   3. When only one is valid, it was synced before the other was begun. It is not touched.
 *
 * R42: who reads beside a writer believes slots that agree, or that did not change from one reading to the next. Each
 * slot may be half written when it is its turn to be read: then neither is valid, or the older one is. A writer has one
 * slot in hand at a time, and generations grow: what was read twice was all there in between.
 *
 * Nothing here uses malloc: a checkpoint may run in a signal handler.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "base/hook.h"
#include "base/sys.h"
#include "recovery/manifest_slot.h"

enum { SLOTS = 2, SLOT_BYTES = MANIFEST_SLOT_BYTES, READINGS_MAX = 1000 };

#define HALF_MADE_NAME MANIFEST_NAME ".new"

/* What the file holds, in a mapping of its own. */
struct slots {
        unsigned char bytes[SLOTS][SLOT_BYTES];
        unsigned char before[SLOTS][SLOT_BYTES]; /* by an earlier reading */
        enum manifest_slot_state state[SLOTS];
        struct manifest manifest[SLOTS]; /* of the valid ones */
};

/* ---- Slots ---- */

static int slots_map(struct slots **slots)
{
        void *memory;
        int err = sys_mmap(NULL, sizeof(**slots), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &memory);

        if (!err)
                *slots = memory;
        return err;
}

static void slots_unmap(struct slots *slots)
{
        (void)sys_munmap(slots, sizeof(*slots));
}

static int slot_read(int fd, struct slots *slots, int slot)
{
        unsigned char *bytes = slots->bytes[slot];
        int err = sys_read_all(fd, bytes, SLOT_BYTES, (uint64_t)slot * SLOT_BYTES);

        /* A file that was cut short is damage like any other; an error that may pass is not: the other slot may be the
         * older one. */
        if (err && err != -ENODATA)
                return err;
        if (err)
                memset(bytes, 0, SLOT_BYTES);
        slots->state[slot] = manifest_slot_judge(bytes, &slots->manifest[slot]);
        return 0;
}

static bool slots_agree(const struct slots *slots)
{
        return slots->state[0] == SLOT_VALID && slots->state[1] == SLOT_VALID &&
               slots->manifest[0].generation == slots->manifest[1].generation;
}

/* R42 */
static int slots_read(int fd, struct slots *slots)
{
        for (int readings = 1;; readings++) {
                for (int slot = 0; slot < SLOTS; slot++) {
                        int err = slot_read(fd, slots, slot);

                        if (err)
                                return err;
                }
                if (slots_agree(slots) || readings == READINGS_MAX)
                        return 0;
                if (readings > 1 && memcmp(slots->before, slots->bytes, sizeof(slots->bytes)) == 0)
                        return 0;
                memcpy(slots->before, slots->bytes, sizeof(slots->bytes));
        }
}

/* The believed slot, or why there is none. */
static int slots_believe(const struct slots *slots, int *believed)
{
        bool valid[SLOTS] = { slots->state[0] == SLOT_VALID, slots->state[1] == SLOT_VALID };

        if (slots_agree(slots))
                *believed = manifest_slot_turn(slots->bytes[0]) > manifest_slot_turn(slots->bytes[1]);
        else if (valid[0] && valid[1])
                *believed = slots->manifest[1].generation > slots->manifest[0].generation;
        else if (valid[0] || valid[1])
                *believed = valid[1];
        else if (slots->state[0] == SLOT_OTHER_VERSION || slots->state[1] == SLOT_OTHER_VERSION)
                return XAC_FORMAT;
        else
                return XAC_CORRUPT;
        return 0;
}

/* Is the believed one perhaps in the page cache only? */
static bool slots_are_unsettled(const struct slots *slots)
{
        return slots->state[0] == SLOT_VALID && slots->state[1] == SLOT_VALID && !slots_agree(slots);
}

static int slots_sync(int fd)
{
        return hook_has_bug(HOOK_BUG_MANIFEST_NOT_SYNCED) ? 0 : sys_sync(fd);
}

/* The bytes of one slot, on disk when it returns. */
static int slot_write(int fd, const struct slots *slots, int slot)
{
        int err = sys_write_all(fd, slots->bytes[slot], SLOT_BYTES, (uint64_t)slot * SLOT_BYTES);

        return err ? err : slots_sync(fd);
}

/* Both slots, one after the other. */
static int slots_write(int fd, struct slots *slots, int first, const struct manifest *manifest)
{
        int err;

        manifest_slot_encode(slots->bytes[first], manifest, 0);
        err = slot_write(fd, slots, first);
        if (err)
                return err;
        manifest_slot_encode(slots->bytes[!first], manifest, 1);
        return slot_write(fd, slots, !first);
}

/* ---- Create ---- */

/* The half-made file: complete when this returns, but for its name. */
static int half_made_write(int fd, struct slots *slots, const struct manifest *manifest)
{
        int err = sys_chmod(fd, (mode_t)manifest->mode);

        return err ? err : slots_write(fd, slots, 0, manifest);
}

static int half_made_create(int directory, struct slots *slots, const struct manifest *manifest)
{
        int fd;
        int err = sys_unlink(directory, HALF_MADE_NAME);

        /* Never opened but removed: after a crash between link and unlink it would be the
         * manifest itself under another name. */
        if (err && err != -ENOENT)
                return err;
        err = sys_open(directory, HALF_MADE_NAME, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd);
        if (err)
                return err;
        err = half_made_write(fd, slots, manifest);
        sys_close(fd);
        if (err)
                (void)sys_unlink(directory, HALF_MADE_NAME);
        return err;
}

/* The link is what makes the manifest: it is there as a whole or not at all. */
static int half_made_publish(int directory)
{
        int err = sys_link(directory, HALF_MADE_NAME, MANIFEST_NAME);

        (void)sys_unlink(directory, HALF_MADE_NAME);
        if (err)
                return err;
        err = sys_sync(directory);
        if (err)
                (void)sys_unlink(directory, MANIFEST_NAME);
        return err;
}

uint64_t manifest_logged_last(const struct manifest *manifest)
{
        const struct manifest_session *session = &manifest->session;

        return session->position < manifest->base_position ? session->time_ns : session->parent_ns;
}

void manifest_begin_log(struct manifest *manifest, uint64_t sequence)
{
        manifest->base_sequence = sequence;
        manifest->base_position = manifest->segment_bytes;
        manifest->redo_position = manifest->segment_bytes;
        manifest->incarnation = 1;
        manifest->buffer = -1;
        manifest->buffer_checksum = 0;
        manifest->is_clean = 1;
        manifest->target_sequence = 0;
        manifest->session = (struct manifest_session){ 0 };
        manifest->history = 0;
        manifest->sealed = 0;
        memset(&manifest->archive, 0, sizeof(manifest->archive));
}

int manifest_create_as(int directory, const struct manifest *manifest)
{
        struct stat st;
        struct slots *slots;
        int err = sys_stat_at(directory, MANIFEST_NAME, &st);

        if (err != -ENOENT)
                return err ? err : -EEXIST;
        if (!manifest_makes_sense(manifest))
                return -EINVAL;
        err = slots_map(&slots);
        if (err)
                return err;
        err = half_made_create(directory, slots, manifest);
        if (!err)
                err = half_made_publish(directory);
        slots_unmap(slots);
        return err;
}

int manifest_create(int directory, struct manifest *manifest)
{
        int err = sys_random(manifest->uuid, sizeof(manifest->uuid));

        manifest->generation = 1;
        manifest_begin_log(manifest, 1); /* the empty environment's */
        return err ? err : manifest_create_as(directory, manifest);
}

/* ---- Read and write ---- */

/* Opens the manifest and reads it; *slots and *fd are the caller's on success. */
static int slots_open(int directory, int flags, struct slots **slots, int *believed, int *fd)
{
        int err = sys_open(directory, MANIFEST_NAME, flags, 0, fd);

        if (err)
                return err;
        err = slots_map(slots);
        if (err)
                goto fail_map;
        err = slots_read(*fd, *slots);
        if (!err)
                err = slots_believe(*slots, believed);
        if (!err)
                return 0;

        slots_unmap(*slots);
fail_map:
        sys_close(*fd);
        return err;
}

int manifest_read(int directory, struct manifest *manifest)
{
        struct slots *slots;
        int believed;
        int fd;
        int err = slots_open(directory, O_RDONLY, &slots, &believed, &fd);

        if (err)
                return err;
        *manifest = slots->manifest[believed];
        slots_unmap(slots);
        sys_close(fd);
        return 0;
}

static int slots_replace(int fd, struct slots *slots, int believed, const struct manifest *manifest)
{
        int err = slots_are_unsettled(slots) ? slot_write(fd, slots, believed) : 0;

        return err ? err : slots_write(fd, slots, !believed, manifest);
}

int manifest_write(int directory, struct manifest *manifest)
{
        uint64_t generation = manifest->generation;
        struct slots *slots;
        int believed;
        int fd;
        int err;

        if (!manifest_makes_sense(manifest))
                return -EINVAL;
        err = slots_open(directory, O_RDWR, &slots, &believed, &fd);
        if (err)
                return err;
        err = -ESTALE;
        if (slots->manifest[believed].generation <= generation) {
                manifest->generation = generation + 1;
                err = !manifest_makes_sense(manifest) ? -EINVAL : slots_replace(fd, slots, believed, manifest);
        }
        if (err)
                manifest->generation = generation;
        slots_unmap(slots);
        sys_close(fd);
        return err;
}

/* Makes both slots hold what the believed one holds, which remains the one that was written first. */
static int slots_settle(int fd, struct slots *slots, int believed)
{
        uint32_t turn = manifest_slot_turn(slots->bytes[believed]);
        int err = slots_are_unsettled(slots) ? slot_write(fd, slots, believed) : 0;

        if (err)
                return err;
        memcpy(slots->bytes[!believed], slots->bytes[believed], SLOT_BYTES);
        manifest_slot_set_turn(slots->bytes[!believed], turn + 1);
        return slot_write(fd, slots, !believed);
}

int manifest_read_settled(int directory, struct manifest *manifest)
{
        struct slots *slots;
        int believed;
        int fd;
        int err = slots_open(directory, O_RDWR, &slots, &believed, &fd);

        if (err)
                return err;
        /* Slots that agree may do so in the page cache only: who wrote the second may have died before it was on disk.
         * With one of them on disk alone, the next recovery would write that one first, and lose it if it were cut. */
        err = slots_agree(slots) ? slots_sync(fd) : slots_settle(fd, slots, believed);
        if (!err)
                *manifest = slots->manifest[believed];
        slots_unmap(slots);
        sys_close(fd);
        return err;
}
