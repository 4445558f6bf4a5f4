/* SPDX-License-Identifier: MIT */

/*
 * Declared access: the program says which page it is going to read or write, and gets a
 * direct pointer to it. No fault is taken and nothing is mapped, so random access to a large
 * file is far cheaper than through the view; but it is no longer serial code over plain pointers. Two
 * processes throw a die of 4,096 sides and count each side on its own page, in a volatile environment.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

enum { PLAYERS = 2, THROWS = 50000, PAGE = 4096, PAGES = 4096 };

static void must(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "declared: %s: %s\n", what, xac_strerror(err));
                exit(EXIT_FAILURE);
        }
}

/* The view is never touched: it only provides the addresses of pages. */
static char *open_game(xac_env **env)
{
        must(xac_open("game.xac", XAC_CREATE | XAC_VOLATILE, NULL, env), "xac_open");
        char *game = xac_mmap(*env, "thrown", (size_t)PAGES * PAGE, 0);
        if (game == MAP_FAILED) {
                perror("declared: xac_mmap");
                exit(EXIT_FAILURE);
        }
        return game;
}

struct turn {
        xac_env *env;
        char *page; /* of the side that lies on top */
};

static int count_throw(void *arg)
{
        const struct turn *turn = arg;
        long *thrown = xac_page_write(turn->env, turn->page);
        if (thrown) /* NULL: the transaction is lost, and xac_run says why */
                ++*thrown;
        return 0;
}

static void play(int player)
{
        struct turn turn;
        char *game = open_game(&turn.env);
        unsigned random = (unsigned)player;
        for (int i = 0; i < THROWS; i++) {
                random = random * 1103515245 + 12345;
                turn.page = game + (size_t)(random >> 16) % PAGES * PAGE;
                must(xac_run(turn.env, 0, count_throw, &turn), "xac_run");
        }
        exit(xac_close(turn.env) ? EXIT_FAILURE : EXIT_SUCCESS);
}

int main(void)
{
        for (int player = 0; player < PLAYERS; player++)
                if (fork() == 0)
                        play(player);
        for (int status; wait(&status) > 0;)
                must(status, "a player");

        xac_env *env;
        char *game = open_game(&env);
        long throws = 0;
        must(xbegin(env, XAC_RDONLY), "xbegin");
        for (int i = 0; i < PAGES; i++) {
                const long *thrown = xac_page_read(env, game + (size_t)i * PAGE);
                throws += thrown ? *thrown : 0;
        }
        must(xend(env), "xend");
        printf("%d players threw %ld times\n", PLAYERS, throws);
        must(xac_close(env), "xac_close");
        return EXIT_SUCCESS;
}
