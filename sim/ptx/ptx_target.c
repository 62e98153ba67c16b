/* .version and .target. Which device runs a target is decided where devices are known; here stands
 * what the text itself must keep: the version that a target needs, and the version and target that
 * an instruction needs (PTX manual: release notes, .version, .target; ptxas 13.0 for the limits).
 */
#include <stdlib.h>
#include <string.h>

#include "ptx_syntax.h"

/* The newest version whose manual the tables have. Texts of later ones are read too: PTX keeps what
 * its earlier versions say, and an instruction that is new in them is refused by its name. */
enum { NEWEST_VERSION = 90 };

/* The version that introduced each target. */
static const struct {
    uint16_t target;
    char suffix;
    uint16_t version;
} targets[] = {
    {50, 0, 40},    {52, 0, 41},  {53, 0, 42},    {60, 0, 50},    {61, 0, 50},  {62, 0, 50},
    {70, 0, 60},    {72, 0, 61},  {75, 0, 63},    {80, 0, 70},    {86, 0, 71},  {87, 0, 74},
    {88, 0, 90},    {89, 0, 78},  {90, 0, 78},    {90, 'a', 80},  {100, 0, 86}, {100, 'a', 86},
    {100, 'f', 88}, {101, 0, 86}, {101, 'a', 86}, {101, 'f', 88}, {103, 0, 88}, {103, 'a', 88},
    {103, 'f', 88}, {110, 0, 90}, {110, 'a', 90}, {110, 'f', 90}, {120, 0, 87}, {120, 'a', 87},
    {120, 'f', 88}, {121, 0, 88}, {121, 'a', 88}, {121, 'f', 88},
};

bool ptx_parse_version(struct ptx_parser *p) {
    char *end;
    struct ptx_place place = ptx_here(p);
    if (p->module->version != 0) {
        ptx_error(p, place, NULL, ".version stands twice");
        return false;
    }
    p->module->version = NEWEST_VERSION; /* should it be wrong: so that the rest is checked */
    if (p->token.kind != TOKEN_FLOAT)
        return ptx_expected(p, "a version as major.minor");
    long major = strtol(p->token.start, &end, 10), minor = 0;
    if (*end == '.')
        minor = strtol(end + 1, &end, 10);
    if (end != p->token.start + p->token.length || major < 1 || major > 99 || minor < 0 ||
        minor > 9)
        return ptx_expected(p, "a version as major.minor");
    p->module->version = (uint16_t)(major * 10 + minor);
    ptx_next(p);
    return true;
}

/* sm_100a, compute_90: number and suffix. */
static bool read_target(const struct ptx_name *name, uint16_t *target, char *suffix) {
    const char *digits = strncmp(name->text, "sm_", 3) == 0        ? name->text + 3
                         : strncmp(name->text, "compute_", 8) == 0 ? name->text + 8
                                                                   : NULL;
    if (digits == NULL || *digits < '1' || *digits > '9')
        return false;
    char *end;
    long number = strtol(digits, &end, 10);
    *suffix = *end;
    if (*end != 0 && (end[1] != 0 || (*end != 'a' && *end != 'f')))
        return false;
    *target = number > 999 ? 999 : (uint16_t)number;
    return true;
}

static bool check_architecture(struct ptx_parser *p, uint16_t target, char suffix) {
    for (unsigned i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (targets[i].target != target || targets[i].suffix != suffix)
            continue;
        if (p->module->version >= targets[i].version)
            return true;
        ptx_error(p, ptx_here(p), "manual: ptx-module-directives-target",
                  "target '%s' needs .version %d.%d or later", p->token.name->text,
                  targets[i].version / 10, targets[i].version % 10);
        return false;
    }
    ptx_error(p, ptx_here(p), "manual: ptx-module-directives-target", "unknown target '%s'",
              p->token.name->text);
    return false;
}

static bool parse_one_target(struct ptx_parser *p) {
    uint16_t target;
    char suffix;
    if (p->token.kind != TOKEN_NAME)
        return ptx_expected(p, "a target such as sm_90a");
    if (read_target(p->token.name, &target, &suffix)) {
        if (!check_architecture(p, target, suffix))
            return false;
        if (p->module->target == 0) {
            p->module->target = target;
            p->module->target_suffix = suffix;
        }
    } else if (ptx_at_word(p, "debug")) {
        p->wants_debug = true;
    } else if (!ptx_at_word(p, "texmode_independent") && !ptx_at_word(p, "texmode_unified")) {
        ptx_error(p, ptx_here(p), "manual: ptx-module-directives-target", "unknown target '%s'",
                  p->token.name->text);
        return false;
    }
    ptx_next(p);
    return true;
}

bool ptx_parse_target(struct ptx_parser *p) {
    struct ptx_place place = ptx_here(p);
    if (p->module->target != 0) {
        ptx_error(p, place, NULL, ".target stands twice");
        return false;
    }
    do {
        if (!parse_one_target(p)) {
            if (p->module->target == 0) {
                /* go on as for the newest, so that the rest is checked */
                p->module->target = 100;
                p->module->target_suffix = 'a';
            }
            return false;
        }
    } while (ptx_take(p, ','));
    if (p->module->target != 0)
        return true;
    ptx_error(p, place, NULL, ".target names no architecture");
    return false;
}

bool ptx_target_allows(const struct ir_module *module, const struct isa_pattern *pattern) {
    if (module->version < pattern->since_version)
        return false;
    if (pattern->since_exact)
        return module->target == pattern->since_target && module->target_suffix != 0;
    return module->target >= pattern->since_target;
}
