#ifndef SILTWIN_CU_FAULT_H
#define SILTWIN_CU_FAULT_H

#include "cu_root.h"
#include "fault.h"

/* How a launch ended, in the terms of the driver API and of siltwin_sim.h. */
struct cu_fault_row {
    CUresult result;
    enum siltwin_sim_end end;
};
struct cu_fault_row cu_fault_row(enum fault_kind kind);

#endif
