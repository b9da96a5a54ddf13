/* Handles: their types, what is asked of them wherever one comes in, duplicates. posix_handle.c and win32_handle.c are its
 * half by system.
 * SPDX-License-Identifier: MIT */
#ifndef CULVI_BASEANDLE_H_
#define CULVI_BASEANDLE_H_

#include "base/text.h"
#include "culvert/handle.h"

/* Handles: the types that this system has, as bits (1 << culv_handle_type), and the one of them that a program takes
 * unless it has a cause for another. */
#ifdef _WIN32
enum {
    CULVI_HANDLE_TYPES = 1 << CULV_HANDLE_OPAQUE_WIN32 | 1 << CULV_HANDLE_OPAQUE_WIN32_KMT,
    CULVI_HANDLE_OPAQUE = CULV_HANDLE_OPAQUE_WIN32
};
#else
enum {
    CULVI_HANDLE_TYPES = 1 << CULV_HANDLE_OPAQUE_FD | 1 << CULV_HANDLE_DMA_BUF_FD,
    CULVI_HANDLE_OPAQUE = CULV_HANDLE_OPAQUE_FD
};
#endif
extern const char *const culvi_handle_types_text; /* the same in words */

/* What the system tells of a handle, asked once. */
typedef struct culvi_handle_facts {
    bool reopens; /* a duplicate is to be a description of its own (culvi_handle_duplicate()) */
    uint64_t
        size_limit; /* the allocation behind it has at most so many bytes; UINT64_MAX: nothing is known */
} culvi_handle_facts;

/* Of a handle of one of these types: `problem` gets the reason and `text` the words when it cannot be what it is
 * said to be. `source` is the call that makes such handles, for the words. */
bool culvi_handle_examine(const culv_handle *handle, const char *source, culvi_handle_facts *facts,
                          culv_reason *problem, char *text, size_t size);
/* Such calls of Vulkan's on this system. */
extern const char *const culvi_handle_memory_source, *const culvi_handle_semaphore_source;
/* Whether the system lets this process have one handle more; else *os_error says why not. */
bool culvi_handle_left(int *os_error);
extern const char *const culvi_handle_left_advice; /* what to do then */

/* A duplicate that the caller may have. facts may be NULL: it is asked again. *out is written on success. */
bool culvi_handle_duplicate(const culv_handle *handle, const culvi_handle_facts *facts, culv_handle *out,
                            int *os_error);
extern const char *const culvi_handle_duplicate_call; /* the system's function */

/* A duplicate that the driver may have, and lose. */
typedef struct culvi_duplicate {
    culv_handle handle;
    int witness; /* another fd of the open file description, which is not the original's; -1: it is */
} culvi_duplicate;

bool culvi_handle_lend(const culv_handle *handle, const culvi_handle_facts *facts, culvi_duplicate *out,
                       int *os_error);
/* After a driver was given a duplicate: closes it where the driver has left it to us. Drivers keep a file
 * descriptor that they accept; of those that they refuse some close it, and the number may be somebody else's by
 * then, so it is closed only while it is still the duplicate. NT handles they never keep. */
void culvi_handle_lent_done(const culvi_duplicate *duplicate, const culv_handle *original, bool accepted);
void culvi_handle_close(const culv_handle *handle);
/* Keeps a file descriptor that a driver made from child processes: Mesa 22 and 25 leave that out. */
void culvi_handle_keep_private(const culv_handle *handle);

/* "OPAQUE_FD"; "unknown" for what is no type. */
const char *culvi_handle_type_name(culv_handle_type type);
bool culvi_handle_type_known(culv_handle_type type);
/* Of a type that this system has; else what was asked of it ("culv_memory_desc.handle.type") is refused. */
culv_result culvi_handle_type_check(const culvi_voice *voice, const char *label, const char *field,
                                    culv_handle_type type);
/* Refuses a handle that cannot be what it is said to be; `field` is where it came in ("culv_memory_desc.handle"),
 * `source` the call that makes such handles. *facts is written on success. */
culv_result culvi_handle_check(const culvi_voice *voice, const char *label, const char *field,
                               const char *source, const culv_handle *handle, culvi_handle_facts *facts);
/* After a driver's `call` has failed that would have made a handle, or needed one, of or for `what`: says so when the
 * process has none left, for drivers answer it in various ways. CULV_OK: it has. */
culv_result culvi_handle_check_left(const culvi_voice *voice, const char *label, const char *call,
                                    const char *what);
/* For messages: "file descriptor 7", "NT handle 0x1c". */
void culvi_handle_describe(const culv_handle *handle, culvi_text *text);
/* culvi_handle_lend(), and its failure as an error. */
culv_result culvi_handle_lend_for(const culvi_voice *voice, const char *label, const culv_handle *handle,
                                  const culvi_handle_facts *facts, culvi_duplicate *out);

#endif
