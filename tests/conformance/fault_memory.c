/* Fault cases of ld, st, atom, red, ldmatrix and stmatrix: every space and width, places that are
 * misaligned, unmapped, beyond the CTA's shared memory or of another space. */
#include "fault_case.h"

struct width {
    const char *type, *registers;
    unsigned bytes;
    const char *first; /* how the first element comes into %r20, %r21 */
};

#define FROM_H "  cvt.u32.u16 %r20, %h0;\n"
#define FROM_R "  mov.b32 %r20, %r10;\n"
#define FROM_D "  mov.b64 {%r20, %r21}, %d4;\n"
static const struct width widths[] = {
    {"b8", "%h0", 1, FROM_H},
    {"b16", "%h0", 2, FROM_H},
    {"b32", "%r10", 4, FROM_R},
    {"b64", "%d4", 8, FROM_D},
    {"b128", "%w0", 16, "  mov.b128 {%d4, %d5}, %w0;\n" FROM_D},
    {"v2.b8", "{%h0, %h1}", 2, FROM_H},
    {"v4.b8", "{%h0, %h1, %h2, %h3}", 4, FROM_H},
    {"v2.b16", "{%h0, %h1}", 4, FROM_H},
    {"v4.b16", "{%h0, %h1, %h2, %h3}", 8, FROM_H},
    {"v2.b32", "{%r10, %r11}", 8, FROM_R},
    {"v4.b32", "{%r10, %r11, %r12, %r13}", 16, FROM_R},
    {"v2.b64", "{%d4, %d5}", 16, FROM_D},
};
enum { WIDTHS = sizeof widths / sizeof widths[0] };

static const char start_values[] =
    "  mov.b32 %r10, 1; mov.b32 %r11, 2; mov.b32 %r12, 3; mov.b32 %r13, 4;\n"
    "  mov.b64 %d4, 5; mov.b64 %d5, 6; mov.b128 %w0, {%d4, %d5};\n"
    "  mov.b16 %h0, 1; mov.b16 %h1, 2; mov.b16 %h2, 3; mov.b16 %h3, 4;\n"
    "  mov.b32 %r20, 0; mov.b32 %r21, 0;\n";

/* Keeps a compiler from leaving a load out whose value is not looked at. */
static const char keep_load[] =
    "  setp.eq.u32 %q, %r20, 0x5eed0bad;\n  @%q st.global.u32 [%out+12], %r20;\n";

enum space {
    GLOBAL,
    GENERIC,
    SHARED,
    GENERIC_SHARED,
    CLUSTER,
    LOCAL,
    GENERIC_LOCAL,
    CONST,
    PARAM,
    SHARED_AS_GLOBAL,
    LOCAL_AS_GLOBAL,
    FAR_SHARED,
    SPACES
};
static const char *const space_words[SPACES] = {
    ".global", "",       ".shared", "",        ".shared::cluster", ".local",
    "",        ".const", ".param",  ".global", ".global",          ".shared"};
static const char *const space_names[SPACES] = {
    "global",          "generic global", "shared", "generic shared", "shared::cluster",
    "local",           "generic local",  "const",  "param",          "shared as global",
    "local as global", "far shared"};

static enum space pick_space(struct conform_random *random) {
    static const enum space often[] = {GLOBAL, GLOBAL, GLOBAL,         GENERIC,       GENERIC,
                                       SHARED, SHARED, GENERIC_SHARED, GENERIC_SHARED};
    uint32_t n = conform_below(random, SPACES + sizeof often / sizeof often[0]);
    return n < SPACES ? (enum space)n : often[n - SPACES];
}

/* An offset from a small variable: in it, or far off. Sets *good. */
static uint32_t pick_offset(struct conform_random *random, uint32_t size, uint32_t bytes,
                            uint32_t misaligned, bool *good) {
    uint32_t offset = misaligned;
    switch (conform_below(random, 5)) {
    case 0: offset += UINT32_C(1) << (24 + conform_below(random, 7)); break;
    case 1: offset -= UINT32_C(1) << (24 + conform_below(random, 7)); break;
    default: offset += 16 * conform_below(random, size / 16); break;
    }
    *good = offset < size && offset + bytes <= size;
    return offset;
}

static void put_offset(struct conform_random *random, struct fault_case *made, const char *variable,
                       uint32_t size, uint32_t bytes, uint32_t misaligned, bool *good) {
    uint32_t offset = pick_offset(random, size, bytes, misaligned, good);
    made->args[1] = (struct fault_arg){FAULT_VALUE, (uint64_t)(int32_t)offset};
    fault_say(made, " offset %d", (int32_t)offset);
    strbuf_printf(&made->ptx, "  mov.u64 %%d0, %s;\n  add.u64 %%d0, %%d0, %%b;\n", variable);
}

static const char declared[] =
    ".const .align 16 .b8 table[32] = {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,"
    "23,24,25,26,27,28,29,30,31};\n";
static const char local_inside[] = "  .local .align 16 .b8 mine[64];\n";
static const char fill_local[] =
    "  mov.u32 %r2, 0x03020100;\n  mov.u32 %r3, 0x07060504;\n  mov.u64 %d0, mine;\n"
    "  st.local.v4.u32 [%d0], {%r2, %r3, %r2, %r3};\n"
    "  st.local.v4.u32 [%d0+16], {%r2, %r3, %r2, %r3};\n"
    "  st.local.v4.u32 [%d0+32], {%r2, %r3, %r2, %r3};\n"
    "  st.local.v4.u32 [%d0+48], {%r2, %r3, %r2, %r3};\n";

/* Puts the address of an access into %d0 or, for shared memory, %r0. True when it is good, so that
 * what a load gives is known. */
static bool put_address(struct conform_random *random, struct fault_case *made, enum space space,
                        uint32_t bytes, uint32_t misaligned) {
    bool good = false;
    struct fault_room room;
    switch (space) {
    case GLOBAL:
    case GENERIC:
        good = fault_pick_global(random, made, misaligned);
        strbuf_puts(&made->ptx, "  mov.u64 %d0, %a;\n");
        return good;
    case FAR_SHARED:
        made->args[0] = (struct fault_arg){FAULT_DATA, 0};
        made->args[1] =
            (struct fault_arg){FAULT_VALUE, UINT32_C(0x1000000) << conform_below(random, 8)};
        strbuf_puts(&made->ptx, "  cvt.u32.u64 %r0, %b;\n");
        return false;
    case LOCAL:
    case GENERIC_LOCAL:
    case LOCAL_AS_GLOBAL:
        strbuf_puts(&made->ptx, fill_local);
        if (space == LOCAL)
            put_offset(random, made, "mine", 64, bytes, misaligned, &good);
        else
            strbuf_puts(&made->ptx, "  cvta.local.u64 %d0, %d0;\n");
        if (space == GENERIC_LOCAL) {
            uint32_t offset = misaligned + 16 * conform_below(random, 4);
            good = offset + bytes <= 64;
            made->args[1] = (struct fault_arg){FAULT_VALUE, offset};
            fault_say(made, " offset %u", offset);
            strbuf_puts(&made->ptx, "  add.u64 %d0, %d0, %b;\n");
        }
        return good;
    case CONST: put_offset(random, made, "table", 32, bytes, misaligned, &good); return good;
    case PARAM:
        made->args[2] = (struct fault_arg){FAULT_VALUE, UINT64_C(0x1122334455667788)};
        put_offset(random, made, "p_c", 8, bytes, misaligned & 7, &good);
        return good;
    default:
        room = fault_pick_room(random, made, bytes, misaligned);
        fault_put_room(made, &room);
        if (space != SHARED && space != CLUSTER)
            strbuf_puts(&made->ptx, "  cvt.u64.u32 %d0, %r0;\n  cvta.shared.u64 %d0, %d0;\n");
        return room.good;
    }
}

static const char *address_register(enum space space) {
    return space == SHARED || space == CLUSTER || space == FAR_SHARED ? "%r0" : "%d0";
}

static const char *pick_order(struct conform_random *random, bool load, enum space space) {
    static const char *const loads[] = {".volatile", ".relaxed.gpu", ".acquire.sys"};
    static const char *const stores[] = {".volatile", ".relaxed.gpu", ".release.sys"};
    if (space >= LOCAL || conform_below(random, 3))
        return "";
    return (load ? loads : stores)[conform_below(random, 3)];
}

void fault_ld_st(struct conform_random *random, struct fault_case *made) {
    enum space space = pick_space(random);
    const struct width *width = &widths[conform_below(random, WIDTHS)];
    bool load = conform_below(random, 2) || space == CONST || space == PARAM;
    while (space == PARAM && width->bytes > 8)
        width = &widths[conform_below(random, WIDTHS)];
    const char *order = pick_order(random, load, space);
    if (width->bytes == 16 && width->type[1] == '1' && order[0] != '\0')
        order = "";
    uint32_t misaligned = fault_pick_misaligned(random);
    if ((space == LOCAL || space == GENERIC_LOCAL || space == PARAM) && width->type[0] == 'v')
        misaligned = 0; /* a compiler may split such a vector */
    struct fault_head head = {
        .declare = declared, .inside = local_inside, .lanes = fault_pick_lanes(random)};
    fault_say(made, "%s%s%s.%s %s lanes %x", load ? "ld" : "st", order, space_words[space],
              width->type, space_names[space], head.lanes);
    fault_put_head(made, &head);
    bool good = put_address(random, made, space, width->bytes, misaligned);
    if (load && (space == GLOBAL || space == GENERIC))
        fault_align_bad(made);
    strbuf_puts(&made->ptx, start_values);
    if (load)
        strbuf_printf(&made->ptx, "  @%%bad ld%s%s.%s %s, [%s];\n", order, space_words[space],
                      width->type, width->registers, address_register(space));
    else
        strbuf_printf(&made->ptx, "  @%%bad st%s%s.%s [%s], %s;\n", order, space_words[space],
                      width->type, address_register(space), width->registers);
    if (!load && (space == LOCAL || space == GENERIC_LOCAL)) /* else nothing need be stored */
        strbuf_puts(&made->ptx, "  mov.u64 %d0, mine;\n  and.b64 %d1, %a, 15;\n"
                                "  add.u64 %d0, %d0, %d1;\n  ld.local.b8 %r20, [%d0];\n");
    if (!load || (!good && space != CONST)) {
        if (load || space == LOCAL || space == GENERIC_LOCAL)
            strbuf_printf(&made->ptx, "%s%s", load ? width->first : "", keep_load);
        fault_put_tail(made);
        return;
    }
    strbuf_puts(&made->ptx, width->first);
    fault_put_value(made);
}

struct atomic {
    const char *name, *operands;
    unsigned bytes;
    bool global_only;
};
static const struct atomic atomics[] = {
    {"add.u32", "%r10", 4, false},
    {"add.u64", "%d4", 8, false},
    {"add.f32", "%f0", 4, false},
    {"add.f64", "%d4", 8, false},
    {"add.noftz.f16", "%h0", 2, false},
    {"add.noftz.f16x2", "%r10", 4, false},
    {"min.s32", "%r10", 4, false},
    {"max.u64", "%d4", 8, false},
    {"and.b64", "%d4", 8, false},
    {"inc.u32", "%r10", 4, false},
    {"exch.b32", "%r10", 4, false},
    {"exch.b64", "%d4", 8, false},
    {"exch.b128", "%w0", 16, false},
    {"cas.b16", "%h0, %h1", 2, false},
    {"cas.b32", "%r10, %r11", 4, false},
    {"cas.b64", "%d4, %d5", 8, false},
    {"cas.b128", "%w0, %w0", 16, false},
    {"add.v2.f32", "{%f0, %f1}", 8, true},
    {"add.v4.f32", "{%f0, %f1, %f2, %f3}", 16, true},
    {"add.noftz.v8.f16", "{%h0, %h1, %h2, %h3, %h0, %h1, %h2, %h3}", 16, true},
    {"add.noftz.v2.bf16x2", "{%r10, %r11}", 8, true},
};
enum { ATOMICS = sizeof atomics / sizeof atomics[0] };

static bool is_red(const struct atomic *op) {
    return op->name[0] != 'e' && op->name[0] != 'c';
}

void fault_atom(struct conform_random *random, struct fault_case *made) {
    static const enum space spaces[] = {GLOBAL,         GLOBAL,  GENERIC,         SHARED,
                                        GENERIC_SHARED, CLUSTER, SHARED_AS_GLOBAL};
    const struct atomic *op = &atomics[conform_below(random, ATOMICS)];
    enum space space = spaces[conform_below(random, 7)];
    if (op->global_only)
        space = GLOBAL;
    bool red = is_red(op) && conform_below(random, 2);
    uint32_t misaligned = fault_pick_misaligned(random);
    struct fault_head head = {.inside = local_inside, .lanes = fault_pick_lanes(random)};
    fault_say(made, "%s%s.%s %s lanes %x", red ? "red" : "atom", space_words[space], op->name,
              space_names[space], head.lanes);
    fault_put_head(made, &head);
    put_address(random, made, space, op->bytes, misaligned);
    strbuf_puts(&made->ptx, start_values);
    strbuf_puts(&made->ptx, "  mov.f32 %f0, 0f3f800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0;\n"
                            "  mov.f32 %f3, %f0;\n");
    if (red) {
        strbuf_printf(&made->ptx, "  @%%bad red%s.%s [%s], %s;\n", space_words[space], op->name,
                      address_register(space), op->operands);
    } else {
        int first = 0; /* the result goes where the first operand is */
        while (op->operands[first] != '\0' &&
               op->operands[first] != (op->operands[0] == '{' ? '}' : ','))
            first++;
        if (op->operands[0] == '{')
            first++;
        strbuf_printf(&made->ptx, "  @%%bad atom%s.%s %.*s, [%s], %s;\n", space_words[space],
                      op->name, first, op->operands, address_register(space), op->operands);
    }
    fault_put_tail(made);
}

void fault_matrix(struct conform_random *random, struct fault_case *made) {
    static const char *const registers[] = {"{%r10}", "{%r10, %r11}", "{%r10, %r11, %r12, %r13}"};
    uint32_t log_count = conform_below(random, 3), misaligned = fault_pick_misaligned(random);
    bool load = conform_below(random, 2), trans = conform_below(random, 2);
    struct fault_head head = {.lanes = fault_pick_lanes(random)};
    fault_say(made, "%smatrix.x%u lanes %x", load ? "ld" : "st", 1u << log_count, head.lanes);
    fault_put_head(made, &head);
    struct fault_room room = fault_pick_room(random, made, 16, misaligned);
    if (room.bytes < 512) { /* other lanes read 16 bytes each */
        room.bytes = 512;
        fault_say(made, " (512)");
    }
    fault_put_room(made, &room);
    strbuf_puts(&made->ptx, start_values);
    strbuf_printf(&made->ptx, "  shl.b32 %%r3, %%t, 4;\n  add.u32 %%r3, %%r1, %%r3;\n"
                              "  selp.b32 %%r0, %%r0, %%r3, %%bad;\n");
    if (load)
        strbuf_printf(&made->ptx,
                      "  ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%r0];\n"
                      "  mov.b32 %%r20, %%r10;\n",
                      1u << log_count, trans ? ".trans" : "", registers[log_count]);
    else
        strbuf_printf(&made->ptx, "  stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%r0], %s;\n",
                      1u << log_count, trans ? ".trans" : "", registers[log_count]);
    if (load)
        strbuf_puts(&made->ptx, keep_load);
    fault_put_tail(made);
}
