# SPDX-License-Identifier: MIT
#
# From the rows of one metric, "param median min max" by rising param:
#
#     awk -v measured=libxac -v metric=read_warm -f medians.awk page_touch.csv

BEGIN { FS = "," }

# Insertion sort: the list is nearly sorted or short, and every awk can do it.
function sort_numbers(list, count,    i, j, moving)
{
        for (i = 2; i <= count; i++) {
                moving = list[i]
                for (j = i - 1; j >= 1 && list[j] > moving; j--)
                        list[j + 1] = list[j]
                list[j + 1] = moving
        }
}

function print_median(param, values,    list, count, i)
{
        count = split(values, list, " ")
        for (i = 1; i <= count; i++)
                list[i] += 0
        sort_numbers(list, count)
        print param, (list[int((count + 1) / 2)] + list[int(count / 2) + 1]) / 2, list[1], list[count]
}

NR > 1 && $2 == measured && $6 == metric {
        if (!($5 in values))
                params[++param_count] = $5 + 0
        values[$5] = values[$5] " " $7
}

END {
        sort_numbers(params, param_count)
        for (p = 1; p <= param_count; p++)
                print_median(params[p], values[params[p]])
}
