/* SPDX-License-Identifier: MIT */
#include "examples/lua/interpreter.h"

#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

enum { WHY_BYTES = 200 };

/* FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo). */
static uint64_t digest(uint64_t sum, const unsigned char *bytes, size_t byte_len)
{
        for (size_t i = 0; i < byte_len; i++)
                sum = (sum ^ bytes[i]) * 0x100000001b3u;
        return sum;
}

uint64_t interpreter_program(void)
{
        unsigned char bytes[4096];
        uint64_t sum = 0xcbf29ce484222325u ^ (uintptr_t)interpreter_program;
        size_t got;
        FILE *self = fopen("/proc/self/exe", "rb");

        if (!self)
                return 0;
        while ((got = fread(bytes, 1, sizeof(bytes), self)) > 0)
                sum = digest(sum, bytes, got);
        fclose(self);
        return sum;
}

/* The message lies where Lua lies, and is undone with everything else. */
static int complain(lua_State *lua, const char **why)
{
        static char kept[WHY_BYTES]; /* the last byte stays 0 */
        const char *said = lua_tostring(lua, -1);

        strncpy(kept, said ? said : "an error without a message", sizeof(kept) - 1);
        *why = kept;
        lua_settop(lua, 0);
        return -1;
}

/* Protected: it runs out of memory like everything else. No io and os: they hold FILE pointers of one process. */
static int open_libraries(lua_State *lua)
{
        static const luaL_Reg libraries[] = { { LUA_GNAME, luaopen_base },
                                              { LUA_TABLIBNAME, luaopen_table },
                                              { LUA_STRLIBNAME, luaopen_string },
                                              { LUA_MATHLIBNAME, luaopen_math } };

        for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
                luaL_requiref(lua, libraries[i].name, libraries[i].func, 1);
                lua_pop(lua, 1);
        }
        return 0;
}

int interpreter_make(struct interpreter *interpreter, size_t byte_len, const char *script, size_t script_len,
                     const char **why)
{
        heap_make(&interpreter->heap, byte_len - offsetof(struct interpreter, heap));
        lua_State *lua = lua_newstate(heap_realloc, &interpreter->heap);
        *why = "there is no room for a state of Lua";
        if (!lua)
                return -1;
        interpreter->lua = lua;
        interpreter->program = interpreter_program();
        lua_pushcfunction(lua, open_libraries);
        if (lua_pcall(lua, 0, 0, 0) || luaL_loadbuffer(lua, script, script_len, "=script") || lua_pcall(lua, 0, 0, 0))
                return complain(lua, why);
        return 0;
}

static int copy_text(lua_State *lua, const struct interpreter_call *call)
{
        size_t byte_len;
        const char *said = luaL_checklstring(lua, -1, &byte_len);

        if (byte_len >= call->text_room)
                return luaL_error(lua, "what %s says has %d bytes", call->function, (int)byte_len);
        memcpy(call->text, said, byte_len + 1);
        return 0;
}

/* Called by Lua, so that no error leaves lua_pcall(). */
static int call_function(lua_State *lua)
{
        struct interpreter_call *call = lua_touserdata(lua, 1);

        lua_getglobal(lua, call->function);
        lua_pushinteger(lua, call->argument);
        if (call->word)
                lua_pushstring(lua, call->word);
        lua_call(lua, call->word ? 2 : 1, 1);
        if (call->text)
                return copy_text(lua, call);
        call->number = (long)luaL_checkinteger(lua, -1);
        return 0;
}

int interpreter_call(struct interpreter *interpreter, struct interpreter_call *call, const char **why)
{
        lua_State *lua = interpreter->lua;

        lua_settop(lua, 0);
        lua_pushcfunction(lua, call_function);
        lua_pushlightuserdata(lua, call);
        return lua_pcall(lua, 1, 0, 0) ? complain(lua, why) : 0;
}
