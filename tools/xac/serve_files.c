/* SPDX-License-Identifier: MIT */
#include "tools/xac/serve_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/sys.h"

int serve_files_open(struct serve_files *files, const char *directory)
{
        int err = sys_open(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, 0, &files->directory);

        if (err)
                return err;
        err = serve_files_look(files);
        if (err)
                serve_files_close(files);
        return err;
}

void serve_files_close(struct serve_files *files)
{
        sys_close(files->directory);
}

int serve_files_look(struct serve_files *files)
{
        return manifest_read(files->directory, &files->manifest);
}

static int find(const struct serve_files *files, const char *name)
{
        for (uint32_t i = 0; i < files->manifest.file_count; i++)
                if (strcmp(files->manifest.file_name[i], name) == 0)
                        return 0;
        return -ENOENT;
}

/* It may have come since the last look. */
int serve_files_find(struct serve_files *files, const char *name)
{
        int err;

        if (!find(files, name))
                return 0;
        err = serve_files_look(files);
        return err ? err : find(files, name);
}
