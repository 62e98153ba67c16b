/* Every TMA instruction that the oracle's kernels issue (tma_box.csv, tma_issue.csv), walked into
 * shared memory, against the canonical layout of the tile (umma_canonical_*.csv): the copy must put
 * each 16-byte chunk of the tile where the tensor core will look for it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "tma.h"

enum {
    CONFIGS = 170,
    CANONICAL_ROWS = 104768 + 125312 + 5120,
    GLOBAL_BYTES = 1024 * 512 * 4,
    SHARED_BYTES = 256 << 10,
};
static const uint64_t tensor_address = UINT64_C(0x7f0000000000);

struct chunk {
    uint32_t mn, k, byte_off;
};

struct canonical {
    struct chunk *chunks;
    size_t first[CONFIGS], count[CONFIGS], total;
};

static void read_canonical(struct canonical *all, const char *path) {
    struct csv *csv = csv_open(path);
    size_t cfg = csv_column(csv, "cfg"), mn = csv_column(csv, "mn"), k = csv_column(csv, "k");
    size_t byte_off = csv_column(csv, "byte_off");
    for (; csv_next(csv); all->total++) {
        size_t c = (size_t)csv_int(csv, cfg);
        cr_assert(c < CONFIGS && all->total < CANONICAL_ROWS);
        if (all->count[c]++ == 0)
            all->first[c] = all->total;
        cr_assert_eq(all->first[c] + all->count[c], all->total + 1, "rows of a cfg are together");
        all->chunks[all->total] = (struct chunk){.mn = (uint32_t)csv_int(csv, mn),
                                                 .k = (uint32_t)csv_int(csv, k),
                                                 .byte_off = (uint32_t)csv_int(csv, byte_off)};
    }
    csv_close(csv);
}

/* A row of tma_box.csv. */
struct box {
    struct tmap map;
    size_t cfg;
    bool k_major;
    uint32_t tile_mn, tile_k, instructions, bytes;
};

static struct box read_box(struct csv *csv) {
    struct box b = {0};
    b.cfg = (size_t)csv_int(csv, csv_column(csv, "cfg"));
    b.k_major = strcmp(csv_text(csv, csv_column(csv, "major")), "K") == 0;
    b.tile_mn = (uint32_t)csv_int(csv, csv_column(csv, "tile_mn"));
    b.tile_k = (uint32_t)csv_int(csv, csv_column(csv, "tile_k"));
    b.instructions = (uint32_t)csv_int(csv, csv_column(csv, "n_instr"));
    b.bytes = (uint32_t)csv_int(csv, csv_column(csv, "bytes_per_instr"));
    b.map = (struct tmap){
        .global_address = tensor_address,
        .type = (uint32_t)csv_int(csv, csv_column(csv, "cu_dtype")),
        .rank = 2,
        .dim_elems = {(uint64_t)csv_int(csv, csv_column(csv, "gdim0")),
                      (uint64_t)csv_int(csv, csv_column(csv, "gdim1"))},
        .stride_bytes = {0, (uint64_t)csv_int(csv, csv_column(csv, "gstride1"))},
        .box_elems = {(uint32_t)csv_int(csv, csv_column(csv, "box0")),
                      (uint32_t)csv_int(csv, csv_column(csv, "box1"))},
        .element_stride = {1, 1},
        .swizzle = (uint32_t)csv_int(csv, csv_column(csv, "cu_swizzle")),
    };
    return b;
}

/* A word that names a 16-byte chunk of global memory and that tf32 rounding leaves alone. */
static uint32_t name_of(uint64_t offset_bytes) {
    return (uint32_t)(offset_bytes / 16) << 13;
}

static void issue(const struct box *b, struct csv *csv, const uint8_t *global, uint8_t *shared) {
    struct tma_request request = {.kind = TMA_LOAD,
                                  .rank = 2,
                                  .coords = {(int32_t)csv_int(csv, csv_column(csv, "c0")),
                                             (int32_t)csv_int(csv, csv_column(csv, "c1"))},
                                  .shared_address =
                                      (uint32_t)csv_int(csv, csv_column(csv, "smem_byte_off"))};
    struct tma_walk walk;
    struct tma_step step;
    cr_assert_eq(tma_begin(&walk, &b->map, &request), TMA_OK);
    cr_assert_eq(walk.box_bytes, b->bytes);
    while (tma_next(&walk, &step)) {
        cr_assert_eq(step.valid_bytes, walk.row_bytes, "these boxes are inside the tensor");
        cr_assert(step.shared_end <= SHARED_BYTES);
        tma_step_load(&walk, &step, shared, global + (step.global_address - tensor_address));
    }
}

static void check_tile(const struct box *b, const struct canonical *all, const uint8_t *shared) {
    uint32_t bits = tmap_element_bits(b->map.type);
    for (size_t i = 0; i < all->count[b->cfg]; i++) {
        struct chunk c = all->chunks[all->first[b->cfg] + i];
        uint64_t mn = b->tile_mn + c.mn, k = 2 * b->tile_k + c.k; /* tile (mn 1, k 2) */
        uint64_t inner = b->k_major ? k : mn, outer = b->k_major ? mn : k;
        uint32_t got[4], want = name_of(outer * b->map.stride_bytes[1] + inner * bits / 8);
        memcpy(got, shared + c.byte_off, sizeof got);
        for (size_t word = 0; word < 4; word++)
            cr_assert_eq(got[word], want, "cfg %zu mn %u k %u", b->cfg, c.mn, c.k);
    }
}

Test(tma_issue, boxes_fill_the_canonical_layout) {
    struct canonical all = {.chunks = calloc(CANONICAL_ROWS, sizeof(struct chunk))};
    uint8_t *global = malloc(GLOBAL_BYTES), *shared = malloc(SHARED_BYTES);
    read_canonical(&all, "umma_canonical_k.csv.gz");
    read_canonical(&all, "umma_canonical_mn.csv.gz");
    read_canonical(&all, "umma_canonical_fp4.csv");
    cr_assert_eq(all.total, CANONICAL_ROWS);
    for (uint32_t i = 0; i < GLOBAL_BYTES; i += 4) {
        uint32_t word = name_of(i);
        memcpy(global + i, &word, 4);
    }
    struct csv *boxes = csv_open("tma_box.csv"), *issues = csv_open("tma_issue.csv");
    size_t issue_id = csv_column(issues, "id"), box_id = csv_column(boxes, "id");
    bool more = csv_next(issues);
    size_t blackwell = 0;
    while (csv_next(boxes)) {
        struct box b = read_box(boxes);
        struct tmap_finding findings[TMAP_FINDINGS_MAX];
        uint32_t issued = 0;
        bool needs_sm_100 =
            b.map.swizzle == SWIZZLE_128B_ATOM_32B || b.map.type == TMAP_16U4_ALIGN8B;
        cr_assert_eq(tmap_check(&b.map, TMAP_SM_100, findings), 0);
        cr_assert_eq(tmap_check(&b.map, TMAP_SM_90, findings) != 0, needs_sm_100);
        blackwell += needs_sm_100;
        memset(shared, 0xee, SHARED_BYTES);
        for (; more && csv_int(issues, issue_id) == csv_int(boxes, box_id); issued++) {
            issue(&b, issues, global, shared);
            more = csv_next(issues);
        }
        cr_assert_eq(issued, b.instructions);
        check_tile(&b, &all, shared);
    }
    cr_assert(!more);
    cr_assert_eq(csv_rows(boxes), 178);
    cr_assert_eq(csv_rows(issues), 7022);
    cr_assert(blackwell > 0);
    report_rows("tma_box.csv", csv_rows(boxes));
    report_rows("tma_issue.csv", csv_rows(issues));
    csv_close(boxes);
    csv_close(issues);
    free(all.chunks);
    free(global);
    free(shared);
}
