/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_OPENING_H
#define TOOLS_XAC_OPENING_H

/*
 * An environment that a subcommand opens as a program does, and changes nothing in: in the way in which those have it
 * open that use it, and with the archive that they named last. So it neither keeps them from opening it meanwhile, nor
 * gives up log that their archive does not have. One that may only be read is opened with XAC_RDONLY.
 */

#include <stdbool.h>

#include <xac/xac.h>

#include "tools/xac/tool.h"

struct opening {
        const char *path;
        const char *command; /* for people */
        /* Although this is root, and the owner, who is not, could not open the files it makes; and although the archive
         * takes nothing, so that it lacks what is given up meanwhile. */
        bool is_forced;
        bool may_adopt;       /* what others have changed while it was closed is taken as it is */
        bool writes;          /* checksums, say: so one that may only be read will not do */
        bool stays;           /* for as long as it likes: who opens what it reads at rest would wait for it */
        bool may_be_volatile; /* programs may have it open with XAC_VOLATILE */
};

/* Has the directory anything of an archive? A mount that is away for a while may leave an empty one. */
bool opening_is_archive(const char *path);

/* Complains if it fails. */
enum tool_exit opening_open(const struct opening *opening, xac_env **env);

#endif
