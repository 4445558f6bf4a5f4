/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TRACE_PAGE_H
#define TOOLS_XAC_TRACE_PAGE_H

/*
 * The page that `xac trace --html` writes, without its data: lines of trace_page.html, .css and .js, up to NULL. Made
 * by embed-page.
 */

extern const char *const trace_page_head[];
extern const char *const trace_page_tail[];

#endif
