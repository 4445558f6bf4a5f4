/* SPDX-License-Identifier: MIT */

/*
 * xac get beside a server that does not do what docs/SEND.md says: it takes no wrong response, and waits for none.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/send.h>

#include "recovery/manifest.h"
#include "send/send_list.h"
#include "tests/send/stream.h"
#include "tests/tools/tool.h"

enum { PAGE = 4096, PAGES = 3 };

static const struct send_begin pages_begin = { .sequence = 5, .page_bytes = PAGE };

/* ---- A server for one client ---- */

static int listening = -1;

static void listen_there(void)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", scratch_path("socket"));
        unlink(address.sun_path);
        listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        check(listening >= 0);
        check_ok(bind(listening, (const struct sockaddr *)&address, sizeof(address)));
        check_ok(listen(listening, 1));
}

static int accept_and_take_request(void)
{
        const int client = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
        char request[XAC_SEND_REQUEST_MAX];

        check(client >= 0);
        check(recv(client, request, sizeof(request), 0) > 0);
        return client;
}

/* The client's exit status; what it said is in `tool`, and what it printed in the file "out". */
static int get(const char *const *args, const struct stream *stream, bool is_held_open)
{
        const int out = open(scratch_path("out"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        int status;

        check(out >= 0);
        listen_there();
        const pid_t pid = tool_start(args, out);
        const int client = accept_and_take_request();
        check_equal(send(client, stream->bytes, stream->len, MSG_NOSIGNAL), stream->len);
        if (!is_held_open)
                close(client);
        check_equal(waitpid(pid, &status, 0), pid);
        if (is_held_open)
                close(client);
        close(listening);
        check(WIFEXITED(status));
        tool.said_len = (size_t)pread(out, tool.said, sizeof(tool.said) - 1, 0);
        tool.said[tool.said_len] = '\0';
        close(out);
        return WEXITSTATUS(status);
}

static int get_pages(const struct stream *stream)
{
        return get(tool_args("get", "--timeout=30", scratch_path("socket"), "file"), stream, false);
}

/* ---- Responses of pages ---- */

static void put_pages(struct stream *stream, uint64_t first, uint32_t count)
{
        static char page[PAGE];
        const uint64_t number = send_u64(first);

        memset(page, 'p', sizeof(page));
        stream_frame(stream, SEND_FILE, count, sizeof(number) + (uint64_t)count * PAGE);
        stream_add(stream, &number, sizeof(number));
        for (uint32_t i = 0; i < count; i++)
                stream_add(stream, page, sizeof(page));
}

static void put_good(struct stream *stream)
{
        stream_begin(stream, &pages_begin, NULL, NULL);
        put_pages(stream, 0, 2);
        put_pages(stream, 2, 1);
        stream_end(stream, 0);
}

static void a_right_one_is_printed(void)
{
        struct stream stream = { 0 };

        put_good(&stream);
        check_equal(get_pages(&stream), 0);
        check_equal(scratch_file_size(scratch_path("out")), PAGES * PAGE);
        stream_free(&stream);
}

static void one_that_ends_early_is_an_error(void)
{
        struct stream stream = { 0 };

        put_good(&stream);
        for (size_t len = 0; len < stream.len; len += len < 100 || len + 100 > stream.len ? 1 : 997) {
                const struct stream part = { .bytes = stream.bytes, .len = len };

                check_equal(get_pages(&part), 1);
        }
        stream_free(&stream);
}

static void begin_with(struct stream *stream, uint64_t sequence, uint64_t base, uint32_t page_bytes, uint32_t from_len)
{
        const struct send_begin begin = {
                .sequence = sequence, .base_sequence = base, .page_bytes = page_bytes, .from_len = from_len
        };

        stream_begin(stream, &begin, "k", NULL);
        put_pages(stream, 0, 1);
        stream_end(stream, 0);
}

static void put_end(struct stream *stream, uint64_t records, uint64_t flags)
{
        const struct send_end end = send_end_order((struct send_end){ records, flags });

        stream_frame(stream, SEND_END, 0, sizeof(end));
        stream_add(stream, &end, sizeof(end));
}

/* Each of these is right but for one thing. */

static bool put_wrong_begin(struct stream *stream, unsigned which)
{
        static const struct {
                uint64_t sequence, base;
                uint32_t page_bytes, from_len;
        } begins[] = { { 5, 0, 0, 0 },     { 5, 0, 2048, 0 },   { 5, 0, 4095, 0 },
                       { 5, 0, 12288, 0 }, { 5, 0, 131072, 0 }, { 5, 0, UINT32_MAX, 0 },
                       { 0, 0, PAGE, 0 },  { 5, 4, PAGE, 0 },   { 5, 0, PAGE, 1 } };

        if (which >= sizeof(begins) / sizeof(begins[0]))
                return false;
        begin_with(stream, begins[which].sequence, begins[which].base, begins[which].page_bytes,
                   begins[which].from_len);
        return true;
}

/* Pages that are not those that come next. */
static bool put_wrong_pages(struct stream *stream, unsigned which)
{
        static const struct {
                uint64_t first;
                uint32_t count;
        } pages[][2] = { { { 1, 2 } }, { { UINT64_C(1) << 60, 1 } }, { { 0, 2 }, { 3, 1 } }, { { 0, 2 }, { 1, 1 } } };

        if (which >= sizeof(pages) / sizeof(pages[0]))
                return false;
        stream_begin(stream, &pages_begin, NULL, NULL);
        for (unsigned i = 0; i < 2 && pages[which][i].count; i++)
                put_pages(stream, pages[which][i].first, pages[which][i].count);
        stream_end(stream, 0);
        return true;
}

static bool put_wrong_frame(struct stream *stream, unsigned which)
{
        static const struct send_frame frames[] = {
                { SEND_BEGIN, 0, sizeof(struct send_begin) },
                { SEND_BEGIN, 0, sizeof(struct send_begin) - 8 },
                { SEND_FILE, 0, sizeof(uint64_t) },
                { SEND_FILE, 3, sizeof(uint64_t) + 2 * PAGE },
                { SEND_FILE, 1, sizeof(uint64_t) + PAGE + 1 },
                { SEND_FILE, 1, 7 },
                { SEND_FILE, UINT32_MAX, sizeof(uint64_t) + (uint64_t)UINT32_MAX * PAGE },
                { SEND_RECORDS, 1, PAGE },
                { SEND_PAGES, 1, PAGE },
                { SEND_KEEP, 0, 0 },
                { 0, 0, 0 },
                { 99, 0, UINT64_MAX },
                { SEND_END, 0, 8 },
                { SEND_END, 1, 16 },
                { SEND_ERROR, 0, 3 },
                { SEND_ERROR, 0, SEND_ERROR_BYTES + SEND_MESSAGE_MAX + 1 },
                { SEND_ERROR, 1, SEND_ERROR_BYTES },
        };

        if (which >= sizeof(frames) / sizeof(frames[0]))
                return false;
        stream_begin(stream, &pages_begin, NULL, NULL);
        stream_frame(stream, frames[which].kind, frames[which].count, frames[which].byte_len);
        put_pages(stream, 0, 1); /* as if nothing were wrong */
        stream_end(stream, 0);
        return true;
}

static bool put_wrong_end(struct stream *stream, unsigned which)
{
        const uint64_t ends[][2] = { { 1, 0 }, { 0, SEND_IS_CUT }, { 0, 2 } };

        if (which >= sizeof(ends) / sizeof(ends[0]))
                return false;
        stream_begin(stream, &pages_begin, NULL, NULL);
        put_end(stream, ends[which][0], ends[which][1]);
        return true;
}

static bool put_no_begin(struct stream *stream, unsigned which)
{
        if (which == 0)
                put_pages(stream, 0, 1);
        stream_end(stream, 0);
        return which < 2;
}

static void wrong_ones_are_refused(void)
{
        static bool (*const put[])(struct stream * stream, unsigned which) = { put_wrong_begin, put_wrong_pages,
                                                                               put_wrong_frame, put_wrong_end,
                                                                               put_no_begin };

        for (unsigned of = 0; of < sizeof(put) / sizeof(put[0]); of++) {
                bool is_one = true;

                for (unsigned which = 0; is_one; which++) {
                        struct stream stream = { 0 };

                        is_one = put[of](&stream, which);
                        if (is_one && get_pages(&stream) != 1)
                                check_failed(__FILE__, __LINE__, "wrong response %u.%u was taken", of, which);
                        stream_free(&stream);
                }
        }
}

/* ---- Errors ---- */

/* No code of the library's own comes from outside, but what may be wrong with an environment. */
static void an_error_is_told_if_it_can_be_one(void)
{
        static const struct {
                int number;
                const char *words;
        } errors[] = { { -ENOENT, "No such file" },        { -ENOSPC, "no space left" },    { XAC_CORRUPT, "damaged" },
                       { XAC_CONFLICT, "Protocol error" }, { XAC_NOTXN, "Protocol error" }, { -4096, "Protocol error" },
                       { INT32_MIN, "Protocol error" },    { 0, "Protocol error" },         { 7, "Protocol error" } };

        for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
                static const char *const trees[] = { NULL, "tree" };

                for (unsigned tree = 0; tree < 2; tree++) {
                        struct stream stream = { 0 };

                        stream_error(&stream, errors[i].number, "\x1b[2J");
                        check_equal(get(tool_args("get", scratch_path("socket"), "file", trees[tree]), &stream, false),
                                    1);
                        check_said(errors[i].words);
                        check_not_said("\x1b");
                        stream_free(&stream);
                }
        }
}

/* ---- Waiting ---- */

static void nobody_waits_for_ever(void)
{
        static const char *const calls[][3] = { { "file" }, { "file", "tree" }, { "--list" } };
        struct stream stream = { 0 };

        put_good(&stream);
        for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
                const struct stream part = { .bytes = stream.bytes, .len = i ? 0 : stream.len - 20 };
                const char *const list = strcmp(calls[i][0], "--list") == 0 ? calls[i][0] : "--timeout=0.2";

                check_equal(get(tool_args("get", "--timeout=0.2", list, scratch_path("socket"),
                                          list == calls[i][0] ? NULL : calls[i][0], calls[i][1]),
                                &part, true),
                            1);
                check_said("timed out");
        }
        stream_free(&stream);
}

/* A process that gives a byte now and then, until nobody takes it. */
static pid_t drip(int client, const struct stream *stream)
{
        const pid_t pid = fork();

        check(pid >= 0);
        for (size_t i = 0; pid == 0; i++) {
                if (send(client, &stream->bytes[i % stream->len], 1, MSG_NOSIGNAL) != 1)
                        _exit(0);
                usleep(10000);
        }
        return pid;
}

/* Its exit status, beside such a server. */
static int get_from_dripper(const char *const *args, const struct stream *stream)
{
        const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int status;

        listen_there();
        const pid_t pid = tool_start(args, out);
        const int client = accept_and_take_request();
        const pid_t dripper = drip(client, stream);
        close(client);
        check_equal(waitpid(pid, &status, 0), pid);
        check_equal(waitpid(dripper, NULL, 0), dripper);
        close(listening);
        close(out);
        check(WIFEXITED(status));
        return WEXITSTATUS(status);
}

/* The stream is long enough for minutes. */
static void a_byte_now_and_then_does_not_hold_it(void)
{
        static const char *const calls[][3] = { { "file" }, { "file", "tree" } };
        struct stream stream = { 0 };

        put_good(&stream);
        for (unsigned i = 0; i < 2; i++)
                check_equal(get_from_dripper(
                                    tool_args("get", "--timeout=0.3", scratch_path("socket"), calls[i][0], calls[i][1]),
                                    &stream),
                            1);
        check_equal(
                get_from_dripper(tool_args("get", "--timeout=1000", "--max-time=0.3", scratch_path("socket"), "file"),
                                 &stream),
                1);
        stream_free(&stream);
}

/* ---- Lists ---- */

static void put_listed(struct stream *stream, const char *file, const char *tree, uint64_t pages)
{
        struct send_listed listed = { .pages = pages, .page_bytes = PAGE };
        unsigned char bytes[sizeof(struct send_frame) + SEND_LISTED_MAX];

        snprintf(listed.file, sizeof(listed.file), "%s", file);
        snprintf(listed.tree, sizeof(listed.tree), "%s", tree);
        stream_add(stream, bytes, send_listed_encode(&listed, bytes));
}

static void put_files(struct stream *stream, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                char name[20];

                snprintf(name, sizeof(name), "file%u", i);
                put_listed(stream, name, "", 2);
                put_listed(stream, name, "one", 2);
                put_listed(stream, name, "two", 2);
        }
}

static int get_the_list(struct stream *stream)
{
        stream_end(stream, 0);
        const int status = get(tool_args("get", "--list", "--timeout=30", scratch_path("socket")), stream, false);
        stream_free(stream);
        *stream = (struct stream){ 0 };
        return status;
}

/* An environment has 64 files, and each tree a page at least. */
static void a_list_has_an_end(void)
{
        struct stream stream = { 0 };

        put_files(&stream, MANIFEST_FILES);
        check_equal(get_the_list(&stream), 0);
        put_files(&stream, MANIFEST_FILES + 1);
        check_equal(get_the_list(&stream), 1);
        put_files(&stream, 1);
        put_listed(&stream, "file0", "three", 2);
        check_equal(get_the_list(&stream), 1);
        put_listed(&stream, "file", "tree of no file", 9);
        check_equal(get_the_list(&stream), 1);
        put_files(&stream, 1);
        put_listed(&stream, "file1", "", 9);
        put_listed(&stream, "file0", "tree of another file", 9);
        check_equal(get_the_list(&stream), 1);
        put_listed(&stream, "file", "", UINT64_C(1) << 40);
        check_equal(get_the_list(&stream), 1);
}

/* ---- Memory ---- */

static void more_than_the_memory_is_refused(void)
{
        static const struct send_begin begin = { .sequence = 5, .page_bytes = PAGE, .key_bytes = 8, .value_bytes = 8 };
        struct stream stream = { 0 };

        stream_begin(&stream, &begin, NULL, NULL);
        stream_frame(&stream, SEND_RECORDS, 1 << 20, UINT64_C(16) << 20);
        check_equal(get(tool_args("get", "--timeout=30", "--max-memory=15", scratch_path("socket"), "file", "tree"),
                        &stream, true),
                    1);
        check_said("--max-memory=15");
        stream_free(&stream);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_right_one_is_printed), isolated_test(one_that_ends_early_is_an_error),
                isolated_test(wrong_ones_are_refused), isolated_test(an_error_is_told_if_it_can_be_one),
                isolated_test(nobody_waits_for_ever),  isolated_test(a_byte_now_and_then_does_not_hold_it),
                isolated_test(a_list_has_an_end),      isolated_test(more_than_the_memory_is_refused),
        };

        return cmocka_run_group_tests_name("xac get", tests, NULL, NULL);
}
