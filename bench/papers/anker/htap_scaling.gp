# SPDX-License-Identifier: MIT
#
# Throughput by the number of threads. Called by bench/plot/pictures.

set terminal svg size 900, 320 font "sans-serif,12" background "white"
set output svg
set multiplot
set datafile separator "\t"
set datafile missing "-"
set border 3 linecolor "#444444"
set grid y linecolor "#dddddd"
set xtics nomirror (1, 2, 4, 8, 16)
set ytics nomirror
set format y "%.0s%c"
set xlabel "threads" offset 0, 0.5
set logscale x 2
set yrange [0:*]
set key bottom right font ",11"
rows(metric) = sprintf("< awk -v experiment=scaling -v by=threads -v metric=%s -v systems='homogeneous heterogeneous' -f '%s' %s", \
        metric, table, csv)
do for [panel = 1:2] {
        metric = word("transactions mixed", panel)
        set lmargin at screen 0.08 + (panel - 1) * 0.48
        set rmargin at screen 0.08 + (panel - 1) * 0.48 + 0.41
        set title panel == 1 ? "transactions alone, per second" : "transactions and queries, per second"
        plot rows(metric) using 1:2 with linespoints pointtype 7 pointsize 0.5 linewidth 2 linecolor rgb "#b5532a" title "homogeneous", \
             rows(metric) using 1:3 with linespoints pointtype 7 pointsize 0.5 linewidth 2 linecolor rgb "#0b6fa4" title "heterogeneous"
        unset key
}
unset multiplot
