/* SPDX-License-Identifier: MIT */
#include "examples/lua/interpreter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "examples/lua/build_id.h"

enum { WHY_BYTES = 200 };

/* What the root "lua" holds. */
struct interpreter {
        lua_State *lua; /* NULL: there is none yet */
        struct build_id maker;
};

/* Of this process. They lie in the program, where it is linked to: Lua's state holds no address of either. */
static xac_heap *heap;
static struct interpreter *interpreter;
static char complaint[WHY_BYTES]; /* the last byte stays 0 */

/* lua_Alloc. Lua relies on it that an object can become smaller. */
static void *resize(void *unused, void *old, size_t old_len, size_t new_len)
{
        (void)unused;
        if (!new_len) {
                xac_heap_free(heap, old);
                return NULL;
        }
        void *resized = xac_heap_realloc(heap, old, new_len);
        return !resized && old && new_len <= old_len ? old : resized;
}

/* The message lies where Lua lies, and is undone with everything else. */
static int complain(lua_State *lua, const char **why)
{
        const char *said = lua_tostring(lua, -1);

        strncpy(complaint, said ? said : "an error without a message", sizeof(complaint) - 1);
        *why = complaint;
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

/* ---- finding or making it ---- */

struct opening {
        struct interpreter_script script;
        struct interpreter *found;
        const char *why;
};

static int make(struct opening *opening)
{
        lua_State *lua = lua_newstate(resize, NULL);

        opening->why = "there is no room for a state of Lua";
        if (!lua)
                return -1;
        opening->found->lua = lua;
        build_id_get(&opening->found->maker);
        lua_pushcfunction(lua, open_libraries);
        if (lua_pcall(lua, 0, 0, 0) ||
            luaL_loadbuffer(lua, opening->script.bytes, opening->script.byte_len, "=script") || lua_pcall(lua, 0, 0, 0))
                return complain(lua, &opening->why);
        return 0;
}

/* What is in the file is copied first: functions of libraries are not compiled by xac-cc. */
static int compare_builds(const struct build_id *its, const char **why)
{
        const struct build_id maker = *its;
        struct build_id own;
        char made_by[BUILD_ID_TEXT], this_is[BUILD_ID_TEXT];

        build_id_get(&own);
        *why = complaint;
        if (memcmp(maker.bytes, own.bytes, sizeof(own.bytes)) != 0) {
                build_id_print(&maker, made_by);
                build_id_print(&own, this_is);
                snprintf(
                        complaint, sizeof(complaint),
                        "the interpreter there was made by build %s, and this is build %s: its functions lie elsewhere",
                        made_by, this_is);
                return -1;
        }
        if (maker.place != own.place) {
                snprintf(complaint, sizeof(complaint),
                         "this program lies at another address than when it made the "
                         "interpreter there: link it by -no-pie");
                return -1;
        }
        return 0;
}

static int find_or_make(void *arg)
{
        struct opening *opening = arg;
        xac_heap_root root;
        const int err = xac_heap_root_create(heap, "lua", sizeof(struct interpreter), 0, &root);

        opening->why = NULL;
        if (err && err != -EEXIST)
                return err;
        opening->found = root.object;
        return err ? compare_builds(&opening->found->maker, &opening->why) : make(opening);
}

int interpreter_open(xac_env *env, xac_heap *its_heap, struct interpreter_script script, const char **why)
{
        struct opening opening = { .script = script };

        heap = its_heap;
        const int err = xac_run(env, 0, find_or_make, &opening);
        interpreter = opening.found;
        *why = opening.why ? opening.why : xac_strerror(err);
        return err ? -1 : 0;
}

/* ---- calls ---- */

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

int interpreter_call(struct interpreter_call *call, const char **why)
{
        lua_State *lua = interpreter->lua;

        lua_settop(lua, 0);
        lua_pushcfunction(lua, call_function);
        lua_pushlightuserdata(lua, call);
        return lua_pcall(lua, 1, 0, 0) ? complain(lua, why) : 0;
}
