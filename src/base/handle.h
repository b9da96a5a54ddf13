/* SPDX-License-Identifier: MIT */
/* Handles: their types, the checks wherever one comes in, duplicates. posix_handle.c and
 * win32_handle.c hold the part of each system. */
#ifndef CULVI_BASE_HANDLE_H_
#define CULVI_BASE_HANDLE_H_

#include "base/text.h"
#include "culvert/handle.h"

/* What base/handle_rows.h says of a type. */
typedef enum culvi_handle_kind {
    CULVI_KIND_FD,
    CULVI_KIND_NT,
    CULVI_KIND_KMT,
    CULVI_KIND_BYTES
} culvi_handle_kind;
typedef enum culvi_dedicated {
    CULVI_DEDICATED_EITHER,
    CULVI_DEDICATED_ALWAYS,
    CULVI_DEDICATED_NEVER
} culvi_dedicated;
enum { CULVI_SYSTEM_POSIX, CULVI_SYSTEM_WINDOWS };
#ifdef _WIN32
enum { CULVI_SYSTEM = CULVI_SYSTEM_WINDOWS };
#else
enum { CULVI_SYSTEM = CULVI_SYSTEM_POSIX };
#endif

/* What a handle is used for: selects a column of numbers. */
typedef enum culvi_handle_use {
    CULVI_USE_MEMORY,
    CULVI_USE_BINARY,
    CULVI_USE_TIMELINE,
    CULVI_USE_MUTEX,
    CULVI_USE_VMM,
    CULVI_USE_VK_MEMORY,
    CULVI_USE_VK_SEMAPHORE,
    CULVI_USE_GL,
    CULVI_USES
} culvi_handle_use;

typedef struct culvi_handle_row {
    const char *name; /* "OPAQUE_FD"; NULL: not a type */
    const char *words;
    culvi_handle_kind kind;
    culvi_dedicated dedicated;
    bool here; /* this system has it */
    uint32_t number[CULVI_USES];
} culvi_handle_row;

/* Returns the row of a type. A value that is not a type has a row without a name, and all its
 * numbers are 0. */
const culvi_handle_row *culvi_handle_row_of(culv_handle_type type);
/* Whether this system has the type, and its handles keep something alive. */
bool culvi_handle_owns(culv_handle_type type);
/* What another API calls it; 0: nothing. */
static inline uint32_t culvi_handle_number(culv_handle_type type, culvi_handle_use use)
{
    return culvi_handle_row_of(type)->number[use];
}
/* One more than the last type. */
enum {
    CULVI_HANDLE_END = 1
#define CULVI_HANDLE(name, words, kind, system, dedicated, memory, binary, timeline, mutex, vmm,   \
                     vk_memory, vk_semaphore, gl)                                                  \
    +1
#include "base/handle_rows.h"
#undef CULVI_HANDLE
};
/* The types that this system has and this version serves, as bits (1 << culv_handle_type). */
enum {
    CULVI_HANDLE_TYPES = 0
#define CULVI_HANDLE(name, words, kind, system, dedicated, memory, binary, timeline, mutex, vmm,   \
                     vk_memory, vk_semaphore, gl)                                                  \
    | ((int)CULVI_SYSTEM_##system == (int)CULVI_SYSTEM &&                                          \
               (int)CULVI_KIND_##kind != (int)CULVI_KIND_BYTES                                     \
           ? 1 << CULV_HANDLE_##name                                                               \
           : 0)
#include "base/handle_rows.h"
#undef CULVI_HANDLE
};
/* Those of them that serve `use`. */
uint32_t culvi_handle_types_of(culvi_handle_use use);
/* The type that a program takes unless it has a reason for another one. */
#ifdef _WIN32
enum { CULVI_HANDLE_OPAQUE = CULV_HANDLE_OPAQUE_WIN32 };
#else
enum { CULVI_HANDLE_OPAQUE = CULV_HANDLE_OPAQUE_FD };
#endif

/* What the system reports about a handle; asked once. */
typedef struct culvi_handle_facts {
    bool reopens; /* a duplicate needs a description of its own (culvi_handle_duplicate()) */
    /* The allocation behind it has at most this many bytes; UINT64_MAX: unknown */
    uint64_t size_limit;
} culvi_handle_facts;

/* Examines a handle of one of these types. If it cannot be what the caller says, `problem` gets the
 * reason and `text` the message. `source` is the call that makes such handles, for the message. */
bool culvi_handle_examine(const culv_handle *handle, const char *source, culvi_handle_facts *facts,
                          culv_reason *problem, char *text, size_t size);
/* Vulkan's calls that make such handles on this system. */
extern const char *const culvi_handle_memory_source, *const culvi_handle_semaphore_source;
/* Whether this process can get one more handle; if not, *os_error says why. */
bool culvi_handle_left(int *os_error);
extern const char *const culvi_handle_left_advice; /* what to do if it cannot */

/* A duplicate for the caller to own. When `facts` is NULL, the system is asked again. *out is
 * written only on success. */
bool culvi_handle_duplicate(const culv_handle *handle, const culvi_handle_facts *facts,
                            culv_handle *out, int *os_error);
extern const char *const culvi_handle_duplicate_call; /* the system's function */

/* A duplicate for the driver, which may close it. */
typedef struct culvi_duplicate {
    culv_handle handle;
    /* Another fd of the open file description that the duplicate has and the original does not; -1:
     * the original shares it */
    int witness;
} culvi_duplicate;

bool culvi_handle_lend(const culv_handle *handle, const culvi_handle_facts *facts,
                       culvi_duplicate *out, int *os_error);
/* Call it after a driver was given a duplicate: closes the duplicate if the driver left it to us.
 * Drivers keep a file descriptor that they accept. Some drivers close one that they refuse, and by
 * then the number may be somebody else's, so it is closed only while it is still the duplicate.
 * Drivers never keep NT handles. */
void culvi_handle_lent_done(const culvi_duplicate *duplicate, const culv_handle *original,
                            bool accepted);
void culvi_handle_close(const culv_handle *handle);
/* Sets close-on-exec on a file descriptor that a driver made: Mesa 22 and 25 leave that out. */
void culvi_handle_keep_private(const culv_handle *handle);

/* "OPAQUE_FD"; "unknown" for a value that is not a type. */
const char *culvi_handle_type_name(culv_handle_type type);
/* Refuses a type that this system lacks or this version does not serve. `field` is where the type
 * came in ("culv_memory_desc.handle.type"). */
culv_result culvi_handle_type_check(const culvi_voice *voice, const char *label, const char *field,
                                    culv_handle_type type);
/* The same, but first refuses a type that serves `use` on no system. */
culv_result culvi_handle_use_check(const culvi_voice *voice, const char *label, const char *field,
                                   culv_handle_type type, culvi_handle_use use);
/* The same for each bit (1 << culv_handle_type) of a descriptor's handle_types. */
culv_result culvi_handle_types_check(const culvi_voice *voice, const char *label, const char *field,
                                     uint32_t types, culvi_handle_use use);
/* Refuses a handle that cannot be what the caller says. `field` is where it came in
 * ("culv_memory_desc.handle"), `source` the call that makes such handles. *facts is written only on
 * success. */
culv_result culvi_handle_check(const culvi_voice *voice, const char *label, const char *field,
                               const char *source, const culv_handle *handle,
                               culvi_handle_facts *facts);
/* Call it after a driver's `call` failed that would have made or needed a handle for `what`.
 * Reports when the process has no handle left, since drivers answer that in various ways. CULV_OK:
 * it has some left. */
culv_result culvi_handle_check_left(const culvi_voice *voice, const char *label, const char *call,
                                    const char *what);
#ifdef _WIN32
/* The SID of the user of a process (a HANDLE), in `room`. NULL: GetLastError(). */
typedef struct culvi_user_room {
    uint64_t bytes[16];
} culvi_user_room;
void *culvi_user_of(void *process, culvi_user_room *room);
/* OBJECT_ATTRIBUTES that let in the processes of this user alone. If the system does not tell the
 * user, their SecurityDescriptor is NULL, and the process's own default decides. */
const void *culvi_own_user_attributes(void);
#else
#    define culvi_own_user_attributes() NULL
#endif

/* Describes a handle for messages: "file descriptor 7", "NT handle 0x1c". */
void culvi_handle_describe(const culv_handle *handle, culvi_text *text);
/* culvi_handle_lend() that records its failure as an error. */
culv_result culvi_handle_lend_for(const culvi_voice *voice, const char *label,
                                  const culv_handle *handle, const culvi_handle_facts *facts,
                                  culvi_duplicate *out);

#endif
