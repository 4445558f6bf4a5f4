# SPDX-License-Identifier: MIT
# Durable transactions that write n pages: figure 4-2 of the thesis, durable.
# Called by bench/plot/draw with csv, svg and medians set.

set terminal svg size 600,400 background "white"
set output svg
set grid y

# Rows of one experiment that `condition` (awk's, on the fields of the CSV file) selects.
series(experiment, condition, system, metric) = sprintf("< awk -F, 'NR == 1 || $1 == \"%s\" && (%s)' '%s' | " . \
        "awk -v measured=%s -v metric=%s -f '%s' /dev/stdin", \
        experiment, condition, csv, system, metric, medians)
set title "Durable transactions that write n pages, microseconds per page"
set xlabel "pages in a transaction"
set logscale x 2
set logscale y 10
set key top right
plot for [way in "write_plain write_advised write_declared volatile_write_declared"] \
     series("durable_touch", "1", "libxac", way) using 1:2 with linespoints title way noenhanced
