/* Driver functions that are not modelled. The caller passes its arguments by the C convention of
 * the processor, under which a callee may ignore them all. */
#include "cu_absent.h"

#include "cu_root.h"

#define EXPORTED __attribute__((visibility("default")))

enum {
#define CU_ABSENT(symbol) INDEX_##symbol,
#include "cu_absent.def"
#undef CU_ABSENT
    ABSENT_COUNT
};

_Static_assert(ABSENT_COUNT <= 64 * sizeof((struct cu_root *)0)->absent_said / sizeof(uint64_t),
               "one bit each in the root");

static CUresult say_absent(unsigned index, const char *symbol) {
    cu_enter(CU_SCOPE_ANYTIME);
    uint64_t *word = &cu_root()->absent_said[index / 64], bit = UINT64_C(1) << (index % 64);
    if (!(*word & bit)) {
        *word |= bit;
        cu_log("%s is not modelled: CUDA_ERROR_NOT_SUPPORTED", symbol);
    }
    return cu_leave(CUDA_ERROR_NOT_SUPPORTED);
}

#define CU_ABSENT(symbol)                                                                          \
    EXPORTED CUresult symbol(void) {                                                               \
        return say_absent(INDEX_##symbol, #symbol);                                                \
    }
#include "cu_absent.def"
#undef CU_ABSENT

static const struct cu_absent absent[] = {
#define CU_ABSENT(symbol) {#symbol, symbol},
#include "cu_absent.def"
#undef CU_ABSENT
};

const struct cu_absent *cu_absent_list(size_t *count) {
    *count = ABSENT_COUNT;
    return absent;
}
