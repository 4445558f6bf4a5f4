/* SPDX-License-Identifier: MIT */

/*
 * Random states, users, permissions and mounts of an environment that is opened for reading only: the right content, or
 * the right code; what is at rest stays as it is, and who writes is never disturbed. XAC_READ_ONLY_STATES=1000: so
 * many.
 */

#include "tests/libxac/read_only_stand.h"

enum state { CLOSED, IN_USE, CRASHED, BUSY, STATES };

struct scene {
        enum state state;
        struct writing writing;
        uid_t user;
        gid_t group;
        bool is_mounted_read_only;
        uint64_t before; /* hash */
};

static bool may_write(const struct scene *scene)
{
        return scene->user == 0 || scene->user == ALICE || scene->writing.mode & (scene->group == ALICE ? 0020 : 0002);
}

static bool may_read(const struct scene *scene)
{
        return may_write(scene) || (scene->group == ALICE ? scene->writing.mode & 0040 : scene->writing.mode & 0004);
}

static int expected_code(const struct scene *scene)
{
        if (!may_read(scene))
                return -EACCES;
        if (scene->state == CRASHED)
                return -EUCLEAN;
        if (scene->state == CLOSED || (may_write(scene) && !scene->is_mounted_read_only))
                return 0;
        return may_write(scene) ? -EROFS : -EACCES;
}

/* Commits when the reader says so; in state CRASHED it is killed after its first. */
static void write_and_stay(void *scene_)
{
        const struct scene *scene = scene_;
        const uint64_t value = atomic_fetch_add(&common->newest, 1) + 1;
        xac_env *env;
        uint64_t *words = open_to_write(scene->writing.flags, scene->writing.mode, &env);

        commit(env, words, value);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 2);
        atomic_store(&common->newest, value + 1);
        commit(env, words, value + 1);
        crew_turn_pass(&common->turn);
        crew_turn_await(&common->turn, 4);
        check_ok(xac_close(env));
}

/* Opens, commits and closes until it is told to stop. */
static void write_again_and_again(void *scene_)
{
        const struct scene *scene = scene_;

        while (!atomic_load(&common->is_over)) {
                write_once(scene->writing.flags, scene->writing.mode);
                crew_turn_pass(&common->turn);
                usleep(1000);
        }
}

static void read_beside_busy(const struct scene *scene)
{
        enum { OPENS = 5, READS = 20 };
        const uint64_t *words;
        xac_env *env;

        for (int i = 0; i < OPENS; i++) {
                const uint64_t least = atomic_load(&common->newest) - 1;
                int err = open_to_read(&env, &words);

                check(!err || err == -EROFS || err == -EACCES || err == -EBUSY || err == -ESTALE || err == -EUCLEAN ||
                      err == XAC_CORRUPT);
                check(err != XAC_CORRUPT || !may_write(scene));
                atomic_fetch_add(&common->refused, err != 0);
                long long value = 0;
                for (int read = 0; !err && read < READS && value >= 0; read++) {
                        value = read_words(env, words);
                        check(value == -ESTALE || value >= (long long)least);
                        atomic_fetch_add(value < 0 ? &common->stale : &common->ended, 1);
                }
                if (!err)
                        check_ok(xac_close(env));
        }
}

static void read_once(const struct scene *scene)
{
        const uint64_t newest = atomic_load(&common->newest);
        const uint64_t *words;
        xac_env *env;
        int err = open_to_read(&env, &words);

        check_code(err, expected_code(scene));
        if (err)
                return;
        check_equal(read_words(env, words), (long long)newest);
        if (scene->state == IN_USE) {
                crew_turn_pass(&common->turn);
                crew_turn_await(&common->turn, 3);
                check_equal(read_words(env, words), (long long)newest + 1);
        }
        check_ok(xac_close(env));
}

static void read_scene(void *scene_)
{
        const struct scene *scene = scene_;

        (scene->state == BUSY ? read_beside_busy : read_once)(scene);
}

/* In a name space of its own. */
static void mount_and_read(int unused, void *scene_)
{
        struct scene *scene = scene_;
        const char *env = scratch_path("env");
        struct errand errand = { scene->user, scene->group, read_scene, scene };

        (void)unused;
        if (scene->is_mounted_read_only) {
                check_equal(unshare(CLONE_NEWNS), 0);
                check_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
                check_equal(mount(env, env, NULL, MS_BIND, NULL), 0);
                check_equal(mount(NULL, env, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
        }
        become(0, &errand);
}

static void can_mount(int unused, void *unused_)
{
        (void)unused;
        (void)unused_;
        crew_exit(unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0);
}

static void draw_scene(struct chance *chance, bool may_mount, struct scene *scene)
{
        static const uint32_t modes[] = { 0600, 0640, 0644, 0660, 0664, 0666 };
        static const struct {
                uid_t user;
                gid_t group;
        } users[] = { { 0, 0 }, { ALICE, ALICE }, { BOB, ALICE }, { MALLORY, MALLORY } };
        const uint32_t user = (uint32_t)chance_below(chance, 4);

        *scene = (struct scene){ .state = (enum state)chance_below(chance, STATES),
                                 .writing = { chance_below(chance, 2) ? XAC_VOLATILE : 0,
                                              modes[chance_below(chance, sizeof(modes) / sizeof(modes[0]))] },
                                 .user = users[user].user,
                                 .group = users[user].group,
                                 .is_mounted_read_only = may_mount && chance_below(chance, 3) == 0 };
}

static void play_scene(struct scene *scene)
{
        pid_t writer = 0;

        set_up_users(scene->writing.mode);
        crew_join(start_as(ALICE, ALICE, write_as_alice, &scene->writing));
        if (scene->state != CLOSED) {
                writer = start_as(ALICE, ALICE, scene->state == BUSY ? write_again_and_again : write_and_stay, scene);
                crew_turn_await(&common->turn, 1);
        }
        if (scene->state == CRASHED)
                crew_kill(writer);
        if (scene->state == CLOSED || scene->state == CRASHED)
                scene->before = hash_of_env();
        crew_join(crew_fork(mount_and_read, 0, scene));
        if (scene->state == CLOSED || scene->state == CRASHED)
                check(hash_of_env() == scene->before);
        atomic_store(&common->is_over, 1);
        while (scene->state == IN_USE && atomic_load(&common->turn.number) < 4)
                crew_turn_pass(&common->turn);
        if (scene->state == IN_USE || scene->state == BUSY)
                crew_join(writer);
        if (scene->state == CRASHED) /* and it is there for who may write */
                crew_join(start_as(ALICE, ALICE, write_as_alice, &scene->writing));
}

static void random_states(void)
{
        const char *wanted = getenv("XAC_READ_ONLY_STATES");
        const unsigned states = wanted ? (unsigned)atoi(wanted) : 4;
        struct chance chance = { chance_seed() };
        unsigned counts[STATES] = { 0 }, read_only = 0, ended = 0, stale = 0, refused = 0;
        struct scene scene;

        set_up_users(0755);
        const bool may_mount = crew_status(crew_fork(can_mount, 0, NULL)) == 0;
        for (unsigned i = 0; i < states; i++) {
                draw_scene(&chance, may_mount, &scene);
                play_scene(&scene);
                counts[scene.state]++;
                read_only += scene.is_mounted_read_only;
                ended += atomic_load(&common->ended);
                stale += atomic_load(&common->stale);
                refused += atomic_load(&common->refused);
        }
        fprintf(stderr,
                "%u closed, %u in use, %u crashed, %u beside a writer that opens and closes (%u transactions, %u told "
                "that "
                "they are stale, %u opens refused); %u of all on read-only mounts\n",
                counts[CLOSED], counts[IN_USE], counts[CRASHED], counts[BUSY], ended, stale, refused, read_only);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_timed(random_states, 1200),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
