/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"

enum { LIMIT_S = 60, NOSYNC_PERCENT = 15, REFUSED = 77 };

static xac_env *env;
static unsigned char *view[HISTORY_FILES];

/* ---- The clock ---- */

static int64_t clock_ahead_s;

/* The linker's names (--wrap). NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);
/* NOLINTEND(bugprone-reserved-identifier) */

/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
        const int err = __real_clock_gettime(id, now);

        if (id == CLOCK_REALTIME)
                now->tv_sec += clock_ahead_s;
        return err;
}

uint64_t session_clock_ns(int64_t ahead_s)
{
        struct timespec now;

        __real_clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t)(now.tv_sec + ahead_s) * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Death in the middle of what it writes ---- */

static _Atomic int64_t changes_left = INT64_MAX;

static void die_in_time(const struct sys_change *change)
{
        if (!change->is_done && atomic_fetch_sub(&changes_left, 1) == 0)
                kill(getpid(), SIGKILL);
}

/* ---- Commits ---- */

static void map_file(const struct session *session, unsigned file, uint32_t pages)
{
        const size_t byte_len = (size_t)pages * HISTORY_PAGE;

        if (view[file])
                check_ok(xac_munmap(env, view[file]));
        view[file] = xac_mmap(env, history_file[file], byte_len, 0);
        check(view[file] != MAP_FAILED);
        if (atomic_load(&session->record->pages[file]) < pages)
                atomic_store(&session->record->pages[file], pages);
}

static void grow(const struct session *session, uint32_t k)
{
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                if (!view[file] || history_pages(file, k) > history_pages(file, k - 1))
                        map_file(session, file, history_pages(file, k));
}

static void write_slots(const struct history *history, uint32_t k)
{
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                for (uint32_t page = 0; page < history_pages(file, k); page++)
                        for (uint32_t slot = 0; slot < HISTORY_SLOTS; slot++) {
                                unsigned char *bytes;

                                if (history->writer[k][file][page][slot] != k)
                                        continue;
                                bytes = xac_page_write(env, view[file] + (size_t)page * HISTORY_PAGE);
                                check(bytes != NULL);
                                history_fill(history, k, file, page, slot, bytes + (size_t)slot * HISTORY_SLOT);
                        }
}

/* All up to k are on disk now. */
static void note_durable(struct session_record *record, uint32_t k, int64_t ahead_s)
{
        const uint64_t now_ns = session_clock_ns(ahead_s);

        for (uint32_t i = k; i > 0 && record->commit[i].durable_ns == UINT64_MAX; i--)
                record->commit[i].durable_ns = now_ns;
        atomic_store(&record->durable, k);
}

static void commit(const struct session *session, uint32_t k, bool is_waited_for)
{
        struct session_record *record = session->record;
        xac_stats stats;

        grow(session, k);
        record->commit[k] =
                (struct session_commit){ .begun_ns = session_clock_ns(session->ahead_s), .durable_ns = UINT64_MAX };
        atomic_store(&record->begun, k);
        check_ok(xbegin(env, is_waited_for ? 0 : XAC_NOSYNC));
        write_slots(session->history, k);
        check_ok(xend(env));
        check_ok(xac_stat(env, &stats));
        record->commit[k].sequence = stats.sequence;
        atomic_store(&record->committed, k);
        if (is_waited_for)
                note_durable(record, k, session->ahead_s);
}

/* How far the history is. */
static uint32_t newest(const struct session *session)
{
        const uint64_t *word;
        uint32_t k;

        map_file(session, 0, history_pages(0, atomic_load(&session->record->begun)));
        check_ok(xbegin(env, XAC_RDONLY));
        word = xac_page_read(env, view[0]);
        check(word != NULL);
        k = (uint32_t)*word;
        check_ok(xend(env));
        return k;
}

static void commit_all(const struct session *session)
{
        struct chance chance = { session->seed };
        const uint32_t before = newest(session);

        check_ok(xac_munmap(env, view[0]));
        view[0] = NULL;
        for (uint32_t k = before + 1; k <= before + session->commits && k <= HISTORY_COMMITS; k++) {
                const bool is_last = k == before + session->commits || k == HISTORY_COMMITS;

                if (is_last && session->end == SESSION_DIES_WRITING)
                        atomic_store(&changes_left, session->changes);
                commit(session, k, !chance_percent(&chance, NOSYNC_PERCENT));
                if (chance_percent(&chance, session->checkpoint_percent) ||
                    (is_last && session->end == SESSION_DIES_WRITING))
                        check_ok(xac_checkpoint(env));
        }
}

static void live(int unused, void *session_)
{
        const struct session *session = session_;
        const xac_options options = { .log_bytes = 256 << 10,
                                      .pool_bytes = 4 << 20,
                                      .reserve_bytes = 1 << 20,
                                      .area_bytes = session->area_bytes,
                                      .archive = session->archive };

        (void)unused;
        crew_limit_s(LIMIT_S);
        clock_ahead_s = session->ahead_s;
        sys_record = die_in_time;
        const int err = xac_open(session->store, session->commits ? XAC_CREATE : 0, &options, &env);
        if (err) {
                dprintf(STDERR_FILENO, "refused %d\n", err);
                crew_exit(REFUSED);
        }
        if (session->commits)
                commit_all(session);
        if (session->end == SESSION_IS_KILLED)
                kill(getpid(), SIGKILL);
        check_ok(xac_close(env));
        if (session->commits)
                note_durable(session->record, atomic_load(&session->record->committed), session->ahead_s);
}

/* ---- From outside ---- */

pid_t session_start(const struct session *session)
{
        struct session same = *session;

        return crew_fork(live, 0, &same);
}

static void live_with_stderr(int to, void *session)
{
        dup2(to, STDERR_FILENO);
        live(0, session);
}

int session_run(const struct session *session, int *code, char *line, size_t line_len)
{
        struct session same = *session;
        char said[4096];
        size_t len = 0;
        int ends[2];

        check_equal(pipe2(ends, O_CLOEXEC), 0);
        const pid_t pid = crew_fork(live_with_stderr, ends[1], &same);
        close(ends[1]);
        for (ssize_t part; len < sizeof(said) - 1 && (part = read(ends[0], said + len, sizeof(said) - 1 - len)) > 0;)
                len += (size_t)part;
        said[len] = '\0';
        close(ends[0]);
        const int status = crew_status(pid);
        const char *refused = strstr(said, "refused ");
        *code = refused ? atoi(refused + strlen("refused ")) : 0;
        snprintf(line, line_len, "%s", refused == said ? "" : said);
        if (WIFSIGNALED(status))
                return 128 + WTERMSIG(status);
        return WEXITSTATUS(status) == REFUSED ? 1 : WEXITSTATUS(status);
}
