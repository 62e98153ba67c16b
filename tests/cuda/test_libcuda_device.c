/* Device models through the driver API, and the settings of siltwin_sim.h. */
#include <stdlib.h>

#include "libcuda.h"

Test(device, environment_chooses_the_model) {
    struct libcuda cu = libcuda_load(NULL);
    int major = 0, minor = 9;
    setenv("SILTWIN_DEVICE", "h100", 1);
    cr_assert_eq(cu.cuInit(0), 0);
    cr_assert_eq(cu.cuDeviceComputeCapability(&major, &minor, 0), 0);
    cr_assert_eq(major, 9);
    cr_assert_eq(minor, 0);
    char name[64];
    cr_assert_eq(cu.cuDeviceGetName(name, sizeof name, 0), 0);
    cr_assert_str_eq(name, "siltwin H100");
}

Test(device, an_unknown_model_is_no_device) {
    struct libcuda cu = libcuda_load(NULL);
    struct libcuda_lines lines = {0};
    cu.set_log(libcuda_keep_line, &lines);
    setenv("SILTWIN_DEVICE", "v100", 1);
    cr_assert_eq(cu.cuInit(0), 100);
    cr_assert_str_eq(lines.text, "SILTWIN_DEVICE=v100: the models are b200, h200 and h100\n");
    cr_assert_eq(cu.set_device("v100"), 1);
}

Test(device, b200_by_default_and_for_good) {
    struct libcuda cu = libcuda_load(NULL);
    int value = 0;
    unsetenv("SILTWIN_DEVICE");
    cr_assert_eq(cu.cuInit(0), 0);
    cr_assert_eq(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), 0);
    cr_assert_eq(value, 148);
    cr_assert_eq(cu.set_device("b200"), 0);
    cr_assert_eq(cu.set_device("h200"), 401);
}

Test(device, what_is_not_known_is_said) {
    struct libcuda cu = libcuda_load("b200");
    struct libcuda_lines lines = {0};
    int value = 77;
    size_t bytes = 77;
    cu.set_log(libcuda_keep_line, &lines);
    cr_assert_eq(cu.cuInit(0), 0);
    cr_assert_eq(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 0), 801);
    cr_assert_eq(cu.cuDeviceTotalMem_v2(&bytes, 0), 801);
    cr_assert_eq(value, 77);
    cr_assert_eq(bytes, 77);
    cr_assert_str_eq(lines.text, "cuDeviceGetAttribute: L2_CACHE_SIZE (38) of a b200 is not known\n"
                                 "cuDeviceTotalMem: the memory of a b200 is not known\n");
}

Test(device, uuids_differ_by_model) {
    CUuuid first, second;
    struct libcuda cu = libcuda_load("h200");
    cr_assert_eq(cu.cuInit(0), 0);
    cr_assert_eq(cu.cuDeviceGetUuid(&first, 0), 0);
    cr_assert_eq(cu.cuDeviceGetUuid_v2(&second, 0), 0);
    cr_assert_eq(memcmp(&first, &second, sizeof first), 0);
    cr_assert_eq(memcmp(&first, "siltwin-h200    ", sizeof first), 0);
}

Test(settings, run_settings_are_kept) {
    struct libcuda cu = libcuda_load("b200");
    struct siltwin_sim_run run = {.struct_bytes = sizeof run,
                                  .policy = SILTWIN_SIM_RANDOM,
                                  .policy_seed = 5,
                                  .jobs = 3,
                                  .idle_budget = 1000};
    struct siltwin_sim_run got = {.struct_bytes = sizeof got};
    cr_assert_eq(cu.get_run(&got), 0);
    cr_assert_eq(got.policy, SILTWIN_SIM_EAGER);
    cr_assert_eq(cu.set_run(&run), 0);
    cr_assert_eq(cu.get_run(&got), 0);
    cr_assert_eq(memcmp(&got, &run, sizeof run), 0);
    run.policy = 3;
    cr_assert_eq(cu.set_run(&run), 1);
    cr_assert_eq(cu.set_run(NULL), 1);
    run.struct_bytes = 0;
    cr_assert_eq(cu.set_run(&run), 1);
}

/* A caller that knows only the first fields of a struct gets those; one that knows more gets zeros
 * in the rest. */
Test(settings, structs_may_differ_in_size) {
    struct libcuda cu = libcuda_load("b200");
    struct siltwin_sim_run got;
    memset(&got, 0xee, sizeof got);
    got.struct_bytes = 8;
    cr_assert_eq(cu.get_run(&got), 0);
    cr_assert_eq(got.policy, SILTWIN_SIM_EAGER);
    cr_assert_eq(got.policy_seed, UINT64_C(0xeeeeeeeeeeeeeeee));
    struct {
        struct siltwin_sim_run known;
        uint64_t later;
    } wide = {.known.struct_bytes = sizeof wide, .later = 9};
    cr_assert_eq(cu.get_run(&wide.known), 0);
    cr_assert_eq(wide.later, 0);
    cr_assert_eq(wide.known.struct_bytes, sizeof wide);
}

Test(settings, nothing_has_failed_yet) {
    struct libcuda cu = libcuda_load("b200");
    struct siltwin_sim_fault fault = {.struct_bytes = sizeof fault};
    cr_assert_eq(cu.last_fault(&fault), 0);
    cr_assert_eq(fault.end, SILTWIN_SIM_NO_FAULT);
    cr_assert_str_eq(cu.last_report(), "");
    cr_assert_eq(cu.last_fault(NULL), 1);
}
