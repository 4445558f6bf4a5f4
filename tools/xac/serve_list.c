/* SPDX-License-Identifier: MIT */
#include "tools/xac/serve_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "send/source.h"

enum {
        ROOM_MIN = 4096,
        TURN_STEPS = 2000, /* then others come: some milliseconds where all is in memory, */
        TURN_MS = 10       /* or where it is not */
};

/* ---- memory ---- */

/* Room for so many bytes more. */
static int reserve(const struct serve_list *list, void **bytes, size_t used, size_t more, size_t *room)
{
        if (list->len + list->trees_len - list->next_tree + more > list->max)
                return -EFBIG;
        if (used + more <= *room)
                return 0;
        const size_t wanted = 2 * (used + more) > ROOM_MIN ? 2 * (used + more) : ROOM_MIN;
        void *grown = realloc(*bytes, wanted);

        if (!grown)
                return -ENOMEM;
        *bytes = grown;
        *room = wanted;
        return 0;
}

static int append(struct serve_list *list, const void *bytes, size_t len)
{
        void *all = list->bytes;
        int err = reserve(list, &all, list->len, len, &list->room);

        if (err)
                return err;
        list->bytes = all;
        memcpy(list->bytes + list->len, bytes, len);
        list->len += len;
        return 0;
}

static int append_entry(struct serve_list *list)
{
        unsigned char bytes[sizeof(struct send_frame) + SEND_LISTED_MAX];
        const size_t len = send_listed_encode(&list->listed, bytes);

        return len ? append(list, bytes, len) : 0;
}

static int append_end(struct serve_list *list)
{
        const struct send_frame head = send_frame_order((struct send_frame){ SEND_END, 0, sizeof(struct send_end) });
        const struct send_end nothing = { 0 };
        int err = append(list, &head, sizeof(head));

        if (!err)
                err = append(list, &nothing, sizeof(nothing));
        list->is_made = !err;
        return err;
}

/* ---- files and trees ---- */

/* What is not there any more, or not yet, is not listed; nor what cannot be asked for: trees with an order of their
 * own, files that are no arena. */
static bool is_no_error(int err)
{
        return err == -ENOENT || err == -EINVAL || err == XAC_FORMAT;
}

static int note_tree(void *list_, const char *name)
{
        struct serve_list *list = list_;
        const size_t byte_len = strlen(name) + 1;
        void *all = list->trees;
        int err = reserve(list, &all, list->trees_len, byte_len, &list->trees_room);

        if (err)
                return err;
        list->trees = all;
        memcpy(list->trees + list->trees_len, name, byte_len);
        list->trees_len += byte_len;
        return 0;
}

static int note_trees(struct serve_list *list, xac_snapshot *snapshot)
{
        xac_arena *arena;
        int err = xac_arena_open_snapshot(snapshot, list->listed.file, &arena);

        if (err)
                return is_no_error(err) ? 0 : err;
        err = xac_tree_names(arena, note_tree, list);
        xac_arena_close(arena);
        return err;
}

static int add_file(struct serve_list *list, xac_snapshot *snapshot, const char *name)
{
        const xac_send_request request = { .file = name };
        struct source source;
        int err = strlen(name) > SEND_NAME_MAX ? -ENOENT : source_open(NULL, &request, snapshot, &source);

        if (err)
                return is_no_error(err) ? 0 : err;
        list->listed = (struct send_listed){ .pages = source.file.pages, .page_bytes = source.file.page_bytes };
        source_close(&source);
        strcpy(list->listed.file, name);
        err = append_entry(list);
        return err ? err : note_trees(list, snapshot);
}

static int add_tree(struct serve_list *list, xac_snapshot *snapshot, const char *name)
{
        const xac_send_request request = { .file = list->listed.file, .tree = name };
        struct source source;
        int err = source_open(NULL, &request, snapshot, &source);

        if (err)
                return is_no_error(err) ? 0 : err;
        snprintf(list->listed.tree, sizeof(list->listed.tree), "%s", name);
        list->listed.key_bytes = source.key_bytes;
        list->listed.value_bytes = source.value_bytes;
        source_close(&source);
        return append_entry(list);
}

static int add_next(struct serve_list *list, xac_snapshot *snapshot)
{
        if (list->next_tree < list->trees_len) {
                const char *name = list->trees + list->next_tree;

                list->next_tree += strlen(name) + 1;
                return add_tree(list, snapshot, name);
        }
        list->trees_len = list->next_tree = 0;
        if (list->next_file < list->file_count)
                return add_file(list, snapshot, list->files[list->next_file++]);
        return append_end(list);
}

static uint64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int serve_list_go(struct serve_list *list, xac_snapshot *snapshot)
{
        const uint64_t end_ms = now_ms() + TURN_MS;
        unsigned steps = 0;
        int err;

        do
                err = add_next(list, snapshot);
        while (!err && !list->is_made && ++steps < TURN_STEPS && now_ms() < end_ms);
        return err ? err : list->is_made;
}

/* ---- begin, end ---- */

static int compare_names(const void *one, const void *other)
{
        return strcmp(one, other);
}

int serve_list_begin(struct serve_files *files, size_t max, struct serve_list *list)
{
        const struct manifest *manifest = &files->manifest;
        int err = serve_files_look(files);

        *list = (struct serve_list){ .max = max };
        if (err)
                return err;
        list->files = calloc(MANIFEST_FILES, sizeof(list->files[0]));
        if (!list->files)
                return -ENOMEM;
        list->file_count = manifest->file_count;
        memcpy(list->files, manifest->file_name, manifest->file_count * sizeof(list->files[0]));
        qsort(list->files, list->file_count, sizeof(list->files[0]), compare_names);
        list->is_begun = true;
        return 0;
}

void serve_list_free(struct serve_list *list)
{
        free(list->bytes);
        free(list->files);
        free(list->trees);
        *list = (struct serve_list){ 0 };
}
