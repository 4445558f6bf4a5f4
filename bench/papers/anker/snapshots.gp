# SPDX-License-Identifier: MIT
#
# What snapshots cost: their creation on the way through a column, and the first scan over the share of pages that were
# changed. Called by bench/plot/pictures with series, percents (separated by tabs) and svg set.

set terminal svg size 900, 380 font "sans-serif,12" background "white"
set output svg
set datafile separator "\t"
set border 3 linecolor "#444444"
set grid linecolor "#dddddd"
set xtics nomirror
set ytics nomirror
set multiplot layout 1, 2

rows(file, condition) = sprintf("< awk -F '\t' '%s' '%s'", condition, file)

set title "creating a snapshot of 200 MB; less is better"
set xlabel "pages written before, of 51,200"
set ylabel "microseconds"
set logscale y
set format x "%.0s%c"
set format y "10^{%L}"
set xrange [0:52000]
set yrange [1:1e8]
set key top left Left reverse samplen 2
plot rows(series, '$1 == "rewiring"') using 2:3 with points pointtype 7 pointsize 0.25 linecolor rgb "#e08a1e" \
             title "rewiring, page by page", \
     rows(series, '$1 == "libxac" && NR % 5 == 0') using 2:4 with points pointtype 7 pointsize 0.25 linecolor rgb "#9fd3ea" \
             title "libxac, and a read of one page", \
     rows(series, '$1 == "libxac" && NR % 5 == 0') using 2:3 with points pointtype 7 pointsize 0.25 linecolor rgb "#0b6fa4" \
             title "libxac"

set title "first scan of a snapshot of 200 MB; less is better"
set xlabel "percent of pages changed since the one before"
set xrange [0:103]
set ylabel "milliseconds"
unset logscale y
set format x "%g"
set format y "%g"
set yrange [0:*]
set offsets 0, 0, graph 0.3, 0
set key top left Left reverse samplen 2
plot rows(percents, '$1 == 1') using 2:5:6:7 with yerrorlines linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb "#0b6fa4" \
             title "one thread", \
     rows(percents, '$1 == 2') using 2:5:6:7 with yerrorlines linewidth 2 pointtype 7 pointsize 0.5 linecolor rgb "#3fa7d6" \
             title "two threads", \
     rows(percents, '$1 == 1') using 2:9 with lines linewidth 1.5 dashtype 2 linecolor rgb "#7a7a7a" title "plain memory, one", \
     rows(percents, '$1 == 2') using 2:9 with lines linewidth 1.5 dashtype 3 linecolor rgb "#aaaaaa" title "plain memory, two"
unset multiplot
