# SPDX-License-Identifier: MIT
# The thesis' tables: time for each durable insert, and of the k-th most expensive (figure 5-3); below, as far as they were
# run, searches, random inserts with a range query, and sorted inserts.
# Called by bench/plot/draw with csv, svg and medians set.

set output svg
set grid

rows_of(experiment) = system(sprintf("awk -F, '$1 == \"%s\" { n++ } END { print n + 0 }' '%s'", experiment, csv)) + 0
names_of(experiment, field) = system(sprintf("awk -F, '$1 == \"%s\" && !seen[$%d]++ { print $%d }' '%s'", \
        experiment, field, field, csv))
has_inserts = rows_of("thesis_inserts") > 0
tables = ""
do for [name in "searches random sorted"] {
        if (rows_of("thesis_" . name) > 0) { tables = tables . " " . name }
}
columns = has_inserts && words(tables) < 2 ? 2 : words(tables) > 0 ? words(tables) : 1
rows = has_inserts + (words(tables) > 0)

set terminal svg size 600 * columns, 480 * rows background "white"
set multiplot layout rows, columns

# medians.awk groups by param: the number of processes, or k.
times(name) = sprintf("< awk -F, -v OFS=, 'NR == 1 || $1 == \"thesis_inserts\" { $5 = $3; print }' '%s' | " . \
        "awk -v measured=%s -v metric=us_per_op -f '%s' /dev/stdin", csv, name, medians)
ranks(name, processes) = sprintf("< awk -F, -v OFS=, 'NR == 1 || $3 == %s && sub(/.*;k=/, \"\", $5)' '%s' | " . \
        "awk -v measured=%s -v metric=kth_us -f '%s' /dev/stdin", processes, csv, name, medians)
# One number for each system.
bar(experiment, name, metric) = sprintf("< awk -F, -v OFS=, 'NR == 1 || $1 == \"thesis_%s\" { $5 = 0; print }' '%s' | " . \
        "awk -v measured=%s -v metric=%s -f '%s' /dev/stdin", experiment, csv, name, metric, medians)

if (has_inserts) {
        systems = names_of("thesis_inserts", 2)
        crowds = names_of("thesis_inserts", 3)

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
        unset logscale
        do for [i = 3:columns] { set multiplot next }
}

metric_of(name) = name eq "searches" ? "us_per_search" : name eq "random" ? "ms_per_range_query" : "us_per_insert"
title_of(name) = name eq "searches" ? "A search without enough memory, microseconds" : \
        name eq "random" ? "A range query over everything, milliseconds" : "A sorted insert, microseconds"
do for [name in tables] {
        systems = names_of("thesis_" . name, 2)
        set title title_of(name)
        set style fill solid 0.7
        set xlabel ""
        set xrange [0.4:words(systems) + 0.6]
        set yrange [0:*]
        set xtics ()
        do for [i = 1:words(systems)] { set xtics add (word(systems, i) i) }
        set xtics rotate by -40 noenhanced
        unset key
        plot for [i = 1:words(systems)] bar(name, word(systems, i), metric_of(name)) using (i):2:(0.7) \
                     with boxes linetype i notitle, \
             for [i = 1:words(systems)] bar(name, word(systems, i), metric_of(name)) using (i):2:3:4 \
                     with yerrorbars linetype -1 pointtype 0 notitle
}
unset multiplot
