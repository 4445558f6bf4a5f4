/* SPDX-License-Identifier: MIT */
#include "tools/xac/serve_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "send/send_list.h"
#include "send/source.h"

enum { ROOM_MIN = 4096 };

struct making {
        xac_snapshot *snapshot;
        struct serve_list *list;
        struct source source;      /* of the file that is looked at */
        struct send_listed listed; /* the entry that comes next */
};

static int append(struct serve_list *list, const void *bytes, size_t len)
{
        if (list->len + len > list->max)
                return -EFBIG;
        if (list->len + len > list->room) {
                const size_t room = 2 * (list->len + len) > ROOM_MIN ? 2 * (list->len + len) : ROOM_MIN;
                unsigned char *grown = realloc(list->bytes, room);

                if (!grown)
                        return -ENOMEM;
                list->bytes = grown;
                list->room = room;
        }
        memcpy(list->bytes + list->len, bytes, len);
        list->len += len;
        return 0;
}

static int append_entry(struct making *making)
{
        unsigned char bytes[sizeof(struct send_frame) + SEND_LISTED_MAX];
        const size_t len = send_listed_encode(&making->listed, bytes);

        return len ? append(making->list, bytes, len) : 0;
}

/* Some trees cannot be asked for: those with an order of their own. */
static int add_tree(void *making_, const char *name)
{
        struct making *making = making_;
        const xac_send_request request = { .file = making->listed.file, .tree = name };
        struct source source;
        int err = source_open(NULL, &request, making->snapshot, &source);

        if (err)
                return err == -EINVAL || err == XAC_FORMAT ? 0 : err;
        snprintf(making->listed.tree, sizeof(making->listed.tree), "%s", name);
        making->listed.key_bytes = source.key_bytes;
        making->listed.value_bytes = source.value_bytes;
        source_close(&source);
        return append_entry(making);
}

static int add_trees(struct making *making)
{
        page_arena *arena;
        int err = page_arena_open_snapshot(making->snapshot, making->listed.file, &arena);

        if (err)
                return err == XAC_FORMAT || err == -EINVAL ? 0 : err; /* no arena */
        err = bptree_names(arena, add_tree, making);
        page_arena_close(arena);
        return err;
}

/* A file that is younger than the snapshot is not there. */
static int add_file(struct making *making, const char *name)
{
        const xac_send_request request = { .file = name };
        int err =
                strlen(name) > SEND_NAME_MAX ? -ENOENT : source_open(NULL, &request, making->snapshot, &making->source);

        if (err)
                return err == -ENOENT || err == -EINVAL ? 0 : err;
        making->listed = (struct send_listed){ .pages = making->source.file.pages,
                                               .page_bytes = making->source.file.page_bytes };
        strcpy(making->listed.file, name);
        err = append_entry(making);
        if (!err)
                err = add_trees(making);
        source_close(&making->source);
        return err;
}

static int compare_names(const void *one, const void *other)
{
        return strcmp(*(const char *const *)one, *(const char *const *)other);
}

static int add_files(struct making *making, const struct manifest *manifest)
{
        const char *names[MANIFEST_FILES] = { NULL };
        int err = 0;

        for (uint32_t i = 0; i < manifest->file_count; i++)
                names[i] = manifest->file_name[i];
        qsort(names, manifest->file_count, sizeof(names[0]), compare_names);
        for (uint32_t i = 0; i < manifest->file_count && !err; i++)
                err = add_file(making, names[i]);
        return err;
}

int serve_list_make(struct serve_files *files, xac_snapshot *snapshot, size_t max, struct serve_list *list)
{
        const struct send_frame end = send_frame_order((struct send_frame){ SEND_END, 0, sizeof(struct send_end) });
        const struct send_end nothing = { 0 };
        struct making making = { .snapshot = snapshot, .list = list };
        int err = serve_files_look(files);

        *list = (struct serve_list){ .max = max };
        if (!err)
                err = add_files(&making, &files->manifest);
        if (!err)
                err = append(list, &end, sizeof(end));
        if (!err)
                err = append(list, &nothing, sizeof(nothing));
        if (err)
                serve_list_free(list);
        return err;
}

void serve_list_free(struct serve_list *list)
{
        free(list->bytes);
        *list = (struct serve_list){ 0 };
}
