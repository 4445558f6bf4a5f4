/* SPDX-License-Identifier: MIT */

/* Wrong: all who leave write one item, and so begin again because of doctors who rely on others. */

#include "labs/isolation/ward.h"

enum { COMMON = DOCTORS };

/* ------------------------------------------------------------------ part 3 */

int duty_leave(struct ward *ward, int doctor)
{
        for (int other = 0; other < DOCTORS; other++) {
                if (other == doctor || !ward_read(ward, other))
                        continue;
                ward_write(ward, doctor, 0);
                return 0;
        }
        return REFUSED;
}

int duty_return(struct ward *ward, int doctor)
{
        ward_write(ward, doctor, 1);
        return 0;
}

/* ------------------------------------------------------------------ part 4 */

int duty_leave_promoted(struct ward *ward, int doctor)
{
        int err = duty_leave(ward, doctor);
        if (err == 0)
                ward_write(ward, COMMON, 1);
        return err;
}
