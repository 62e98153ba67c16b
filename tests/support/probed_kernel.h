#ifndef SILTWIN_PROBED_KERNEL_H
#define SILTWIN_PROBED_KERNEL_H

/* What the tests of probes watch, rewritten or on the simulator only; comments count its lines. */

/* Loops tid % 4 times, calls a function, writes x[i] and calls it a day. */
static const char probed_kernel[] =
    ".version 8.0\n.target sm_90a\n.address_size 64\n"                               /* 1..3 */
    ".func (.reg .b32 %out) twice(.reg .b32 %in) { add.u32 %out, %in, %in; ret; }\n" /* 4 */
    ".shared .align 16 .b32 tile[32];\n"                                             /* 5 */
    ".visible .entry k(.param .u64 x) {\n"                                           /* 6 */
    "  .reg .pred %p, %odd; .reg .b32 %t, %n, %v, %s, %c; .reg .b64 %x, %at; .reg .f16 %h;\n"
    "  mov.u32 %t, %tid.x; mov.u32 %c, %clock; ld.param.u64 %x, [x];\n"     /* 8 */
    "  mul.wide.u32 %at, %t, 4; add.u64 %at, %at, %x; and.b32 %n, %t, 3;\n" /* 9 */
    "  and.b32 %v, %t, 1; setp.eq.u32 %odd, %v, 1; mov.u32 %s, 0; cvt.rn.f16.u32 %h, %t;\n"
    "LOOP: setp.eq.u32 %p, %n, 0;\n"             /* 11 */
    "  @%p bra DONE;\n"                          /* 12 */
    "  add.u32 %s, %s, %n; sub.u32 %n, %n, 1;\n" /* 13 */
    "  bra LOOP;\n"                              /* 14 */
    "DONE: call (%v), twice, (%s);\n"            /* 15 */
    "  mov.u32 %s, tile; shl.b32 %n, %t, 2; and.b32 %n, %n, 127; add.u32 %s, %s, %n;\n"
    "  st.shared.u32 [%s], %t; bar.sync 0;\n" /* 17 */
    "  @%odd st.global.u32 [%at], %v;\n"      /* 18 */
    "  @!%odd st.global.u32 [%at], 7;\n"      /* 19 */
    "  mov.u32 %n, %clock;\n"                 /* 20 */
    "  ret;\n}\n";

#endif
