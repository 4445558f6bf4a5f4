# SPDX-License-Identifier: MIT
# Blocks that a search (above) and a scan (below) bring into caches of several sizes: a plot for each size of a block.
# Called by bench/plot/draw with csv, svg and medians set.

set terminal svg size 1440,640 background "white"
set output svg
set multiplot layout 2,4
set logscale x 2
set format x "%.0b%B"
set xlabel "cache"
set xtics 4
set yrange [0:*]
set grid
set key top right noenhanced

systems = system(sprintf("awk -F, 'NR > 1 && !seen[$2]++ { print $2 }' '%s'", csv))
blocks = "64 512 4096 65536"

# medians.awk groups by param: here the size of the cache.
series(name, metric, block) = sprintf("< awk -F, -v OFS=, 'NR == 1 || (index($5, \";block=%s;\") && sub(/.*cache=/, \"\", $5))' '%s' | " . \
        "awk -v measured=%s -v metric=%s -f '%s' /dev/stdin", block, csv, name, metric, medians)

do for [metric in "transfers_per_search transfers_per_range"] {
        do for [block in blocks] {
                set title sprintf("%s, blocks of %s bytes", metric, block) noenhanced
                plot for [i = 1:words(systems)] series(word(systems, i), metric, block) using 1:2 \
                        with linespoints linetype i title word(systems, i)
        }
}
unset multiplot
