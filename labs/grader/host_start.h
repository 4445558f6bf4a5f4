/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_HOST_START_H
#define LABS_GRADER_HOST_START_H

/* How hosts are started, and how they and tests talk: what host.c and serve.c agree on. */

#include <stdint.h>
#include <sys/types.h>

struct host_program {
        const char *path;
        uid_t user;
        const char *const *readable; /* confine.h */
};

/* Tests run this one from now on. */
void host_use(const struct host_program *host_program);

/* That of this process, if it has one. A worker's ends with it. */
void host_end(void);

/* ------------------------------------------------------------------ the two ends */

/* What a host finds open. Memory is there if it shares any (memory.h), the pipes for the A of two who meet (stops.h).
 */
enum host_descriptor {
        HOST_LINE = 3,
        HOST_STEPS,
        HOST_MEMORY,
        HOST_SAID,
        HOST_GO,
        HOST_DESCRIPTORS = HOST_GO - HOST_LINE + 1
};

enum { HOST_NOT_STARTED = 126, HOST_SAID_BYTES = 4000, HOST_IN_MOST = 4 << 20, HOST_OUT_MOST = 64 << 20 };

/* What comes first. It is no argument, as those are strings that an answer finds beside the name of its program. */
struct host_begin {
        int32_t who;   /* 'A' or 'B' of two who meet, or 0 */
        uint32_t seed; /* of its grader_random(); no other seed tells it */
};

struct host_request {
        int32_t act;
        uint32_t byte_len; /* of what follows */
};

struct host_reply {
        int32_t has_failed; /* what follows says why */
        uint32_t byte_len;
};

#endif
