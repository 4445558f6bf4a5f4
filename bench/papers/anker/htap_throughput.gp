# SPDX-License-Identifier: MIT
#
# Transactions alone, and a stream with queries in it: per second, by system. Called by bench/plot/pictures.

set terminal svg size 900, 320 font "sans-serif,12" background "white"
set output svg
set multiplot
set datafile separator "\t"
set datafile missing "-"
set style fill solid 1 noborder
set border 2 linecolor "#444444"
unset key
unset xtics
systems = "homogeneous homogeneous-eager homogeneous-snapshot heterogeneous heterogeneous-pages heterogeneous-snapshot sqlite duckdb"
colours = "b5532a d9a58c d08a6a 0b6fa4 3fa7d6 8cc4e4 7a7a7a d4a72c"
rows(metric) = sprintf("< awk -v experiment=throughput -v metric=%s -v by=system -v systems='%s' -f '%s' %s", \
        metric, systems, table, csv)
colour(row) = int(system(sprintf("printf '%%d' 0x%s", word(colours, row + 1))))
short(x) = x < 1e3 ? sprintf("%.0f", x) : x < 1e6 ? sprintf("%.1fk", x / 1e3) : sprintf("%.2fM", x / 1e6)
set yrange [words(systems) - 0.4:-0.6]
do for [panel = 1:2] {
        set lmargin at screen panel == 1 ? 0.20 : 0.62
        set rmargin at screen panel == 1 ? 0.56 : 0.95
        set title panel == 1 ? "transactions alone, per second" : "transactions and queries, per second"
        set ytics scale 0 ()
        do for [i = 1:words(systems)] { set ytics add ((panel == 1 ? word(systems, i) : "") i - 1) }
        data = rows(panel == 1 ? "transactions" : "mixed")
        set xrange [*:*]
        set yrange [*:*]
        stats data using 2 nooutput
        set xrange [0:STATS_max * 1.35]
        set yrange [words(systems) - 0.4:-0.6]
        plot data using (0):0:(0):2:($0 - 0.38):($0 + 0.38):(colour(int($0))) with boxxyerror linecolor rgb variable, \
             data using 2:0:(short($2)) with labels left offset 0.5, 0 font ",11"
}
unset multiplot
