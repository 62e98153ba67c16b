/* The families, in the order in which they run. */
#include "conform_families.h"

const struct conform_family conform_families[] = {
    {"wgmma", CONFORM_WGMMA_CASES, CONFORM_WGMMA_BYTES, 0, conform_wgmma_run,
     conform_wgmma_describe},
    {0},
};
