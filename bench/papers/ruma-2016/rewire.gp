# SPDX-License-Identifier: MIT
#
# What rewired memory costs and saves: growing vectors, the first and second write, shuffling, and access through a
# directory. Called by bench/plot/pictures with data (a folder) and svg set.

set terminal svg size 900, 900 font "sans-serif,12" background "white"
set output svg
set datafile separator "\t"
set datafile missing "-"
set border 3 linecolor "#444444"
set grid linecolor "#dddddd"
set xtics nomirror noenhanced
set ytics nomirror
set multiplot layout 2, 2

rows(table, condition) = sprintf("< awk -F '\t' -v OFS='\t' '/^#/ { next } %s' '%s/rewire-%s.tsv'", condition, data, table)

set title "10^8 entries appended; less is better"
set ylabel "milliseconds"
set style fill solid 0.8
set boxwidth 0.8
set xtics rotate by -40
set yrange [0:*]
set key outside top center horizontal samplen 1
both(column) = sprintf("{ name = $1 \", \" $3; if (!(name in seen)) { seen[name] = ++n; names[n] = name } ms[name, $2] = $%d } " . \
        "END { for (i = 1; i <= n; i++) print names[i], ms[names[i], \"4 KiB\"], ms[names[i], \"2 MiB\"] }", column)
set style data histograms
set style histogram clustered gap 1
plot rows("vector", both(4)) using 2:xtic(1) linecolor rgb "#9fd3ea" title "pages of 4 KiB", \
     "" using 3 linecolor rgb "#0b6fa4" title "2 MiB"

set title "writing 256 MiB, once and again; less is better"
plot rows("allocation", "$5 != \"-\" { print $1 \", \" $2 ($3 == \"random\" ? \", random\" : \"\"), $5, $6 }") using 2:xtic(1) linecolor rgb "#e08a1e" title "first write", \
     "" using 3 linecolor rgb "#9fd3ea" title "second"

set title "256 MiB in chunks, shuffled; less is better"
set xtics norotate autofreq enhanced
set style data linespoints
set xlabel "KiB of a chunk"
set logscale x 2
set logscale y
set yrange [*:*]
set format x "2^{%L}"
set format y "%g"
set key inside bottom left vertical Left reverse samplen 2
plot for [i = 1:5] rows("shuffle", "1") using 1:int(word("2 4 5 6 8", i)) linewidth 2 pointtype 7 pointsize 0.4 \
     linecolor rgb word("#7a7a7a #8a6fb0 #9fd3ea #3fa7d6 #0b6fa4", i) \
     title word("'copied into fresh memory' 'copied, huge pages' 'rewired, 4 KiB' 'and populated' '2 MiB, populated'", i)

set title "access through a directory and without; less is better"
set xlabel ""
set ylabel "nanoseconds"
unset logscale x
set xtics rotate by -40 noenhanced
set format x "%g"
set style data histograms
set key outside top center horizontal samplen 1 maxcols 2
pages = "{ if (!($1 in seen)) { seen[$1] = ++n; names[n] = $1 } by[$1, $2] = $3 OFS $5 } " . \
        "END { for (i = 1; i <= n; i++) print names[i], by[names[i], \"4 KiB\"], by[names[i], \"2 MiB\"] }"
plot for [i = 2:5] rows("patterns", pages) using i:xtic(1) linecolor rgb word("- #7a7a7a #9fd3ea #e08a1e #0b6fa4", i) \
     title word("- 'directory, 4 KiB' 'rewired, 4 KiB' 'directory, 2 MiB' 'rewired, 2 MiB'", i)
unset multiplot
