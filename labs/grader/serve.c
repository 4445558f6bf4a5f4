/* SPDX-License-Identifier: MIT */

/*
 * main() of a host: the program that an answer becomes part of. It does acts until nobody asks any more. Nothing in it
 * knows what is right.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "labs/grader/grader.h"
#include "labs/grader/host_start.h"
#include "labs/grader/memory.h"
#include "labs/grader/random.h"
#include "labs/grader/stops.h"

static char in[HOST_IN_MOST], out[HOST_OUT_MOST];

static void receive_all(void *bytes, size_t byte_len)
{
        for (size_t done = 0; done < byte_len;) {
                ssize_t got = read(HOST_LINE, (char *)bytes + done, byte_len - done);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        _exit(EXIT_SUCCESS);
                done += (size_t)got;
        }
}

static void send_all(const void *bytes, size_t byte_len)
{
        for (size_t done = 0; done < byte_len;) {
                ssize_t sent = write(HOST_LINE, (const char *)bytes + done, byte_len - done);
                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent <= 0)
                        _exit(EXIT_SUCCESS);
                done += (size_t)sent;
        }
}

static void reply(int has_failed, const void *bytes, size_t byte_len)
{
        send_all(&(struct host_reply){ has_failed, (uint32_t)byte_len }, sizeof(struct host_reply));
        send_all(bytes, byte_len);
}

static _Noreturn void end_failed(const char *said)
{
        fflush(NULL);
        reply(1, said, strlen(said));
        _exit(EXIT_FAILURE);
}

void grader_fail(const char *format, ...)
{
        char said[HOST_SAID_BYTES];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(said, sizeof(said), format, arguments);
        va_end(arguments);
        end_failed(said);
}

void grader_check(int is_good, const char *format, ...)
{
        char said[HOST_SAID_BYTES];
        va_list arguments;
        if (is_good)
                return;
        va_start(arguments, format);
        vsnprintf(said, sizeof(said), format, arguments);
        va_end(arguments);
        end_failed(said);
}

static host_act *find_act(int number)
{
        for (int i = 0; host_acts[i] != NULL; i++)
                if (i == number)
                        return host_acts[i];
        grader_fail("there is no act %d", number);
}

static void begin(void)
{
        struct host_begin begin;
        receive_all(&begin, sizeof(begin));
        stops_role = (struct stops_role){ (char)begin.who, HOST_SAID, HOST_GO };
        random_begin(begin.seed, "host");
        if (fcntl(HOST_STEPS, F_GETFD) >= 0) /* else it has its own, which nobody sees */
                memory_attach(MEMORY_STEPS, HOST_STEPS);
        if (fcntl(HOST_MEMORY, F_GETFD) >= 0)
                memory_attach(MEMORY_LAB, HOST_MEMORY);
}

int main(void)
{
        struct host_request request;
        begin();
        for (;;) {
                receive_all(&request, sizeof(request));
                grader_check(request.byte_len <= sizeof(in), "%u bytes are too many", request.byte_len);
                receive_all(in, request.byte_len);
                size_t byte_len = find_act(request.act)(in, request.byte_len, out, sizeof(out));
                fflush(NULL);
                reply(0, out, byte_len);
        }
}
