/* A program that knows nothing of this project but the file name of its libcuda: it finds every
 * function through cuGetProcAddress, as CUDA clients do, and runs a kernel. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <string.h>

static const char *const add_one = ".version 8.0\n"
                                   ".target sm_90\n"
                                   ".address_size 64\n"
                                   "\n"
                                   ".visible .entry add_one(\n"
                                   "    .param .u64 data,\n"
                                   "    .param .u32 count\n"
                                   ")\n"
                                   "{\n"
                                   "    .reg .pred %p<2>;\n"
                                   "    .reg .b32 %r<7>;\n"
                                   "    .reg .b64 %rd<5>;\n"
                                   "    ld.param.u64 %rd1, [data];\n"
                                   "    ld.param.u32 %r1, [count];\n"
                                   "    mov.u32 %r2, %ctaid.x;\n"
                                   "    mov.u32 %r3, %ntid.x;\n"
                                   "    mov.u32 %r4, %tid.x;\n"
                                   "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
                                   "    setp.ge.u32 %p1, %r5, %r1;\n"
                                   "    @%p1 bra DONE;\n"
                                   "    cvta.to.global.u64 %rd2, %rd1;\n"
                                   "    mul.wide.u32 %rd3, %r5, 4;\n"
                                   "    add.s64 %rd4, %rd2, %rd3;\n"
                                   "    ld.global.u32 %r6, [%rd4];\n"
                                   "    add.s32 %r6, %r6, 1;\n"
                                   "    st.global.u32 [%rd4], %r6;\n"
                                   "DONE:\n"
                                   "    ret;\n"
                                   "}\n";

typedef int lookup_fn(const char *, void **, int, unsigned long, int *);

static lookup_fn *lookup;

static void find(const char *name, int version, void *function) {
    int status = -1;
    void *found = NULL;
    cr_assert_eq(lookup(name, &found, version, 0, &status), 0);
    cr_assert_eq(status, 0, "%s", name);
    memcpy(function, &found, sizeof found);
}

Test(drop_in, runs_a_kernel) {
    enum { COUNT = 1000 };
    void *library = dlopen(SILTWIN_BUILD "/sim/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library, "%s", dlerror());
    void *symbol = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&lookup, &symbol, sizeof symbol);

    int (*init)(unsigned), (*device_get)(int *, int), (*retain)(void **, int), (*current)(void *);
    int (*load)(void **, const void *), (*get_function)(void **, void *, const char *);
    int (*alloc)(unsigned long long *, size_t), (*release)(unsigned long long);
    int (*upload)(unsigned long long, const void *, size_t);
    int (*download)(void *, unsigned long long, size_t), (*synchronize)(void);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    find("cuInit", 2000, &init);
    find("cuDeviceGet", 2000, &device_get);
    find("cuDevicePrimaryCtxRetain", 7000, &retain);
    find("cuCtxSetCurrent", 4000, &current);
    find("cuModuleLoadData", 2000, &load);
    find("cuModuleGetFunction", 2000, &get_function);
    find("cuMemAlloc", 3020, &alloc);
    find("cuMemFree", 3020, &release);
    find("cuMemcpyHtoD", 3020, &upload);
    find("cuMemcpyDtoH", 3020, &download);
    find("cuCtxSynchronize", 2000, &synchronize);
    find("cuLaunchKernel", 4000, &launch);

    int device = -1;
    void *context = NULL, *module = NULL, *function = NULL;
    unsigned long long address = 0;
    static unsigned values[COUNT];
    unsigned count = COUNT - 1;
    void *params[] = {&address, &count};
    for (unsigned i = 0; i < COUNT; i++)
        values[i] = i * i;
    cr_assert_eq(init(0), 0);
    cr_assert_eq(device_get(&device, 0), 0);
    cr_assert_eq(retain(&context, device), 0);
    cr_assert_eq(current(context), 0);
    cr_assert_eq(load(&module, add_one), 0);
    cr_assert_eq(get_function(&function, module, "add_one"), 0);
    cr_assert_eq(alloc(&address, sizeof values), 0);
    cr_assert_eq(upload(address, values, sizeof values), 0);
    cr_assert_eq(launch(function, 4, 1, 1, 256, 1, 1, 0, NULL, params, NULL), 0);
    cr_assert_eq(synchronize(), 0);
    cr_assert_eq(download(values, address, sizeof values), 0);
    for (unsigned i = 0; i < COUNT; i++)
        cr_assert_eq(values[i], i * i + (i < count), "word %u is %u", i, values[i]);
    cr_assert_eq(release(address), 0);
}
