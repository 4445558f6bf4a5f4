# SPDX-License-Identifier: MIT
# The race of search structures: a plot for each experiment, bars by system and number of workers (processes x threads).
# Called by bench/plot/draw with csv, svg and medians set.

# "experiment,param" of each race, the systems, in the order of the file.
races = system(sprintf("awk -F, 'NR > 1 && !seen[$1 $5]++ { print $1 \",\" $5 }' '%s'", csv))
systems = system(sprintf("awk -F, 'NR > 1 && !seen[$2]++ { print $2 }' '%s'", csv))
columns = words(races) < 3 ? words(races) : 3
rows = (words(races) + columns - 1) / columns

set terminal svg size 420 * columns, 300 * rows background "white"
set output svg
set multiplot layout rows, columns
set style fill solid 0.7
set grid y
set yrange [0:*]
set format y "%.1s%c"
set title font ",10" noenhanced
set key bmargin center horizontal samplen 1 font ",8" noenhanced

part(race, i) = system(sprintf("echo '%s' | cut -d, -f%d", race, i))
# Rows of one race, with the place of the crowd instead of the param.
of_race(race) = sprintf("awk -F, -v OFS=, 'NR == 1 { print; next } $1 == \"%s\" && $5 == \"%s\" " . \
        "{ if (!(($3 * $4) in place)) place[$3 * $4] = crowds++; $5 = place[$3 * $4]; print }' '%s'", \
        part(race, 1), part(race, 2), csv)
crowds_of(race) = system(of_race(race) . " | awk -F, 'NR > 1 && !seen[$5]++ { print $3 * $4 }'")
bars(race, name) = sprintf("< %s | awk -v measured=%s -v metric=ops_per_s -f '%s' /dev/stdin", of_race(race), name, medians)

width = 0.8 / words(systems)
shift(i) = (i - 0.5 * (words(systems) + 1)) * width
do for [race in races] {
        crowds = crowds_of(race)
        set title sprintf("%s: operations/s by workers\n%s", part(race, 1), part(race, 2))
        set xrange [-0.6:words(crowds) - 0.4]
        set xtics ()
        do for [i = 1:words(crowds)] { set xtics add (word(crowds, i) i - 1) }
        plot for [i = 1:words(systems)] bars(race, word(systems, i)) using ($1 + shift(i)):2:(width) \
                     with boxes linetype i title word(systems, i), \
             for [i = 1:words(systems)] bars(race, word(systems, i)) using ($1 + shift(i)):2:3:4 \
                     with yerrorbars linetype -1 pointtype 0 notitle
}
unset multiplot
