/* SPDX-License-Identifier: MIT */

/*
 * xac clean: removes shared memory that nobody uses and nobody will (libxac/care/leftover.h). What holds commits that
 * are nowhere else stays, unless --force gives it up: one that is named, by its name or by a path that stands for no
 * other, or without an operand, all whose directories are not where they were.
 */

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "base/say.h"
#include "tools/xac/machine.h"
#include "tools/xac/tool.h"

const char clean_help[] =
        "Usage: xac clean [--dry-run] [--force] [DIR | NAME]\n"
        "Removes shared memory whose directory is gone, or which is of another boot of the machine:\n"
        "all that there is; or that of DIR, which may be gone; or the one of that NAME, xac.DEVICE.INODE,\n"
        "as 'xac stat' prints it. Never what somebody uses, nor what the next open goes on with. What has\n"
        "commits that are nowhere else stays, unless its directory was certainly removed: root can know.\n"
        "\n"
        "  --dry-run  says what would be removed, and removes nothing\n"
        "  --force    removes also what holds commits that may be nowhere else: that of NAME, or of DIR if\n"
        "             it stands for one; without either, all whose directories are not where they were\n"
        "  --help     this text\n"
        "\n"
        "Exit status: 0 done, 1 something could not be removed, 2 usage, 3 DIR or NAME is in use.\n";

struct order {
        bool is_dry_run;
        bool is_forced;
        const char *operand; /* NULL: all there is */
        bool is_one;         /* the operand stands for one */
};

/* What the next open goes on with is given up only if it is meant beyond doubt. */
static bool may_lose(const struct order *order, const struct leftover *leftover)
{
        return order->is_forced && (order->operand ? order->is_one : leftover->kind != LEFTOVER_NEEDED);
}

static void report(const char *verb, const struct leftover *leftover, const char *why)
{
        say(stdout, "%s ", verb);
        machine_print_name(leftover);
        say(stdout, "\n    %s\n", why);
}

static enum tool_exit keep(const struct order *order, const struct leftover *leftover)
{
        report("kept", leftover, machine_explain(leftover));
        machine_print_advice(leftover, 4);
        if (!order->operand)
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
                return order->operand ? TOOL_BUSY : TOOL_DONE;
        }
        report("kept", leftover, "it could not be removed:");
        tool_complain("%s", tool_explain(err));
        return TOOL_FAILED;
}

static enum tool_exit clean_list(const struct order *order, const struct leftover *all, uint32_t count)
{
        enum tool_exit result = TOOL_DONE;

        for (uint32_t i = 0; i < count; i++) {
                enum tool_exit this_result = clean_one(order, &all[i]);

                if (this_result != TOOL_DONE)
                        result = this_result;
        }
        return result;
}

struct cleaning {
        const struct order *order;
        uint64_t count;
        enum tool_exit result;
};

static int clean_next(void *cleaning_, const struct leftover *leftover)
{
        struct cleaning *cleaning = cleaning_;
        enum tool_exit this_result = clean_one(cleaning->order, leftover);

        if (this_result != TOOL_DONE)
                cleaning->result = this_result;
        cleaning->count++;
        return 0;
}

static enum tool_exit clean_all(const struct order *order)
{
        struct cleaning cleaning = { .order = order, .result = TOOL_DONE };
        int err = leftovers_visit(clean_next, &cleaning);

        if (err) {
                tool_complain("/dev/shm: %s", tool_explain(err));
                return TOOL_FAILED;
        }
        if (cleaning.count == 0)
                say(stdout, "There is no shared memory.\n");
        return cleaning.result;
}

static enum tool_exit clean_name(struct order *order, const struct leftover *leftover, int err)
{
        if (err) {
                say(stdout, "There is no shared memory of that name.\n");
                return TOOL_DONE;
        }
        order->is_one = true;
        return clean_one(order, leftover);
}

static enum tool_exit clean_directory(struct order *order)
{
        enum tool_exit result;
        struct leftover *all;
        uint32_t count;
        int err = machine_find(order->operand, &all, &count);

        if (err) {
                tool_complain("%s: %s", order->operand,
                              err == -ENOENT ? "neither it nor the directory above it is there" : tool_explain(err));
                return TOOL_FAILED;
        }
        order->is_one = count == 1;
        result = clean_list(order, all, count);
        free(all);
        if (count == 0)
                say(stdout, "There is no shared memory of that directory.\n");
        if (order->is_forced && count > 1 && result != TOOL_DONE)
                tool_complain("%s is the path of several: give --force the name of one", order->operand);
        return result;
}

static enum tool_exit clean_operand(struct order *order)
{
        struct leftover leftover;
        int err = leftover_of_name(order->operand, &leftover);

        return err == -EINVAL ? clean_directory(order) : clean_name(order, &leftover, err);
}

enum tool_exit clean_main(int argc, char **argv)
{
        static const struct option longs[] = { { "dry-run", no_argument, NULL, 'n' },
                                               { "force", no_argument, NULL, 'f' },
                                               { "help", no_argument, NULL, 'h' },
                                               { NULL, 0, NULL, 0 } };
        struct order order = { .operand = NULL };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", longs)) != -1) {
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
                return clean_all(&order);
        order.operand = tool_operand(argc, argv, "clean");
        return order.operand ? clean_operand(&order) : tool_usage("clean");
}
