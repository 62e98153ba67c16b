#ifndef SILTWIN_CU_CONTEXT_H
#define SILTWIN_CU_CONTEXT_H

#include "cu_root.h"

/* A new active context, in the root's list; NULL without memory. */
struct cu_context *cu_context_new(bool primary, unsigned flags);

/* Frees everything that was made in the context; a primary context stays as an inactive handle, any
 * other one is gone. */
void cu_context_end(struct cu_context *context);

/* Whether `flags` are those a context may have. */
bool cu_context_flags_good(unsigned flags);

#endif
