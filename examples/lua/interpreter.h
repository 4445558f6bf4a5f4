/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_LUA_INTERPRETER_H
#define EXAMPLES_LUA_INTERPRETER_H

/*
 * A Lua interpreter that lives in a heap in a file: its state, its stack, its tables and strings, and the compiled
 * script. All processes that open the file share it; a call is made in a transaction.
 *
 * What is there holds addresses: of itself, which a heap keeps right; and of functions and constants of the program
 * that made it, Lua's and ours. So it is of use only to that program, linked to a fixed address (-no-pie); another
 * build is refused by its build id.
 */

#include <stddef.h>

#include <xac/heap.h>

struct interpreter_script {
        const char *bytes;
        size_t byte_len;
};

/* Finds the interpreter in this heap, or makes one that has run the script; in a transaction of its own. Returns 0 or
 * -1, and then says in *why what is wrong. The heap stays the caller's, and open as long as there are calls. */
int interpreter_open(xac_env *env, xac_heap *heap, struct interpreter_script script, const char **why);

/* A function of the script that is called with a number and perhaps a word. It returns a number; or text, which is
 * copied. */
struct interpreter_call {
        const char *function, *word;
        long argument, number;
        char *text; /* NULL: it returns a number */
        size_t text_room;
};

/* In a transaction. Returns 0, or -1 for an error in Lua, and then says in *why what is wrong, in memory of the
 * program's. An error that is not in Lua's own pcall() leaves half of a call behind: undo the transaction. */
int interpreter_call(struct interpreter_call *call, const char **why);

#endif
