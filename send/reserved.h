/* SPDX-License-Identifier: MIT */
#ifndef SEND_RESERVED_H
#define SEND_RESERVED_H

/* Reserved words that are not zero: of a program that was built for a later version, and wants what this one does not
 * know. */

#include <stdbool.h>
#include <stddef.h>

#include <xac/send.h>

static inline bool send_request_has_more(const xac_send_request *request)
{
        uint32_t any = 0;
        for (size_t i = 0; i < sizeof(request->reserved) / sizeof(request->reserved[0]); i++)
                any |= request->reserved[i];
        return any != 0;
}

static inline bool send_options_have_more(const xac_send_options *options)
{
        uint64_t any = 0;
        for (size_t i = 0; i < sizeof(options->reserved) / sizeof(options->reserved[0]); i++)
                any |= options->reserved[i];
        return any != 0;
}

#endif
