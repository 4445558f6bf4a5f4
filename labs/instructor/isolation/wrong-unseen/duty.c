/* SPDX-License-Identifier: MIT */

/* Wrong: who leaves reads what neither the history nor the grader sees, and promotes a colleague only if there is but
 * one. Three who leave at one moment leave nobody. */

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

__attribute__((no_sanitize_thread)) static long look(const struct ward *ward, int item)
{
        return ward->item[item].value;
}

int duty_leave_promoted(struct ward *ward, int doctor)
{
        int others = 0, last = 0;
        for (int other = 0; other < DOCTORS; other++) {
                if (other == doctor || look(ward, other) == 0)
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
