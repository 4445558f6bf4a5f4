/* SPDX-License-Identifier: MIT */

/*
 * Eight queens by a recursive function whose levels are nested transactions: a level that
 * finds no square calls xabort(), and the board is as it was before that level began.
 *
 * An inner abort undoes the inner writes to the file only. Locals and memory outside a view
 * are not rolled back: `tries` counts the attempts that failed as well.
 */

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <xac/xac.h>

enum { QUEENS = 8 };

struct board {
        int queens;
        char square[QUEENS][QUEENS];
};

static int tries;

static void must(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "nested: %s: %s\n", what, xac_strerror(err));
                exit(EXIT_FAILURE);
        }
}

static int is_attacked(const struct board *board, int row, int column)
{
        for (int r = 0; r < row; r++)
                for (int c = 0; c < QUEENS; c++)
                        if (board->square[r][c] && (c == column || abs(c - column) == row - r))
                                return 1;
        return 0;
}

/* Places queens from this row on; returns whether that was possible. */
static int place(xac_env *env, struct board *board, int row)
{
        for (int column = 0; column < QUEENS; column++) {
                must(xbegin(env, XAC_NESTED), "xbegin");
                tries++;
                board->square[row][column] = 1;
                board->queens++;
                if (!is_attacked(board, row, column) && (row == QUEENS - 1 || place(env, board, row + 1))) {
                        must(xend(env), "xend"); /* becomes part of the level above */
                        return 1;
                }
                must(xabort(env), "xabort"); /* this queen, and all that was tried below it */
        }
        return 0;
}

int main(void)
{
        xac_env *env;
        must(xac_open("queens.xac", XAC_CREATE, NULL, &env), "xac_open");
        struct board *board = xac_mmap(env, "board", sizeof(*board), 0);
        if (board == MAP_FAILED) {
                perror("nested: xac_mmap");
                return EXIT_FAILURE;
        }
        must(xbegin(env, 0), "xbegin");
        *board = (struct board){ 0 };
        int is_solved = place(env, board, 0);
        for (int row = 0; row < QUEENS; row++, puts(""))
                for (int column = 0; column < QUEENS; column++)
                        printf(" %c", board->square[row][column] ? 'Q' : '.');
        printf("%s: %d queens after %d tries\n", is_solved ? "solved" : "unsolved", board->queens, tries);
        must(xend(env), "xend");
        must(xac_close(env), "xac_close");
        return EXIT_SUCCESS;
}
