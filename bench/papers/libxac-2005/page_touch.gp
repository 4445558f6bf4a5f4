# SPDX-License-Identifier: MIT
# The page-touch experiment: cost per page over the number of pages (thesis, figures 4-1 to 4-4);
# lines for the ways of the library, circles for the primitives of a first write.
# Called by bench/plot/draw with csv, svg and medians set.

set terminal svg size 960,600 background "white"
set output svg
set title "Touching n consecutive pages in one transaction"
set xlabel "pages in a transaction"
set ylabel "nanoseconds per page (median)"
set logscale x 2
set logscale y 10
set key outside right
set grid

series(system, metric) = sprintf("< awk -v measured=%s -v metric=%s -f '%s' '%s'", system, metric, medians, csv)
ways = "write_plain write_advised write_declared read_cold read_cold_advised read_declared read_warm"

plot for [way in ways] series("libxac", way) using 1:2 with linespoints title way noenhanced, \
     for [part in "signal rewire first_touch copy"] series("primitives", part) using 1:2 \
         with points pointtype 6 title part noenhanced
