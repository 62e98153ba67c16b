/* See scalar_ptx.h. */
#include "scalar_ptx.h"

#include <string.h>

static const char names[] = "abce";

/* Class of the register that holds a type: h 16 bits, r 32, d 64, p predicate. */
static char register_class(const char *type) {
    unsigned bits = scalar_type_bits(type);
    return bits == 1 ? 'p' : bits <= 16 ? 'h' : bits == 32 ? 'r' : 'd';
}

static unsigned register_bits(const char *type) {
    unsigned bits = scalar_type_bits(type);
    return bits < 16 ? 16 : bits;
}

/* The form's text with registers in its places: {a} is %ha, %ra or %da. */
static void put_statement(const struct scalar_form *form, struct strbuf *out) {
    for (const char *p = form->ptx; *p != '\0'; p++) {
        if (p[0] != '{' || p[2] != '}') {
            strbuf_append(out, p, 1);
            continue;
        }
        const char *place = strchr(names, p[1]);
        const char *type = place != NULL ? form->operand[place - names] : form->result;
        strbuf_printf(out, "%%%c%c", register_class(type), p[1]);
        p += 2;
    }
}

void scalar_ptx_head(struct strbuf *out) {
    strbuf_puts(out, ".version 9.0\n.target sm_90a\n.address_size 64\n");
}

void scalar_ptx_kernel(const struct scalar_form *form, struct strbuf *out) {
    strbuf_printf(out, ".visible .entry f%u(.param .u64 rows, .param .u64 count)\n{\n", form->id);
    strbuf_puts(out, ".reg .b16 %ha, %hb, %hc, %he, %hd;\n.reg .b32 %ra, %rb, %rc, %re, %rd, %x;\n"
                     ".reg .b64 %da, %db, %dc, %de, %dd, %t, %at, %i, %n;\n"
                     ".reg .pred %pd, %q, %out;\n.reg .b32 %th, %cta, %size;\n"
                     "mov.u32 %th, %tid.x;\nmov.u32 %cta, %ctaid.x;\nmov.u32 %size, %ntid.x;\n"
                     "mad.lo.u32 %th, %cta, %size, %th;\ncvt.u64.u32 %i, %th;\n"
                     "ld.param.u64 %n, [count];\nsetp.ge.u64 %out, %i, %n;\n@%out bra DONE;\n"
                     "ld.param.u64 %at, [rows];\n");
    strbuf_printf(out, "mad.lo.u64 %%at, %%i, %d, %%at;\n", SCALAR_ROW_BYTES);
    for (size_t i = 0; i < form->operand_count; i++)
        strbuf_printf(out, "ld.global.b%u %%%c%c, [%%at+%zu];\n", register_bits(form->operand[i]),
                      register_class(form->operand[i]), names[i], 8 * i);
    put_statement(form, out);
    char class = register_class(form->result);
    if (class == 'p')
        strbuf_puts(out, "\nselp.b32 %rd, 1, 0, %pd;");
    class = class == 'p' ? 'r' : class;
    if (class == 'h')
        strbuf_puts(out, "\ncvt.u64.u16 %dd, %hd;");
    else if (class == 'r')
        strbuf_puts(out, "\ncvt.u64.u32 %dd, %rd;");
    strbuf_printf(out, "\nst.global.b64 [%%at+%d], %%dd;\nDONE:\nret;\n}\n",
                  8 * SCALAR_OPERANDS_MAX);
}
