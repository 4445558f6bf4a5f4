/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_LIVE_JSON_H
#define TOOLS_XAC_LIVE_JSON_H

/*
 * What is in shared memory, for programs: parts of the JSON of `xac stat` and `xac top`. xac(1) has the fields.
 */

#include "tools/xac/json.h"
#include "tools/xac/live.h"

/* "archive": how far it is behind; null: there is none. */
void live_put_archive(struct json *json, const struct inspection *inspection);
/* "pool", "process_list" and "participants". Without an inspection null, and empty lists. */
void live_put_memory(struct json *json, const struct inspection *inspection);

#endif
