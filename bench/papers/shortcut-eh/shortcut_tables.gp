# SPDX-License-Identifier: MIT
#
# Hash tables: the time of inserts as they go on, of lookups, and of both by turns.
# Called by bench/plot/pictures with data (a folder) and svg set.

systems = "HT HTI CH EH Shortcut-EH Shortcut-EH-arranged"
colours = "#e08a1e #b5532a #8a6fb0 #7a7a7a #3fa7d6 #0b6fa4"

set terminal svg size 900, 760 font "sans-serif,12" background "white"
set output svg
set datafile separator "\t"
set datafile missing "-"
set border 3 linecolor "#444444"
set grid linecolor "#dddddd"
set xtics nomirror
set ytics nomirror
set multiplot

rows(table, condition) = sprintf("< awk -F '\t' '!/^#/ && %s' '%s/shortcut-%s.tsv'", condition, data, table)
named(system) = sprintf("$1 == \"%s\" && $2 == \"2 MiB\"", system)

set origin 0, 0.5
set size 0.5, 0.5
set title "inserts, from the first one on; less is better"
set xlabel "records"
set ylabel "milliseconds"
set format x "%.0s%c"
set xrange [0:*]
set yrange [0:*]
set key top left Left reverse samplen 2
plot for [i = 1:5] rows("tables-series", named(word(systems, i))) using 3:4 with lines linewidth 2 \
     linecolor rgb word(colours, i) title word(systems, i)

set origin 0.5, 0.5
set title "lookups at random; less is better"
set xlabel ""
set ylabel "nanoseconds"
set xtics rotate by -30 noenhanced
set xrange [*:*]
set style fill solid 0.8
set style data histograms
set style histogram clustered gap 1
set key outside top center horizontal samplen 1
plot rows("tables", "$2 == \"2 MiB\"") using 7:xtic(1) linecolor rgb "#9fd3ea" title "independent", \
     "" using 9 linecolor rgb "#0b6fa4" title "dependent"

set origin 0, 0
set size 1, 0.5
set title "four waves: inserts, then lookups; less is better (the strip below: in step)"
set xtics norotate
set xlabel "operations"
set ylabel "nanoseconds of each"
set xrange [0:*]
set key inside top right vertical samplen 2
set logscale y
set yrange [10:*]
plot rows("phases-series", named("EH-arranged")) using 3:4 with lines linecolor rgb "#7a7a7a" title "EH, arranged", \
     rows("phases-series", named("Shortcut-EH-arranged")) using 3:4 with lines linecolor rgb "#0b6fa4" title "Shortcut-EH, arranged", \
     rows("phases-series", named("Shortcut-EH-arranged") . " && $5 > 0.5") using 3:(12) with points pointtype 5 pointsize 0.3 \
     linecolor rgb "#0b6fa4" notitle
unset multiplot
