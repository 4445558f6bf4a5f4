/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xac/xac.h>

#include "base/sys.h"
#include "tools/xac/text.h"
#include "tools/xac/trace_cursor.h"

#define NS_MAX      (UINT64_C(1) << 62)
#define MISSING_MAX (UINT64_C(1) << 40) /* a block whose number leaves out more than that is not believed */

/* ---- Damage ---- */

static void __attribute__((format(printf, 3, 4)))
damaged(struct trace_file *file, uint64_t offset, const char *format, ...)
{
        struct trace_file_damage *damage;
        va_list args;

        if (file->damage_count++ >= TRACE_FILE_DAMAGES)
                return;
        damage = &file->damage[file->damage_count - 1];
        damage->offset = offset;
        va_start(args, format);
        vsnprintf(damage->text, sizeof(damage->text), format, args);
        va_end(args);
}

/* There is more of something than is kept: that is told once. */
static void left_out(struct trace_file *file, bool *is_told, uint64_t offset, int most, const char *what)
{
        if (!*is_told)
                damaged(file, offset, "there are more than %d %s: those that follow are left out", most, what);
        *is_told = true;
}

/* ---- Time ---- */

static uint64_t to_ns(const struct trace_file *file, uint64_t ticks)
{
        double ns = (double)ticks * file->ns_per_tick;

        return ns < (double)NS_MAX ? (uint64_t)ns : NS_MAX;
}

uint64_t trace_file_ns(const struct trace_file *file, uint64_t ticks)
{
        return ticks > file->header.ticks[0] ? to_ns(file, ticks - file->header.ticks[0]) : 0;
}

uint64_t trace_file_len_ns(const struct trace_file *file, uint64_t ticks)
{
        return to_ns(file, ticks);
}

/* Clocks of two processors may differ, but hardly by a second. */
static void set_time(struct trace_file *file)
{
        const struct trace_header *header = &file->header;
        double ticks_per_s;
        uint64_t slack;

        file->ns_per_tick = 1;
        file->most_ticks = UINT64_MAX;
        if (header->ticks[1] <= header->ticks[0] || header->ns[1] <= header->ns[0]) {
                if (file->byte_len > TRACE_HEADER_BYTES)
                        damaged(file, offsetof(struct trace_header, ticks),
                                "the header does not say how long a tick is: times are in ticks");
                return;
        }
        file->ns_per_tick = (double)(header->ns[1] - header->ns[0]) / (double)(header->ticks[1] - header->ticks[0]);
        ticks_per_s = 1e9 / file->ns_per_tick;
        slack = ticks_per_s < 1e15 ? (uint64_t)ticks_per_s : UINT64_C(1000000000000000);
        if (header->ticks[0] > slack)
                file->least_ticks = header->ticks[0] - slack;
        if (header->ticks[1] < UINT64_MAX - slack)
                file->most_ticks = header->ticks[1] + slack;
        file->span_ns = trace_file_ns(file, header->ticks[1]);
}

/* ---- Header ---- */

/* `given` is the header of a file that may grow, NULL: that of the bytes. */
static int take_header(struct trace_file *file, const struct trace_header *given, const void *bytes, size_t byte_len)
{
        struct trace_header *header = &file->header;

        if (byte_len < sizeof(header->magic) || memcmp(bytes, TRACE_MAGIC, sizeof(header->magic)) != 0)
                return XAC_CORRUPT;
        if (byte_len < TRACE_HEADER_BYTES)
                return -ENODATA;
        memcpy(header, given ? (const void *)given : bytes, sizeof(*header));
        if (header->version != TRACE_VERSION)
                return XAC_FORMAT;
        file->bytes = bytes;
        file->byte_len = byte_len;
        if (header->byte_len < TRACE_HEADER_BYTES)
                damaged(file, offsetof(struct trace_header, byte_len),
                        "the header says that the file has %" PRIu64 " bytes", header->byte_len);
        else if (header->byte_len > byte_len)
                damaged(file, byte_len, "the file ends here, and should have %" PRIu64 " bytes", header->byte_len);
        else
                file->byte_len = (size_t)header->byte_len;
        set_time(file);
        return 0;
}

/* ---- Tracks ---- */

static const uint8_t unknown_env[16];

/* The tracks whose beginning is missing share an environment of which nothing is known, and for which there is always
 * room. *index: TRACE_MAP_NONE if there is none. */
static int env_of(struct trace_file *file, const uint8_t uuid[16], uint32_t page_bytes, const char *path,
                  uint32_t *index)
{
        struct trace_file_env *envs = trace_list_room(file->envs, file->env_count, sizeof(*envs));
        uint64_t a;
        uint32_t b;

        if (!envs)
                return -ENOMEM;
        file->envs = envs;
        memcpy(&a, uuid, sizeof(a));
        memcpy(&b, uuid + sizeof(a), sizeof(b)); /* enough for what is random */
        *index = trace_map_find(&file->env_of, a, b);
        if (*index != TRACE_MAP_NONE ||
            (file->env_count > TRACE_FILE_ENVS_MAX && memcmp(uuid, unknown_env, sizeof(unknown_env)) != 0))
                return 0;
        *index = file->env_count;
        envs[*index] = (struct trace_file_env){ .page_bytes = page_bytes };
        memcpy(envs[*index].uuid, uuid, 16);
        envs[*index].path = text_copy(path, TRACE_PATH_BYTES);
        if (!envs[*index].path)
                return -ENOMEM;
        file->env_count++;
        file->named_env_count += envs[*index].path[0] != '\0';
        return trace_map_add(&file->env_of, a, b, *index);
}

/* *track: NULL if there is no room for one more. */
static int track_of(struct trace_file *file, uint32_t no, uint64_t offset, struct trace_file_track **track)
{
        struct trace_file_track *tracks;
        uint32_t index = trace_map_find(&file->track_of, no, 0);
        int err;

        if (index != TRACE_MAP_NONE) {
                *track = &file->tracks[index];
                return 0;
        }
        *track = NULL;
        if (file->track_count == TRACE_FILE_TRACKS_MAX) {
                left_out(file, &file->has_full_tracks, offset, TRACE_FILE_TRACKS_MAX, "participants");
                return 0;
        }
        tracks = trace_list_room(file->tracks, file->track_count, sizeof(*tracks));
        if (!tracks)
                return -ENOMEM;
        file->tracks = tracks;
        *track = &tracks[file->track_count];
        **track = (struct trace_file_track){ .no = no, .program = "?" };
        err = env_of(file, unknown_env, 4096, "", &(*track)->env);
        return err ? err : trace_map_add(&file->track_of, no, 0, file->track_count++);
}

static bool is_page_bytes(uint32_t page_bytes)
{
        return page_bytes >= 4096 && page_bytes <= 65536 && (page_bytes & (page_bytes - 1)) == 0;
}

/* One of an environment for which there is no room stays without a beginning. */
static int introduce(struct trace_file *file, struct trace_file_track *track, const struct trace_track *from,
                     uint64_t offset)
{
        uint32_t env;
        char *program;
        int err = env_of(file, from->uuid, is_page_bytes(from->page_bytes) ? from->page_bytes : 4096, from->path, &env);

        if (!err && env == TRACE_MAP_NONE)
                left_out(file, &file->has_full_envs, offset, TRACE_FILE_ENVS_MAX, "environments");
        if (err || env == TRACE_MAP_NONE)
                return err;
        program = text_copy(from->program, TRACE_PROGRAM_BYTES);
        if (!program)
                return -ENOMEM;
        track->env = env;
        snprintf(track->program, sizeof(track->program), "%s", program);
        free(program);
        track->pid = from->pid;
        track->tid = from->tid;
        track->row = from->row;
        track->is_background = from->flags & TRACE_TRACK_BACKGROUND;
        track->has_processor = from->flags & TRACE_TRACK_PROCESSOR;
        track->begin_ns = track->end_ns = trace_file_ns(file, from->at);
        track->is_introduced = true;
        return 0;
}

/* A collector that was killed may have left a track's beginning, which its successor writes again. */
static int read_track(struct trace_file *file, const struct trace_block *block, const void *bytes, uint64_t offset)
{
        const struct trace_track *from = bytes;
        struct trace_file_track *track;
        int err = track_of(file, block->track, offset, &track);

        if (err || !track)
                return err;
        if (track->is_introduced) {
                if (track->pid != from->pid || track->tid != from->tid)
                        damaged(file, offset, "two tracks have the number %" PRIu32, block->track);
                return 0;
        }
        if (!is_page_bytes(from->page_bytes))
                damaged(file, offset, "the pages of track %" PRIu32 " have %" PRIu32 " bytes", block->track,
                        from->page_bytes);
        return introduce(file, track, from, offset);
}

static int read_end(struct trace_file *file, const struct trace_block *block, const void *bytes, uint64_t offset)
{
        const struct trace_end *from = bytes;
        struct trace_file_track *track;
        int err = track_of(file, block->track, offset, &track);

        if (err || !track)
                return err;
        if (from->how != TRACE_END_LEFT && from->how != TRACE_END_DIED) {
                damaged(file, offset, "track %" PRIu32 " ends in a way that is unknown", block->track);
                return 0;
        }
        track->how = (enum trace_end_how)from->how;
        track->is_open = from->how == TRACE_END_DIED && from->begun != 0;
        if (track->is_open && (from->begun < file->least_ticks || from->begun > file->most_ticks)) {
                damaged(file, offset, "track %" PRIu32 " died in a transaction of another time", block->track);
                track->is_open = false;
        }
        track->open_ns = track->is_open ? trace_file_ns(file, from->begun) : 0;
        return 0;
}

/* ---- Events ---- */

static int add_chunk(struct trace_file_track *track, const struct trace_event *events, uint64_t first, uint64_t count)
{
        struct trace_file_chunk *chunks = trace_list_room(track->chunks, track->chunk_count, sizeof(*chunks));

        if (!chunks)
                return -ENOMEM;
        track->chunks = chunks;
        chunks[track->chunk_count++] = (struct trace_file_chunk){ events, first, count };
        return 0;
}

static uint64_t next_number(const struct trace_file_track *track)
{
        const struct trace_file_chunk *last;

        if (!track->chunk_count)
                return 0;
        last = &track->chunks[track->chunk_count - 1];
        return last->first + last->count;
}

/* What was read already is skipped. */
static int take_events(struct trace_file *file, struct trace_file_track *track, const struct trace_file_chunk *chunk,
                       uint64_t offset)
{
        const uint64_t next = next_number(track);
        const uint64_t known = chunk->first < next ? next - chunk->first : 0;

        if (chunk->first > next + MISSING_MAX) {
                damaged(file, offset, "event %" PRIu64 " of track %" PRIu32 " cannot be the next", chunk->first,
                        track->no);
                return 0;
        }
        if (chunk->first > next) {
                damaged(file, offset, "%" PRIu64 " events of track %" PRIu32 " are missing before", chunk->first - next,
                        track->no);
                track->missing += chunk->first - next;
        }
        if (known >= chunk->count)
                return 0;
        return add_chunk(track, chunk->events + known, chunk->first + known, chunk->count - known);
}

/* Events of which no byte is in the file are none, and are not even looked at: there may be any number of them. An
 * event that is there in part counts as there. */
static int read_events(struct trace_file *file, const struct trace_block *block, const void *bytes, uint64_t offset,
                       size_t byte_len)
{
        const uint64_t begin = offset + sizeof(*block);
        const uint64_t count = byte_len / sizeof(struct trace_event);
        struct trace_stretch there;
        struct trace_file_track *track;
        uint64_t next = 0, taken = 0;
        int err = track_of(file, block->track, offset, &track);

        if (err || !track)
                return err;
        if (block->lost > track->lost)
                track->lost = block->lost;
        while (!err && next < count &&
               trace_data_next(&file->data, begin + next * sizeof(struct trace_event),
                               begin + count * sizeof(struct trace_event), &there)) {
                const uint64_t first = (there.begin - begin) / sizeof(struct trace_event);

                next = (there.end - begin + sizeof(struct trace_event) - 1) / sizeof(struct trace_event);
                if (next > count)
                        next = count;
                const struct trace_file_chunk chunk = { (const struct trace_event *)bytes + first, block->first + first,
                                                        next - first };

                taken += chunk.count;
                err = take_events(file, track, &chunk, offset);
        }
        if (taken < count)
                damaged(file, offset, "%" PRIu64 " events of track %" PRIu32 " are a hole in the file", count - taken,
                        block->track);
        return err;
}

/* ---- Blocks ---- */

/* What of the block is there: all of it, or of events those before the file ends. Then, or if it makes no sense,
 * nothing can be read behind it, which *is_last says. */
static size_t block_len(struct trace_file *file, const struct trace_block *block, uint64_t offset, size_t left,
                        bool *is_last)
{
        size_t wanted = block->kind == TRACE_BLOCK_TRACK ? sizeof(struct trace_track) : sizeof(struct trace_end);

        *is_last = true;
        if (block->kind < TRACE_BLOCK_TRACK || block->kind > TRACE_BLOCK_END || block->byte_len % 8 != 0 ||
            (block->kind == TRACE_BLOCK_EVENTS ? block->byte_len % sizeof(struct trace_event) != 0
                                               : block->byte_len != wanted)) {
                damaged(file, offset, "no block begins here: what follows cannot be read");
                return 0;
        }
        *is_last = block->byte_len > left;
        if (!*is_last)
                return block->byte_len;
        damaged(file, offset, "a block goes beyond the end of the file");
        return block->kind == TRACE_BLOCK_EVENTS ? left : 0;
}

/* What is judged is a copy: somebody may write to the file meanwhile. */
static int read_block(struct trace_file *file, const struct trace_block *block, uint64_t offset, size_t byte_len)
{
        const unsigned char *bytes = file->bytes + offset + sizeof(*block);
        union {
                struct trace_track track;
                struct trace_end end;
        } copy;

        if (byte_len == 0)
                return 0;
        if (block->kind == TRACE_BLOCK_EVENTS)
                return read_events(file, block, bytes, offset, byte_len);
        memcpy(&copy, bytes, byte_len);
        return block->kind == TRACE_BLOCK_TRACK ? read_track(file, block, &copy, offset)
                                                : read_end(file, block, &copy, offset);
}

static int read_blocks(struct trace_file *file)
{
        bool is_last = false;
        int err = 0;

        for (size_t at = TRACE_HEADER_BYTES; !err && !is_last && at < file->byte_len;) {
                size_t left = file->byte_len - at;
                struct trace_block block;
                size_t byte_len;

                if (left < sizeof(block)) {
                        damaged(file, at, "the file ends in the middle of a block");
                        break;
                }
                memcpy(&block, file->bytes + at, sizeof(block));
                byte_len = block_len(file, &block, at, left - sizeof(block), &is_last);
                err = read_block(file, &block, at, byte_len);
                at += sizeof(block) + byte_len;
        }
        return err;
}

/* ---- What is in the events ---- */

/* A file that was told before keeps its name. */
static int add_name(struct trace_file *file, uint32_t env, uint32_t file_no, const char *name)
{
        struct trace_file_name *names;

        if (trace_map_find(&file->name_of, file_no, env) != TRACE_MAP_NONE)
                return 0;
        if (file->name_count == TRACE_FILE_NAMES_MAX) {
                left_out(file, &file->has_full_names, TRACE_HEADER_BYTES, TRACE_FILE_NAMES_MAX, "names of files");
                return 0;
        }
        names = trace_list_room(file->names, file->name_count, sizeof(*names));
        if (!names)
                return -ENOMEM;
        file->names = names;
        names[file->name_count] = (struct trace_file_name){ env, file_no, text_copy(name, TRACE_FILE_NAME_MAX) };
        if (!names[file->name_count].text)
                return -ENOMEM;
        return trace_map_add(&file->name_of, file_no, env, file->name_count++);
}

static int survey_track(struct trace_file *file, struct trace_file_track *track)
{
        struct trace_cursor cursor;
        char name[TRACE_FILE_NAME_MAX + 1];
        int err = 0;

        trace_cursor_begin(&cursor, file, track);
        while (!err && trace_cursor_next_or_name(&cursor, name)) {
                if (track->end_ns < cursor.end_ns)
                        track->end_ns = cursor.end_ns;
                if (trace_kind_of(cursor.event) != TRACE_NAME)
                        track->events++;
                else if (cursor.event->a <= UINT32_MAX)
                        err = add_name(file, track->env, (uint32_t)cursor.event->a, name);
        }
        if (cursor.odd)
                damaged(file, (uint64_t)((const unsigned char *)cursor.odd_first - file->bytes),
                        "%" PRIu64 " events of track %" PRIu32 ", from here on, make no sense and are left out",
                        cursor.odd, track->no);
        file->odd_events += cursor.odd;
        return err;
}

static int survey(struct trace_file *file)
{
        int err = 0;

        for (uint32_t i = 0; !err && i < file->track_count; i++) {
                struct trace_file_track *track = &file->tracks[i];

                if (!track->is_introduced)
                        damaged(file, TRACE_HEADER_BYTES, "the beginning of track %" PRIu32 " is missing", track->no);
                err = survey_track(file, track);
                if (track->end_ns < track->open_ns)
                        track->end_ns = track->open_ns;
                if (file->span_ns < track->end_ns)
                        file->span_ns = track->end_ns;
                file->lost += track->lost;
        }
        if (file->lost < file->header.lost)
                file->lost = file->header.lost;
        return err;
}

/* ---- Open, close ---- */

/* `data` is this file's from now on. */
static int read_all(struct trace_file *file, const struct trace_header *given, const struct trace_data *data,
                    const void *bytes, size_t byte_len)
{
        int err;

        *file = (struct trace_file){ .data = *data };
        err = take_header(file, given, bytes, byte_len);
        if (!err)
                err = read_blocks(file);
        if (!err)
                err = survey(file);
        if (err)
                trace_file_close(file);
        return err;
}

int trace_file_read(struct trace_file *file, const void *bytes, size_t byte_len)
{
        const struct trace_data all = { 0 };

        return read_all(file, NULL, &all, bytes, byte_len);
}

/* Nobody else changes it, or makes it shorter, while it is mapped. */
static bool is_own(const struct stat *st)
{
        return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int copy_file(int fd, void **bytes, size_t byte_len)
{
        if (byte_len > TRACE_FILE_COPY_MAX)
                return -EFBIG;
        int err = sys_mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, bytes);

        if (err)
                return err;
        err = sys_read_all(fd, *bytes, byte_len, 0);
        if (err)
                (void)sys_munmap(*bytes, byte_len);
        return err;
}

static int map_file(int fd, struct trace_data *data, void **bytes, size_t byte_len)
{
        int err = trace_data_find(data, fd, byte_len);

        if (err)
                return err;
        err = sys_mmap(NULL, byte_len, PROT_READ, MAP_SHARED, fd, 0, bytes);
        if (err)
                trace_data_free(data);
        return err;
}

/* The header comes before the length: what it says of a trace that grows is in the file then. */
static int load_file(int fd, struct trace_header *header, struct trace_data *data, void **bytes, size_t *byte_len)
{
        struct stat st;
        int err = sys_stat(fd, &st);

        if (err)
                return err;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode) || st.st_size == 0)
                return XAC_CORRUPT;
        if (st.st_size >= TRACE_HEADER_BYTES)
                err = sys_read_all(fd, header, sizeof(*header), 0);
        if (!err && st.st_size >= TRACE_HEADER_BYTES)
                err = sys_stat(fd, &st);
        if (err)
                return err;
        *byte_len = (size_t)st.st_size;
        return is_own(&st) ? map_file(fd, data, bytes, *byte_len) : copy_file(fd, bytes, *byte_len);
}

int trace_file_open(const char *path, struct trace_file *file)
{
        struct trace_header header = { 0 };
        struct trace_data data = { 0 };
        size_t byte_len;
        void *bytes;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a link to it will do as well */
        int err;

        if (fd < 0)
                return -errno;
        err = load_file(fd, &header, &data, &bytes, &byte_len);
        sys_close(fd);
        if (err)
                return err;
        err = read_all(file, &header, &data, bytes, byte_len);
        if (err)
                (void)sys_munmap(bytes, byte_len);
        else
                file->mapped_len = byte_len;
        return err;
}

void trace_file_close(struct trace_file *file)
{
        for (uint32_t i = 0; i < file->track_count; i++)
                free(file->tracks[i].chunks);
        for (uint32_t i = 0; i < file->env_count; i++)
                free(file->envs[i].path);
        for (uint32_t i = 0; i < file->name_count; i++)
                free(file->names[i].text);
        free(file->tracks);
        free(file->envs);
        free(file->names);
        trace_map_free(&file->track_of);
        trace_map_free(&file->env_of);
        trace_map_free(&file->name_of);
        trace_data_free(&file->data);
        if (file->mapped_len)
                (void)sys_munmap((void *)(uintptr_t)file->bytes, file->mapped_len);
        *file = (struct trace_file){ 0 };
}

const char *trace_file_name(const struct trace_file *file, uint32_t env, uint32_t file_no)
{
        uint32_t index = trace_map_find(&file->name_of, file_no, env);

        return index == TRACE_MAP_NONE ? NULL : file->names[index].text;
}
