/* SPDX-License-Identifier: MIT */

/*
 * Writes a random C program: functions that work on the members of one large object, by fields, bit-fields, arrays,
 * packed structs, unions, pointers, vectors of the optimiser, copies of parts of it, and calls among them. programs.h
 * runs it on an object in ordinary memory and on one in a view, at a place that is odd from page to page, and compares
 * all members.
 *
 * Nothing it does is undefined: numbers are unsigned, shifts and indices are masked, no divisor is 0, nothing is read
 * that was not set.
 *
 *      generate SEED >program.c
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIELDS_MAX = 24, FUNCTIONS = 5, ARRAY = 64 };

enum kind { NUMBER, BITS, ARRAY_OF_NUMBERS, PACKED, NESTED, ARRAY_OF_NESTED, UNION, KINDS };

static struct field {
        enum kind kind;
        int type; /* index into types */
        int bits;
        int pad; /* bytes in front of it */
} fields[FIELDS_MAX];
static int field_count;
static uint64_t state;

static const char *const types[] = { "uint8_t", "uint16_t", "uint32_t", "uint64_t" };

static unsigned draw(unsigned below)
{
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        return (unsigned)((state >> 33) % below);
}

/* ---- the object ---- */

static void declare_field(int i)
{
        const struct field *field = &fields[i];
        const char *type = types[field->type];
        if (field->pad)
                printf("        uint8_t pad%d[%d];\n", i, field->pad);
        switch (field->kind) {
        case NUMBER:
                printf("        %s f%d;\n", type, i);
                break;
        case BITS:
                printf("        %s f%d : %d;\n", type, i, field->bits);
                break;
        case ARRAY_OF_NUMBERS:
                printf("        %s f%d[%d];\n", type, i, ARRAY);
                break;
        case PACKED:
                printf("        struct { uint8_t a; %s b; uint64_t c; } __attribute__((packed)) f%d;\n", type, i);
                break;
        case NESTED:
                printf("        struct nested f%d;\n", i);
                break;
        case ARRAY_OF_NESTED:
                printf("        struct nested f%d[8];\n", i);
                break;
        default:
                printf("        union { uint64_t a; uint32_t b[2]; uint8_t c[8]; } f%d;\n", i);
        }
}

static void declare_object(void)
{
        field_count = 8 + (int)draw(FIELDS_MAX - 8);
        printf("struct nested { uint64_t x; uint32_t y[3]; uint16_t z; uint16_t w; };\n");
        printf("struct object {\n");
        for (int i = 0; i < field_count; i++) {
                fields[i] = (struct field){ .kind = i < 3 ? (enum kind)(i == 0   ? NUMBER
                                                                        : i == 1 ? ARRAY_OF_NUMBERS
                                                                                 : NESTED)
                                                          : (enum kind)draw(KINDS),
                                            .type = (int)draw(4),
                                            .pad = draw(3) ? 0 : (int)draw(700) };
                fields[i].bits = 1 + (int)draw(8u << fields[i].type);
                declare_field(i);
        }
        printf("}%s;\n\n", draw(3) ? "" : " __attribute__((packed))");
}

/* ---- expressions: something of the object that can be read and written, and values ---- */

static void value(int depth);

static void place(int depth)
{
        const int i = (int)draw((unsigned)field_count);
        switch (fields[i].kind) {
        case NUMBER:
        case BITS:
                printf("o->f%d", i);
                break;
        case ARRAY_OF_NUMBERS:
                printf("o->f%d[", i);
                value(depth - 1);
                printf(" & %d]", ARRAY - 1);
                break;
        case PACKED:
                printf("o->f%d.%c", i, "abc"[draw(3)]);
                break;
        case NESTED:
                printf(draw(2) ? "o->f%d.x" : "o->f%d.y[%u]", i, draw(3));
                break;
        case ARRAY_OF_NESTED:
                printf("o->f%d[", i);
                value(depth - 1);
                printf(" & 7].%s", draw(2) ? "z" : "y[1]");
                break;
        default:
                printf(draw(2) ? "o->f%d.b[%u]" : "o->f%d.c[%u]", i, draw(2));
        }
}

static void value(int depth)
{
        static const char *const operators[] = { "+", "-", "*", "^", "&", "|", "<", "==" };
        if (depth <= 0 || draw(4) == 0) {
                printf("%uu", draw(1000));
                return;
        }
        switch (draw(6)) {
        case 0:
                printf("((uint64_t)");
                value(depth - 1);
                printf(" %s (", draw(2) ? "<<" : ">>");
                value(depth - 1);
                printf(" & 15))");
                break;
        case 1:
                printf("((uint64_t)");
                value(depth - 1);
                printf(" / ((");
                value(depth - 1);
                printf(") | 1u))");
                break;
        case 2:
                printf("(");
                value(depth - 1);
                printf(" ? ");
                value(depth - 1);
                printf(" : ");
                value(depth - 1);
                printf(")");
                break;
        case 3:
                printf("((uint64_t)");
                value(depth - 1);
                printf(" %s ", operators[draw(8)]);
                value(depth - 1);
                printf(")");
                break;
        default:
                printf("(uint64_t)");
                place(depth - 1);
        }
}

/* ---- statements ---- */

static void statement(int function, int depth);

static void block(int function, int depth)
{
        printf("{\n");
        for (unsigned i = 0, count = 1 + draw(3); i < count; i++)
                statement(function, depth - 1);
        printf("}\n");
}

static int number_array(void)
{
        for (;;) {
                const int i = (int)draw((unsigned)field_count);
                if (fields[i].kind == ARRAY_OF_NUMBERS)
                        return i;
        }
}

/* What the optimiser likes to make vectors of. */
static void array_loop(void)
{
        const int to = number_array(), from = number_array();
        switch (draw(4)) {
        case 0:
                printf("for (int i = 0; i < %d; i++) o->f%d[i] += o->f%d[i] * %uu;\n", ARRAY, to, from, draw(9));
                break;
        case 1:
                printf("for (int i = 0; i < %d; i++) if (o->f%d[i] & %uu) o->f%d[i] ^= %uu;\n", ARRAY, from, draw(16),
                       to, draw(99));
                break;
        case 2:
                printf("for (int i = 0; i < %d; i++) sum += o->f%d[(i * %u) & %d];\n", ARRAY, from, 1 + draw(20),
                       ARRAY - 1);
                break;
        default:
                printf("for (int i = 0; i < %d; i++) o->f%d[i] = (%s)(sum + o->f%d[%d - i]);\n", ARRAY, to,
                       types[fields[to].type], from, ARRAY - 1);
        }
}

static void copy_bytes(void)
{
        const int to = number_array(), from = number_array();
        const unsigned len = 1 + draw(ARRAY / 2);
        switch (draw(4)) {
        case 0:
                printf("memmove((char *)o->f%d + %u, (char *)o->f%d + %u, %u);\n", to, draw(ARRAY / 2), from,
                       draw(ARRAY / 2), len);
                break;
        case 1:
                printf("memset((char *)o->f%d + (sum & 15), (int)(sum & 255), %u);\n", to, len);
                break;
        case 2:
                printf("{ uint8_t own[%d]; memcpy(own, o->f%d, %d); own[sum & %d]++; memcpy(o->f%d, own, %d); }\n",
                       ARRAY, from, ARRAY, ARRAY - 1, to, ARRAY);
                break;
        default:
                printf("sum += (uint64_t)(memcmp(o->f%d, o->f%d, %u) == 0);\n", to, from, len);
        }
}

static void statement(int function, int depth)
{
        switch (draw(depth > 0 ? 11 : 6)) {
        case 0:
        case 1:
                place(2);
                printf(" = ");
                value(3);
                printf(";\n");
                break;
        case 2:
                place(2);
                printf(" %s= ", draw(2) ? "+" : "^");
                value(2);
                printf(";\n");
                break;
        case 3:
                printf("sum = sum * 3 + ");
                value(3);
                printf(";\n");
                break;
        case 4:
                copy_bytes();
                break;
        case 5:
                printf("{ struct nested own = o->f2; own.y[sum %% 3] += %uu; o->f2 = own; }\n", draw(99));
                break;
        case 6:
                printf("if (");
                value(2);
                printf(") ");
                block(function, depth);
                break;
        case 7:
                printf("for (unsigned i = 0; i < %u; i++) ", 1 + draw(6));
                block(function, depth);
                break;
        case 8:
                array_loop();
                break;
        case 9: {
                const int i = number_array();
                printf("{ %s_anywhere *p = (void *)&o->f%d[sum & %d]; *p += %uu; sum += p[-(int)(sum & 0)]; }\n",
                       types[fields[i].type], i, ARRAY - 1, draw(50));
                break;
        }
        default:
                if (function > 0)
                        printf("sum ^= function%u(o, sum + %uu);\n", draw((unsigned)function), draw(10));
                else
                        printf("sum ^= by_value(o->f2);\n");
        }
}

static void define_functions(void)
{
        printf("static __attribute__((noinline)) uint64_t by_value(struct nested n)\n{\nn.z++;\nreturn n.x + n.y[1] + "
               "n.z;\n}\n\n");
        for (int i = 0; i < FUNCTIONS; i++) {
                printf("static %suint64_t function%d(struct object *o, uint64_t sum)\n{\n",
                       draw(2) ? "__attribute__((noinline)) " : "", i);
                for (unsigned s = 0, count = 2 + draw(6); s < count; s++)
                        statement(i, 3);
                printf("return sum;\n}\n\n");
        }
}

/* All members, for what lies between them is nobody's. */
static void define_digest(void)
{
        printf("static uint64_t digest(struct object *o)\n{\nuint64_t sum = 0;\n");
        for (int i = 0; i < field_count; i++) {
                static const char *const of_nested =
                        "sum = sum * 31 + %s.x + %s.y[0] * 3 + %s.y[1] * 5 + %s.y[2] * 7 + %s.z * 11 + %s.w;\n";
                char name[32];
                switch (fields[i].kind) {
                case NUMBER:
                case BITS:
                        printf("sum = sum * 31 + o->f%d;\n", i);
                        break;
                case ARRAY_OF_NUMBERS:
                        printf("for (int i = 0; i < %d; i++) sum = sum * 31 + o->f%d[i];\n", ARRAY, i);
                        break;
                case PACKED:
                        printf("sum = sum * 31 + o->f%d.a + o->f%d.b * 3 + o->f%d.c * 7;\n", i, i, i);
                        break;
                case NESTED:
                        snprintf(name, sizeof(name), "o->f%d", i);
                        printf(of_nested, name, name, name, name, name, name);
                        break;
                case ARRAY_OF_NESTED:
                        snprintf(name, sizeof(name), "o->f%d[i]", i);
                        printf("for (int i = 0; i < 8; i++) ");
                        printf(of_nested, name, name, name, name, name, name);
                        break;
                default:
                        printf("sum = sum * 31 + o->f%d.a;\n", i);
                }
        }
        printf("return sum;\n}\n\n");
}

int main(int count, char **arguments)
{
        if (count != 2)
                return 2;
        state = strtoull(arguments[1], NULL, 0) * UINT64_C(0x9e3779b97f4a7c15) + 1;
        printf("/* generate %s */\n#include \"tests/compiler/programs.h\"\n\n", arguments[1]);
        declare_object();
        define_functions();
        define_digest();
        printf("static uint64_t run(void *object, uint64_t seed)\n{\nreturn function%d(object, seed);\n}\n\n",
               FUNCTIONS - 1);
        printf("static uint64_t digest_of(void *object)\n{\nreturn digest(object);\n}\n\n");
        printf("int main(int count, char **arguments)\n{\n"
               "return count == 2 ? programs_compare(arguments[1], sizeof(struct object), %u, run, digest_of) : "
               "2;\n}\n",
               draw(512) * 8);
        return 0;
}
