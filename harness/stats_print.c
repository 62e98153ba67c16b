/* Counters of a launch, as text and as JSON. */
#include "stats_print.h"

#include <inttypes.h>

static double ratio(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 0;
}

static void print_classes(const struct siltwin_sim_stats *s, uint64_t warps, struct strbuf *out) {
    strbuf_printf(out, "  instructions     %" PRIu64 " warp, %" PRIu64 " thread\n",
                  s->warp_instructions, s->thread_instructions);
    const struct {
        const char *name;
        uint64_t count;
    } classes[] = {
#define STATS_CLASS(name) {#name, s->name},
#define STATS_COUNTER(name)
#include "stats_counters.def"
#undef STATS_CLASS
#undef STATS_COUNTER
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].count)
            strbuf_printf(out, "    %-15s %" PRIu64 " (%.6g a warp)\n", classes[i].name,
                          classes[i].count, ratio(classes[i].count, warps));
}

static void print_async(const struct siltwin_sim_stats *s, uint64_t ctas, struct strbuf *out) {
    const uint64_t stores = s->tma_store_instructions, loads = s->tma_instructions - stores;
    if (loads)
        strbuf_printf(
            out, "  TMA loads        %" PRIu64 " instructions (%.6g a CTA), %" PRIu64 " bytes\n",
            loads, ratio(loads, ctas), s->tma_load_bytes);
    if (stores)
        strbuf_printf(
            out, "  TMA stores       %" PRIu64 " instructions (%.6g a CTA), %" PRIu64 " bytes\n",
            stores, ratio(stores, ctas), s->tma_store_bytes);
    if (s->tma_instructions)
        strbuf_printf(out, "  TMA boxes        %" PRIu64 " (%.6g a CTA)\n", s->tma_boxes,
                      ratio(s->tma_boxes, ctas));
    if (s->mbarrier_phases)
        strbuf_printf(out, "  mbarrier         %" PRIu64 " phases completed (%.6g a CTA)\n",
                      s->mbarrier_phases, ratio(s->mbarrier_phases, ctas));
    if (s->mma_instructions)
        strbuf_printf(
            out, "  MMA              %" PRIu64 " instructions (%.6g a CTA), %" PRIu64 " FLOP\n",
            s->mma_instructions, ratio(s->mma_instructions, ctas), s->mma_flop);
}

static void print_global(const char *name, uint64_t requests, uint64_t sectors, uint64_t used,
                         struct strbuf *out) {
    if (requests)
        strbuf_printf(
            out,
            "  %-16s %" PRIu64 " requests, %" PRIu64 " sectors (%.4g a request), %.4g%% of "
            "their bytes used\n",
            name, requests, sectors, ratio(sectors, requests), 100 * ratio(used, 32 * sectors));
}

void stats_print(const struct siltwin_sim_stats *s, uint64_t ctas, uint64_t warps,
                 struct strbuf *out) {
    print_classes(s, warps, out);
    print_async(s, ctas, out);
    print_global("global loads", s->load_requests, s->load_sectors, s->load_used_bytes, out);
    print_global("global stores", s->store_requests, s->store_sectors, s->store_used_bytes, out);
    if (s->shared_requests)
        strbuf_printf(out,
                      "  shared memory    %" PRIu64 " requests, %" PRIu64 " wavefronts, %" PRIu64
                      " more than without bank conflicts; worst request: %" PRIu64 "-way\n",
                      s->shared_requests, s->shared_wavefronts, s->shared_conflicts,
                      s->shared_worst_way);
}

json_t *stats_json(const struct siltwin_sim_stats *s) {
    json_t *object = json_object();
#define STATS_COUNTER(name) json_object_set_new(object, #name, json_integer((json_int_t)s->name));
#define STATS_CLASS(name)   STATS_COUNTER(name)
#include "stats_counters.def"
#undef STATS_CLASS
#undef STATS_COUNTER
    json_object_set_new(object, "host_seconds", json_real(s->host_seconds));
    return object;
}
