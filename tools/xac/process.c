/* SPDX-License-Identifier: MIT */
#include "tools/xac/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "pid (name) state ..."; the name may have parentheses of its own. */
bool process_is_stopped(uint32_t pid)
{
        char path[40], text[256];
        const char *name_end = NULL;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
        file = fopen(path, "re");
        if (!file)
                return false;
        if (fgets(text, sizeof(text), file))
                name_end = strrchr(text, ')');
        fclose(file);
        return name_end && name_end[1] == ' ' && (name_end[2] == 'T' || name_end[2] == 't');
}
