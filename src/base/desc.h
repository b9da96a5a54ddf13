/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size: descriptors, and structs that are written out. */
#ifndef CULVI_BASE_DESC_H_
#define CULVI_BASE_DESC_H_

#include "base/message.h"

/* Copies a caller's descriptor of any known or later version into `local` (of `size` bytes, the
 * present version), zero-filling what the caller's version lacks. */
culv_result culvi_desc_read(const culvi_voice *voice, void *local, size_t size, const void *desc,
                            const char *name);
/* Copies `local` out into a caller's struct as far as its struct_size reaches. */
void culvi_struct_write(void *out, const void *local, size_t size);
/* Refuses a caller's struct whose struct_size was never set. */
culv_result culvi_struct_check(const culvi_voice *voice, const void *out, const char *name);
/* Whether some version of a struct can have this size. */
bool culvi_struct_size_possible(size_t size);

#endif
