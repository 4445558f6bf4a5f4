/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VIEW_VIEW_MAPPER_H
#define LIBXAC_VIEW_VIEW_MAPPER_H

/*
 * The views of a thread, and what it keeps of translations, as its transaction asks them (txn_mapper.h).
 */

#include "libxac/txn/txn_mapper.h"

extern const struct txn_mapper view_mapper;

#endif
