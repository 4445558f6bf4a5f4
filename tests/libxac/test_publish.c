/* SPDX-License-Identifier: MIT */
#include "libxac/version/publish.h"

/*
 * Commits whose owner dies under the commit lock. Death is played by putting the shared words
 * back to what they are at some instruction of the commit, and by giving the row to a process
 * that does not exist; then somebody else takes the lock (R5, I6).
 */

#include "libxac/store/pool_rebuild.h"
#include "tests/libxac/engine.h"

enum { PAGES = 8, DEAD = 2, HEIR = 1, DEAD_PROCESS = 40 };

static struct engine *engine;

static int setup(void **state)
{
        (void)state;
        engine = engine_start(512);
        for (uint64_t page_no = 0; page_no < PAGES; page_no += 2) /* the others are home */
                engine_put(engine, 0, page_no, 100 + page_no);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        engine_stop(engine);
        return 0;
}

static uint64_t value_before(uint64_t page_no)
{
        return page_no % 2 ? 0 : 100 + page_no;
}

static void assert_values(uint64_t snapshot, bool are_new)
{
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                assert_int_equal(engine_visible(engine, page_no, snapshot),
                                 are_new ? 500 + page_no : value_before(page_no));
}

static uint64_t sequence_now(void)
{
        return atomic_load(&engine->shared.control->sequence);
}

/* The dead one's commit, up to the lock and the intent. */
static void begin_to_commit(void)
{
        engine_begin(engine, DEAD);
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                assert_int_equal(engine_store(engine, DEAD, page_no, 1, 500 + page_no), 0);
        txn_pages_intend(&engine->pages[DEAD]);
        assert_int_equal(publish_lock(&engine->shared, engine->participant[DEAD].owner), 0);
}

static void die(void)
{
        shlock_note_death();
        atomic_store(&engine->participant[DEAD].row->process_no, DEAD_PROCESS);
}

/* What whoever notices the death does: finish the commit, then take back. */
static void take_over(void)
{
        struct shared *shared = &engine->shared;
        struct participant *dead = &engine->participant[DEAD];

        assert_int_equal(publish_lock(shared, engine->participant[HEIR].owner), 0);
        publish_unlock(shared);
        pool_lock(shared, engine->participant[HEIR].owner);
        pool_take_back_locked(shared, dead->owner);
        pool_unlock(shared);
        dead->free = dead->retired = (struct slot_list){ 0 };
        participant_end(dead);
        txn_pages_clear(&engine->pages[DEAD]);
}

static void test_a_commit_that_was_not_decided_leaves_nothing(void **state)
{
        uint64_t before = sequence_now();

        (void)state;
        begin_to_commit();
        die();
        take_over();
        assert_int_equal(sequence_now(), before);
        assert_values(before, false);
        engine_assert_nothing_leaked(engine);
}

/*
 * With `done` heads stored, and the next slot prepared or not. This takes back what publish_slot
 * (libxac/version/publish.c) stored, but for older and home_epoch, which nobody reads before the head: a store that is
 * added there is to be taken back here.
 */
static void die_after_heads(uint64_t done)
{
        struct shared *shared = &engine->shared;
        uint64_t old_head[PAGES];

        begin_to_commit();
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                old_head[page_no] = version_newest(shared, engine_page(engine, page_no));
        publish_intent_locked(&engine->participant[DEAD], 0);
        for (uint64_t page_no = done; page_no < PAGES; page_no++) {
                struct slot *slot = &shared->slots[version_slot(version_newest(shared, engine_page(engine, page_no)))];
                uint32_t old = version_slot(old_head[page_no]);

                atomic_store(version_head(shared, engine_page(engine, page_no)), old_head[page_no]);
                if (page_no == done)
                        continue; /* died just before it stored this head */
                atomic_store(&slot->tag, 0);
                atomic_store(&slot->use, slot_use(SLOT_PRIVATE, engine->participant[DEAD].owner));
                if (old) {
                        atomic_store(&shared->slots[old].superseded, 0);
                        atomic_store(&shared->slots[old].use, slot_use(SLOT_PUBLISHED, engine->participant[0].owner));
                }
        }
        atomic_store(&shared->control->sequence, sequence_now() - 1);
        die();
}

static void test_a_decided_commit_is_finished_wherever_it_stopped(void **state)
{
        (void)state;
        for (uint64_t done = 0; done <= PAGES; done++) {
                uint64_t before;

                teardown(NULL);
                setup(NULL);
                before = sequence_now();
                die_after_heads(done);
                assert_int_equal(sequence_now(), before);
                take_over();
                assert_int_equal(sequence_now(), before + 1);
                assert_values(before + 1, true);
                engine_assert_nothing_leaked(engine);
                engine_put(engine, HEIR, 0, 900);
                assert_int_equal(engine_visible(engine, 0, before + 2), 900);
        }
}

static void test_readers_keep_the_old_versions_through_a_take_over(void **state)
{
        uint64_t snapshot = engine_begin(engine, 4);

        (void)state;
        die_after_heads(3);
        take_over();
        assert_values(snapshot, false);
        assert_values(snapshot + 1, true);
        for (int who = 0; who < ENGINE_PARTICIPANTS; who++)
                reclaim_everything(&engine->participant[who]);
        assert_values(snapshot, false);
        participant_end(&engine->participant[4]);
        engine_assert_nothing_leaked(engine);
}

static int refuse_mmap(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MMAP ? -ENOMEM : 0;
}

/* An heir without address space leaves the lock to the next one. */
static void test_an_heir_that_cannot_leaves_it_to_the_next(void **state)
{
        struct shared *shared = &engine->shared;
        uint64_t before = sequence_now();
        _Atomic uint64_t *heads = shared->heads[engine->file_no];

        (void)state;
        die_after_heads(2);
        shared->heads[engine->file_no] = NULL; /* a process that has not mapped them yet */
        sys_fail = refuse_mmap;
        assert_int_equal(publish_lock(shared, engine->participant[3].owner), -ENOMEM);
        sys_fail = NULL;
        assert_int_equal(sequence_now(), before);
        shared->heads[engine->file_no] = heads;
        take_over();
        assert_int_equal(sequence_now(), before + 1);
        assert_values(before + 1, true);
        engine_assert_nothing_leaked(engine);
}

/* ---- Home ---- */

static uint32_t slot_of(uint64_t page_no)
{
        return version_slot(version_newest(&engine->shared, engine_page(engine, page_no)));
}

static void flip(uint64_t page_no, uint32_t no)
{
        assert_int_equal(sys_write_all(engine->files.file[engine->file_no].fd, shared_slot_bytes(&engine->shared, no),
                                       ENGINE_PAGE_BYTES, page_no * ENGINE_PAGE_BYTES),
                         0);
        assert_int_equal(publish_lock(&engine->shared, engine->participant[HEIR].owner), 0);
        publish_home_locked(&engine->participant[HEIR], &no, 1);
        publish_unlock(&engine->shared);
}

/* R14: a reader that began before the flip may still look into the slot, one that began after
 * it does not. */
static void test_a_slot_that_home_displaced_waits_for_its_readers(void **state)
{
        uint32_t no = slot_of(0);
        uint64_t snapshot = engine_begin(engine, 4);
        uint64_t epoch = atomic_load(&engine->shared.control->flip_epoch);

        (void)state;
        flip(0, no);
        assert_int_equal(atomic_load(&engine->shared.control->flip_epoch), epoch + 1);
        assert_int_equal(slot_of(0), SLOT_HOME);
        assert_int_equal(engine_visible(engine, 0, snapshot), 100);
        engine_begin(engine, 5);
        reclaim_everything(&engine->participant[HEIR]);
        assert_int_equal(slot_state(&engine->shared.slots[no]), SLOT_RETIRED);
        participant_end(&engine->participant[4]);
        reclaim_everything(&engine->participant[HEIR]);
        assert_int_equal(slot_state(&engine->shared.slots[no]), SLOT_FREE);
        assert_int_equal(engine_load(engine, 5, 0), 100);
        engine_abort(engine, 5);
        engine_assert_nothing_leaked(engine);
}

/* A checkpointer dies between its note in the slot and the head: the slot is still the newest
 * version, and when it is superseded later its readers are those of any old version. */
static void test_a_flip_that_did_not_happen_is_forgotten(void **state)
{
        struct shared *shared = &engine->shared;
        uint32_t no = slot_of(0);
        uint64_t snapshot;

        (void)state;
        assert_int_equal(publish_lock(shared, engine->participant[DEAD].owner), 0);
        atomic_store(&shared->slots[no].home_epoch, atomic_load(&shared->control->flip_epoch));
        die();
        assert_int_equal(publish_lock(shared, engine->participant[HEIR].owner), 0);
        publish_unlock(shared);
        snapshot = engine_begin(engine, 4);
        engine_put(engine, HEIR, 0, 777);
        reclaim_everything(&engine->participant[HEIR]);
        assert_int_equal(slot_state(&shared->slots[no]), SLOT_RETIRED);
        assert_int_equal(engine_visible(engine, 0, snapshot), 100);
        participant_end(&engine->participant[4]);
        engine_assert_nothing_leaked(engine);
}

static void test_a_version_superseded_meanwhile_does_not_go_home(void **state)
{
        uint32_t no = slot_of(0);

        (void)state;
        engine_begin(engine, 4); /* so that the slot stays what it is */
        engine_put(engine, 0, 0, 777);
        flip(0, no);
        assert_true(slot_of(0) != SLOT_HOME);
        assert_int_equal(engine_visible(engine, 0, sequence_now()), 777);
        assert_int_equal(engine_visible(engine, 0, engine->pages[4].snapshot), 100);
        participant_end(&engine->participant[4]);
        engine_assert_nothing_leaked(engine);
}

#define PUBLISH_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                PUBLISH_TEST(test_a_commit_that_was_not_decided_leaves_nothing),
                PUBLISH_TEST(test_a_decided_commit_is_finished_wherever_it_stopped),
                PUBLISH_TEST(test_readers_keep_the_old_versions_through_a_take_over),
                PUBLISH_TEST(test_an_heir_that_cannot_leaves_it_to_the_next),
                PUBLISH_TEST(test_a_slot_that_home_displaced_waits_for_its_readers),
                PUBLISH_TEST(test_a_flip_that_did_not_happen_is_forgotten),
                PUBLISH_TEST(test_a_version_superseded_meanwhile_does_not_go_home),
        };

        return cmocka_run_group_tests_name("libxac/publish", tests, NULL, NULL);
}
