/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_DATA_H
#define TOOLS_XAC_TRACE_DATA_H

/*
 * Where the file of a trace has data. A file may be much longer than what anybody has written into it: whoever reads
 * what is there alone needs no more time than it took to write.
 */

#include <stdbool.h>
#include <stdint.h>

struct trace_stretch {
        uint64_t begin, end; /* bytes of the file; `end` is not part of it */
};

/* All zeros: no stretch is known, and all counts as data. */
struct trace_data {
        struct trace_stretch *list; /* ascending */
        uint32_t count;
        uint32_t at; /* nobody asks for what lies before this one any more */
        bool has_holes;
};

/* Of a file of so many bytes. 0 or -errno. */
int trace_data_find(struct trace_data *data, int fd, uint64_t byte_len);
/* The first stretch of begin .. end that is there. False: there is none. `begin` is never less than it was before. */
bool trace_data_next(struct trace_data *data, uint64_t begin, uint64_t end, struct trace_stretch *stretch);
void trace_data_free(struct trace_data *data);

#endif
