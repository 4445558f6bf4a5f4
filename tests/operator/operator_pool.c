/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_pool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/operator/operator_place.h"
#include "tests/operator/operator_tools.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"

enum { COMMITS_MIN = 5, COMMITS_MORE = 34, AHEAD_PERCENT = 25, AHEAD_S = 7200 };

static struct tools_run run; /* the last one */

struct making {
        struct pool *pool;
        struct chance chance;
        uint32_t number; /* of the session */
        uint32_t first;  /* of those whose log it goes on with */
        bool failed;
};

struct pool *pool_new(void)
{
        struct pool *pool = calloc(1, sizeof(*pool));

        check(pool != NULL);
        pool->record = crew_shared(sizeof(*pool->record));
        pool->kept_record = crew_shared(sizeof(*pool->record));
        return pool;
}

static void fail(struct making *making, const char *what)
{
        printf("making moments: %s%s%s\n", what, run.said_len ? ": " : "", run.said);
        making->failed = true;
}

/* ---- Moments ---- */

static void keep(struct making *making, enum pool_place place, bool is_closed, uint32_t least, uint32_t most)
{
        struct pool *pool = making->pool;
        struct moment *moment = &pool->moment[(making->number - 1) * POOL_PLACES + place];

        moment->session = making->number;
        moment->is_closed = is_closed;
        moment->least = least;
        moment->most = most;
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                moment->pages[file] = atomic_load(&pool->record->pages[file]);
        moment->is_there = image_load(&moment->store, here.store) && image_load(&moment->archive, here.archive);
}

/* What is in the files of a closed environment. */
static int commit_of(struct making *making, const char *directory)
{
        struct history_content content;
        char where[128];

        history_read(directory, &content);
        const int n = history_find(&making->pool->history, &content, where, sizeof(where));
        history_forget(&content);
        if (n < 0)
                fail(making, where);
        return n;
}

static void keep_closed(struct making *making, enum pool_place place)
{
        const int n = commit_of(making, here.store);

        if (n >= 0)
                keep(making, place, true, (uint32_t)n, (uint32_t)n);
}

/* Has it ended, or stopped? Its end is left to be waited for. */
static int state_of(pid_t pid, int options)
{
        siginfo_t state = { .si_pid = 0 };

        check_equal(waitid(P_PID, (id_t)pid, &state, options | WEXITED | WSTOPPED | WNOWAIT), 0);
        return state.si_pid ? state.si_code : 0;
}

/* All of it stands still, as in a power cut. */
static void keep_midway(struct making *making, const struct session *session, pid_t pid, uint32_t commit)
{
        struct leeway left = leeway_of(20000);

        while (atomic_load(&session->record->committed) < commit && !state_of(pid, WNOHANG) && leeway_pause(&left))
                ;
        kill(pid, SIGSTOP);
        if (state_of(pid, 0) == CLD_STOPPED)
                keep(making, POOL_MIDWAY, false, atomic_load(&session->record->durable),
                     atomic_load(&session->record->begun));
        kill(pid, SIGCONT);
}

/* ---- Backups ---- */

static void keep_backup(struct making *making, const char *directory, int after, uint32_t commit)
{
        struct pool *pool = making->pool;
        struct pool_backup *backup = &pool->backup[pool->backups];

        backup->after = after;
        backup->commit = commit;
        backup->session = making->number;
        pool->backups += image_load(&backup->image, directory);
        image_clear(directory);
        remove(directory);
}

/* The environment is closed, and so is the one of the backup before. */
static void make_backup(struct making *making)
{
        struct pool *pool = making->pool;
        int after = -1;

        if (pool->backups == POOL_BACKUPS)
                return;
        for (uint32_t i = 0; i < pool->backups && chance_percent(&making->chance, 60); i++)
                after = (int)i;
        if (after < 0) {
                tools_run(&run, tools_args("backup", here.store, here.made), 0);
        } else {
                check_equal(image_store(&pool->backup[after].image, here.before), 0);
                tools_run(&run, tools_args("backup", "--since", here.before, here.store, here.made), 0);
        }
        if (run.status != TOOLS_DONE)
                fail(making, "a backup");
        else
                keep_backup(making, here.made, after, (uint32_t)commit_of(making, here.store));
}

/* ---- Sessions ---- */

static void lose_shared_memory(struct making *making)
{
        tools_run(&run, tools_args("clean", "--force", here.store), 0);
        if (run.status != TOOLS_DONE)
                fail(making, "clean");
}

static struct session draw_session(struct making *making)
{
        struct pool *pool = making->pool;
        struct chance *chance = &making->chance;
        struct session session = { .history = &pool->history,
                                   .record = pool->record,
                                   .store = here.store,
                                   .archive = here.archive,
                                   .commits = COMMITS_MIN + (uint32_t)chance_below(chance, COMMITS_MORE),
                                   .end = (enum session_end)chance_below(chance, 3),
                                   .changes = (uint32_t)chance_below(chance, 25),
                                   .area_bytes = chance_percent(chance, 50) ? 64 << 10 : 0,
                                   .checkpoint_percent = (unsigned)chance_below(chance, 12),
                                   .seed = chance_next(chance) };

        if (!pool->is_ahead && making->number > 1 && making->number < POOL_SESSIONS / 2 &&
            chance_percent(chance, AHEAD_PERCENT)) {
                session.ahead_s = AHEAD_S;
                pool->is_ahead = true;
        }
        if (making->number == POOL_SESSIONS)
                session.end = SESSION_CLOSES;
        return session;
}

static void end_session(struct making *making, const struct session *session, int status)
{
        struct session_record *record = session->record;

        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                keep_closed(making, POOL_END);
                if (chance_percent(&making->chance, 60)) {
                        make_backup(making);
                        keep_closed(making, POOL_AFTER_BACKUP);
                }
        } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && session->end != SESSION_CLOSES) {
                keep(making, POOL_END, false, atomic_load(&record->durable), atomic_load(&record->begun));
                if (chance_percent(&making->chance, 70))
                        lose_shared_memory(making);
                else
                        return;
        } else {
                run.said_len = 0;
                fail(making, "a session ended with an error");
        }
        making->first = making->number + 1;
}

static void live_once(struct making *making)
{
        const struct session session = draw_session(making);
        const uint32_t before = atomic_load(&session.record->committed);
        const uint32_t midway = before + 1 + (uint32_t)chance_below(&making->chance, session.commits);
        const pid_t pid = session_start(&session);

        if (chance_percent(&making->chance, 60))
                keep_midway(making, &session, pid, midway);
        const int status = crew_status(pid);
        for (uint32_t i = making->first; i <= making->number; i++)
                making->pool->last[i] = atomic_load(&session.record->begun);
        end_session(making, &session, status);
        if (session.ahead_s) {
                making->pool->ahead_first = before + 1;
                making->pool->ahead_last = atomic_load(&session.record->begun);
        }
}

bool pool_make(struct pool *pool, uint64_t seed)
{
        struct making making = { .pool = pool, .first = 1 };

        place_reset();
        image_forget(0);
        memset(pool->record, 0, sizeof(*pool->record));
        memset(pool->moment, 0, sizeof(pool->moment));
        pool->moments = POOL_MOMENTS;
        pool->backups = 0;
        pool->is_ahead = false;
        history_make(&pool->history, seed);
        tools_run(&run, tools_args("clean", "--force", here.store), 0);
        for (making.number = 1; making.number <= POOL_SESSIONS && !making.failed; making.number++) {
                making.chance.state = chance_mix(seed ^ chance_mix(making.number));
                live_once(&making);
        }
        return !making.failed;
}

/* The one that is drawn, or the first there is behind it. */
const struct moment *pool_draw(const struct pool *pool, struct chance *chance)
{
        uint64_t i = chance_below(chance, POOL_MOMENTS);

        while (!pool->moment[i].is_there)
                i = (i + 1) % POOL_MOMENTS;
        return &pool->moment[i];
}

/* ---- One that goes on ---- */

static void swap_records(struct pool *pool)
{
        struct session_record *record = pool->record;

        pool->record = pool->kept_record;
        pool->kept_record = record;
}

const struct moment *pool_go_on(struct pool *pool, const struct moment *from, struct chance *chance)
{
        struct moment *moment = &pool->moment[pool->moments];
        struct session session = { .history = &pool->history,
                                   .store = here.store,
                                   .archive = here.archive,
                                   .commits = 1 + (uint32_t)chance_below(chance, 6),
                                   .end = chance_percent(chance, 40) ? SESSION_DIES_WRITING : SESSION_IS_KILLED,
                                   .changes = (uint32_t)chance_below(chance, 20),
                                   .seed = chance_next(chance) };

        memcpy(pool->kept_record, pool->record, sizeof(*pool->record));
        swap_records(pool);
        session.record = pool->record;
        atomic_store(&session.record->durable, from->least);
        atomic_store(&session.record->begun, from->most);
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                atomic_store(&session.record->pages[file], from->pages[file]);
        const int status = crew_status(session_start(&session));
        const bool is_closed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!is_closed && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
                swap_records(pool);
                return NULL;
        }
        moment->session = from->session;
        moment->is_closed = is_closed;
        moment->least = atomic_load(&session.record->durable);
        moment->most = atomic_load(&session.record->begun);
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                moment->pages[file] = atomic_load(&session.record->pages[file]);
        check(image_load(&moment->store, here.store) && image_load(&moment->archive, here.archive));
        if (is_closed)
                moment->least = moment->most = atomic_load(&session.record->committed);
        moment->is_there = true;
        pool->moments++;
        return moment;
}

void pool_go_back(struct pool *pool)
{
        pool->moments--;
        swap_records(pool);
}
