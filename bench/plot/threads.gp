# SPDX-License-Identifier: MIT
# Threads of one process and processes: the time of a transaction over the number of workers. Called by bench/plot/draw
# with csv, svg and medians set.

set terminal svg size 900,780 background "white"
set output svg
set multiplot layout 2,2 title "A transaction that writes two pages at random, all workers together (median)"

set xlabel "workers"
set ylabel "us for a transaction"
set xtics (1, 2, 4, 8, 16)
set xrange [0.8:20]
set logscale xy
set grid y
set key top left

# medians.awk groups by param: here that is the number of workers.
series(system, metric) = sprintf("< awk -F, -v OFS=, 'NR == 1 { print } NR > 1 { $5 = $3 * $4; print }' '%s' | " . \
        "awk -v measured=%s -v metric=%s -f '%s' /dev/stdin", csv, system, metric, medians)

do for [place in "own same"] {
        do for [system in "libxac_view libxac_declared"] {
                set title sprintf("%s, pages %s", system eq "libxac_view" ? "views" : "declared access", \
                        place eq "own" ? "of each worker's own" : "for all the same")
                plot for [kind in "threads processes"] series(system, place . "_" . kind) using 1:2:3:4 \
                        with yerrorlines title kind
        }
}
unset multiplot
