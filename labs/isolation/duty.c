/* SPDX-License-Identifier: MIT */

/* Your part of the lab: the doctors. README.md says what to do; ward.h says what each function promises. Read and write
 * by ward_read() and ward_write(). */

#include "labs/isolation/ward.h"

/* ------------------------------------------------------------------ part 3: serial code */

int duty_leave(struct ward *ward, int doctor)
{
        /* TODO */
        (void)ward;
        (void)doctor;
        return 0;
}

int duty_return(struct ward *ward, int doctor)
{
        /* TODO */
        (void)ward;
        (void)doctor;
        return 0;
}

/* ------------------------------------------------------------------ part 4: right under XAC_SNAPSHOT_ISOLATION */

int duty_leave_promoted(struct ward *ward, int doctor)
{
        /* TODO */
        (void)ward;
        (void)doctor;
        return 0;
}
