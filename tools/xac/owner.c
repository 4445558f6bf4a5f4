/* SPDX-License-Identifier: MIT */
#include "tools/xac/owner.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/xac/tool.h"

enum { NAME_BYTES = 256 };

/* A name of digits alone is a number. */
static bool parse_number(const char *text, uint32_t *number)
{
        char *end;
        unsigned long long value;

        errno = 0;
        value = strtoull(text, &end, 10);
        *number = (uint32_t)value;
        return text[0] >= '0' && text[0] <= '9' && !*end && !errno && value < UINT32_MAX;
}

static bool parse_user(const char *name, struct partial_owner *owner, bool has_group)
{
        uint32_t number;
        const bool is_number = parse_number(name, &number);
        const struct passwd *user = is_number ? getpwuid(number) : getpwnam(name);

        if (!user && (!is_number || !has_group)) {
                tool_complain(is_number ? "--owner: user %s has no group of its own that is known: give one, USER:GROUP"
                                        : "--owner: there is no user '%s'",
                              name);
                return false;
        }
        owner->user = is_number ? number : user->pw_uid;
        if (!has_group)
                owner->group = user->pw_gid;
        return true;
}

static bool parse_group(const char *name, struct partial_owner *owner)
{
        uint32_t number;
        const bool is_number = parse_number(name, &number);
        const struct group *group = is_number ? NULL : getgrnam(name);

        if (!is_number && !group) {
                tool_complain("--owner: there is no group '%s'", name);
                return false;
        }
        owner->group = is_number ? number : group->gr_gid;
        return true;
}

bool owner_parse(const char *text, struct partial_owner *owner)
{
        const char *const colon = strchr(text, ':');
        const size_t length = colon ? (size_t)(colon - text) : strlen(text);
        char user[NAME_BYTES];

        if (!length || length >= sizeof(user)) {
                tool_complain("--owner takes USER or USER:GROUP, names or numbers, not '%s'", text);
                return false;
        }
        snprintf(user, sizeof(user), "%.*s", (int)length, text);
        owner->is_given = true;
        return parse_user(user, owner, colon) && (!colon || parse_group(colon + 1, owner));
}
