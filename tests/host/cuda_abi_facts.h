#ifndef SILTWIN_CUDA_ABI_FACTS_H
#define SILTWIN_CUDA_ABI_FACTS_H

#include <stddef.h>

/* A number that a header fixes: a size, an offset or the value of an enumerator. */
struct abi_fact {
    const char *what;
    long value;
};

#define FACT_SIZE(type)          {"sizeof " #type, (long)sizeof(type)},
#define FACT_OFFSET(type, field) {"offset of " #type "." #field, (long)offsetof(type, field)},
#define FACT_VALUE(name)         {#name, (long)(name)},

/* The facts as the toolkit's headers have them; a count of 0 where there is no toolkit. */
const struct abi_fact *toolkit_facts(size_t *count);

/* Names of the rows of driver_api.def and driver_api_gpu.def whose signature is not that of the
 * toolkit's function type of that version, and in `checked` how many were compared. */
const char *toolkit_signature_mismatch(size_t *checked);

#endif
