/* SPDX-License-Identifier: MIT */
#include "bench/programs/program.h"

/*
 * Lua, with its state in the memory it was given. An operation is a call of a function that counts a word in a table;
 * there are 5,000 different ones. Memory comes from lists of free blocks, a list for each power of two. The function is
 * kept in the registry and the word has a length, so that no strcmp() or strlen() sees the memory: compilers that leave
 * these calls alone take no fault either.
 */

#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

enum { WORDS = 5000, WORD_BYTES = 32, LISTS = 64, LEAST = 4, ALIGNMENT = 16 };

static const char script[] = "local counts = {}\n"
                             "function count(word)\n"
                             "        counts[word] = (counts[word] or 0) + 1\n"
                             "        return counts[word]\n"
                             "end\n"
                             "function total()\n"
                             "        local sum = 0\n"
                             "        for _, n in pairs(counts) do sum = sum + n end\n"
                             "        return sum\n"
                             "end\n";

struct heap {
        lua_State *lua;
        size_t used, byte_len;
        int count; /* the function, in the registry */
        void *free[LISTS];
};

static int list_of(size_t byte_len)
{
        return byte_len <= (size_t)1 << LEAST ? LEAST : 64 - __builtin_clzll(byte_len - 1);
}

static void *take(struct heap *heap, int list)
{
        void *block = heap->free[list];

        if (block) {
                heap->free[list] = *(void **)block;
        } else if ((size_t)1 << list <= heap->byte_len - heap->used) {
                block = (char *)heap + heap->used;
                heap->used += (size_t)1 << list;
        }
        return block;
}

/* lua_Alloc */
static void *resize(void *arg, void *old, size_t old_len, size_t new_len)
{
        struct heap *heap = arg;
        void *block = NULL;

        if (old && new_len && list_of(old_len) == list_of(new_len))
                return old;
        if (new_len && !(block = take(heap, list_of(new_len))))
                return NULL;
        if (old && block)
                memcpy(block, old, old_len < new_len ? old_len : new_len);
        if (old) {
                *(void **)old = heap->free[list_of(old_len)];
                heap->free[list_of(old_len)] = old;
        }
        return block;
}

static int make(void *memory, size_t byte_len)
{
        struct heap *heap = memory;

        heap->used = (sizeof(*heap) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        heap->byte_len = byte_len;
        heap->lua = lua_newstate(resize, heap);
        if (!heap->lua)
                return -1;
        luaL_requiref(heap->lua, LUA_GNAME, luaopen_base, 1);
        lua_settop(heap->lua, 0);
        if (luaL_loadbuffer(heap->lua, script, sizeof(script) - 1, "=script") || lua_pcall(heap->lua, 0, 0, 0))
                return -1;
        lua_getglobal(heap->lua, "count");
        heap->count = luaL_ref(heap->lua, LUA_REGISTRYINDEX);
        return 0;
}

static int call(lua_State *lua, int arguments, uint64_t *sum)
{
        if (lua_pcall(lua, arguments, 1, 0))
                return -1;
        *sum += (uint64_t)lua_tointeger(lua, -1);
        lua_settop(lua, 0);
        return 0;
}

static int operate(void *memory, uint64_t number, uint64_t *sum)
{
        const struct heap *heap = memory;
        lua_State *lua = heap->lua;
        char word[WORD_BYTES];

        const int byte_len = snprintf(word, sizeof(word), "word%d", (int)(program_random(number) % WORDS));
        lua_rawgeti(lua, LUA_REGISTRYINDEX, heap->count);
        lua_pushlstring(lua, word, (size_t)byte_len);
        return call(lua, 1, sum);
}

static int check(void *memory, uint64_t operations, uint64_t *sum)
{
        lua_State *lua = ((struct heap *)memory)->lua;
        uint64_t total = 0;

        lua_getglobal(lua, "total");
        if (call(lua, 0, &total) || total != operations)
                return -1;
        *sum += total;
        return 0;
}

const struct program program = { (size_t)64 << 20, make, operate, check };
