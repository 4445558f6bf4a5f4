/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_CALIBRATION_H
#define TOOLS_XAC_CALIBRATION_H

/* Is it a file that xac_send_options_write() has made? Each socket has its line in it, or none: any will do to ask.
 * -ENOENT, XAC_FORMAT, ... */
int calibration_check(const char *path);

#endif
