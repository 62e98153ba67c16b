#include <criterion/criterion.h>

#include "cu_fault.h"

/* The codes that an H200 gave (observations 6, 7, 19, 34 to 36) and those documented for the rest.
 */
Test(cu_fault, every_kind_has_its_code) {
    static const struct {
        enum fault_kind kind;
        int result;
        enum siltwin_sim_end end;
    } rows[] = {
        {FAULT_NONE, 0, SILTWIN_SIM_NO_FAULT},
        {FAULT_ILLEGAL_ADDRESS, 700, SILTWIN_SIM_FAULT},
        {FAULT_MISALIGNED_ADDRESS, 716, SILTWIN_SIM_FAULT},
        {FAULT_ILLEGAL_INSTRUCTION, 715, SILTWIN_SIM_FAULT},
        {FAULT_ADDRESS_SPACE, 717, SILTWIN_SIM_FAULT},
        {FAULT_INVALID_PC, 718, SILTWIN_SIM_FAULT},
        {FAULT_LAUNCH_FAILED, 719, SILTWIN_SIM_FAULT},
        {FAULT_ASSERT, 710, SILTWIN_SIM_FAULT},
        {FAULT_TENSOR_MEMORY_LEAK, 721, SILTWIN_SIM_FAULT},
        {FAULT_HANG, 702, SILTWIN_SIM_HANG},
        {FAULT_BUDGET, 702, SILTWIN_SIM_BUDGET},
        {FAULT_UNSUPPORTED, 801, SILTWIN_SIM_UNSUPPORTED},
        {FAULT_NO_MEMORY, 2, SILTWIN_SIM_NO_MEMORY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq((int)cu_fault_row(rows[i].kind).result, rows[i].result, "kind %d",
                     rows[i].kind);
        cr_expect_eq(cu_fault_row(rows[i].kind).end, rows[i].end, "kind %d", rows[i].kind);
    }
}
