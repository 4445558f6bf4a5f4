/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_DATA_NAME_H
#define RECOVERY_DATA_NAME_H

/*
 * What a data file may be called: a plain name in its directory, and none of the library's own. All who take a name
 * from a program, a manifest, a backup or an archive ask here.
 */

#include <stdbool.h>
#include <string.h>

#define DATA_NAME_OWN "xac." /* how the library's own names begin */

static inline bool data_name_is_own(const char *name)
{
        return strncmp(name, DATA_NAME_OWN, strlen(DATA_NAME_OWN)) == 0;
}

static inline bool data_name_makes_sense(const char *name)
{
        return name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
               !data_name_is_own(name);
}

#endif
