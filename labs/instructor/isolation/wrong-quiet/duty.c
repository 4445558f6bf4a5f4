/* SPDX-License-Identifier: MIT */

/* Wrong: who leaves reads what the history does not know, and promotes a colleague only if there is but one. */

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
        int others = 0, last = 0;
        for (int other = 0; other < DOCTORS; other++) {
                if (other == doctor || ward->item[other].value == 0)
                        continue;
                others++;
                last = other;
        }
        if (others == 0)
                return REFUSED;
        if (others == 1)
                ward_write(ward, last, 1);
        ward_write(ward, doctor, 0);
        return 0;
}
