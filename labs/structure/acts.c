/* SPDX-License-Identifier: MIT */

#include "labs/structure/acts.h"

#include <stdlib.h>
#include <string.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/stops.h"

static struct table *mine; /* of this process alone */
static struct table *view;
static xac_env *env;

static struct outcome serial_operation(struct table *where, const struct operation *operation)
{
        struct outcome outcome = { 0, false, 0 };
        if (operation->kind == PUT)
                outcome.err = table_put(where, operation->key, operation->value);
        else if (operation->kind == GET)
                outcome.is_there = table_get(where, operation->key, &outcome.value);
        else if (operation->kind == DELETE)
                outcome.is_there = table_delete(where, operation->key);
        else
                outcome.value = table_count(where);
        if (operation->kind == GET && !outcome.is_there)
                outcome.value = 0;
        return outcome;
}

static size_t act_new(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in;
        (void)in_len;
        (void)out;
        (void)out_most;
        free(mine);
        mine = calloc(1, TABLE_BYTES);
        grader_check(mine != NULL, "no memory");
        return 0;
}

static size_t act_serial(const void *in, size_t in_len, void *out, size_t out_most)
{
        const struct operation *operations = in;
        struct outcome *outcomes = out;
        size_t count = in_len / sizeof(*operations);
        (void)out_most;
        for (size_t i = 0; i < count; i++)
                outcomes[i] = serial_operation(mine, &operations[i]);
        return count * sizeof(*outcomes);
}

/* ------------------------------------------------------------------ the shared one */

/* Who touches the table outside of a transaction is ended (XAC_STRICT). Crews are not, as some are measured. */
static void open_table(int flags)
{
        view = environment_open("table.xac", TABLE_BYTES, XAC_NOSYNC | flags, &env);
}

struct keys {
        const uint64_t *key;
        size_t count;
        int err;
};

static int fill_body(void *arg)
{
        struct keys *keys = arg;
        memset((void *)view, 0, TABLE_BYTES);
        keys->err = 0;
        for (size_t i = 0; i < keys->count && keys->err == 0; i++)
                keys->err = table_put(view, keys->key[i], keys->key[i]);
        return 0;
}

static size_t act_fill(const void *in, size_t in_len, void *out, size_t out_most)
{
        struct keys keys = { in, in_len / sizeof(uint64_t), 0 };
        (void)out_most;
        open_table(XAC_STRICT);
        int err = xac_run(env, 0, fill_body, &keys);
        grader_check(err == 0, "the table cannot be filled: %s", xac_strerror(err));
        environment_close(env);
        memcpy(out, &keys.err, sizeof(keys.err));
        return sizeof(keys.err);
}

static size_t act_inspect(const void *in, size_t in_len, void *out, size_t out_most)
{
        const uint64_t *keys = (const uint64_t *)((const char *)in + TABLE_BYTES);
        size_t count = (in_len - TABLE_BYTES) / sizeof(*keys);
        struct outcome *outcomes = out;
        (void)out_most;
        act_new(NULL, 0, NULL, 0);
        memcpy((void *)mine, in, TABLE_BYTES);
        for (size_t i = 0; i < count; i++)
                outcomes[i] = serial_operation(mine, &(struct operation){ GET, keys[i], 0 });
        outcomes[count] = serial_operation(mine, &(struct operation){ COUNT, 0, 0 });
        return (count + 1) * sizeof(struct outcome);
}

/* ------------------------------------------------------------------ a transaction ends */

/* There A may stand, whatever of its accesses has been seen: what it shares with B is then a conflict. */
struct ended {
        int (*body)(void *arg);
        void *arg;
};

static int ended_body(void *arg)
{
        const struct ended *ended = arg;
        int err = ended->body(ended->arg);
        stops_at_end();
        return err;
}

// NOLINTBEGIN(bugprone-reserved-identifier)

int __real_xac_run(xac_env *env, int flags, int (*body)(void *arg), void *arg);
int __wrap_xac_run(xac_env *env, int flags, int (*body)(void *arg), void *arg);
int __real_xend(xac_env *env);
int __wrap_xend(xac_env *env);

int __wrap_xac_run(xac_env *env, int flags, int (*body)(void *arg), void *arg)
{
        return __real_xac_run(env, flags, ended_body, &(struct ended){ body, arg });
}

int __wrap_xend(xac_env *env)
{
        stops_at_end();
        return __real_xend(env);
}

// NOLINTEND(bugprone-reserved-identifier)

/* ------------------------------------------------------------------ by the code in transactions */

static struct outcome shared_operation(const struct operation *operation)
{
        struct outcome outcome = { 0, false, 0 };
        if (operation->kind == PUT)
                outcome.err = shared_put(env, view, operation->key, operation->value);
        else if (operation->kind == GET)
                outcome.err = shared_get(env, view, operation->key, &outcome.value, &outcome.is_there);
        else if (operation->kind == DELETE)
                outcome.err = shared_delete(env, view, operation->key, &outcome.is_there);
        else
                outcome.err = shared_count(env, view, &outcome.value);
        if (operation->kind == GET && !outcome.is_there)
                outcome.value = 0;
        return outcome;
}

static size_t act_operation(const void *in, size_t in_len, void *out, size_t out_most)
{
        const struct operation *operations = in;
        struct outcome *outcomes = out;
        size_t count = in_len / sizeof(*operations);
        (void)out_most;
        for (size_t i = 0; i < count; i++)
                outcomes[i] = shared_operation(&operations[i]);
        return count * sizeof(*outcomes);
}

static size_t act_meet(const void *in, size_t in_len, void *out, size_t out_most)
{
        open_table(XAC_STRICT);
        stops_watch(view, TABLE_BYTES, false);
        size_t byte_len = act_operation(in, in_len, out, out_most);
        stops_watch(NULL, 0, false);
        environment_close(env);
        return byte_len;
}

static size_t act_open(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in;
        (void)in_len;
        (void)out;
        (void)out_most;
        open_table(0);
        stops_stumble(view, TABLE_BYTES);
        return 0;
}

static size_t act_close(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in;
        (void)in_len;
        (void)out;
        (void)out_most;
        stops_stumble(NULL, 0);
        environment_close(env);
        return 0;
}

host_act *const host_acts[] = {
        [ACT_NEW] = act_new,
        [ACT_SERIAL] = act_serial,
        [ACT_FILL] = act_fill,
        [ACT_INSPECT] = act_inspect,
        [ACT_MEET] = act_meet,
        [ACT_OPEN] = act_open,
        [ACT_OPERATION] = act_operation,
        [ACT_CLOSE] = act_close,
        NULL,
};
