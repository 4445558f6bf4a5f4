/* SPDX-License-Identifier: MIT */
#include "backup/trouble.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <xac/xac.h>

int trouble_say(struct trouble *trouble, int err, const char *format, ...)
{
        const size_t room = trouble->text[0] ? 0 : sizeof(trouble->text);
        va_list args;

        va_start(args, format);
        (void)vsnprintf(trouble->text, room, format, args);
        va_end(args);
        return err;
}

int trouble_with(struct trouble *trouble, int err, const char *name)
{
        switch (err) {
        case XAC_CORRUPT:
                return trouble_say(trouble, err, "%s: damaged", name);
        case XAC_FORMAT:
                return trouble_say(trouble, err, "%s: made by another version of libxac", name);
        default:
                errno = -err;
                return trouble_say(trouble, err, "%s: %m", name);
        }
}
