# SPDX-License-Identifier: MIT
# Durable inserts as in the thesis: time for each, and of the k-th most expensive (figure 5-3).
# Called by bench/plot/draw with csv, svg and medians set.

set terminal svg size 1200,480 background "white"
set output svg
set multiplot layout 1,2
set grid

systems = system(sprintf("awk -F, 'NR > 1 && !seen[$2]++ { print $2 }' '%s'", csv))
crowds = system(sprintf("awk -F, 'NR > 1 && !seen[$3]++ { print $3 }' '%s'", csv))

# medians.awk groups by param: the number of processes, or k.
times(name) = sprintf("< awk -F, -v OFS=, '{ $5 = $3; print }' '%s' | awk -v measured=%s -v metric=us_per_op -f '%s' /dev/stdin", \
        csv, name, medians)
ranks(name, processes) = sprintf("< awk -F, -v OFS=, 'NR == 1 || $3 == %s && sub(/.*;k=/, \"\", $5)' '%s' | " . \
        "awk -v measured=%s -v metric=kth_us -f '%s' /dev/stdin", processes, csv, name, medians)

set title "A durable insert, milliseconds"
set xlabel "processes"
set xtics 1
set xrange [0.8:*]
set yrange [0:*]
set key top right noenhanced
plot for [i = 1:words(systems)] times(word(systems, i)) using 1:($2 / 1000):($3 / 1000):($4 / 1000) \
        with yerrorlines linetype i title word(systems, i)

set title "The k-th most expensive insert, milliseconds"
set xlabel "k"
set xtics auto
set logscale xy
set xrange [*:*]
set yrange [*:*]
set key outside right top
plot for [c = 1:words(crowds)] for [i = 1:words(systems)] ranks(word(systems, i), word(crowds, c)) \
        using 1:($2 / 1000) with lines linetype i dashtype c \
        title sprintf("%s, %s", word(systems, i), word(crowds, c))
unset multiplot
