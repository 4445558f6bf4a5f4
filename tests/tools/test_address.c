/* SPDX-License-Identifier: MIT */
#include "tools/xac/address.h"

/*
 * A host with several addresses, some of which never answer: the time-out is for all of them together.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"

enum { ADDRESSES = 2000, FILLING = 8 };

static struct addrinfo found[ADDRESSES];
static struct sockaddr_in silent, open_one;

static int listener(struct sockaddr_in *address, int backlog)
{
        const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        socklen_t length = sizeof(*address);

        *address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        check(listening >= 0);
        check_ok(bind(listening, (struct sockaddr *)address, sizeof(*address)));
        check_ok(listen(listening, backlog));
        check_ok(getsockname(listening, (struct sockaddr *)address, &length));
        return listening;
}

/* A full queue: who connects then waits for an answer that does not come. */
static void make_silent(void)
{
        listener(&silent, 0);
        for (unsigned i = 0; i < FILLING; i++) {
                const int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

                check(client >= 0);
                check(connect(client, (struct sockaddr *)&silent, sizeof(silent)) == 0 || errno == EINPROGRESS);
        }
}

/* So many addresses; none answers, or the last one. */
static void make_host(unsigned count, bool answers)
{
        for (unsigned i = 0; i < count; i++)
                found[i] = (struct addrinfo){ .ai_family = AF_INET,
                                              .ai_addr = (struct sockaddr *)(answers && i == count - 1 ? &open_one
                                                                                                       : &silent),
                                              .ai_addrlen = sizeof(silent),
                                              .ai_next = i == count - 1 ? NULL : &found[i + 1] };
}

static void the_time_is_for_all_addresses_together(void)
{
        make_silent();
        make_host(ADDRESSES, false);
        const uint64_t begun_ns = crew_clock_ns();
        check_code(address_connect_first(found, 0.02), -ETIMEDOUT);
        check(crew_clock_ns() - begun_ns < leeway_ms(400) * 1000000); /* each by itself: 40,000 */
}

static void one_that_is_silent_leaves_time_for_others(void)
{
        make_silent();
        listener(&open_one, 5);
        make_host(3, true);
        const int client = address_connect_first(found, (double)leeway_ms(1500) / 1000);
        check(client >= 0);
        close(client);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(the_time_is_for_all_addresses_together),
                isolated_test(one_that_is_silent_leaves_time_for_others),
        };

        return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
