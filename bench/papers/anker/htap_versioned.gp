# SPDX-License-Identifier: MIT
#
# The time of a scan by the share of rows with versions, of that without versions. Called by bench/plot/pictures.

set terminal svg size 900, 320 font "sans-serif,12" background "white"
set output svg
set multiplot
set datafile separator "\t"
set datafile missing "-"
set border 3 linecolor "#444444"
set grid y linecolor "#dddddd"
set xtics nomirror
set ytics nomirror
set xlabel "rows with versions, %" offset 0, 0.5
set key top left font ",11"
set yrange [0:*]
rows(metric) = sprintf("< awk -v experiment=versioned -v metric=%s -v systems='homogeneous heterogeneous' -f '%s' %s | sort -n", \
        metric, table, csv)
do for [panel = 1:3] {
        metric = word("lineitem orders part", panel)
        set lmargin at screen 0.06 + (panel - 1) * 0.325
        set rmargin at screen 0.06 + (panel - 1) * 0.325 + 0.275
        set title metric . ", ms"
        plot rows(metric) using 1:2 with linespoints pointtype 7 pointsize 0.5 linewidth 2 linecolor rgb "#b5532a" title "homogeneous", \
             rows(metric) using 1:3 with linespoints pointtype 7 pointsize 0.5 linewidth 2 linecolor rgb "#0b6fa4" title "heterogeneous"
        unset key
}
unset multiplot
