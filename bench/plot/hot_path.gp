# SPDX-License-Identifier: MIT
# The hot paths: one bar each, with minimum and maximum.
# Called by bench/plot/draw with csv, svg and medians set.

set terminal svg size 720,480 background "white"
set output svg
set title "A transaction with nothing in its way"
set ylabel "nanoseconds (median, minimum, maximum)"
set style fill solid 0.6
set boxwidth 0.6
set xrange [-0.6:3.6]
set yrange [0:*]
set grid y
unset key

paths = "declared_4_reads_1_write warm_view_read empty_read_only empty"
series(metric) = sprintf("< awk -v measured=libxac -v metric=%s -f '%s' '%s'", metric, medians, csv)

set xtics () noenhanced
do for [i = 1:words(paths)] { set xtics add (word(paths, i) i - 1) }

plot for [i = 1:words(paths)] series(word(paths, i)) using (i - 1):2 with boxes linetype 1, \
     for [i = 1:words(paths)] series(word(paths, i)) using (i - 1):2:3:4 with yerrorbars linetype -1 pointtype 0
