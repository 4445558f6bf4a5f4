/* SPDX-License-Identifier: MIT */

/*
 * xac serve where /dev/shm is full before the pool is as large as it may be: a client that takes nothing of its
 * response does not keep transactions from finding room.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include <xac/send.h>

#include "tests/support/leeway.h"
#include "tests/support/own_shm.h"
#include "tests/tools/tool.h"

#define MIB (UINT64_C(1) << 20)

enum {
        PAGE = 4096,
        PAGES = 8192,    /* 32 MiB: more than there is memory for */
        POOL_MIB = 64,   /* of a /dev/shm of 128 */
        LEFT_MIB = 16,   /* for it, after others have come */
        RECORDS = 20000, /* more than a socket takes */
        VALUE_BYTES = 200,
        PATIENCE_MS = 4000 /* of a transaction; moments get 60 s old */
};

static xac_env *env;

static void make_tree(void)
{
        const xac_options options = { .pool_bytes = POOL_MIB * MIB };
        char key[20], value[VALUE_BYTES] = "value";
        xac_arena *arena;
        xac_tree *tree;

        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        check_ok(xac_arena_open_env(env, "words", XAC_ARENA_DECLARED, &arena));
        check_ok(xac_tree_open(arena, "english", XAC_TREE_CREATE, NULL, &tree));
        check_ok(xbegin(env, 0));
        for (int i = 0; i < RECORDS; i++) {
                const int key_len = snprintf(key, sizeof(key), "key%06d", i);

                check_ok(xac_tree_put(tree, key, (size_t)key_len, value, sizeof(value), 0));
        }
        check_ok(xend(env));
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
}

static pid_t start_server(void)
{
        char line[400];
        int ends[2];

        check_ok(pipe2(ends, O_CLOEXEC));
        const pid_t pid = tool_start(
                tool_args("serve", "--deadline-ms=1000000", "--rest-total=1024", TOOL_ENV, scratch_path("socket")),
                ends[1]);
        close(ends[1]);
        check(read(ends[0], line, sizeof(line)) > 0);
        close(ends[0]);
        return pid;
}

/* Of whom the server holds a snapshot. */
static int ask_and_take_nothing(void)
{
        const xac_send_request request = { .file = "words", .tree = "english", .way = XAC_SEND_GATHER };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        unsigned char bytes[XAC_SEND_REQUEST_MAX];
        size_t byte_len;
        char byte;

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", scratch_path("socket"));
        check_ok(connect(client, (const struct sockaddr *)&address, sizeof(address)));
        check_ok(xac_send_request_encode(&request, bytes, sizeof(bytes), &byte_len));
        check_equal(send(client, bytes, byte_len, MSG_NOSIGNAL), byte_len);
        check_equal(recv(client, &byte, 1, 0), 1);
        return client;
}

/* Others take what is left of /dev/shm. */
static void fill_memory(void)
{
        const int fd = open("/dev/shm/others", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        struct statvfs space;

        check(fd >= 0);
        check_ok(statvfs("/dev/shm", &space));
        check_ok(posix_fallocate(fd, 0, (off_t)(space.f_bavail * space.f_bsize - LEFT_MIB * MIB)));
        close(fd);
}

static int write_page(char *bytes, unsigned page)
{
        check_ok(xbegin(env, XAC_NOSYNC));
        char *byte = xac_page_write(env, bytes + (size_t)page * PAGE);
        if (byte)
                *byte = 1;
        return xend(env);
}

/* Each page finds room, if not at once. */
static void write_all(void)
{
        char *bytes = xac_mmap(env, "bytes", (size_t)PAGES * PAGE, 0);

        check(bytes != MAP_FAILED);
        for (unsigned i = 0; i < PAGES; i++) {
                struct leeway left = leeway_of(PATIENCE_MS);
                int err;

                while ((err = write_page(bytes, i)) == XAC_FULL && leeway_pause(&left))
                        ;
                if (err)
                        check_failed(__FILE__, __LINE__, "page %u: %d", i, err);
        }
}

static void its_moments_are_in_nobodys_way(void)
{
        own_shm("128m");
        make_tree();
        const pid_t server = start_server();
        const int client = ask_and_take_nothing();
        fill_memory();
        write_all();
        close(client);
        check_ok(kill(server, SIGTERM));
        crew_join(server);
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_timed(its_moments_are_in_nobodys_way, 120),
        };

        return cmocka_run_group_tests_name("xac serve and /dev/shm", tests, NULL, NULL);
}
