/* Errors, log lines and text: the function that first knows a cause records it here; its callers only pass it
 * on. SPDX-License-Identifier: MIT */
#ifndef CULVI_MESSAGE_H_
#define CULVI_MESSAGE_H_

#include "culvert/log.h"
#include "culvert/result.h"

#include <stdarg.h>
#include <stdbool.h>

#if defined(__GNUC__) && !defined(__MINGW32__)
#    define CULVI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#elif defined(__MINGW32__)
#    define CULVI_PRINTF(f, a) __attribute__((format(gnu_printf, f, a)))
#else
#    define CULVI_PRINTF(f, a)
#endif

/* Whose message it is: where it is logged, and what it is labelled with. Either may be missing. */
typedef struct culvi_voice {
    culv_log log;
    char label[64];
} culvi_voice;

void culvi_label_set(char label[64], const char *text);
/* A silent log becomes one to stderr when CULVERT_LOG asks for it. */
void culvi_voice_init(culvi_voice *voice, const culv_log *log, const char *label);

void culvi_log(const culvi_voice *voice, culv_log_level level, const char *format, ...) CULVI_PRINTF(3, 4);
bool culvi_log_wants(const culvi_voice *voice, culv_log_level level);

/* Records and logs an error of the calling thread and returns its class. `object` labels the object at fault.
 */
culv_result culvi_fail(const culvi_voice *voice, const char *object, culv_result result, culv_reason reason,
                       const char *format, ...) CULVI_PRINTF(5, 6);
culv_result culvi_fail_native(const culvi_voice *voice, const char *object, culv_result result,
                              culv_reason reason, culv_api api, int64_t code, const char *call,
                              const char *format, ...) CULVI_PRINTF(8, 9);

/* An allocation of Culvert's own failed. */
culv_result culvi_fail_host_memory(const culvi_voice *voice, const char *object);

/* A bounded text that is appended to; what does not fit is cut. */
typedef struct culvi_text {
    char *data;
    size_t size;
    size_t length;
} culvi_text;

void culvi_text_add(culvi_text *text, const char *format, ...) CULVI_PRINTF(2, 3);
void culvi_text_add_uuid(culvi_text *text, const culv_uuid *uuid);

bool culvi_uuid_equal(const culv_uuid *a, const culv_uuid *b);
bool culvi_uuid_given(const culv_uuid *uuid);

/* Copies a caller's descriptor of any known or later version into `local` (of `size` bytes, the present
 * version), zero-filling what the caller's version lacks. */
culv_result culvi_desc_read(const culvi_voice *voice, void *local, size_t size, const void *desc,
                            const char *name);
/* Copies `local` out into a caller's struct as far as its struct_size reaches. */
void culvi_struct_write(void *out, const void *local, size_t size);
/* Refuses a caller's struct whose struct_size was never set. */
culv_result culvi_struct_check(const culvi_voice *voice, const void *out, const char *name);

/* All allocation goes through here, so that tests can make it fail. */
void *culvi_alloc(size_t size);
void culvi_free(void *memory);
/* Pages to be pinned, which must be there for that: `size` bytes from a multiple of `alignment`, a power of two, on, all
 * zero. *block is for culvi_free(). NULL: out of memory. */
void *culvi_alloc_pages(uint64_t size, uint64_t alignment, void **block);

#endif
