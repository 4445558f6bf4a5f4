# SPDX-License-Identifier: MIT
# Moving pages against copying them: time for each page over the number of pages in a transaction.
# Called by bench/plot/draw with csv, svg and medians set.

set terminal svg size 1200,720 background "white"
set output svg
set multiplot layout 2,2
set xlabel "pages in a transaction"
set ylabel "nanoseconds per page (median)"
set logscale x 2
set logscale y 10
set key top right noenhanced
set grid

series(system, metric) = sprintf("< awk -v measured=%s -v metric=%s -f '%s' '%s'", system, metric, medians, csv)

do for [promise in "volatile durable"] {
        do for [access in "declared view"] {
                set title sprintf("%s, %s", promise, access)
                plot for [way in "move move_singly copy"] series(access, promise . "_" . way) using 1:2 \
                        with linespoints title way
        }
}
unset multiplot
