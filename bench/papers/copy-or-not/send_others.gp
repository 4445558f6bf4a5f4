# SPDX-License-Identifier: MIT
#
# What a client pays that keeps what it has and gets what has changed; and writers beside streams. Called by
# bench/plot/pictures with data (a folder) and svg set.

set terminal svg size 1100, 760 font "sans-serif,12" background "white"
set output svg
set datafile separator "\t"
set datafile missing "-"
set border 3 linecolor "#444444"
set grid ytics linecolor "#dddddd"
set xtics nomirror noenhanced
set ytics nomirror
set style fill solid 0.8
set style data histograms
set style histogram clustered gap 1
set boxwidth 0.9
set yrange [0:*]
set offsets 0, 0, graph 0.3, 0
set multiplot layout 2, 2

rows(table, awk) = sprintf("< awk -F '\t' -v OFS='\t' '/^#/ { next } %s' '%s/send-%s.tsv'", awk, data, table)

# The name of the way, and how many changes there are in a page of 4 KiB.
changes = "{ print $1 \", \" $2, $3, $5, $7, $8 }"
set xtics rotate by -35
set key top right samplen 1
set title "a client's copy, brought up to date; less is better"
set ylabel "nanoseconds a record"
plot rows("deltas", changes) using 2:xtic(1) linecolor rgb "#7a7a7a" title "time", \
     "" using 3 linecolor rgb "#0b6fa4" title "sender's processor", \
     "" using 4 linecolor rgb "#e08a1e" title "client's processor"
set title "and its bytes"
set ylabel "bytes a record"
plot rows("deltas", changes) using 5:xtic(1) linecolor rgb "#3fa7d6" notitle

# A row for each load, a column for each place: what is left of the writers' throughput.
left(durable) = sprintf("$1 == \"%s\" && $3 != \"nobody reads\" { if (!($3 in seen)) { seen[$3] = ++n; names[n] = $3 } at[$3, $2] = $5 } " . \
        "END { for (i = 1; i <= n; i++) print names[i], (names[i], \"together\") in at ? at[names[i], \"together\"] : \"-\", " . \
        "(names[i], \"apart\") in at ? at[names[i], \"apart\"] : \"-\" }", durable)
set ylabel "of what they commit when nobody reads"
do for [kind in "memory durable"] {
        set title sprintf("writers beside two streams, %s; more is better", kind eq "memory" ? "in memory" : kind)
        plot rows("writers", left(kind eq "memory" ? "in memory" : kind)) using 2:xtic(1) linecolor rgb "#3fa7d6" \
             title "two writers, all together", \
             "" using 3 linecolor rgb "#0b6fa4" title "one writer on a processor of its own"
}
unset multiplot
