/* SPDX-License-Identifier: MIT */
#include "recovery/manifest.h"

/*
 * The manifest survives torn writes, disks that refuse to sync, flipped bytes and short files: there is
 * always one to believe, the old or the new one (R18). So it is for who reads while another one writes (R42).
 */

#include "tests/recovery/manifest_image.h"

/* ---- What is written ---- */

/*
 * R18. What the disk holds after a power cut: all writes that were synced, and any sectors of
 * the one that was not. A disk that refuses to sync is the other danger: the page cache then
 * shows a manifest that the disk has not got. Both are tried at every write, and again at
 * every write of the attempt that follows.
 */
enum { SECTOR = 512, SECTORS = SLOT_BYTES / SECTOR, WRITES_MAX = 3, ROUNDS = 2 };

struct slot_write {
        uint64_t offset;
        unsigned char bytes[SLOT_BYTES];
};

static struct slot_write recorded[WRITES_MAX];
static int recorded_count;
static bool is_unsynced;

static int record(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        if (call == SYS_PWRITE) {
                assert_false(is_unsynced); /* one slot at a time */
                assert_true(recorded_count < WRITES_MAX && byte_len == SLOT_BYTES);
                recorded[recorded_count].offset = offset;
                is_unsynced = true;
        } else if (call == SYS_SYNC && is_unsynced) { /* else of what was found */
                struct slot_write *write = &recorded[recorded_count++];

                is_unsynced = false;
                assert_int_equal(pread(fd, write->bytes, SLOT_BYTES, (off_t)write->offset), SLOT_BYTES);
        }
        return 0;
}

/* ---- Damage ---- */

static void test_every_byte_of_a_slot_counts(void **state)
{
        struct manifest manifest = sample(), back;

        (void)state;
        add_file(&manifest, "accounts");
        create(&manifest);
        load_image();
        for (size_t at = 0; at < FILE_BYTES; at += at % SLOT_BYTES < 160 ? 1 : 331) {
                size_t twin = (at + SLOT_BYTES) % FILE_BYTES;
                unsigned char flip = (unsigned char)(1 << at % 8);

                image[at] ^= flip;
                store_bytes(at, 1);
                back = read_back(); /* the other slot */
                assert_same(&back, &manifest);
                image[twin] ^= flip;
                store_bytes(twin, 1);
                assert_int_equal(manifest_read(directory, &back), XAC_CORRUPT);
                image[at] ^= flip;
                image[twin] ^= flip;
                store_bytes(at, 1);
                store_bytes(twin, 1);
        }
}

static void read_with_a_slot_of_version(unsigned char version)
{
        struct manifest manifest = sample(), back;

        scratch_empty(directory);
        create(&manifest);
        load_image();
        image[8] = version;
        seal(0);
        store_image(FILE_BYTES);
        back = read_back(); /* one slot of ours is enough */
        assert_same(&back, &manifest);

        image[SLOT_BYTES + 100] ^= 1; /* ours is damaged: the other one is no damage */
        store_image(FILE_BYTES);
        assert_int_equal(manifest_read(directory, &back), XAC_FORMAT);
        assert_int_equal(manifest_write(directory, &manifest), XAC_FORMAT);
        assert_int_equal(manifest_read_settled(directory, &back), XAC_FORMAT);

        image[40] ^= 1; /* without a right checksum it is no version at all */
        store_image(FILE_BYTES);
        assert_int_equal(manifest_read(directory, &back), XAC_CORRUPT);
}

/* Version 1 knew no log. */
static void test_another_version(void **state)
{
        (void)state;
        read_with_a_slot_of_version(1);
        read_with_a_slot_of_version(8);
}

static void read_as_of_version(unsigned char version)
{
        struct manifest manifest = sample(), back;

        scratch_empty(directory);
        create(&manifest);
        load_image();
        for (int slot = 0; slot < 2; slot++) {
                image[slot * SLOT_BYTES + 8] = version;
                seal(slot);
        }
        store_image(FILE_BYTES);
        back = read_back();
        assert_same(&back, &manifest);
        assert_int_equal(manifest_write(directory, &manifest), 0);
}

/* Version 2 knew no merged records in the log, 3 no places of files; both have all else where this one has it. */
static void test_versions_before(void **state)
{
        (void)state;
        read_as_of_version(2);
        read_as_of_version(3);
}

static void test_a_short_file(void **state)
{
        struct manifest manifest = sample(), back;

        (void)state;
        create(&manifest);
        load_image();
        store_image(FILE_BYTES - 1);
        back = read_back();
        assert_same(&back, &manifest);
        store_image(SLOT_BYTES);
        back = read_back();
        assert_same(&back, &manifest);
        store_image(SLOT_BYTES - 1);
        assert_int_equal(manifest_read(directory, &back), XAC_CORRUPT);
        store_image(0);
        assert_int_equal(manifest_read(directory, &back), XAC_CORRUPT);
}

/* Writing and settling heal a damaged slot. */
static void test_a_damaged_slot_is_healed(void **state)
{
        (void)state;
        for (int which = 0; which < 4; which++) {
                struct manifest manifest = sample(), back;
                bool is_written = which / 2;

                scratch_empty(directory);
                create(&manifest);
                load_image();
                image[which % 2 * SLOT_BYTES + 20] ^= 1;
                store_image(FILE_BYTES);
                if (is_written) {
                        add_file(&manifest, "more");
                        assert_int_equal(manifest_write(directory, &manifest), 0);
                } else {
                        assert_int_equal(manifest_read_settled(directory, &back), 0);
                        assert_same(&back, &manifest);
                }
                back = read_back();
                assert_same(&back, &manifest);
                assert_slots_agree();
        }
}

static int fail_sync(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_SYNC ? -EIO : 0;
}

/* Nobody has left anything: nothing is written. But what is there may be in the page cache only, so that it is synced.
 */
static void test_a_settled_one_is_left_alone(void **state)
{
        struct manifest manifest = sample(), back;

        (void)state;
        create(&manifest);
        recorded_count = 0;
        sys_fail = record;
        assert_int_equal(manifest_read_settled(directory, &back), 0);
        sys_fail = NULL;
        assert_same(&back, &manifest);
        assert_int_equal(recorded_count, 0);
        sys_fail = fail_sync;
        assert_int_equal(manifest_read_settled(directory, &back), -EIO);
        sys_fail = NULL;
}

/* ---- Power cuts ---- */

/* Which sectors of a torn write reached the disk. */
static bool none(int sector)
{
        return sector < 0;
}
static bool first(int sector)
{
        return sector == 0;
}
static bool all_but_first(int sector)
{
        return sector != 0;
}
static bool front(int sector)
{
        return sector < 10;
}
static bool back(int sector)
{
        return sector >= 10;
}
static bool odd(int sector)
{
        return sector % 2;
}
static bool all(int sector)
{
        return sector >= 0;
}
static bool harmed(int sector)
{
        return sector >= 0;
} /* all of it, but one is torn inside */

static bool (*const tears[])(int sector) = { none, first, all_but_first, front, back, odd, all, harmed };

static void apply(unsigned char *disk, const struct slot_write *write, bool (*reached)(int sector))
{
        for (int sector = 0; sector < SECTORS; sector++)
                if (reached(sector))
                        memcpy(disk + write->offset + sector * SECTOR, write->bytes + sector * SECTOR, SECTOR);
        if (reached == harmed)
                memset(disk + write->offset + SECTOR / 8, 0xd5, SECTOR / 4);
}

static struct manifest read_image(const unsigned char *bytes)
{
        memcpy(image, bytes, FILE_BYTES);
        store_image(FILE_BYTES);
        return read_back();
}

static void cut_everywhere(const unsigned char *disk, const unsigned char *cache, int rounds);

/* What was believed, or written, since a caller was last told that one is on disk; the newest three belong to
 * the attempt at hand. */
static struct manifest since[3 * ROUNDS + 1];
static int since_count;

/* With sectors that arrive or do not, it is the one of this disk, or that of the page cache, or the new one.
 * If a sector may be harmed that is written over its own bytes, it may also be one before: none of those
 * after it was finished. */
static bool is_allowed(const struct manifest *found, bool (*reached)(int sector))
{
        for (int i = reached == harmed ? 0 : since_count - 3; i < since_count; i++)
                if (memcmp(found, &since[i], sizeof(*found)) == 0)
                        return true;
        return false;
}

/* The power fails during the last of these writes, then (more rounds) so it does in the next
 * attempt; or the sync fails, and the next attempt finds all of the write in the cache. */
static void cut_during(const unsigned char *disk, const struct slot_write *writes, int count, int rounds)
{
        unsigned char *torn = malloc(FILE_BYTES), *cache = malloc(FILE_BYTES);

        for (size_t tear = 0; tear < sizeof(tears) / sizeof(tears[0]); tear++) {
                struct manifest found;

                memcpy(torn, disk, FILE_BYTES);
                for (int i = 0; i < count; i++)
                        apply(torn, &writes[i], i == count - 1 ? tears[tear] : all);
                memcpy(cache, torn, FILE_BYTES);
                apply(cache, &writes[count - 1], all);
                found = read_image(torn);
                assert_true(is_allowed(&found, tears[tear]));
                if (rounds > 1) {
                        cut_everywhere(torn, torn, rounds - 1);
                        cut_everywhere(torn, cache, rounds - 1);
                }
        }
        free(torn);
        free(cache);
}

/* Ways to go on from what the page cache shows. Each returns what is to be believed from then on. */
static struct manifest write_more(struct manifest manifest, int rounds)
{
        add_file(&manifest, rounds == ROUNDS ? "first" : "later");
        assert_int_equal(manifest_write(directory, &manifest), 0);
        return manifest;
}

static struct manifest settle(struct manifest manifest, int rounds)
{
        struct manifest settled;

        (void)rounds;
        assert_int_equal(manifest_read_settled(directory, &settled), 0);
        assert_same(&settled, &manifest);
        return settled;
}

static struct manifest (*const operations[])(struct manifest manifest, int rounds) = { write_more, settle };

/* When it is done, a power cut changes nothing any more. */
static void assert_is_on_disk(const unsigned char *disk, const struct slot_write *writes, int count,
                              const struct manifest *wanted)
{
        unsigned char *durable = malloc(FILE_BYTES);
        struct manifest found;

        memcpy(durable, disk, FILE_BYTES);
        for (int i = 0; i < count; i++)
                apply(durable, &writes[i], all);
        found = read_image(durable);
        assert_same(&found, wanted);
        free(durable);
}

static void cut_operation(int operation, const unsigned char *disk, const unsigned char *cache, int rounds)
{
        struct slot_write *writes = malloc(sizeof(recorded));
        struct manifest *mine = &since[since_count];
        int count;

        since_count += 3;
        mine[0] = read_image(disk);
        mine[1] = read_image(cache);

        recorded_count = 0;
        sys_fail = record;
        mine[2] = operations[operation](mine[1], rounds);
        /* cppcheck-suppress redundantAssignment ; the call in between looks at it */
        sys_fail = NULL;
        assert_false(is_unsynced);
        count = recorded_count;
        memcpy(writes, recorded, sizeof(recorded));
        assert_is_on_disk(disk, writes, count, &mine[2]);
        for (int i = 1; i <= count; i++)
                cut_during(disk, writes, i, rounds);
        since_count -= 3;
        free(writes);
}

static void cut_everywhere(const unsigned char *disk, const unsigned char *cache, int rounds)
{
        for (int operation = 0; operation < 2; operation++)
                cut_operation(operation, disk, cache, rounds);
}

static void test_a_power_cut_leaves_the_old_or_the_new_one(void **state)
{
        struct manifest manifest = sample();
        unsigned char *begin = malloc(FILE_BYTES);

        (void)state;
        for (int file = 0; file < 40; file++) { /* so that a change is in the first sector and in a later one */
                char name[8];

                snprintf(name, sizeof(name), "old%d", file);
                add_file(&manifest, name);
        }
        create(&manifest);
        since[0] = manifest;
        since_count = 1;
        load_image();
        memcpy(begin, image, FILE_BYTES);
        cut_everywhere(begin, begin, ROUNDS);
        free(begin);
}

/* ---- Beside a writer ---- */

enum { GENERATIONS = 6, STEPS_OF_ONE = 4, STATES = GENERATIONS * STEPS_OF_ONE + 1, PACES = 6, READINGS = 4 };

/*
 * R42. The file as a writer leaves it step by step: half of the slot that is written first, all of it, half of the
 * other one, all of it. A reader's call sees one of these states, and the next call the same or a later one.
 */
static struct {
        unsigned char state[STATES][FILE_BYTES];
        int now;
        int pace[READINGS]; /* steps before each of the first calls */
        int readings;
} writer;

static void take_steps(int generation)
{
        enum { AT_TURN = 56, HALF = 4096 };
        unsigned char *state = writer.state[generation * STEPS_OF_ONE];

        load_image();
        const int first = image[AT_TURN] == 0 ? 0 : 1;
        for (int step = 1; step <= STEPS_OF_ONE; step++) {
                const int slot = step <= 2 ? first : !first;

                memcpy(state + FILE_BYTES, state, FILE_BYTES);
                state += FILE_BYTES;
                memcpy(state + slot * SLOT_BYTES, image + slot * SLOT_BYTES, step % 2 ? HALF : SLOT_BYTES);
        }
}

static void make_states(void)
{
        struct manifest manifest = sample();

        create(&manifest);
        load_image();
        memcpy(writer.state[0], image, FILE_BYTES);
        for (int generation = 0; generation < GENERATIONS; generation++) {
                manifest.time_ns = (uint64_t)generation + 1; /* stands behind the half */
                assert_int_equal(manifest_write(directory, &manifest), 0);
                take_steps(generation);
        }
}

static void go_to_state(int state)
{
        writer.now = state;
        memcpy(image, writer.state[state], FILE_BYTES);
        store_bytes(0, FILE_BYTES);
}

/* Of the newest one that is whole in a slot. */
static uint64_t generation_at(int state)
{
        return 1 + (uint64_t)(state + STEPS_OF_ONE - 2) / STEPS_OF_ONE;
}

static int write_on(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        (void)byte_len;
        if (call == SYS_PREAD && writer.readings < READINGS)
                go_to_state(writer.now + writer.pace[writer.readings++]);
        return 0;
}

static void read_beside(int script)
{
        struct manifest manifest;

        go_to_state(script % STEPS_OF_ONE);
        script /= STEPS_OF_ONE;
        for (int i = 0; i < READINGS; i++, script /= PACES)
                writer.pace[i] = script % PACES;
        writer.readings = 0;
        const uint64_t before = generation_at(writer.now);
        sys_fail = write_on;
        const int err = manifest_read(directory, &manifest);
        sys_fail = NULL;
        assert_int_equal(err, 0);
        assert_in_range(manifest.generation, before, generation_at(writer.now));
}

static void test_who_reads_beside_a_writer_gets_one_that_was(void **state)
{
        int scripts = STEPS_OF_ONE;

        (void)state;
        for (int i = 0; i < READINGS; i++)
                scripts *= PACES;
        make_states();
        for (int script = 0; script < scripts; script++)
                read_beside(script);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                MANIFEST_TEST(test_every_byte_of_a_slot_counts),
                MANIFEST_TEST(test_another_version),
                MANIFEST_TEST(test_versions_before),
                MANIFEST_TEST(test_a_short_file),
                MANIFEST_TEST(test_a_damaged_slot_is_healed),
                MANIFEST_TEST(test_a_settled_one_is_left_alone),
                MANIFEST_TEST(test_a_power_cut_leaves_the_old_or_the_new_one),
                MANIFEST_TEST(test_who_reads_beside_a_writer_gets_one_that_was),
        };

        return cmocka_run_group_tests_name("recovery/manifest: damage", tests, directory_setup, directory_teardown);
}
