# SPDX-License-Identifier: MIT
#
# From the rows of one metric of one system, "param median min max" by rising param:
#
#     awk -v measured=libxac -v metric=read_warm -f medians.awk page_touch.csv
#
# More may be told: experiment=NAME and param=PART, where a file has several; by=workers (processes times threads)
# instead of param; by=system and workers=N, for all systems in the order of the file.

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

function print_median(group, values,    list, count, i)
{
        count = split(values, list, " ")
        for (i = 1; i <= count; i++)
                list[i] += 0
        sort_numbers(list, count)
        print group, (list[int((count + 1) / 2)] + list[int(count / 2) + 1]) / 2, list[1], list[count]
}

function is_wanted()
{
        return NR > 1 && $6 == metric && (!measured || $2 == measured) && (!experiment || $1 == experiment) &&
               (!param || index(";" $5 ";", ";" param ";")) && (!workers || $3 * $4 == workers)
}

is_wanted() {
        group = by == "system" ? $2 : by == "workers" ? $3 * $4 : $5 + 0
        if (!(group in values))
                groups[++group_count] = group
        values[group] = values[group] " " $7
}

END {
        if (by != "system")
                sort_numbers(groups, group_count)
        for (g = 1; g <= group_count; g++)
                print_median(groups[g], values[groups[g]])
}
