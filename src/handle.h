/* Handles: what is asked of them wherever one comes in. The system's half is in platform.h.
 * SPDX-License-Identifier: MIT */
#ifndef CULVI_HANDLE_H_
#define CULVI_HANDLE_H_

#include "message.h"
#include "platform.h"

/* "OPAQUE_FD"; "unknown" for what is no type. */
const char *culvi_handle_type_name(culv_handle_type type);
bool culvi_handle_type_known(culv_handle_type type);
/* Of a type that this system has; else what was asked of it ("culv_memory_desc.handle.type") is refused. */
culv_result culvi_handle_type_check(const culvi_voice *voice, const char *label, const char *field,
                                    culv_handle_type type);
/* Refuses a handle that cannot be what it is said to be; `field` is where it came in ("culv_memory_desc.handle").
 * *facts is written on success. */
culv_result culvi_handle_check(const culvi_voice *voice, const char *label, const char *field,
                               const culv_handle *handle, culvi_handle_facts *facts);
/* For messages: "file descriptor 7", "NT handle 0x1c". */
void culvi_handle_describe(const culv_handle *handle, culvi_text *text);
/* culvi_handle_duplicate(), and its failure as an error. */
culv_result culvi_handle_duplicate_for(const culvi_voice *voice, const char *label, const culv_handle *handle,
                                       const culvi_handle_facts *facts, culvi_duplicate *out);

#endif
