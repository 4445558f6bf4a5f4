/* SPDX-License-Identifier: MIT */

/* xac send --calibrate: what it measures is in the file, which xac serve takes; mistakes are explained. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/tools/tool.h"

enum { TEXT = 4096 };

static void write_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "w");

        check(file != NULL);
        check(fputs(text, file) >= 0);
        check_ok(fclose(file));
}

static void check_file_says(const char *path, const char *text, int is_expected)
{
        char bytes[TEXT] = "";
        FILE *file = fopen(path, "r");

        check(file != NULL);
        bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = 0;
        check_equal(strstr(bytes, text) != NULL, is_expected);
        check_ok(fclose(file));
}

static const char *calibrate_option(void)
{
        static char option[200];

        snprintf(option, sizeof(option), "--calibrate=%s", scratch_path("sizes"));
        return option;
}

static void the_file_has_what_was_measured(void)
{
        write_file(scratch_path("sizes"), "unix gather 1 zerocopy 1\nmars gather 7 zerocopy never\n");
        check_xac(0, "send", calibrate_option(), "--seconds=0.01");
        check_said("Unix sockets: pieces gathered ");
        check_said("TCP on this machine: pieces gathered ");
        check_said("without copies never");
        check_file_says(scratch_path("sizes"), "unix gather ", 1);
        check_file_says(scratch_path("sizes"), "loopback gather ", 1);
        check_file_says(scratch_path("sizes"), "network gather ", 0);
        check_file_says(scratch_path("sizes"), "unix gather 1 zerocopy 1\n", 0);
        check_file_says(scratch_path("sizes"), "mars gather 7 zerocopy never\n", 1);
}

static void *drain(void *listener_)
{
        static char bytes[65536];
        const int socket = accept(*(int *)listener_, NULL, NULL);

        while (read(socket, bytes, sizeof(bytes)) > 0)
                ;
        close(socket);
        return NULL;
}

static void a_peer_is_measured_too(void)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof(address);
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        char peer[40], said[60];
        pthread_t thread;

        check_ok(bind(listener, (struct sockaddr *)&address, length));
        check_ok(listen(listener, 1));
        check_ok(getsockname(listener, (struct sockaddr *)&address, &length));
        check_ok(pthread_create(&thread, NULL, drain, &listener));
        snprintf(peer, sizeof(peer), "--peer=127.0.0.1:%d", ntohs(address.sin_port));
        snprintf(said, sizeof(said), "%s: pieces gathered ", peer + strlen("--peer="));
        check_xac(0, "send", calibrate_option(), "--seconds=0.01", peer);
        check_said(said);
        check_ok(pthread_join(thread, NULL));
        check_ok(close(listener));
        check_xac(1, "send", calibrate_option(), "--seconds=0.01", peer);
        check_said("127.0.0.1");
}

static void mistakes_are_explained(void)
{
        check_xac(2, "send");
        check_said("--calibrate");
        check_xac(2, "send", calibrate_option(), "more");
        check_xac(2, "send", calibrate_option(), "--seconds=x");
        check_xac(0, "send", "--help");
        check_said("Usage: xac send ");
        check_xac(1, "send", "--calibrate=/nowhere/sizes", "--seconds=0.01");
        check_said("/nowhere/sizes: No such file");
        check_not_said("Unix sockets");
        check_xac(2, "send", calibrate_option(), "--peer=somewhere");
        check_said("HOST:PORT");
        write_file(scratch_path("sizes"), "no sizes\n");
        check_xac(1, "send", calibrate_option(), "--seconds=0.01");
        check_file_says(scratch_path("sizes"), "no sizes\n", 1);
}

static void the_server_takes_it(void)
{
        char option[200], line[200];
        int ends[2];

        tool_work(XAC_CREATE, 1, TOOL_CLOSE);
        snprintf(option, sizeof(option), "--calibration=%s", scratch_path("sizes"));
        check_xac(1, "serve", option, TOOL_ENV, scratch_path("socket"));
        check_said("xac send --calibrate");
        write_file(scratch_path("sizes"), "unix gather x\n");
        check_xac(1, "serve", option, TOOL_ENV, scratch_path("socket"));
        write_file(scratch_path("sizes"), "unix gather 400 zerocopy never\n");
        check_ok(pipe(ends));
        const pid_t pid = tool_start(tool_args("serve", option, TOOL_ENV, scratch_path("socket")), ends[1]);
        check(read(ends[0], line, sizeof(line)) > 0 && strncmp(line, "serving", 7) == 0);
        check_xac(0, "get", scratch_path("socket"), TOOL_FILE);
        check_ok(kill(pid, SIGTERM));
        crew_join(pid);
        check_ok(close(ends[0]));
        check_ok(close(ends[1]));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(the_file_has_what_was_measured),
                isolated_test(a_peer_is_measured_too),
                isolated_test(mistakes_are_explained),
                isolated_test(the_server_takes_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
