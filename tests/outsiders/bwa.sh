# SPDX-License-Identifier: MIT
#
# bwa, which is made of klib (khash, kbtree, kvec, ksort, kseq, kstring), with zlib: kstring's own test; an index of a made-up
# genome, and reads of it found again by each of its ways that needs no thread. What it finds is compared with clang's, as it
# has no tests of its own.
#
# shellcheck shell=sh disable=SC2034,SC2046

package=bwa
led='open read write fopen fread fwrite stat'
calls='printf: the C library formats text on the heap
scanf: the C library reads numbers into the heap'

build()
{
        zlib=$(sh "$here/fetch" zlib "$cache") || return
        compile "-I$zlib" -DHAVE_PTHREAD -DHAVE_UNISTD_H -DHAVE_STDARG_H -- *.c "$zlib"/*.c || return
        $way -w -DKSTRING_MAIN -c kstring.c -o "$out/kstring_test.o" && link kstring "$out/kstring_test.o" &&
                link bwa $(objects *.c "$zlib"/*.c | grep -v '/example\.c') -lpthread &&
                link bwamem-lite $(objects *.c "$zlib"/*.c | grep -v '/main\.c') -lpthread
}

# A genome of three parts with repeats, and pairs of reads of it, some letters of which are changed, one pair in four from
# the other strand.
make_reads()
{
        awk 'function draw(bound) { state = (state * 16807) % 2147483647; return state % bound }
        function letter() { return substr("ACGT", draw(4) + 1, 1) }
        function other(text,    i, found) {
                for (i = length(text); i; i--) found = found substr("TGCA", index("ACGT", substr(text, i, 1)), 1)
                return found
        }
        function changed(text,    i) {
                for (i = draw(4); i; i--) { at = draw(90) + 5; text = substr(text, 1, at - 1) letter() substr(text, at + 1) }
                if (draw(8) == 0) { at = draw(80) + 10; text = substr(text, 1, at) letter() substr(text, at + 1, 99 - at) }
                return text
        }
        function put(file, name, text,    quality) {
                quality = text; gsub(/./, "I", quality)
                print "@" name "\n" text "\n+\n" quality >file
        }
        BEGIN {
                state = 4711
                for (part = 1; part <= 3; part++) {
                        for (i = 0; i < 20000; i++) genome[part] = genome[part] letter()
                        genome[part] = genome[part] substr(genome[1], 5000, 3000)
                        print ">part" part "\n" genome[part] >"genome.fa"
                }
                for (i = 0; i < 400; i++) {
                        part = draw(3) + 1; at = draw(22000) + 1
                        one = changed(substr(genome[part], at, 100))
                        two = changed(other(substr(genome[part], at + 250 + draw(50), 100)))
                        is_turned = draw(4) == 0
                        put("1.fq", "pair" i, is_turned ? two : one); put("2.fq", "pair" i, is_turned ? one : two)
                }
        }'
}

# untimed NAME ARGUMENT...: without times and the path of the program.
untimed()
{
        run "$@" | sed 's/[0-9.]* sec.*//; /^\[main\]/d'
}

# found NAME ARGUMENT...: what it puts into the file `sam`.
found()
{
        untimed "$@"
        grep -v '^@PG' sam
        rm -f sam
}

exercise()
{
        make_reads
        run kstring
        untimed bwa index -a is genome.fa
        untimed bwa index -a bwtsw -p other genome.fa
        cksum genome.fa.* other.*
        for half in 1 2; do
                untimed bwa aln -f $half.sai genome.fa $half.fq
                found bwa samse -f sam genome.fa $half.sai $half.fq
        done
        found bwa sampe -f sam genome.fa 1.sai 2.sai 1.fq 2.fq
        found bwa bwasw -f sam genome.fa 1.fq
        untimed bwa fastmap genome.fa 1.fq
        untimed bwamem-lite genome.fa 1.fq
}
