/* SPDX-License-Identifier: MIT */

/* Wrong: who leaves writes each item of the ward, unseen by the history, so that all conflict with all. */

#include "labs/isolation/ward.h"

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
        for (int item = 0; item < ITEMS; item++) {
                long version = ward->item[item].version;
                ward->item[item].version = version;
        }
        return duty_leave(ward, doctor);
}
