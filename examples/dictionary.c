/* SPDX-License-Identifier: MIT */

/*
 * An English-German dictionary in a B+-tree. Two processes enter words at once; each xac_tree_put() is a
 * transaction, on disk when it returns. Then it is looked up, scanned, and read backwards by a cursor.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/tree.h>

enum { WORDS = 6, WRITERS = 2 };
static const char *const words[WORDS][2] = { { "tree", "Baum" },   { "branch", "Ast" }, { "oak", "Eiche" },
                                             { "root", "Wurzel" }, { "bark", "Rinde" }, { "seed", "Samen" } };
static xac_env *env;
static xac_arena *arena;
static xac_tree *tree;

static void must(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "dictionary: %s: %s\n", what, xac_strerror(err));
                exit(EXIT_FAILURE);
        }
}

/* Every process opens for itself; whoever comes first creates the tree. */
static void open_dictionary(void)
{
        must(xac_open("dictionary.xac", XAC_CREATE, NULL, &env), "xac_open");
        must(xac_arena_open_env(env, "words", XAC_ARENA_DECLARED, &arena), "xac_arena_open_env");
        must(xac_tree_open(arena, "english", XAC_TREE_CREATE, NULL, &tree), "xac_tree_open");
}

static void enter_words(int writer)
{
        open_dictionary();
        for (int i = writer; i < WORDS; i += WRITERS)
                must(xac_tree_put(tree, words[i][0], strlen(words[i][0]), words[i][1], strlen(words[i][1]) + 1, 0),
                     "xac_tree_put");
        exit(EXIT_SUCCESS);
}

static int print_entry(void *out, const xac_tree_record *entry)
{
        return fprintf(out, "%.*s = %s\n", (int)entry->key_len, (const char *)entry->key, (const char *)entry->value) <
               0;
}

int main(void)
{
        for (int writer = 0; writer < WRITERS; writer++)
                if (fork() == 0)
                        enter_words(writer);
        for (int status; wait(&status) > 0;)
                must(status, "a writer");

        xac_tree_cursor *cursor;
        xac_tree_record entry;
        char word[20];
        open_dictionary();
        must(xac_tree_get(tree, "oak", 3, word, sizeof(word), NULL), "xac_tree_get");
        printf("oak is %s\n", word);
        must(xac_tree_scan(tree, "b", 1, "c", 1, print_entry, stdout), "xac_tree_scan");
        must(xac_tree_cursor_open(tree, &cursor), "xac_tree_cursor_open");
        must(xbegin(env, XAC_RDONLY), "xbegin"); /* what the cursor shows is of one moment */
        for (int i = 0, err = xac_tree_cursor_last(cursor); !err && i < 3; i++, err = xac_tree_cursor_previous(cursor))
                if (xac_tree_cursor_record(cursor, &entry) == 0)
                        print_entry(stdout, &entry);
        must(xend(env), "xend");
        xac_tree_cursor_close(cursor);
        xac_tree_close(tree);
        must(xac_arena_close(arena), "xac_arena_close");
        return xac_close(env) ? EXIT_FAILURE : EXIT_SUCCESS;
}
