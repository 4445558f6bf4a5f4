/* SPDX-License-Identifier: MIT */
#include "backup/trouble.h"

#include <stdarg.h>
#include <string.h>

#include <xac/xac.h>

#include "base/say.h"

int trouble_say(struct trouble *trouble, int err, const char *format, ...)
{
        va_list args;

        if (trouble->text[0])
                return err;
        va_start(args, format);
        say_text_list(trouble->text, sizeof(trouble->text), format, args);
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
                return trouble_say(trouble, err, "%s: %s", name, strerror(-err));
        }
}
