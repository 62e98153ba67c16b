/* See warp_mma.h. */
#include "warp_mma.h"

#include <stdbool.h>
#include <string.h>

#include "sim_run.h"
#include "strbuf.h"

enum { LANES = 32 };

static bool is_type(const char *word) {
    static const char *const types[] = {"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2",
                                        "s32", "s8",   "u8",   "s4",  "u4",  "b1"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i], word) == 0)
            return true;
    return false;
}

void warp_mma_types(struct warp_mma_form *form) {
    static const enum warp_mma_operand order[] = {WARP_MMA_D, WARP_MMA_A, WARP_MMA_B, WARP_MMA_C};
    char text[sizeof form->mnemonic], found[4][8], *rest = NULL;
    unsigned count = 0;
    memcpy(text, form->mnemonic, sizeof text);
    for (char *word = strtok_r(text, ".", &rest); word != NULL; word = strtok_r(NULL, ".", &rest))
        if (count < 4 && is_type(word))
            strcpy(found[count++], word);
    if (count == 2) {
        strcpy(found[3], found[1]);
        strcpy(found[1], "f16");
        strcpy(found[2], "f16");
    }
    for (unsigned i = 0; i < 4; i++)
        strcpy(form->type[order[i]], found[i]);
}

size_t warp_mma_word_bytes(const struct warp_mma_form *form, enum warp_mma_operand operand) {
    return strcmp(form->type[operand], "f64") == 0 ? 8 : 4;
}

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Exponents of all elements within a factor of 256. */
static uint64_t near_one(const char *type, uint64_t word) {
    static const struct {
        const char *type;
        uint64_t keep, set;
    } masks[] = {
        {"f16", 0x9FFF9FFF, 0x20002000},
        {"bf16", 0x83FF83FF, 0x3C003C00},
        {"tf32", 0x83FFFFFF, 0x3C000000},
        {"f32", 0x83FFFFFF, 0x3C000000},
        {"e4m3", 0x9F9F9F9F, 0x20202020},
        {"e5m2", 0x9F9F9F9F, 0x20202020},
        {"f64", UINT64_C(0x807FFFFFFFFFFFFF), UINT64_C(0x3F80000000000000)},
    };
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        if (strcmp(masks[i].type, type) == 0)
            return (word & masks[i].keep) | masks[i].set;
    return word;
}

/* Integers close to where they overflow. */
static uint64_t near_limit(uint64_t word) {
    word &= 0x800003FF;
    return word >> 31 != 0 ? word : word | 0x7FFFFC00;
}

uint64_t warp_mma_input(const struct warp_mma_form *form, enum warp_mma_operand operand,
                        uint32_t row, uint32_t reg, uint32_t lane) {
    uint64_t hash = mix((uint64_t)row << 32 | (uint64_t)operand << 24 | reg << 8 | lane);
    uint64_t word = warp_mma_word_bytes(form, operand) == 8 ? hash : (uint32_t)hash;
    uint32_t mode = row % 4;
    bool near = mode == 1 || mode == 3 || (mode == 2 && operand != WARP_MMA_C);
    if (near)
        word = operand == WARP_MMA_C && strcmp(form->type[operand], "s32") == 0
                   ? near_limit(word)
                   : near_one(form->type[operand], word);
    return operand != WARP_MMA_C && mode == 3 && hash >> 62 == 0 ? 0 : word;
}

static void print_list(struct strbuf *text, char name, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(text, "%s%%%c%u", i == 0 ? "{" : ", ", name, i);
    strbuf_puts(text, "}");
}

static void print_moves(struct strbuf *text, const struct warp_mma_form *form,
                        enum warp_mma_operand operand) {
    size_t bytes = warp_mma_word_bytes(form, operand);
    unsigned count = form->registers[operand];
    char name = "abcd"[operand];
    strbuf_printf(text,
                  "  ld.param.u64 %%p, [p%c];\n  mad.lo.u32 %%t, %%cta, %u, %%lane;\n"
                  "  mul.wide.u32 %%off, %%t, %zu;\n  add.u64 %%p, %%p, %%off;\n",
                  name, count * LANES, bytes);
    for (unsigned i = 0; i < count; i++)
        if (operand == WARP_MMA_D)
            strbuf_printf(text, "  st.global.b%zu [%%p+%zu], %%d%u;\n", 8 * bytes,
                          i * LANES * bytes, i);
        else
            strbuf_printf(text, "  ld.global.b%zu %%%c%u, [%%p+%zu];\n", 8 * bytes, name, i,
                          i * LANES * bytes);
}

static void print_program(struct strbuf *text, unsigned sm, const struct warp_mma_form *form) {
    strbuf_printf(text,
                  ".version 9.0\n.target sm_%ua\n.address_size 64\n"
                  ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 "
                  "pd) {\n  .reg .b64 %%p, %%off;\n  .reg .b32 %%lane, %%cta, %%t;\n",
                  sm);
    for (unsigned i = 0; i < 4; i++)
        strbuf_printf(text, "  .reg .%s %%%c<%u>;\n",
                      warp_mma_word_bytes(form, (enum warp_mma_operand)i) == 8 ? "f64" : "b32",
                      "abcd"[i], form -> registers[i]);
    strbuf_puts(text, "  mov.u32 %lane, %tid.x;\n  mov.u32 %cta, %ctaid.x;\n");
    for (unsigned i = 0; i < 3; i++)
        print_moves(text, form, (enum warp_mma_operand)i);
    strbuf_printf(text, "  %s ", form->mnemonic);
    print_list(text, 'd', form->registers[WARP_MMA_D]);
    for (unsigned i = 0; i < 3; i++) {
        strbuf_puts(text, ", ");
        print_list(text, "abc"[i], form -> registers[i]);
    }
    strbuf_puts(text, ";\n");
    print_moves(text, form, WARP_MMA_D);
    strbuf_puts(text, "  ret;\n}\n");
}

void warp_mma_run(unsigned sm, const struct warp_mma_form *form, size_t count,
                  const void *const in[3], void *out) {
    struct strbuf text = {0};
    size_t bytes[4];
    uint64_t params[4];
    print_program(&text, sm, form);
    struct sim_run run = sim_run_open(sm, strbuf_text(&text));
    for (unsigned i = 0; i < 4; i++) {
        bytes[i] = count * form->registers[i] * LANES *
                   warp_mma_word_bytes(form, (enum warp_mma_operand)i);
        params[i] = sim_run_buffer(&run, i < 3 ? in[i] : NULL, bytes[i]);
    }
    sim_run_ok(&run,
               &(struct sim_run_launch){
                   .grid = (uint32_t)count, .block = LANES, .params = params, .param_count = 4});
    memcpy(out, sim_run_host(&run, params[WARP_MMA_D], bytes[WARP_MMA_D]), bytes[WARP_MMA_D]);
    sim_run_close(&run);
    strbuf_free(&text);
}
