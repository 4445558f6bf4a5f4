/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_LUA_INTERPRETER_H
#define EXAMPLES_LUA_INTERPRETER_H

/*
 * A Lua interpreter that lives in a piece of memory: its state, its stack, its tables and strings, the compiled script,
 * and the heap that it has them from. Serial, and not aware of transactions.
 *
 * What is there holds addresses: of itself, so that it must always lie at the same place; and of functions and
 * constants of this program, so that it is of use only to this program, linked to a fixed address (-no-pie).
 */

#include <stddef.h>
#include <stdint.h>

#include "examples/lua/heap.h"

struct interpreter {
        void *lua;        /* a lua_State; NULL in memory that was never used */
        uint64_t program; /* interpreter_program() of the one that made it */
        struct heap heap;
};

/* A number of this program and of where it lies; 0: /proc does not say. */
uint64_t interpreter_program(void);

/* A function of the script that is called with a number and perhaps a word. It returns a number; or text, which is
 * copied. */
struct interpreter_call {
        const char *function, *word;
        long argument, number;
        char *text; /* NULL: it returns a number */
        size_t text_room;
};

/* Both return 0, or -1 for an error in Lua, and then say what is wrong in *why, in memory of the program's. */
int interpreter_make(struct interpreter *interpreter, size_t byte_len, const char *script, size_t script_len,
                     const char **why);
int interpreter_call(struct interpreter *interpreter, struct interpreter_call *call, const char **why);

#endif
