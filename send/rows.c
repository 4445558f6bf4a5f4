/* SPDX-License-Identifier: MIT */
#include "send/rows.h"

#include <errno.h>
#include <stdlib.h>

struct rows *rows_new(void)
{
        struct rows *rows = calloc(1, sizeof(*rows));
        if (rows)
                rows->holders = 1;
        return rows;
}

void rows_release(struct rows *rows)
{
        if (!rows || --rows->holders)
                return;
        free(rows->bytes);
        free(rows);
}

int rows_grow(struct rows *rows, size_t byte_len)
{
        unsigned char *grown = realloc(rows->bytes, byte_len);
        if (!grown)
                return -ENOMEM;
        rows->bytes = grown;
        rows->room = byte_len;
        return 0;
}

void rows_finish(struct rows *rows)
{
        enum { MUCH = 4, FEW_BYTES = 65536 };
        if (rows->room > FEW_BYTES && rows->room / MUCH > rows->used)
                rows_grow(rows, rows->used + FEW_BYTES);
}
