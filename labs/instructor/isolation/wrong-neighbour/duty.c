/* SPDX-License-Identifier: MIT */

/* Wrong: who leaves writes the next doctor, whoever that is, and not the one on whom the decision rests. */

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
        int next = (doctor + 1) % DOCTORS;
        ward_write(ward, next, ward_read(ward, next));
        return duty_leave(ward, doctor);
}
