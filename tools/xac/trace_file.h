/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_FILE_H
#define TOOLS_XAC_TRACE_FILE_H

/*
 * Reads a trace (trace/trace_format.h). The file is mapped, and its events stay where they are: what is kept besides is
 * a few words for each block. A file that somebody else may write to is copied first.
 *
 * Any bytes may be in the file, and they may change. What makes no sense is left out and told as damage; a block whose
 * length makes no sense ends what can be read. Texts come out as base/safe_text.h says.
 *
 * No more of the file is read than there is: a sparse one costs what its data costs.
 *
 * A trace that is being written may be read: it is what its header says at the moment. Time is in ns, since the first
 * moment of the header. trace_cursor.h walks through the events of a track.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/xac/trace_data.h"
#include "tools/xac/trace_list.h"
#include "trace/trace_format.h"

enum {
        TRACE_FILE_DAMAGES = 8, /* that are told; there may be more */
        TRACE_FILE_DAMAGE_TEXT = 160,
        TRACE_FILE_NAME_MAX = 1024,      /* of a file of an environment: longer ones make no sense */
        TRACE_FILE_COPY_MAX = 256 << 20, /* bytes */

        /* What is kept of a trace at most, more than any program records. The rest is left out. */
        TRACE_FILE_TRACKS_MAX = 1 << 18,
        TRACE_FILE_ENVS_MAX = 1 << 12,
        TRACE_FILE_NAMES_MAX = 1 << 14
};

struct trace_file_damage {
        uint64_t offset; /* in the file */
        char text[TRACE_FILE_DAMAGE_TEXT];
};

/* An environment. One of whose tracks the beginning is missing has no uuid and no path. */
struct trace_file_env {
        uint8_t uuid[16];
        char *path;
        uint32_t page_bytes; /* a power of two, 4,096 to 65,536 */
};

/* A file of one. */
struct trace_file_name {
        uint32_t env;
        uint32_t file_no;
        char *text;
};

/* Events that stand in the file one behind the other. */
struct trace_file_chunk {
        const struct trace_event *events;
        uint64_t first; /* its number in the track */
        uint64_t count;
};

/* A participant. */
struct trace_file_track {
        struct trace_file_chunk *chunks;
        uint32_t chunk_count;
        uint32_t no; /* in the file */
        uint32_t env;
        uint32_t pid;
        uint32_t tid;
        uint32_t row;
        bool is_introduced; /* else all of the above but `no` is unknown */
        bool is_background;
        bool has_processor;     /* it says for how long long transactions had a processor */
        bool is_open;           /* it died in the middle of a transaction */
        enum trace_end_how how; /* 0: it had not ended */
        uint64_t begin_ns;
        uint64_t end_ns;                           /* of the last that is known of it */
        uint64_t open_ns;                          /* is_open: when the transaction began */
        uint64_t events;                           /* all that can be read, names not counted */
        uint64_t lost;                             /* that found no room when they were recorded */
        uint64_t missing;                          /* that should be in the file */
        char program[4 * TRACE_PROGRAM_BYTES + 1]; /* as text_copy() makes it */
};

struct trace_file {
        struct trace_header header;
        const unsigned char *bytes;
        size_t byte_len;   /* of the file, or less, by the header */
        size_t mapped_len; /* 0: the bytes are of who gave them */
        struct trace_data data;
        double ns_per_tick;
        uint64_t least_ticks, most_ticks; /* no event was at another time */
        uint64_t span_ns;                 /* from the header's first moment to its second, or the last event */
        uint64_t lost;                    /* of all tracks */

        struct trace_file_track *tracks;
        uint32_t track_count;
        struct trace_file_env *envs;
        uint32_t env_count;
        uint32_t named_env_count; /* whose path is known: a reader may take these for each other */
        struct trace_file_name *names;
        uint32_t name_count;

        struct trace_file_damage damage[TRACE_FILE_DAMAGES];
        uint64_t damage_count; /* may be more */
        uint64_t odd_events;   /* left out, as their kind or their time makes no sense */
        bool has_full_tracks;  /* there were more than are kept; so it is with environments and names */
        bool has_full_envs;
        bool has_full_names;

        struct trace_map track_of; /* by its number */
        struct trace_map env_of;   /* by its uuid */
        struct trace_map name_of;  /* by file and environment */
};

/* XAC_CORRUPT: it is no trace, or so short that nothing can be read; XAC_FORMAT: of another version; -EFBIG: somebody
 * else may write to it, and it is too long for a copy; or another -errno. Damage
 * behind the header is no error: see damage_count. */
int trace_file_open(const char *path, struct trace_file *file);
/* The same of bytes in memory, at a multiple of eight, which stay there. */
int trace_file_read(struct trace_file *file, const void *bytes, size_t byte_len);
void trace_file_close(struct trace_file *file);

/* Of a moment, since the beginning; and of how long something took. */
uint64_t trace_file_ns(const struct trace_file *file, uint64_t ticks);
uint64_t trace_file_len_ns(const struct trace_file *file, uint64_t ticks);
/* Of a file of the environment; NULL: nobody told. */
const char *trace_file_name(const struct trace_file *file, uint32_t env, uint32_t file_no);

#endif
