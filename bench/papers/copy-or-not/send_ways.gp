# SPDX-License-Identifier: MIT
#
# What each way of sending costs, over the records of a response: a panel for each socket and kind of records. Called by
# bench/plot/pictures with data (a folder), column, label and svg set.

set terminal svg size 1100, 900 font "sans-serif,12" background "white"
set output svg
set datafile separator "\t"
set datafile missing "-"
set border 3 linecolor "#444444"
set grid linecolor "#dddddd"
set xtics nomirror
set ytics nomirror

ways = "copy-out gather zero-copy pages plain automatic"
colors = "#e08a1e #3fa7d6 #8a6fb0 #5aa469 #aaaaaa #000000"
dashes = "1 1 1 1 1 2"
points = "7 7 7 7 7 6"
sockets = "Unix TCP veth"
layouts = "packed scattered scattered"
sizes = "128 128 1024"
rows(socket, layout, size, way) = sprintf("< awk -F '\t' '$3 == \"%s\" && $1 == \"%s\" && $2 == %s && $5 == \"%s\"' '%s/send-ways.tsv'", \
        socket, layout, size, way, data)
has_rows(socket, layout, size) = system(sprintf("awk -F '\t' '$3 == \"%s\" && $1 == \"%s\" && $2 == %s' '%s/send-ways.tsv' | wc -l", \
        socket, layout, size, data)) > 0

place = column == 6 ? "bottom right" : "top right"
set logscale x 2
set format x "2^{%L}"
set logscale y
set format y "%g"
set multiplot layout 3, 3
do for [s = 1:3] {
        do for [k = 1:3] {
                set title sprintf("%s: %s, %s bytes", word(sockets, s), word(layouts, k), word(sizes, k))
                set xlabel (s == 3 ? "records of a response" : "")
                set ylabel (k == 1 ? label : "")
                if (s == 1 && k == 1) { set key @place Left reverse samplen 1.5 } else { unset key }
                if (has_rows(word(sockets, s), word(layouts, k), word(sizes, k))) {
                        plot for [w = 1:words(ways)] rows(word(sockets, s), word(layouts, k), word(sizes, k), word(ways, w)) \
                             using 4:column with linespoints linewidth 2 dashtype int(word(dashes, w)) pointtype int(word(points, w)) \
                             pointsize 0.5 linecolor rgb word(colors, w) title word(ways, w)
                } else {
                        set multiplot next
                }
        }
}
unset multiplot
