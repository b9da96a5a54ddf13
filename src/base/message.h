/* SPDX-License-Identifier: MIT */
/* What nearly each file needs: errors and log lines, attempts, structs that begin with their size,
 * and memory. The function that first knows a cause records it here; its callers only pass it
 * on. */
#ifndef CULVI_BASE_MESSAGE_H_
#define CULVI_BASE_MESSAGE_H_

#include "culvert/result.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__GNUC__) && (!defined(__MINGW32__) || defined(__clang__))
#    define CULVI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#elif defined(__MINGW32__)
#    define CULVI_PRINTF(f, a) __attribute__((format(gnu_printf, f, a)))
#else
#    define CULVI_PRINTF(f, a)
#endif

/* Says where a message is logged, and which label it carries. Either may be missing. */
typedef struct culvi_voice {
    culv_log log;
    char label[64];
} culvi_voice;

/* What a reason means, in one sentence without values. */
const char *culvi_reason_text(culv_reason reason);
void culvi_label_set(char label[64], const char *text);
/* Sends a silent log to stderr when CULVERT_LOG asks for it. */
void culvi_voice_init(culvi_voice *voice, const culv_log *log, const char *label);

void culvi_log(const culvi_voice *voice, culv_log_level level, const char *format, ...)
    CULVI_PRINTF(3, 4);
bool culvi_log_wants(const culvi_voice *voice, culv_log_level level);

/* Logs at INFO what became of an object: `deed` is "made" or "destroyed". A size of 0 is none. */
void culvi_log_object(const culvi_voice *voice, const char *deed, const char *kind,
                      const char *label, uint64_t size);

/* Records and logs an error of the calling thread and returns its class. `object` labels the object
 * at fault; `call` of `api` answered `code`. */
culv_result culvi_fail_native(const culvi_voice *voice, const char *object, culv_result result,
                              culv_reason reason, culv_native_api api, int64_t code,
                              const char *call, const char *format, ...) CULVI_PRINTF(8, 9);
/* The same of no other API: a function, since a macro would make the library 2 % larger. */
culv_result culvi_fail(const culvi_voice *voice, const char *object, culv_result result,
                       culv_reason reason, const char *format, ...) CULVI_PRINTF(5, 6);
/* The same of the operating system, which refused what nobody asked wrongly for. */
#define culvi_fail_os(voice, object, code, call, ...)                                              \
    culvi_fail_native(voice, object, CULV_ERROR_DRIVER, CULV_REASON_OS, CULV_NATIVE_OS, code,      \
                      call, __VA_ARGS__)
/* The class of a VkResult that names its cause by itself, and in *reason that cause; otherwise
 * `result`. */
culv_result culvi_vk_cause(int code, culv_result result, culv_reason *reason);

/* "culv_x_y: name is NULL" */
culv_result culvi_fail_null(const culvi_voice *voice, const char *call, const char *name);
/* "culv_x_desc.field is NULL" */
culv_result culvi_fail_field(const culvi_voice *voice, const char *object, const char *field);
/* The first lines of a public function: it returns that error if a pointer is NULL. The error names
 * the first NULL. The pointer that provides `voice` is checked in a line above. */
#define CULVI_REQUIRE(voice, pointer) CULVI_REQUIRE_IN(voice, __func__, pointer)
#define CULVI_REQUIRE2(voice, first, second)                                                       \
    do {                                                                                           \
        CULVI_REQUIRE(voice, first);                                                               \
        CULVI_REQUIRE(voice, second);                                                              \
    } while (0)
#define CULVI_REQUIRE3(voice, first, second, third)                                                \
    do {                                                                                           \
        CULVI_REQUIRE2(voice, first, second);                                                      \
        CULVI_REQUIRE(voice, third);                                                               \
    } while (0)

/* Checks the object first, because `voice` is read from it. */
#define CULVI_REQUIRE_WITH(object, voice, first)                                                   \
    do {                                                                                           \
        CULVI_REQUIRE(NULL, object);                                                               \
        CULVI_REQUIRE(voice, first);                                                               \
    } while (0)
#define CULVI_REQUIRE_WITH2(object, voice, first, second)                                          \
    do {                                                                                           \
        CULVI_REQUIRE(NULL, object);                                                               \
        CULVI_REQUIRE2(voice, first, second);                                                      \
    } while (0)
#define CULVI_REQUIRE_WITH3(object, voice, first, second, third)                                   \
    do {                                                                                           \
        CULVI_REQUIRE(NULL, object);                                                               \
        CULVI_REQUIRE3(voice, first, second, third);                                               \
    } while (0)

/* The same in a function that does the work of the public one called `call`. */
#define CULVI_REQUIRE_IN(voice, call, pointer)                                                     \
    do {                                                                                           \
        if ((pointer) == NULL) return culvi_fail_null((voice), (call), #pointer);                  \
    } while (0)

/* A caller's mistake, or what a system lacks: returns the error if the condition holds. For a
 * function that has nothing to give up by then. */
#define CULVI_REFUSE_IF(condition, voice, object, reason, ...)                                     \
    do {                                                                                           \
        if (condition)                                                                             \
            return culvi_fail((voice), (object), CULV_ERROR_INVALID, (reason), __VA_ARGS__);       \
    } while (0)
#define CULVI_UNSUPPORTED_IF(condition, voice, object, reason, ...)                                \
    do {                                                                                           \
        if (condition)                                                                             \
            return culvi_fail((voice), (object), CULV_ERROR_UNSUPPORTED, (reason), __VA_ARGS__);   \
    } while (0)

/* Goes on if `call` succeeds, and otherwise returns its error. For a function that has nothing to
 * give up by then. */
#define CULVI_TRY(call)                                                                            \
    do {                                                                                           \
        const culv_result tried_ = (call);                                                         \
        if (tried_ != CULV_OK) return tried_;                                                      \
    } while (0)

/* The same for a function that has something to give up by then, which `otherwise` does. */
#define CULVI_TRY_OR(call, otherwise)                                                              \
    do {                                                                                           \
        const culv_result tried_ = (call);                                                         \
        if (tried_ == CULV_OK) break;                                                              \
        otherwise;                                                                                 \
        return tried_;                                                                             \
    } while (0)

/* A public getter: what an object, `self`, tells; NULL tells `none`. */
#define CULVI_GETTER(type, function, object, tells, none)                                          \
    type function(const object *self)                                                              \
    {                                                                                              \
        return self != NULL ? tells : (none);                                                      \
    }

/* An allocation of Culvert's own failed. */
culv_result culvi_fail_host_memory(const culvi_voice *voice, const char *object);
/* Attempts: after a failure something else may still be tried ---------------------------------- */

/* Between begin and end, failures are logged as news, not as errors, because something else may
 * still be tried. */
void culvi_attempt_begin(void);
/* Logs a failure as an error after all. */
culv_result culvi_attempt_end(const culvi_voice *voice, culv_result result);
/* Makes a call as an attempt, and returns its result: a failure stays news. */
#define CULVI_ATTEMPT(call) (culvi_attempt_begin(), culvi_attempt_end(NULL, (call)))

/* Structs that begin with their size: descriptors, and structs that are written out ------------ */

/* Copies a caller's descriptor of any known or later version into `local` (of `size` bytes, the
 * present version), zero-filling what the caller's version lacks. */
culv_result culvi_desc_read(const culvi_voice *voice, void *local, size_t size, const void *desc,
                            const char *name);
/* Declares `local`, of that type, and reads it; for the first lines of a public function. */
#define CULVI_READ(voice, type, local, desc)                                                       \
    type local;                                                                                    \
    CULVI_TRY(culvi_desc_read((voice), &(local), sizeof(local), (desc), #type))
/* Refuses a member that is NULL, of a descriptor that was read. */
#define CULVI_REQUIRE_FIELD(voice, type, local, field)                                             \
    do {                                                                                           \
        if (!(local).field) return culvi_fail_field((voice), (local).label, #type "." #field);     \
    } while (0)
/* Copies `local` out into a caller's struct as far as its struct_size reaches. */
void culvi_struct_write(void *out, const void *local, size_t size);
/* Refuses a caller's struct whose struct_size was never set. */
culv_result culvi_struct_check(const culvi_voice *voice, const void *out, const char *name);

/* Allocation on the host ----------------------------------------------------------------------- */

/* All allocation goes through here, so that tests can make it fail. Zeroed: a new object's atomics
 * are 0. */
void *culvi_alloc(size_t size);
void culvi_free(void *memory);
/* The same, and records the error. */
void *culvi_alloc_for(const culvi_voice *voice, const char *label, size_t size);
/* Pages to be pinned: `size` zeroed bytes that start at a multiple of `alignment`, a power of two.
 * They are zeroed because pinning needs pages that are present. *block is for culvi_free(). NULL:
 * out of memory. */
void *culvi_alloc_pages(uint64_t size, uint64_t alignment, void **block);

/* Declares `name`, a new object of that type, all zeros; for a function that has nothing to give up
 * by then. */
#define CULVI_NEW(type, name, voice, label)                                                        \
    type *name = culvi_alloc(sizeof(type));                                                        \
    if (name == NULL) return culvi_fail_host_memory((voice), (label))
/* The same for `count` of them, one after another. */
#define CULVI_NEW_LIST(type, name, count, voice, label)                                            \
    type *name = culvi_alloc((count) * sizeof(type));                                              \
    if (name == NULL) return culvi_fail_host_memory((voice), (label))
/* Returns the object that `handle` points to, or NULL, and sets the caller's pointer to NULL. */
void *culvi_take(void *handle);
/* The first lines of a destroy that returns nothing: declares `mine`, the object of `handle`. */
#define CULVI_TAKE(type, mine, handle)                                                             \
    type *mine = culvi_take(handle);                                                               \
    if (mine == NULL) return

#define CULVI_CONTAINER(pointer, type, member)                                                     \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
