/* SPDX-License-Identifier: MIT */

/*
 * xac clean: removes shared memory that nobody uses and nobody will (libxac/leftover.h). What holds commits that are
 * nowhere else stays, unless it is given up by name, or its directory is gone and --force says that it was not moved.
 */

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools/xac/machine.h"
#include "tools/xac/tool.h"

const char clean_help[] =
        "Usage: xac clean [--dry-run] [--force] [DIR]\n"
        "Removes shared memory whose directory is gone, or which is of another boot of the machine:\n"
        "all that there is, or that of DIR, which may be gone. Never what somebody uses, nor what the\n"
        "next open of a directory goes on with.\n"
        "\n"
        "  --dry-run  says what would be removed, and removes nothing\n"
        "  --force    removes also what holds commits that may be nowhere else: of DIR, if nobody\n"
        "             uses it; without DIR, of directories that are not where they were\n"
        "  --help     this text\n"
        "\n"
        "Exit status: 0 done, 1 something could not be removed, 2 usage, 3 DIR is in use.\n";

struct order {
        bool is_dry_run;
        bool is_forced;
        const char *path; /* NULL: all there is */
};

/* An environment whose directory is there is given up by its name only. */
static bool may_lose(const struct order *order, const struct leftover *leftover)
{
        return order->is_forced && (order->path || leftover->kind != LEFTOVER_NEEDED);
}

static void report(const char *verb, const struct leftover *leftover, const char *why)
{
        printf("%s ", verb);
        machine_print_name(leftover);
        printf("\n    %s\n", why);
}

static enum tool_exit keep(const struct order *order, const struct leftover *leftover)
{
        report("kept", leftover, machine_explain(leftover));
        if (!order->path)
                return TOOL_DONE;
        return leftover->is_in_use ? TOOL_BUSY : TOOL_FAILED;
}

static enum tool_exit clean_one(const struct order *order, const struct leftover *leftover)
{
        int err;

        if (!leftover_is_removable(leftover, may_lose(order, leftover)))
                return keep(order, leftover);
        err = order->is_dry_run ? 0 : leftover_remove(leftover, may_lose(order, leftover));
        if (!err) {
                report(order->is_dry_run ? "would remove" : "removed", leftover, machine_explain(leftover));
                return TOOL_DONE;
        }
        if (err == -EBUSY || err == -EAGAIN || err == -ENOENT) {
                report("kept", leftover, "somebody came to it meanwhile");
                return order->path ? TOOL_BUSY : TOOL_DONE;
        }
        report("kept", leftover, "it could not be removed:");
        tool_complain("%s", tool_explain(err));
        return TOOL_FAILED;
}

/* Where the directory was: what is left of its path is made absolute, as in the shared memory. */
static bool resolve_parent(const char *path, char resolved[PATH_MAX])
{
        char copy[PATH_MAX], other[PATH_MAX], parent[PATH_MAX];

        if (strlen(path) >= PATH_MAX)
                return false;
        strcpy(copy, path);
        strcpy(other, path);
        return realpath(dirname(copy), parent) && snprintf(resolved, PATH_MAX, "%s%s%s", parent,
                                                           strcmp(parent, "/") ? "/" : "", basename(other)) < PATH_MAX;
}

static enum tool_exit clean_all(const struct order *order, const char *only)
{
        enum tool_exit result = TOOL_DONE;
        struct leftover *all;
        uint32_t count, found = 0;
        int err = leftovers_list(&all, &count);

        if (err) {
                tool_complain("/dev/shm: %s", tool_explain(err));
                return TOOL_FAILED;
        }
        for (uint32_t i = 0; i < count; i++) {
                enum tool_exit this_result;

                if (only && strcmp(only, all[i].path))
                        continue;
                found++;
                this_result = clean_one(order, &all[i]);
                if (this_result != TOOL_DONE)
                        result = this_result;
        }
        free(all);
        if (found == 0)
                printf("There is no shared memory%s.\n", only ? " of that directory" : "");
        return result;
}

static enum tool_exit clean_directory(const struct order *order)
{
        char resolved[PATH_MAX];
        struct leftover leftover;
        int err = leftover_of_directory(order->path, &leftover);

        if (!err)
                return clean_one(order, &leftover);
        if (err != -ENOENT && err != -ENOTDIR) {
                tool_complain("%s: %s", order->path, tool_explain(err));
                return TOOL_FAILED;
        }
        if (!resolve_parent(order->path, resolved)) {
                tool_complain("%s: neither it nor the directory above it is there", order->path);
                return TOOL_FAILED;
        }
        return clean_all(order, resolved);
}

enum tool_exit clean_main(int argc, char **argv)
{
        static const struct option longs[] = { { "dry-run", no_argument, NULL, 'n' },
                                               { "force", no_argument, NULL, 'f' },
                                               { "help", no_argument, NULL, 'h' },
                                               { NULL, 0, NULL, 0 } };
        struct order order = { .path = NULL };
        int option;

        while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
                switch (option) {
                case 'n':
                        order.is_dry_run = true;
                        break;
                case 'f':
                        order.is_forced = true;
                        break;
                case 'h':
                        fputs(clean_help, stdout);
                        return TOOL_DONE;
                default:
                        return tool_usage("clean");
                }
        }
        if (optind == argc)
                return clean_all(&order, NULL);
        order.path = tool_operand(argc, argv, "clean");
        return order.path ? clean_directory(&order) : tool_usage("clean");
}
