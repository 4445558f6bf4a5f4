/* SPDX-License-Identifier: MIT */

/*
 * A snapshot, as files in a directory:
 *
 *      l_orderkey ...      the values of the column, 32 bits each
 *      l_shipmode.words    a dictionary, a string a line
 *      tables              name, rows, the statement that makes it
 *      queries             name, SQL, parameters (1,2), answer (1,2;3,4: rows of numbers)
 *      transactions        name, SQL
 *
 * The last three have fields with tabs between them.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/papers/anker/htap/experiments.h"
#include "bench/papers/anker/htap/sql.h"

static FILE *create(const char *directory, const char *name, const char *suffix)
{
        char path[2 * SCRATCH_PATH];

        snprintf(path, sizeof(path), "%s/%s%s", directory, name, suffix);
        FILE *file = fopen(path, "w");
        if (!file)
                scratch_fail(-errno, path);
        return file;
}

static void finish(FILE *file)
{
        if (ferror(file) || fclose(file))
                scratch_fail(-EIO, "dump");
}

static void write_column(const struct tables *tables, const struct reader *reader, int column, const char *directory)
{
        FILE *file = create(directory, column_spec[column].name, "");
        const uint32_t rows = tables_column_rows(tables, column);

        for (uint32_t row = 0; row < rows; row++) {
                const int32_t value = reader_value(reader, column, row);
                fwrite(&value, sizeof(value), 1, file);
        }
        finish(file);
        if (!column_spec[column].is_text)
                return;
        file = create(directory, column_spec[column].name, ".words");
        for (uint32_t code = 0; code < tables->words[column].count; code++)
                fprintf(file, "%s\n", tables->words[column].word[code]);
        finish(file);
}

static void write_answer(FILE *file, const struct answer *answer)
{
        for (int row = 0; row < answer->rows; row++)
                for (int c = 0; c < answer->columns; c++)
                        fprintf(file, "%s%" PRId64, c ? "," : row ? ";" : "", answer->value[row][c]);
        fprintf(file, "\n");
}

static void write_queries(const struct olap *olap, const struct answer *answers, int count, const char *directory)
{
        FILE *file = create(directory, "queries", "");

        for (int a = 0; a < count; a++) {
                int32_t param[SQL_PARAMS];
                char text[SQL_TEXT];
                const int params = sql_olap_params(&olap[a], param);
                sql_olap(olap[a].kind, text);
                fprintf(file, "%s\t%s\t", olap_name[olap[a].kind], text);
                for (int p = 0; p < params; p++)
                        fprintf(file, "%s%" PRId32, p ? "," : "", param[p]);
                fprintf(file, "\t");
                write_answer(file, &answers[a]);
        }
        finish(file);
}

static void write_statements(const struct tables *tables, const char *directory)
{
        FILE *file = create(directory, "tables", "");

        for (int t = 0; t < TABLES; t++) {
                char text[SQL_TEXT];
                sql_create((enum table_no)t, "", text);
                fprintf(file, "%s\t%" PRIu32 "\t%s\n", table_spec[t].name, tables->rows[t], text);
        }
        finish(file);
        file = create(directory, "transactions", "");
        for (int kind = 0; kind < OLTP_KINDS; kind++)
                fprintf(file, "%s\t%s\n", oltp_name[kind], sql_oltp[kind]);
        finish(file);
}

void dump_write(const struct tables *tables, const struct reader *reader, const struct olap *olap,
                const struct answer *answers, int count, const char *directory)
{
        if (mkdir(directory, 0700) && errno != EEXIST)
                scratch_fail(-errno, directory);
        for (int c = 0; c < COLUMNS; c++)
                write_column(tables, reader, c, directory);
        write_queries(olap, answers, count, directory);
        write_statements(tables, directory);
}
