/* Which instructions get .rn. */
#include "rn_rewrite.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
    const char *before, *after;
} cases[] = {
    {"add.f32 %f1, %f2, %f3;", "add.rn.f32 %f1, %f2, %f3;"},
    {"@%p1 sub.ftz.f32 a,b,c;", "@%p1 sub.rn.ftz.f32 a,b,c;"},
    {"mul.sat.f32 a,b,c;", "mul.rn.sat.f32 a,b,c;"},
    {"{add.f16 a,b,c;}", "{add.rn.f16 a,b,c;}"},
    {"L1:add.bf16x2 a,b,c;", "L1:add.rn.bf16x2 a,b,c;"},
    {"mul.f32x2 a,b,c;mul.f64 a,b,c;", "mul.rn.f32x2 a,b,c;mul.rn.f64 a,b,c;"},
    {"add . f32 a,b,c;", "add.rn . f32 a,b,c;"},
    {"add /* .rz */ .f32 a,b,c;", "add.rn /* .rz */ .f32 a,b,c;"},
    /* unchanged */
    {"add.rn.f32 a,b,c;", NULL},
    {"add.rz.ftz.f32 a,b,c;", NULL},
    {"add.s32 a,b,c; mul.lo.u32 a,b,c; mul.wide.s16 a,b,c; add.cc.u32 a,b,c;", NULL},
    {"fma.rn.f32 a,b,c,d; mad.f32 a,b,c,d; div.f32 a,b,c;", NULL},
    {"red.global.add.f32 [a], b; atom.add.noftz.f16x2 a,[b],c;", NULL},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [a],[b],c;", NULL},
    {"// add.f32 a,b,c;\n", NULL},
    {"/* add.f32 */", NULL},
    {".file 1 \"add.f32\"", NULL},
    {"\"unfinished add.f32", NULL},
    {"/* unfinished add.f32", NULL},
    {"%add.f32 $mul.f32 _sub.f32", NULL},
    {"add.u16x2 a,b,c;", NULL},
    {"add", NULL},
    {"add.", NULL},
    {"", NULL},
};

Test(rn_rewrite, puts_rn_where_it_belongs) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct strbuf out = {0};
        const char *after = cases[i].after ? cases[i].after : cases[i].before;
        const size_t changed = rn_rewrite(cases[i].before, strlen(cases[i].before), &out);
        cr_assert_str_eq(strbuf_text(&out), after);
        cr_assert_eq(changed > 0, cases[i].after != NULL);
        strbuf_free(&out);
    }
}
