#ifndef SILTWIN_ISA_H
#define SILTWIN_ISA_H

#include <stdint.h>

/* The instruction set is one table, isa.def (which includes one isa_<chapter>.def per chapter of
 * the manual). A row:
 *
 *   ISA(id, opcode, quals, types, operands, since, manual, sem, evidence)
 *
 * id        ISA_<id> names the form; unique.
 * opcode    the words that stand first and in this order: "add", "mul.wide",
 *           "mbarrier.try_wait.parity". A statement belongs to the rows with the longest opcode
 * that begins its mnemonic. quals     groups separated by blanks. "a|b": one of these words must be
 * there. "{a|b}": at most one of them. Words match as a set, in any order (as ptxas takes them),
 * except that state space words, row and col, and type words keep the order of the table. Words
 * come without dots. types     groups separated by blanks, T0 T1 ...: "f32", "u16|s16|b16". "{...}"
 * optional;
 * "=T0": the type of that group again. "" when the instruction has none. Classes: @int16 = u16|s16,
 *           @int32 = u32|s32, @int64 = u64|s64, @int = all six, @bits = b16|b32|b64, @any = b8..b64
 *           u8..u64 s8..s64 f32 f64 (what ld and st take).
 * operands  items separated by ", "; an item in braces is optional: "=d:T0, a:T0{, b:u32}".
 *           "@word" behind an item in braces: it is there exactly when that qualifier is:
 *           "{, policy:b64@L2::cache_hint}".
 *           An item is [=[?]]name:spec, or name in square brackets for an address.
 *             =      written by the instruction, must be a register;  =? : `_` may stand there (and
 *                    for elements of a vector);  =+ : read as well, and written at any time later
 *                    (wgmma): its storage is never shared; =_:b64 : only `_` may stand there
 *           spec
 *             T0..T3      register or immediate of that type; u32, b64, pred ...: of a fixed type
 *             W0          the type of T0 with twice its width (mul.wide)
 *             T0!         register only          T0#   immediate only
 *             T0(4|8)     an immediate must be 4 or 8; (0..15) in that range; (%16) a multiple;
 *                         (24..256%8) both.
 *                         u32#(0..3): an immediate, in that range
 *             T0+         the register may be wider than the type (always so for ld, ldu, st, cvt)
 *             !pred       source predicate: register, !register, or 0 / 1
 *             v:T0        as many elements in braces as the .vN qualifier says, a plain operand
 *                         without one: "=d:v:T0" (ld, st)
 *             l:T0        braces with any number of elements; l4:T0 exactly four
 *             x2:T0       braces with twice as many elements as the .xN qualifier says
 *             p:T0        braces with 2 or 4 elements that make up T0's width (mov)
 *             T0|pred     a pair d|p (IR_PAIR); "T0{|pred}": the second may be left out, then it is
 *                         a plain operand
 *             sym:T0      symbol (+offset), function name, register or immediate (cvta, mapa)
 *             sreg:T0     T0, or a special register (mov, cvt sources)
 *             src:T0      all of sym and sreg (mov)
 *             label  list  func  args    of branches and calls
 *           "[a]"         address in the space that the quals name (generic without one); the
 *                         second such item takes the second space word if there is one
 *           "[a:shared]" "[a:shared::cluster]" "[a:global]" "[a:generic]" "[a:const]" "[a:local]"
 *           "[a:param]" "[a:tmem]"   in that space
 *           "[a:tensor]"  [map, {coordinates}], as many as .1d to .5d says, 5 for gather4, scatter4
 * since     "1.0", "7.8 sm_90", "8.6 sm_100a": PTX version, then the least target (an a-target:
 *           exactly it)
 * manual    anchor of the PTX manual
 * sem       the executor's selector: function op_<sem> in exec/op_*.c; `unsupported` for a form
 * that is PTX but not modelled: its use is refused by name (STATUS_UNSUPPORTED) evidence  hw:sm_90a
 * (its answers are in oracle data or traces), ptxas, or manual
 *
 * Each reader expands only its columns; sim/ptx never sees a function of sim/exec. */

enum isa_form {
    ISA_NONE,
#define ISA(id, opcode, quals, types, operands, since, manual, sem, evidence) ISA_##id,
#include "isa.def"
#undef ISA
    ISA_COUNT
};

struct isa_row {
    const char *id, *opcode, *quals, *types, *operands, *since, *manual, *sem, *evidence;
};

/* Row of a form; ISA_NONE has empty strings. */
const struct isa_row *isa_row(enum isa_form form);

#endif
