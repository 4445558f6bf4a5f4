/* SPDX-License-Identifier: MIT */
#include "libxac/process/alive.h"

/*
 * Numbers behind the names: where they run out, and what a takeover does to a name.
 */

#include <fcntl.h>
#include <string.h>
#include <xac/xac.h>

#include "base/sys.h"

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

static xac_env *open_env(void)
{
        const xac_options options = { .pool_bytes = 4 << 20 };
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        return env;
}

struct visitor {
        xac_env *env;
        uint64_t name;
};

static void say_name(int unused, void *visitor_)
{
        struct visitor *visitor = visitor_;

        (void)unused;
        visitor->name = xac_self(visitor->env);
}

/* Of a thread of its own. */
static uint64_t next_name(xac_env *env)
{
        struct visitor visitor = { .env = env };

        crew_threads(1, say_name, &visitor);
        return visitor.name;
}

static uint64_t number_of(const xac_env *env, uint64_t name)
{
        uint64_t bits;

        memcpy(&bits, env->shared.control->uuid, sizeof(bits));
        return name ^ bits;
}

static void numbers_are_the_generations(void)
{
        xac_env *env = open_env();
        const struct control *control = env->shared.control;
        uint64_t number = number_of(env, xac_self(env));

        check_equal(number, shared_first_id(control->generation));
        check_equal(number_of(env, next_name(env)), number + 1);
        check_equal(control->ids_end, shared_first_id(control->generation + 1));
        check_ok(xac_close(env));
}

/* Whoever makes shared memory anew begins behind them, although they were not of its generation at first. */
static void who_has_used_up_a_generation_begins_the_next(void)
{
        xac_env *env = open_env();
        struct control *control = env->shared.control;
        uint64_t generation = control->generation, end = control->ids_end;

        control->next_id = end - 1;
        check_equal(number_of(env, next_name(env)), end - 1);
        check_equal(control->generation, generation);
        check_equal(number_of(env, next_name(env)), end);
        check_equal(control->generation, generation + 1);
        check_equal(control->ids_end, shared_first_id(generation + 2));
        check_ok(xac_close(env));
        env = open_env();
        check(number_of(env, xac_self(env)) >= shared_first_id(generation + 2));
        check_ok(xac_close(env));
}

static int no_writes(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        (void)byte_len;
        return call == SYS_PWRITE ? -EIO : 0;
}

static void without_a_next_generation_there_is_no_name(void)
{
        xac_env *env = open_env();
        struct control *control = env->shared.control;

        control->next_id = control->ids_end;
        sys_fail = no_writes;
        check_equal(xac_self(env), 0);
        sys_fail = NULL;
        check(xac_self(env) != 0);
        check_ok(xac_close(env));
}

/* The number that would read as 0 is left out. */
static void no_name_is_0(void)
{
        xac_env *env = open_env();
        struct control *control = env->shared.control;

        uint64_t number = control->next_id;
        memcpy(control->uuid, &number, sizeof(number));
        check_equal(number_of(env, xac_self(env)), number + 1);
        check_equal(xac_alive(env, xac_self(env)), 1);
        check_ok(xac_close(env));
}

/* R16: between the answer of the kernel and the second look somebody else may have come. */
static struct control *changing;
static struct row *changing_row;

static int row_changes_hands(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        (void)byte_len;
        if (call == SYS_LOCK)
                atomic_store(&changing_row->id, changing->next_id);
        return 0;
}

static void a_row_that_changes_hands_meanwhile_is_not_its_last_owners(void)
{
        xac_env *env = open_env();
        struct row *row = &env->shared.rows[20];
        uint64_t name = 4711;

        changing = env->shared.control;
        changing_row = row;
        atomic_store(&env->shared.control->rows_used, 21);
        atomic_store(&row->process_no, 30);
        atomic_store(&row->id, name);
        check_equal(sys_is_byte_locked(env->shared.lock_fd, 31), 0);
        check_equal(xac_alive(env, name), 0);

        int other;
        check_ok(sys_open(env->directory, ENV_LOCK_FILE, O_RDWR, 0, &other));
        check_ok(sys_lock_byte(other, 31, false));
        check_equal(xac_alive(env, name), 1);
        sys_fail = row_changes_hands;
        check_equal(xac_alive(env, name), 0);
        sys_fail = NULL;
        sys_close(other);
        atomic_store(&row->id, 0);
        check_ok(xac_close(env));
}

static int no_locks(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        (void)byte_len;
        return call == SYS_LOCK ? -ENOLCK : 0;
}

static void what_the_kernel_does_not_say_is_an_error(void)
{
        xac_env *env = open_env();
        struct row *row = &env->shared.rows[20];

        atomic_store(&env->shared.control->rows_used, 21);
        atomic_store(&row->process_no, 30);
        atomic_store(&row->id, 4711);
        sys_fail = no_locks;
        check_code(xac_alive(env, 4711), -ENOLCK);
        sys_fail = NULL;
        atomic_store(&row->id, 0);
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(numbers_are_the_generations),
                isolated_test(who_has_used_up_a_generation_begins_the_next),
                isolated_test(without_a_next_generation_there_is_no_name),
                isolated_test(no_name_is_0),
                isolated_test(a_row_that_changes_hands_meanwhile_is_not_its_last_owners),
                isolated_test(what_the_kernel_does_not_say_is_an_error),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
