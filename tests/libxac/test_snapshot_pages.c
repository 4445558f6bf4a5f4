/* SPDX-License-Identifier: MIT */

/*
 * Pages of snapshots where they lie: they are the snapshot's, whoever changes the file, and those that were lent to the
 * kernel stay so for the kernel when their process has been killed.
 */

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/libxac/snapshot_stand.h"
#include "tests/support/chance.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"

enum { PAGE = 4096, PAGES = 60, SNAPSHOTS = 8 };

static const struct stand small = { .stamped = { 1, PAGE, PAGES } };

static xac_snapshot_file find(xac_snapshot *snapshot)
{
        xac_snapshot_file file;

        check_ok(xac_snapshot_find(snapshot, "stamped", &file));
        check_equal(file.page_bytes, PAGE);
        check(file.pages >= PAGES);
        return file;
}

/* ---- as of the snapshot ---- */

/* The number of the change that all pages are of. */
static uint64_t check_pages(struct stand *stand, xac_snapshot *snapshot)
{
        static char bytes[PAGES * PAGE];
        const xac_snapshot_file file = find(snapshot);

        for (uint64_t page = 0; page < PAGES; page++)
                memcpy(bytes + page * PAGE, xac_snapshot_page(snapshot, file.number, page), PAGE);
        return stamped_check(&stand->model, bytes);
}

static void pages_are_as_of_their_snapshot(int way)
{
        struct stand stand = small;
        xac_snapshot *snapshots[SNAPSHOTS] = { NULL };
        uint64_t numbers[SNAPSHOTS];
        struct chance chance = { chance_seed() };

        stand.way = way;
        stand_open(&stand);
        for (int round = 0; round < 400; round++) {
                const unsigned i = (unsigned)chance_below(&chance, SNAPSHOTS);
                const uint64_t number = stand_commits(&stand, 1 + (unsigned)chance_below(&chance, 4));

                if (chance_percent(&chance, 10))
                        check_ok(xac_checkpoint(stand.env));
                if (snapshots[i]) {
                        check_equal(check_pages(&stand, snapshots[i]), numbers[i]);
                        check_ok(xac_snapshot_close(snapshots[i]));
                }
                snapshots[i] = stand_snapshot(&stand, 0);
                numbers[i] = number;
        }
        for (unsigned i = 0; i < SNAPSHOTS; i++)
                if (snapshots[i]) {
                        check_equal(check_pages(&stand, snapshots[i]), numbers[i]);
                        check_ok(xac_snapshot_close(snapshots[i]));
                }
        stand_close(&stand);
}

/* The pages of both stay in one place as long as they are the same. */
static void what_has_not_changed_is_in_one_place(void)
{
        struct stand stand = small;
        xac_snapshot *older, *newer;
        int same = 0;

        stand_open(&stand);
        stand_commits(&stand, 30);
        older = stand_snapshot(&stand, 0);
        stand_commit(&stand);
        newer = stand_snapshot(&stand, 0);
        for (uint64_t page = 0; page < PAGES; page++) {
                const void *before = xac_snapshot_page(older, find(older).number, page);
                const void *now = xac_snapshot_page(newer, find(newer).number, page);

                check(before != now || !memcmp(before, now, PAGE));
                same += before == now;
        }
        check(same > 0 && same < PAGES);
        check_ok(xac_snapshot_close(older));
        check_ok(xac_snapshot_close(newer));
        stand_close(&stand);
}

static void wrong_arguments_are_told(void)
{
        struct stand stand = small;
        xac_snapshot_file file;
        xac_snapshot *snapshot;

        stand_open(&stand);
        snapshot = stand_snapshot(&stand, 0);
        check_code(xac_snapshot_find(NULL, "stamped", &file), -EINVAL);
        check_code(xac_snapshot_find(snapshot, NULL, &file), -EINVAL);
        check_code(xac_snapshot_find(snapshot, "stamped", NULL), -EINVAL);
        check_code(xac_snapshot_find(snapshot, "none", &file), -ENOENT);
        check_code(xac_snapshot_lend(NULL, snapshot), -EINVAL);
        check_code(xac_snapshot_lend(snapshot, &file), -EINVAL);
        check_code(xac_snapshot_lend(snapshot, NULL), -EINVAL);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

static void pages_at_home_are_not_lent(void)
{
        struct stand stand = small;
        xac_snapshot *snapshot;
        int lent = 0;

        stand_open(&stand);
        stand_commits(&stand, 30);
        check_ok(xac_checkpoint(stand.env));
        stand_commit(&stand);
        snapshot = stand_snapshot(&stand, 0);
        for (uint64_t page = 0; page < PAGES; page++) {
                const void *bytes = xac_snapshot_page(snapshot, find(snapshot).number, page);
                int err = xac_snapshot_lend(snapshot, bytes);

                check(err == 0 || err == -EINVAL);
                lent += err == 0;
                if (!err)
                        xac_snapshot_take_back(snapshot, bytes);
        }
        check(lent > 0 && lent < PAGES);
        check_ok(xac_snapshot_close(snapshot));
        stand_close(&stand);
}

/* ---- what the kernel has ---- */

/* How the pages get into the kernel: told to send a page, it says how many bytes it took. */
struct channel {
        int from, to;
        ssize_t (*send)(int to, const void *page);
};

static ssize_t send_by_pipe(int to, const void *page)
{
        const struct iovec part = { (void *)page, PAGE };

        return vmsplice(to, &part, 1, SPLICE_F_NONBLOCK);
}

static ssize_t send_by_socket(int to, const void *page)
{
        return send(to, page, PAGE, MSG_ZEROCOPY | MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void make_pipe(struct channel *channel)
{
        int ends[2];

        check_ok(pipe(ends));
        check(fcntl(ends[1], F_SETPIPE_SZ, PAGES * PAGE) >= PAGES * PAGE);
        *channel = (struct channel){ ends[0], ends[1], send_by_pipe };
}

/* The reader's buffer is small, so that most stays where it is until he reads. False: the kernel has no MSG_ZEROCOPY.
 */
static bool make_socket(struct channel *channel)
{
        const struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        const int listener = socket(AF_INET, SOCK_STREAM, 0), small_bytes = 4 * PAGE, large_bytes = 4 * PAGES * PAGE,
                  yes = 1;
        struct sockaddr_in address;
        socklen_t length = sizeof(address);

        *channel = (struct channel){ -1, socket(AF_INET, SOCK_STREAM, 0), send_by_socket };
        check(listener >= 0 && channel->to >= 0);
        check_ok(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small_bytes, sizeof(small_bytes)));
        check_ok(setsockopt(channel->to, SOL_SOCKET, SO_SNDBUF, &large_bytes, sizeof(large_bytes)));
        check_ok(bind(listener, (const struct sockaddr *)&any, sizeof(any)));
        check_ok(listen(listener, 1));
        check_ok(getsockname(listener, (struct sockaddr *)&address, &length));
        check_ok(connect(channel->to, (const struct sockaddr *)&address, length));
        channel->from = accept(listener, NULL, NULL);
        check(channel->from >= 0);
        check_ok(close(listener));
        return setsockopt(channel->to, SOL_SOCKET, SO_ZEROCOPY, &yes, sizeof(yes)) == 0;
}

struct sending {
        struct channel channel;
        int pages[2]; /* a pipe: numbers of those that were sent */
};

/* All pages that may be lent, and then the end. */
static void send_and_die(int unused, void *sending_)
{
        const struct sending *sending = sending_;
        xac_snapshot *snapshot;
        xac_env *env;

        (void)unused;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        for (uint64_t page = 0; page < PAGES; page++) {
                const void *bytes = xac_snapshot_page(snapshot, find(snapshot).number, page);

                if (xac_snapshot_lend(snapshot, bytes))
                        continue;
                if (sending->channel.send(sending->channel.to, bytes) != PAGE)
                        break;
                check_equal(write(sending->pages[1], &page, sizeof(page)), sizeof(page));
        }
        check_ok(kill(getpid(), SIGKILL));
}

static void read_all(int from, void *bytes, size_t byte_len)
{
        for (size_t done = 0; done < byte_len;) {
                ssize_t some = read(from, (char *)bytes + done, byte_len - done);

                check(some > 0);
                done += (size_t)some;
        }
}

/* Everything that was sent is of that change. */
static void check_sent(struct stand *stand, const struct sending *sending, uint64_t number)
{
        static char bytes[PAGES * PAGE];
        uint64_t page, count = 0;

        memcpy(bytes, &number, sizeof(number)); /* as it stands in page 0, which may not be among them */
        for (; read(sending->pages[0], &page, sizeof(page)) == sizeof(page); count++) {
                read_all(sending->channel.from, bytes + page * PAGE, PAGE);
                check_equal(stamped_number(bytes), number);
                stamped_check_pages(&stand->model, bytes, (uint32_t)page, 1);
        }
        check(count > PAGES / 4);
}

/* Who opens an environment takes over what the dead had: the snapshot ends. */
static void open_and_close(int unused, void *nothing)
{
        xac_env *env;

        (void)unused;
        (void)nothing;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        check_ok(xac_close(env));
}

/* Every slot is used again, by commits of others and checkpoints between them. */
static void what_was_sent_stays_as_it_was(struct channel channel)
{
        struct stand stand = small;
        struct sending sending = { .channel = channel };
        uint64_t number;
        pid_t pid;

        stand.pool_bytes = 1 << 20;
        stand_open(&stand);
        number = stand_commits(&stand, 40);
        check_ok(pipe(sending.pages));
        pid = crew_fork(send_and_die, 0, &sending);
        check(WIFSIGNALED(crew_status(pid)));
        check_ok(close(sending.pages[1]));
        crew_processes(1, open_and_close, NULL);
        for (int i = 0; i < 300; i++) {
                stand_commit(&stand);
                if (i % 20 == 0)
                        check_ok(xac_checkpoint(stand.env));
        }
        check_sent(&stand, &sending, number);
        stand_close(&stand);
}

static void what_a_pipe_has_stays_as_it_was(void)
{
        struct channel channel;

        make_pipe(&channel);
        what_was_sent_stays_as_it_was(channel);
}

static void what_a_socket_has_stays_as_it_was(void)
{
        struct channel channel;

        if (make_socket(&channel))
                what_was_sent_stays_as_it_was(channel);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(pages_are_as_of_their_snapshot),
                isolated_test(what_has_not_changed_is_in_one_place),
                isolated_test(wrong_arguments_are_told),
                isolated_test(pages_at_home_are_not_lent),
                isolated_test(what_a_pipe_has_stays_as_it_was),
                isolated_test(what_a_socket_has_stays_as_it_was),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
