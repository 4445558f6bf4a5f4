/* SPDX-License-Identifier: MIT */

/*
 * The crash engine itself, on traces made by hand and on a toy that keeps a counter in a file: it must try every
 * state there is, no other, and find what a toy does wrong.
 */

#include "tests/base/scratch.h"

#include "tests/crash/choices.h"
#include "tests/crash/engine.h"
#include "tests/crash/recorder.h"
#include "tests/support/places.h"

enum { FILE_NO = 7, DIRECTORY_NO = 1, TRACE_ROOM = 1 << 20 };

static struct trace *trace;
static struct disk *disk;
static struct image *image;

static int setup(void **state)
{
        (void)state;
        trace = trace_new(TRACE_ROOM);
        trace->directory = DIRECTORY_NO;
        disk = disk_new(DIRECTORY_NO);
        image = image_new();
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        sys_record = NULL;
        trace_free(trace);
        disk_free(disk);
        image_free(image);
        return 0;
}

/* ---- Traces by hand ---- */

static struct trace_event *add(enum trace_kind kind, uint64_t file, const char *bytes)
{
        struct trace_event *event = trace_add(trace, kind, bytes ? (uint32_t)strlen(bytes) + 1 : 0);

        event->file = file;
        if (bytes)
                strcpy((char *)event->bytes, bytes);
        return event;
}

static void add_end(enum trace_kind kind, const struct trace_event *begin, int64_t value, uint32_t flags)
{
        struct trace_event *event = add(kind, begin->file, NULL);

        event->begin = trace_place(trace, begin);
        event->value = value;
        event->flags = flags;
}

/* A write of whole sectors, each filled with its letter. */
static struct trace_event *add_write(uint64_t offset, const char *letters)
{
        size_t sectors = strlen(letters);
        struct trace_event *event = trace_add(trace, TRACE_WRITE, (uint32_t)(sectors * DISK_SECTOR));

        event->file = FILE_NO;
        event->offset = offset;
        for (size_t i = 0; i < sectors; i++)
                memset(event->bytes + i * DISK_SECTOR, letters[i], DISK_SECTOR);
        return event;
}

static void write_done(uint64_t offset, const char *letters, uint32_t flags)
{
        const struct trace_event *write = add_write(offset, letters);

        add_end(TRACE_WRITTEN, write, write->bytes_len, flags);
}

static void sync_done(uint64_t file)
{
        add_end(TRACE_SYNCED, add(TRACE_SYNC, file, NULL), 0, 0);
}

/* All events go to the disk; the number of its uncertain cells. */
static unsigned apply_all(void)
{
        const struct trace_event *event = NULL;

        while ((event = trace_next(trace, event)) != NULL)
                assert_null(disk_apply(disk, event, trace_place(trace, event)));
        return disk_cells(disk);
}

/* A file of three certain sectors. */
static void begin_file(void)
{
        add(TRACE_FILE, FILE_NO, "f");
        write_done(0, "abc", 0);
        sync_done(FILE_NO);
        sync_done(DIRECTORY_NO);
}

/* The first letter of each sector of the one file; "-" if there is none. */
static const char *look_at(const struct image *it)
{
        static char letters[64];
        size_t at = 0;

        if (it->count == 0)
                return "-";
        for (size_t i = 0; i < it->files[0].size && at < sizeof(letters) - 1; i += DISK_SECTOR)
                letters[at++] = (char)(it->files[0].bytes[i] ? it->files[0].bytes[i] : '0');
        letters[at] = '\0';
        return letters;
}

struct states {
        int count;
        char seen[64][64];
};

static bool take_state(void *arg, const uint8_t *choice)
{
        struct states *states = arg;
        const char *now;

        disk_image(disk, choice, image);
        now = look_at(image);
        for (int i = 0; i < states->count; i++)
                if (strcmp(states->seen[i], now) == 0)
                        return true;
        assert_in_range(states->count, 0, 63);
        strcpy(states->seen[states->count++], now);
        return true;
}

static bool has_state(const struct states *states, const char *wanted)
{
        for (int i = 0; i < states->count; i++)
                if (strcmp(states->seen[i], wanted) == 0)
                        return true;
        return false;
}

static struct states all_states(void)
{
        struct states states = { .count = 0 };

        assert_true(choices_all(disk, apply_all(), 1000, take_state, &states));
        return states;
}

static void test_what_was_synced_is_certain(void **state)
{
        struct states states;

        (void)state;
        begin_file();
        states = all_states();
        assert_int_equal(states.count, 1);
        assert_true(has_state(&states, "abc"));
}

static void test_unsynced_sectors_arrive_in_any_combination(void **state)
{
        struct states states;

        (void)state;
        begin_file();
        write_done(DISK_SECTOR, "BC", 0);
        write_done(DISK_SECTOR, "x", 0);
        states = all_states();
        assert_int_equal(states.count, 6); /* b, B or x, and c or C */
        assert_true(has_state(&states, "axc"));
        assert_true(has_state(&states, "aBC"));
        assert_true(has_state(&states, "abC"));
}

static void test_names_and_sizes_are_independent_of_bytes(void **state)
{
        struct states states;

        (void)state;
        add(TRACE_FILE, FILE_NO, "f");
        write_done(0, "a", 0);
        states = all_states();
        assert_int_equal(states.count, 4);
        assert_true(has_state(&states, "-"));
        assert_true(has_state(&states, ""));
        assert_true(has_state(&states, "0"));
        assert_true(has_state(&states, "a"));
}

static void test_a_sync_of_the_file_leaves_the_name_uncertain(void **state)
{
        struct states states;

        (void)state;
        add(TRACE_FILE, FILE_NO, "f");
        write_done(0, "a", 0);
        sync_done(FILE_NO);
        states = all_states();
        assert_int_equal(states.count, 2);
        assert_true(has_state(&states, "-"));
        assert_true(has_state(&states, "a"));
}

static void test_a_sync_covers_what_was_written_before_it_began(void **state)
{
        const struct trace_event *sync, *late;
        struct states states;

        (void)state;
        begin_file();
        write_done(0, "A", 0);
        late = add_write(DISK_SECTOR, "B");
        sync = add(TRACE_SYNC, FILE_NO, NULL);
        add_end(TRACE_WRITTEN, late, DISK_SECTOR, 0);
        write_done(2 * DISK_SECTOR, "C", 0);
        add_end(TRACE_SYNCED, sync, 0, 0);
        states = all_states();
        assert_int_equal(states.count, 4);
        assert_true(has_state(&states, "Abc"));
        assert_true(has_state(&states, "ABC"));
}

static void test_a_durable_write_is_uncertain_only_in_flight(void **state)
{
        const struct trace_event *write;
        struct states states = { .count = 0 };

        (void)state;
        begin_file();
        write = add_write(0, "AB");
        assert_true(choices_all(disk, apply_all(), 1000, take_state, &states));
        assert_int_equal(states.count, 4);
        add_end(TRACE_WRITTEN, write, write->bytes_len, TRACE_IS_DURABLE);
        disk_free(disk);
        disk = disk_new(DIRECTORY_NO);
        states = all_states();
        assert_int_equal(states.count, 1);
        assert_true(has_state(&states, "ABc"));
}

static void test_a_failed_write_was_never_there(void **state)
{
        struct states states;

        (void)state;
        begin_file();
        add_end(TRACE_WRITTEN, add_write(0, "AB"), -EINVAL, 0);
        states = all_states();
        assert_int_equal(states.count, 1);
        assert_true(has_state(&states, "abc"));
}

static void test_sizes_may_be_stale(void **state)
{
        struct states states;

        (void)state;
        begin_file();
        add(TRACE_SIZE, FILE_NO, NULL)->value = 5 * DISK_SECTOR;
        states = all_states();
        assert_int_equal(states.count, 2);
        assert_true(has_state(&states, "abc"));
        assert_true(has_state(&states, "abc00"));
}

/* The writer of the first one dies in it; another writes the same again. */
static void test_a_write_that_never_ended_leaves_no_doubt_about_the_next(void **state)
{
        struct states states;

        (void)state;
        begin_file();
        (void)add_write(3 * DISK_SECTOR, "de");
        write_done(3 * DISK_SECTOR, "D", 0);
        sync_done(FILE_NO);
        states = all_states();
        assert_true(has_state(&states, "abcD"));
        assert_true(has_state(&states, "abcDe"));
        assert_false(has_state(&states, "abc"));
        write_done(3 * DISK_SECTOR, "DE", 0);
        sync_done(FILE_NO);
        disk_free(disk);
        disk = disk_new(DIRECTORY_NO);
        states = all_states();
        assert_int_equal(states.count, 1);
        assert_true(has_state(&states, "abcDE"));
}

static void test_removed_and_renamed_names_may_come_back(void **state)
{
        unsigned cells;
        uint8_t choice[8] = { 0 };

        (void)state;
        begin_file();
        memcpy(trace_add(trace, TRACE_LINK, 4)->bytes, "f\0g", 4);
        add(TRACE_UNLINK, 0, "f");
        cells = apply_all();
        assert_int_equal(cells, 2);
        disk_image(disk, choice, image);
        assert_int_equal(image->count, 1);
        assert_string_equal(image->files[0].name, "f");
        choice[0] = choice[1] = 1;
        disk_image(disk, choice, image);
        assert_int_equal(image->count, 1);
        assert_string_equal(image->files[0].name, "g");
        assert_string_equal(look_at(image), "abc");
}

/* What the last event of the trace is told to be wrong for. */
static const char *apply_last(void)
{
        const struct trace_event *event = NULL;
        const char *wrong = NULL;

        while ((event = trace_next(trace, event)) != NULL)
                wrong = disk_apply(disk, event, trace_place(trace, event));
        return wrong;
}

static void test_bytes_that_change_while_written_are_reported(void **state)
{
        const struct trace_event *write;

        (void)state;
        begin_file();
        write = add_write(0, "a");
        add(TRACE_UNLINK, 0, "f"); /* a crash may bring it back */
        add_end(TRACE_WRITTEN, write, DISK_SECTOR, TRACE_IS_UNSTABLE);
        assert_non_null(apply_last());
}

static void test_bytes_that_change_in_a_file_that_was_replaced_harm_nobody(void **state)
{
        const struct trace_event *write;

        (void)state;
        begin_file();
        write = add_write(0, "a");
        add(TRACE_UNLINK, 0, "f");
        sync_done(DIRECTORY_NO);
        add_end(TRACE_WRITTEN, write, DISK_SECTOR, TRACE_IS_UNSTABLE);
        assert_null(apply_last());
}

static void test_a_choice_is_the_same_after_printing_and_parsing(void **state)
{
        struct chance chance = { .state = 5 };
        char text[CHOICES_TEXT];
        uint8_t choice[8], again[8];
        unsigned cells;

        (void)state;
        begin_file();
        write_done(0, "ABC", 0);
        write_done(0, "XY", 0);
        cells = apply_all();
        assert_int_equal(cells, 3);
        for (int i = 0; i < 200; i++) {
                for (unsigned c = 0; c < cells; c++)
                        choice[c] = (uint8_t)(chance_percent(&chance, 30) ? DISK_HALF + chance_below(&chance, 3)
                                                                          : chance_below(&chance, 2));
                choices_print(disk, cells, choice, text);
                memset(again, 99, sizeof(again));
                assert_true(choices_parse(disk, cells, text, again));
                assert_memory_equal(choice, again, cells);
        }
        assert_false(choices_parse(disk, cells, "old+3:1", again));
        assert_false(choices_parse(disk, cells, "odd", again));
}

/* ---- A toy ---- */

/* Number n stands in sector n, and in its last word once more; what is found is how many stand there whole. */
enum toy_fault {
        TOY_SOUND,
        TOY_NO_SYNC,
        TOY_SYNC_TOO_LATE,  /* promises first */
        TOY_SYNC_TOO_EARLY, /* writes after it */
        TOY_NO_DIRECTORY_SYNC,
        TOY_NO_CHECKSUM, /* the reader believes a half */
        TOY_IN_PLACE     /* overwrites the only copy */
};

static enum toy_fault fault;
static char toy_directory[512];

enum { TOY_COUNT = 6, TOY_WORDS = DISK_SECTOR / 8 };

static void toy_step(int fd, uint64_t n)
{
        uint64_t sector[TOY_WORDS];
        uint64_t at = fault == TOY_IN_PLACE ? 0 : (n - 1) * DISK_SECTOR;

        for (int i = 0; i < TOY_WORDS; i++)
                sector[i] = n;
        if (fault == TOY_SYNC_TOO_LATE)
                trace_required(trace, 0, n);
        if (fault == TOY_SYNC_TOO_EARLY)
                assert_int_equal(sys_sync(fd), 0);
        trace_allowed(trace, 0, n);
        assert_int_equal(sys_write_all(fd, sector, sizeof(sector), at), 0);
        if (fault != TOY_NO_SYNC && fault != TOY_SYNC_TOO_EARLY)
                assert_int_equal(sys_sync(fd), 0);
        trace_required(trace, 0, n);
}

static void toy_run(void)
{
        int directory, fd;

        assert_int_equal(sys_open(AT_FDCWD, toy_directory, O_RDONLY | O_DIRECTORY, 0, &directory), 0);
        trace_clear(trace);
        trace_allowed(trace, 0, 0);
        recorder_start(trace, toy_directory);
        assert_int_equal(sys_open(directory, "toy", O_RDWR | O_CREAT | O_EXCL, 0600, &fd), 0);
        if (fault != TOY_NO_DIRECTORY_SYNC)
                assert_int_equal(sys_sync(directory), 0);
        for (uint64_t n = 1; n <= TOY_COUNT; n++)
                toy_step(fd, n);
        recorder_stop();
        sys_close(fd);
        assert_int_equal(sys_unlink(directory, "toy"), 0);
        sys_close(directory);
}

static bool toy_is_whole(const uint64_t *sector)
{
        for (int i = 1; i < TOY_WORDS; i++)
                if (sector[i] != sector[0])
                        return false;
        return true;
}

static void toy_judge(void *arg, const struct trace *unused, const struct image *it, struct verdict *verdict)
{
        const struct image_file *file = it->count ? &it->files[0] : NULL;
        uint64_t sector[TOY_WORDS];

        (void)arg, (void)unused;
        verdict->is_sound = true;
        for (uint64_t at = 0; file && at + DISK_SECTOR <= file->size; at += DISK_SECTOR) {
                memcpy(sector, file->bytes + at, DISK_SECTOR);
                if (sector[0] == 0 || (fault != TOY_NO_CHECKSUM && !toy_is_whole(sector)))
                        break;
                verdict->found[0] = sector[0];
        }
}

static bool toy_is_found_sound(void)
{
        struct judge judge = { .judge = toy_judge };
        struct engine engine = { .judge = &judge,
                                 .judged = seen_new(1 << 12),
                                 .distinct = seen_new(1 << 12),
                                 .tally = calloc(1, sizeof(struct engine_tally)),
                                 .workers = 1,
                                 .stride = 1,
                                 .keep_in = toy_directory,
                                 .command = "crash" };
        bool is_sound;

        snprintf(toy_directory, sizeof(toy_directory), "%s/xac-toy-XXXXXX", places_files());
        assert_non_null(mkdtemp(toy_directory));
        toy_run();
        is_sound = engine_pass(&engine, trace, 0) && engine_pass(&engine, trace, 1);
        assert_in_range(seen_count(engine.distinct), 1, 1000);
        seen_free(engine.judged);
        seen_free(engine.distinct);
        free(engine.tally);
        return is_sound;
}

/* The trace of a violation lies there. */
static void toy_clean_up(void)
{
        int directory = open(toy_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        scratch_empty(directory);
        close(directory);
        assert_int_equal(rmdir(toy_directory), 0);
}

static void test_a_sound_toy_is_found_sound(void **state)
{
        (void)state;
        fault = TOY_SOUND;
        assert_true(toy_is_found_sound());
        toy_clean_up();
}

static void test_each_fault_of_a_toy_is_found(void **state)
{
        (void)state;
        for (fault = TOY_NO_SYNC; fault <= TOY_IN_PLACE; fault++) {
                print_message("a toy with fault %d:\n", fault);
                assert_false(toy_is_found_sound());
                toy_clean_up();
        }
}

/* What was found is what one finds again by hand: the trace is kept, and the choice is text. */
static void test_a_trace_survives_being_saved(void **state)
{
        const struct trace_event *event = NULL, *back = NULL;
        struct trace *loaded;
        char path[512];

        (void)state;
        snprintf(path, sizeof(path), "%s/xac-trace-XXXXXX", places_files());
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        begin_file();
        trace->seed = 77;
        trace_save(trace, path);
        loaded = trace_load(path);
        assert_non_null(loaded);
        assert_int_equal(loaded->seed, 77);
        while ((event = trace_next(trace, event)) != NULL) {
                back = trace_next(loaded, back);
                assert_non_null(back);
                assert_memory_equal(event, back, sizeof(*event) + event->bytes_len);
        }
        assert_null(trace_next(loaded, back));
        trace_free(loaded);
        assert_int_equal(ftruncate(fd, 3), 0);
        assert_null(trace_load(path));
        close(fd);
        unlink(path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_what_was_synced_is_certain, setup, teardown),
                cmocka_unit_test_setup_teardown(test_unsynced_sectors_arrive_in_any_combination, setup, teardown),
                cmocka_unit_test_setup_teardown(test_names_and_sizes_are_independent_of_bytes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_sync_of_the_file_leaves_the_name_uncertain, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_sync_covers_what_was_written_before_it_began, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_durable_write_is_uncertain_only_in_flight, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_failed_write_was_never_there, setup, teardown),
                cmocka_unit_test_setup_teardown(test_sizes_may_be_stale, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_write_that_never_ended_leaves_no_doubt_about_the_next, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_removed_and_renamed_names_may_come_back, setup, teardown),
                cmocka_unit_test_setup_teardown(test_bytes_that_change_while_written_are_reported, setup, teardown),
                cmocka_unit_test_setup_teardown(test_bytes_that_change_in_a_file_that_was_replaced_harm_nobody, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_a_choice_is_the_same_after_printing_and_parsing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_sound_toy_is_found_sound, setup, teardown),
                cmocka_unit_test_setup_teardown(test_each_fault_of_a_toy_is_found, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_trace_survives_being_saved, setup, teardown),
        };

        return cmocka_run_group_tests_name("crash engine", tests, NULL, NULL);
}
