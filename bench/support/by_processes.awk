# SPDX-License-Identifier: MIT
#
# Reads lines "REPETITION WAY PROCESSES OPERATIONS_A_SECOND CONFLICTS FAULTS CPU_US", and says medians; of the ratio to one
# process, of those within a repetition.

function median(list, n,    i, j, t) {
        for (i = 2; i <= n; i++)
                for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function of(column, key,    i, list) {
        for (i = 1; i <= count[key]; i++)
                list[i] = value[key, i, column]
        return median(list, count[key])
}
function ratio(key, to,    i, list) {
        for (i = 1; i <= count[key]; i++)
                list[i] = value[key, i, 4] / value[to, i, 4]
        return median(list, count[key])
}
{
        key = $2 " " $3
        if (!count[key]++)
                order[++keys] = key
        for (c = 4; c <= 7; c++)
                value[key, count[key], c] = $c
}
END {
        printf "%-16s %9s %12s %10s %14s %10s %12s\n", "way", "processes", "operations/s", ": one", "conflicts/txn", "faults/txn", "cpu us"
        for (k = 1; k <= keys; k++) {
                split(order[k], part, " ")
                printf "%-16s %9d %12.0f %10.2f ", part[1], part[2], of(4, order[k]), ratio(order[k], part[1] " 1")
                printf "%14.4f %10.2f %12.2f\n", of(5, order[k]), of(6, order[k]), of(7, order[k])
        }
}