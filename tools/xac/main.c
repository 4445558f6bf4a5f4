/* SPDX-License-Identifier: MIT */

/*
 * xac: looks after environments from outside. One program, one file for each subcommand.
 */

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tools/xac/tool.h"

#include "base/say.h"

static const char help[] =
        "Usage: xac COMMAND [OPTION]... [DIR]\n"
        "Looks after the environment (of libxac) in the directory DIR.\n"
        "\n"
        "  stat      what it is and who is using it; without DIR, what shared memory there is\n"
        "  top       what happens in it, each second; goes on until it is ended\n"
        "  log       the commits in its redo log, one line each\n"
        "  check     verifies it, and says what is damaged where; changes nothing\n"
        "  scrub     compares its pages with their checksums while it is in use\n"
        "  repair    takes damaged pages from a backup\n"
        "  recover   makes it whole after a crash of the machine, as the next open would\n"
        "  backup    copies it, while others use it\n"
        "  restore   makes one from backups\n"
        "  archive   keeps its log, to take a backup on to any moment\n"
        "  clean     removes shared memory that nobody will use any more\n"
        "  compact   gives back the disk space of its free pages\n"
        "  heap      checks the heap in a file of it, and says how full it is\n"
        "  trace     who lost to whom on which bytes, and how long commits took, by a file that XAC_TRACE made\n"
        "  send      measures how this machine sends best, for the server\n"
        "  serve     sends ranges of its trees to clients, on a socket\n"
        "  get       asks such a server for records, and prints them\n"
        "  help      this text, or that of a command: xac help log\n"
        "\n"
        "  --help     this text; after a command its own\n"
        "  --version  the version of xac and libxac\n"
        "\n"
        "Exit status: 0 sound or done, 1 damaged or failed, 2 usage, 3 in use by others, 4 neither sound nor\n"
        "damaged: changed by others while it was closed, or perhaps.\n"
        "The manual page xac(1) says more.\n";

static const struct subcommand {
        const char *name;
        enum tool_exit (*main)(int argc, char **argv);
        const char *help;
} subcommands[] = {
        { "stat", stat_main, stat_help },
        { "top", top_main, top_help },
        { "log", log_main, log_help },
        { "check", check_main, check_help },
        { "scrub", scrub_main, scrub_help },
        { "repair", repair_main, repair_help },
        { "recover", recover_main, recover_help },
        { "backup", backup_main, backup_help },
        { "restore", restore_main, restore_help },
        { "archive", archive_main, archive_help },
        { "clean", clean_main, clean_help },
        { "compact", compact_main, compact_help },
        { "heap", heap_main, heap_help },
        { "trace", trace_main, trace_help },
        { "send", send_main, send_help },
        { "serve", serve_main, serve_help },
        { "get", get_main, get_help },
};

static const struct subcommand *subcommand_named(const char *name)
{
        for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++)
                if (strcmp(subcommands[i].name, name) == 0)
                        return &subcommands[i];
        return NULL;
}

static enum tool_exit unknown(const char *name)
{
        tool_complain("there is no command '%s'", name);
        fputs("Try 'xac help'.\n", stderr);
        return TOOL_USAGE;
}

static enum tool_exit help_main(const char *name)
{
        const struct subcommand *subcommand = name ? subcommand_named(name) : NULL;

        if (name && !subcommand)
                return unknown(name);
        fputs(subcommand ? subcommand->help : help, stdout);
        return TOOL_DONE;
}

static enum tool_exit dispatch(int argc, char **argv)
{
        const char *name = argv[1];
        const struct subcommand *subcommand;

        if (argc < 2) {
                fputs(help, stderr);
                return TOOL_USAGE;
        }
        if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
                say(stdout, "xac (libxac) %s\n", xac_version());
                return TOOL_DONE;
        }
        if (strcmp(name, "help") == 0)
                return help_main(argv[2]);
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
                return help_main(NULL);
        subcommand = subcommand_named(name);
        return subcommand ? subcommand->main(argc - 1, argv + 1) : unknown(name);
}

/* A number that is closed is taken, so that no file of an environment gets it. Whoever prints there is still told that
 * it failed: /dev/null is open there for the other direction. */
static void take_low_descriptors(void)
{
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                if (fcntl(fd, F_GETFD) < 0)
                        (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* What could not be printed was not done: the disk under a redirected report may be full. */
int main(int argc, char **argv)
{
        take_low_descriptors();
        (void)signal(SIGXFSZ, SIG_IGN); /* a report that gets too long for 'ulimit -f' is an error like a full disk */
        enum tool_exit result = dispatch(argc, argv);

        if (fflush(stdout) != 0 || ferror(stdout)) {
                tool_complain("the output could not be written");
                return TOOL_FAILED;
        }
        return (int)result;
}
