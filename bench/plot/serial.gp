# SPDX-License-Identifier: MIT
# Serial structures: time for each operation over the number of processes; a column for each structure, a row for each
# number of operations in a transaction. Called by bench/plot/draw with csv, svg and medians set.

# All that stand in the file behind this word, in their order.
values(name) = system(sprintf("awk -F, 'NR > 1 && split($5, part, \"%s=\") > 1 && split(part[2], value, \";\") && !seen[value[1]]++ { print value[1] }' '%s'", \
        name, csv))
structures = values("structure")
batches = values("batch")
ways = system(sprintf("awk -F, 'NR > 1 && !seen[$2]++ { print $2 }' '%s'", csv))

set terminal svg size 360 * words(structures), 360 * words(batches) background "white"
set output svg
set multiplot layout words(batches), words(structures)
set xlabel "processes"
set ylabel "microseconds per operation (median)"
set logscale x 2
set logscale y 10
set grid
set key top left noenhanced

series(structure, batch, way) = sprintf("< awk -v by=workers -v metric=us_per_op -v measured=%s -v param='structure=%s;batch=%s' -f '%s' '%s'", \
        way, structure, batch, medians, csv)
# Not every structure is there in every way.
has_rows(series) = system(substr(series, 3, strlen(series)) . " | head -n 1") ne ""

do for [batch in batches] {
        do for [structure in structures] {
                set title sprintf("%s, transactions of %s", structure, batch) noenhanced
                shown = ""
                do for [way in ways] {
                        shown = shown . (has_rows(series(structure, batch, way)) ? " " . way : "")
                }
                plot for [way in shown] series(structure, batch, way) using 1:2 with linespoints title way
        }
}
unset multiplot
