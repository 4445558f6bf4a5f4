/* SPDX-License-Identifier: MIT */
#include "tools/xac/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "tools/xac/json.h"

/* ---- Of one directory ---- */

/* The path as it is in the shared memory. Where the directory is gone, what is left of the path is made absolute. */
static int resolve(const char *path, char resolved[PATH_MAX])
{
        char copy[PATH_MAX], other[PATH_MAX], parent[PATH_MAX];
        int length;

        if (strlen(path) >= PATH_MAX)
                return -ENAMETOOLONG;
        if (realpath(path, resolved))
                return 0;
        strcpy(copy, path);
        strcpy(other, path);
        if (!realpath(dirname(copy), parent))
                return -errno;
        length = snprintf(resolved, PATH_MAX, "%s%s%s", parent, strcmp(parent, "/") ? "/" : "", basename(other));
        return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

struct search {
        const char *path;
        const struct leftover *present; /* of the directory that is there, or NULL */
        struct leftover *all;
        uint32_t count, room;
};

static int keep(struct search *search, const struct leftover *leftover)
{
        if (search->count == search->room) {
                const uint32_t room = 2 * search->room + 4;
                struct leftover *more = realloc(search->all, room * sizeof(*more));

                if (!more)
                        return -ENOMEM;
                search->all = more;
                search->room = room;
        }
        search->all[search->count++] = *leftover;
        return 0;
}

/* The directory that is there knows its path better than the shared memory does: it may have been moved. */
static int keep_if_of_path(void *search_, const struct leftover *leftover)
{
        struct search *search = search_;
        const struct leftover *present = search->present;

        if (present && leftover->device == present->device && leftover->inode == present->inode)
                return keep(search, present);
        return strcmp(leftover->path, search->path) == 0 ? keep(search, leftover) : 0;
}

int machine_find(const char *path, struct leftover **all, uint32_t *count)
{
        struct leftover present;
        char resolved[PATH_MAX];
        struct search search = { .path = resolved };
        int err = leftover_of_directory(path, &present);

        if (err && err != -ENOENT && err != -ENOTDIR)
                return err;
        search.present = err ? NULL : &present;
        err = resolve(path, resolved);
        if (!err)
                err = leftovers_visit(keep_if_of_path, &search);
        if (err)
                free(search.all);
        *all = err ? NULL : search.all;
        *count = err ? 0 : search.count;
        return err;
}

/* ---- In words ---- */

void machine_print_name(const struct leftover *leftover)
{
        say(stdout, "%s%sxac.%" PRIx64 ".%" PRIx64 ", %s", leftover->path, leftover->path[0] ? ": " : "",
            leftover->device, leftover->inode, tool_bytes(leftover->byte_len));
}

static const char *explain_homeless(const struct leftover *leftover)
{
        if (leftover->is_on_disk)
                return "its directory is gone, or moved; every commit in it is in the directory's files, too";
        return "its directory is gone, or moved; some commits in it are nowhere else";
}

const char *machine_explain(const struct leftover *leftover)
{
        if (leftover->is_in_use && (leftover->kind == LEFTOVER_HOMELESS || leftover->kind == LEFTOVER_GONE))
                return "in use, although its directory is gone, or moved";
        if (leftover->is_in_use)
                return "in use";
        switch (leftover->kind) {
        case LEFTOVER_NEEDED:
                return "its processes ended without xac_close (killed, or never closed); the next open goes on with it";
        case LEFTOVER_HOMELESS:
                return explain_homeless(leftover);
        case LEFTOVER_GONE:
                return "its directory was removed: nobody can ever use it";
        case LEFTOVER_REPLACED:
                return "no open uses it: its directory holds another environment, or was opened or recovered without "
                       "it";
        case LEFTOVER_PAST_BOOT:
                return "of another boot of the machine";
        case LEFTOVER_UNFINISHED:
                return "never finished: whoever made it ended before";
        case LEFTOVER_PARTS:
                return "parts that nobody can use";
        case LEFTOVER_STRANGERS:
                return "made by another user, whom the environment does not trust; no open uses it";
        case LEFTOVER_OTHERS:
                return "of another version of libxac, or not of libxac";
        default:
                return leftover->err ? tool_explain(leftover->err) : "whose it is cannot be found out";
        }
}

void machine_print_advice(const struct leftover *leftover, int indent)
{
        if (leftover_is_removable(leftover, false) || !leftover_is_removable(leftover, true))
                return;
        if (leftover->kind == LEFTOVER_NEEDED)
                say(stdout, "%*sopen it with a program, and close it; or give it up, as a power cut would:\n", indent,
                    "");
        else
                say(stdout, "%*sif the directory was moved, keep it; if it was removed:\n", indent, "");
        say(stdout, "%*sxac clean --force xac.%" PRIx64 ".%" PRIx64 "\n", indent, "", leftover->device,
            leftover->inode);
}

/* ---- All of them ---- */

void machine_print_room(void)
{
        uint64_t all, unused;

        if (leftovers_room(&all, &unused))
                return;
        tool_label("/dev/shm");
        say(stdout, "%s,\n", tool_bytes(all));
        tool_label("");
        say(stdout, "%s of it free\n", tool_bytes(unused));
}

static void print_processes(const struct leftover *leftover)
{
        if (!leftover->is_in_use || leftover->process_count == 0)
                return;
        tool_label("");
        say(stdout, "processes (pids in their own containers):");
        for (uint32_t i = 0; i < leftover->process_count && i < LEFTOVER_PIDS; i++)
                say(stdout, " %" PRIu32, leftover->pid[i]);
        say(stdout, "%s\n", leftover->process_count > LEFTOVER_PIDS ? " ..." : "");
}

struct printing {
        uint64_t count, removable;
};

static int print_one(void *printing_, const struct leftover *leftover)
{
        struct printing *printing = printing_;

        tool_label("environment");
        machine_print_name(leftover);
        say(stdout, "\n");
        tool_label("");
        say(stdout, "%s\n", machine_explain(leftover));
        machine_print_advice(leftover, TOOL_COLUMN);
        print_processes(leftover);
        printing->count++;
        printing->removable += leftover_is_removable(leftover, false);
        return 0;
}

enum tool_exit machine_print(void)
{
        struct printing printing = { 0 };

        machine_print_room();
        int err = leftovers_visit(print_one, &printing);

        if (err) {
                tool_complain("/dev/shm: %s", tool_explain(err));
                return TOOL_FAILED;
        }
        if (printing.count == 0)
                say(stdout, "No environment has shared memory here.\n");
        if (printing.removable > 0)
                say(stdout, "'xac clean' would remove %s.\n", tool_count(printing.removable, "of them", "of them"));
        return TOOL_DONE;
}

/* ---- The same for programs ---- */

static int put_one(void *json_, const struct leftover *leftover)
{
        struct json *json = json_;
        char name[64];

        snprintf(name, sizeof(name), "xac.%" PRIx64 ".%" PRIx64, leftover->device, leftover->inode);
        json_open(json, NULL, '{');
        json_text(json, "name", name);
        json_text(json, "path", leftover->path[0] ? leftover->path : NULL);
        json_number(json, "bytes", leftover->byte_len);
        json_bool(json, "in_use", leftover->is_in_use);
        json_bool(json, "removable", leftover_is_removable(leftover, false));
        json_text(json, "meaning", machine_explain(leftover));
        json_open(json, "pids", '[');
        for (uint32_t i = 0; leftover->is_in_use && i < leftover->process_count && i < LEFTOVER_PIDS; i++)
                json_number(json, NULL, leftover->pid[i]);
        json_close(json, ']');
        json_close(json, '}');
        return 0;
}

enum tool_exit machine_print_json(void)
{
        struct json json = { .to = stdout };
        uint64_t all = 0, unused = 0;
        const bool has_room = !leftovers_room(&all, &unused);

        json_open(&json, NULL, '{');
        json_number_if(&json, "shm_bytes", has_room, all);
        json_number_if(&json, "shm_free", has_room, unused);
        json_open(&json, "environments", '[');
        const int err = leftovers_visit(put_one, &json);
        json_close(&json, ']');
        if (err)
                tool_complain("/dev/shm: %s", tool_explain(err));
        json_text(&json, "error", tool_last_complaint());
        json_number(&json, "status", err ? TOOL_FAILED : TOOL_DONE);
        json_close(&json, '}');
        return err ? TOOL_FAILED : TOOL_DONE;
}
