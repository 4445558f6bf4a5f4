/* SPDX-License-Identifier: MIT */
#include "tools/xac/machine.h"

#include <inttypes.h>
#include <stdlib.h>

void machine_print_name(const struct leftover *leftover)
{
        for (const char *at = leftover->path; *at; at++)
                putchar((unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at);
        printf("%s/dev/shm/xac.%" PRIx64 ".%" PRIx64 ".*, %s", leftover->path[0] ? ": " : "", leftover->device,
               leftover->inode, tool_bytes(leftover->byte_len));
}

static const char *explain_homeless(const struct leftover *leftover)
{
        if (leftover->is_on_disk)
                return "its directory is gone, or moved; no commit is in it that is not on disk, too";
        return "its directory is gone, or moved; if moved, some commits are nowhere else (clean: --force)";
}

const char *machine_explain(const struct leftover *leftover)
{
        if (leftover->is_in_use && leftover->kind == LEFTOVER_HOMELESS)
                return "in use, although its directory is gone, or moved";
        if (leftover->is_in_use)
                return "in use";
        switch (leftover->kind) {
        case LEFTOVER_NEEDED:
                return "its processes were killed; the next open goes on with it";
        case LEFTOVER_HOMELESS:
                return explain_homeless(leftover);
        case LEFTOVER_REPLACED:
                return "of an environment that is no more in this directory, or has gone on without it";
        case LEFTOVER_PAST_BOOT:
                return "of another boot of the machine";
        case LEFTOVER_UNFINISHED:
                return "never finished: whoever made it was killed";
        case LEFTOVER_PARTS:
                return "parts that nobody can use";
        case LEFTOVER_OTHERS:
                return "of another version of libxac, or not of libxac";
        default:
                return leftover->err ? tool_explain(leftover->err) : "whose it is cannot be found out";
        }
}

void machine_print_room(void)
{
        uint64_t all, unused;

        if (leftovers_room(&all, &unused))
                return;
        tool_label("/dev/shm");
        printf("%s,\n", tool_bytes(all));
        tool_label("");
        printf("%s of it free\n", tool_bytes(unused));
}

static void print_processes(const struct leftover *leftover)
{
        if (!leftover->is_in_use || leftover->process_count == 0)
                return;
        tool_label("");
        printf("processes, by the numbers they gave:");
        for (uint32_t i = 0; i < leftover->process_count && i < LEFTOVER_PIDS; i++)
                printf(" %" PRIu32, leftover->pid[i]);
        printf("%s\n", leftover->process_count > LEFTOVER_PIDS ? " ..." : "");
}

static void print_one(const struct leftover *leftover)
{
        tool_label("environment");
        machine_print_name(leftover);
        printf("\n");
        tool_label("");
        printf("%s\n", machine_explain(leftover));
        print_processes(leftover);
}

enum tool_exit machine_print(void)
{
        struct leftover *all;
        uint32_t count, removable = 0;
        int err = leftovers_list(&all, &count);

        if (err) {
                tool_complain("/dev/shm: %s", tool_explain(err));
                return TOOL_FAILED;
        }
        machine_print_room();
        for (uint32_t i = 0; i < count; i++) {
                print_one(&all[i]);
                removable += leftover_is_removable(&all[i], false);
        }
        free(all);
        if (count == 0)
                printf("No environment has shared memory here.\n");
        if (removable > 0)
                printf("'xac clean' would remove %s.\n", tool_count(removable, "of them", "of them"));
        return TOOL_DONE;
}
