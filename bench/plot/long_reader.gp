# SPDX-License-Identifier: MIT
# Writers with and without a held snapshot: throughput of every slice, in the order of time
# within its kind of phase. Called by bench/plot/draw with csv, svg and medians set.

set terminal svg size 960,480 background "white"
set output svg
set title "One writer, and a snapshot that another process holds"
set xlabel "slice"
set ylabel "million transactions per second"
set yrange [0:*]
set key bottom right
set grid

slices(metric) = sprintf("< awk -F, '$6 == \"%s\" { print $7 / 1e6 }' '%s'", metric, csv)

plot slices("no_snapshot") using 0:1 with lines title "no snapshot", \
     slices("snapshot_held") using 0:1 with lines title "snapshot held"
