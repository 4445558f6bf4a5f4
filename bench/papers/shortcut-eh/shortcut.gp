# SPDX-License-Identifier: MIT
#
# Shortcuts: lookups over the size of a node and over its fan-in, and what it costs to change one while others read.
# Called by bench/plot/pictures with data (a folder) and svg set.

set terminal svg size 900, 760 font "sans-serif,12" background "white"
set output svg
set datafile separator "\t"
set datafile missing "-"
set border 3 linecolor "#444444"
set grid linecolor "#dddddd"
set xtics nomirror
set ytics nomirror
set multiplot layout 2, 2

rows(table, condition) = sprintf("< awk -F '\t' '!/^#/ && %s' '%s/shortcut-%s.tsv'", condition, data, table)
lines = "linewidth 2 pointtype 7 pointsize 0.5"

set logscale x 2
set format x "2^{%L}"
set xlabel "leaves of 4 KiB"
set ylabel "nanoseconds of a lookup"
set yrange [0:*]
set key bottom right samplen 2
set title "independent lookups; less is better"
joined(page) = sprintf("$3 == \"%s\" && $4 == \"joined\"", page)
plot rows("lookups", joined("4 KiB")) using 2:6 with linespoints @lines dashtype 2 linecolor rgb "#7a7a7a" title "pointers, 4 KiB", \
     rows("lookups", joined("4 KiB")) using 2:7 with linespoints @lines linecolor rgb "#9fd3ea" title "shortcut, 4 KiB", \
     rows("lookups", joined("2 MiB")) using 2:6 with linespoints @lines dashtype 2 linecolor rgb "#e08a1e" title "pointers, 2 MiB", \
     rows("lookups", joined("2 MiB")) using 2:7 with linespoints @lines linecolor rgb "#0b6fa4" title "shortcut, 2 MiB"
set title "each waits for the one before; less is better"
plot rows("lookups", joined("4 KiB")) using 2:9 with linespoints @lines dashtype 2 linecolor rgb "#7a7a7a" title "pointers, 4 KiB", \
     rows("lookups", joined("4 KiB")) using 2:10 with linespoints @lines linecolor rgb "#9fd3ea" title "shortcut, 4 KiB", \
     rows("lookups", joined("2 MiB")) using 2:9 with linespoints @lines dashtype 2 linecolor rgb "#e08a1e" title "pointers, 2 MiB", \
     rows("lookups", joined("2 MiB")) using 2:10 with linespoints @lines linecolor rgb "#0b6fa4" title "shortcut, 2 MiB"

set title "slots for each leaf, pages of 4 KiB; less is better"
set xlabel "fan-in"
set format x "%g"
set key top right
set logscale y
set yrange [1:*]
plot rows("fan-in", joined("4 KiB")) using 1:6 with linespoints @lines dashtype 2 linecolor rgb "#7a7a7a" title "pointers", \
     rows("fan-in", joined("4 KiB")) using 1:7 with linespoints @lines linecolor rgb "#9fd3ea" title "shortcut", \
     rows("fan-in", joined("4 KiB")) using 1:9 with linespoints @lines dashtype 2 linecolor rgb "#e08a1e" title "pointers, dependent", \
     rows("fan-in", joined("4 KiB")) using 1:10 with linespoints @lines linecolor rgb "#0b6fa4" title "shortcut, dependent"

unset logscale y
set yrange [0:*]
set title "pointing a page of 4 KiB elsewhere; less is better"
unset logscale x
set xlabel "readers"
set ylabel "microseconds"
set key top left
readers(name) = sprintf("$1 == \"%s\" && $2 == \"4 KiB\"", name)
plot rows("shootdowns", readers("shortcut")) using 3:($4 / 1000) with linespoints @lines linecolor rgb "#0b6fa4" title "they read the shortcut", \
     rows("shootdowns", readers("array")) using 3:($4 / 1000) with linespoints @lines linecolor rgb "#7a7a7a" title "they read an array"
unset multiplot
