# SPDX-License-Identifier: MIT
#
# From the rows of an experiment of bench/papers/anker/htap/htap, for each param in the order of the file, the medians of some systems:
#
#     awk -v experiment=latency -v metric=loaded -v systems="homogeneous heterogeneous" -f htap.awk htap.csv duckdb.csv
#
# over=METRIC divides each by the system's own median of that metric, base=SYSTEM by that system's. by=threads has rows by
# the number of threads. by=system has a row for each system. A median that is missing is "-".

BEGIN { FS = ","; count = split(systems, names, " ") }

function sort_numbers(list, length_,    i, j, moving)
{
        for (i = 2; i <= length_; i++) {
                moving = list[i]
                for (j = i - 1; j >= 1 && list[j] > moving; j--)
                        list[j + 1] = list[j]
                list[j + 1] = moving
        }
}

function median_of(key,    list, length_, i)
{
        length_ = split(values[key], list, " ")
        for (i = 1; i <= length_; i++)
                list[i] += 0
        sort_numbers(list, length_)
        return length_ ? (list[int((length_ + 1) / 2)] + list[int(length_ / 2) + 1]) / 2 : "-"
}

function figure(row, name,    value, below)
{
        value = median_of(row SUBSEP name SUBSEP metric)
        below = over != "" ? median_of(row SUBSEP name SUBSEP over) : base != "" ? median_of(row SUBSEP base SUBSEP metric) : 1
        return value == "-" || below == "-" || below == 0 ? "-" : value / below
}

$1 == experiment && ($6 == metric || $6 == over) {
        row = by == "threads" ? $4 : by == "system" ? "all" : $5
        if (!((row SUBSEP $2 SUBSEP $6) in values) && !(row in seen)) {
                seen[row] = 1
                rows[++row_count] = row
        }
        values[row SUBSEP $2 SUBSEP $6] = values[row SUBSEP $2 SUBSEP $6] " " $7
}

END {
        for (r = 1; r <= row_count; r++) {
                if (by != "system")
                        printf "%s", rows[r]
                for (s = 1; s <= count; s++)
                        printf by == "system" ? "%s\t%s\n" : "%.0s\t%s", names[s], figure(rows[r], names[s])
                if (by != "system")
                        print ""
        }
}
