/* SPDX-License-Identifier: MIT */

/* The solution. */

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

/* Who relies on a colleague writes that colleague, too: as it was. If she leaves meanwhile, one of the two loses. */
int duty_leave_promoted(struct ward *ward, int doctor)
{
        for (int after = 1; after < DOCTORS; after++) {
                int other = (doctor + after) % DOCTORS;
                if (!ward_read(ward, other))
                        continue;
                ward_write(ward, other, 1);
                ward_write(ward, doctor, 0);
                return 0;
        }
        return REFUSED;
}
