/* SPDX-License-Identifier: MIT */
/* What the files of culvert-extra share: errors, descriptors, memory, and the system. */
#ifndef CULVI_X_INSIDE_H_
#define CULVI_X_INSIDE_H_

#include <culvert/addon.h>
#include <culvert/cuda_api.h>

#include "culvert/extra/extra.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef _WIN32
#    include <windows.h>
#else
#    include <pthread.h>
#endif

#if defined(__GNUC__) && (!defined(__MINGW32__) || defined(__clang__))
#    define CULVI_X_PRINTF(f, a) __attribute__((format(printf, f, a)))
#elif defined(__MINGW32__)
#    define CULVI_X_PRINTF(f, a) __attribute__((format(gnu_printf, f, a)))
#else
#    define CULVI_X_PRINTF(f, a)
#endif

/* Errors --------------------------------------------------------------------------------------- */

/* Records and logs an error and returns its class. `device` and `object`, the label of what is at
 * fault, may be NULL. */
culv_result culvi_x_fail_as(culv_device *device, const char *object, culv_result result,
                            culv_reason reason, culv_native_api api, int64_t code, const char *call,
                            const char *format, ...) CULVI_X_PRINTF(8, 9);
/* No driver's answer. */
#define culvi_x_fail(device, object, result, reason, ...)                                          \
    culvi_x_fail_as(device, object, result, reason, CULV_NATIVE_NONE, 0, "", __VA_ARGS__)
/* A driver's answer that has a class of its own here. */
#define culvi_x_fail_native(device, object, result, reason, code, call, ...)                       \
    culvi_x_fail_as(device, object, result, reason, CULV_NATIVE_CUDA, code, call, __VA_ARGS__)
/* What a driver's answer is: CULV_OK, or its error, whose class Culvert knows. `refused` is the
 * reason where the code has none. */
#define culvi_x_result(device, object, code, call, refused, ...)                                   \
    ((code) == CUDA_SUCCESS                                                                        \
         ? CULV_OK                                                                                 \
         : culvi_x_fail_native(device, object, CULV_OK, refused, code, call, __VA_ARGS__))
/* The system's, with the reason OS. */
#define culvi_x_fail_os(device, object, result, error, call, what)                                 \
    culvi_x_fail_as(device, object, result, CULV_REASON_OS, CULV_NATIVE_OS, error, call,           \
                    "%s: %s answered %d", what, call, error)
culv_result culvi_x_fail_null(culv_device *device, const char *call, const char *name);
culv_result culvi_x_fail_host_memory(culv_device *device, const char *object);

/* As CULVI_REFUSE_IF() and CULVI_UNSUPPORTED_IF() of the core. */
#define CULVI_X_REFUSE_IF(condition, device, object, reason, ...)                                  \
    do {                                                                                           \
        if (condition)                                                                             \
            return culvi_x_fail((device), (object), CULV_ERROR_INVALID, (reason), __VA_ARGS__);    \
    } while (0)
#define CULVI_X_UNSUPPORTED_IF(condition, device, object, reason, ...)                             \
    do {                                                                                           \
        if (condition)                                                                             \
            return culvi_x_fail((device), (object), CULV_ERROR_UNSUPPORTED, (reason),              \
                                __VA_ARGS__);                                                      \
    } while (0)

/* The first lines of a public function. */
#define CULVI_X_REQUIRE(device, pointer)                                                           \
    do {                                                                                           \
        if ((pointer) == NULL) return culvi_x_fail_null((device), __func__, #pointer);             \
    } while (0)
#define CULVI_X_REQUIRE2(device, first, second)                                                    \
    do {                                                                                           \
        CULVI_X_REQUIRE(device, first);                                                            \
        CULVI_X_REQUIRE(device, second);                                                           \
    } while (0)

/* Checks the object first, because `device` is read from it. */
#define CULVI_X_REQUIRE_WITH(object, device, first)                                                \
    do {                                                                                           \
        CULVI_X_REQUIRE(NULL, object);                                                             \
        CULVI_X_REQUIRE(device, first);                                                            \
    } while (0)
#define CULVI_X_REQUIRE_WITH2(object, device, first, second)                                       \
    do {                                                                                           \
        CULVI_X_REQUIRE(NULL, object);                                                             \
        CULVI_X_REQUIRE2(device, first, second);                                                   \
    } while (0)
/* Goes on if `call` succeeds, and otherwise returns its error. */
#define CULVI_X_TRY(call)                                                                          \
    do {                                                                                           \
        const culv_result tried_ = (call);                                                         \
        if (tried_ != CULV_OK) return tried_;                                                      \
    } while (0)

/* The same for a function that has something to give up by then, which `otherwise` does. */
#define CULVI_X_TRY_OR(call, otherwise)                                                            \
    do {                                                                                           \
        const culv_result tried_ = (call);                                                         \
        if (tried_ == CULV_OK) break;                                                              \
        otherwise;                                                                                 \
        return tried_;                                                                             \
    } while (0)

/* Structs that begin with their size ----------------------------------------------------------- */

culv_result culvi_x_desc_read(culv_device *device, void *local, size_t size, const void *desc,
                              const char *name);
/* Declares `local`, of that type, and reads it; for the first lines of a public function. */
#define CULVI_X_READ(device, type, local, desc)                                                    \
    type local;                                                                                    \
    CULVI_X_TRY(culvi_x_desc_read((device), &(local), sizeof(local), (desc), #type))
/* What a call is to write to: its parameter `out`. */
culv_result culvi_x_out_check(culv_device *device, const char *call, const void *out,
                              const char *name);
void culvi_x_struct_write(void *out, const void *local, size_t size);

/* Devices and objects -------------------------------------------------------------------------- */

culv_device_caps culvi_x_caps(const culv_device *device);
/* Culvert knows the object from now on. */
#define CULVI_X_OBJECT(device, out, ...)                                                           \
    culv_addon_object_create(                                                                      \
        (device),                                                                                  \
        &(culv_addon_object_desc){.struct_size = sizeof(culv_addon_object_desc), __VA_ARGS__},     \
        (out))
/* Declares `result`, which is the call's in the device's context, or why there is no context. */
#define CULVI_X_INSIDE(result, device, call)                                                       \
    uint64_t result##_scope;                                                                       \
    culv_result result = culv_device_enter((device), 0, &result##_scope);                          \
    if (result == CULV_OK) {                                                                       \
        result = (call);                                                                           \
        culv_device_leave((device), result##_scope);                                               \
    }
/* Declares `r`, the driver's answer to `call` in the device's context; returns if there is none. */
#define CULVI_X_CU_INSIDE(r, device, call)                                                         \
    uint64_t r##_scope;                                                                            \
    CULVI_X_TRY(culv_device_enter((device), 0, &r##_scope));                                       \
    const CUresult r = (call);                                                                     \
    culv_device_leave((device), r##_scope)
/* A call that gives something back: one refusal is not taken for an answer. */
#define CULVI_X_RELEASE(call) ((void)((call) != CUDA_SUCCESS && (call)))
/* What a handle, a place of one or NULL, has; it is NULL from now on. */
void *culvi_x_take(void *handle);
void culvi_x_label_set(char label[64], const char *text);

/* Zeros. NULL: out of memory. */
void *culvi_x_alloc(size_t size);
void culvi_x_free(void *memory);
/* Declares `name`, a new object of that type, all zeros; for a function that has nothing to give up
 * by then. */
#define CULVI_X_NEW(type, name, device, label)                                                     \
    type *name = culvi_x_alloc(sizeof(type));                                                      \
    if (name == NULL) return culvi_x_fail_host_memory((device), (label))

/* The system: posix.c -------------------------------------------------------------------------- */

#ifdef _WIN32 /* only memory pools, which have no file descriptors there, ask for any of it */
#    define culvi_x_files_left()     0
#    define culvi_x_keep_private(fd) ((void)(fd))
#else
/* A shared library of the system's. NULL: `why` says why. */
void *culvi_x_module_open(const char *name, char *why, size_t why_size);
bool culvi_x_module_find(void *module, const char *name, void *out);
void culvi_x_module_close(void *module);

typedef pthread_mutex_t culvi_x_mutex;
#    define culvi_x_mutex_init(mutex)    (*(mutex) = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER)
#    define culvi_x_mutex_destroy(mutex) pthread_mutex_destroy(mutex)
#    define culvi_x_mutex_lock(mutex)    (culvi_x_at_lock(true), pthread_mutex_lock(mutex))
#    define culvi_x_mutex_unlock(mutex)  (pthread_mutex_unlock(mutex), culvi_x_at_lock(false))
/* Culvert's tests let another thread run between locks here too. */
#    ifdef CULVI_TEST_HOOKS
void culvi_x_at_lock(bool before);
#    else
#        define culvi_x_at_lock(before) ((void)(before))
#    endif
/* Bytes of a page of host memory. */
uint64_t culvi_x_page_size(void);
/* 0 if the process can open one more file; otherwise the system's error. */
int culvi_x_files_left(void);
/* No program that this one starts inherits the file descriptor. */
void culvi_x_keep_private(int fd);
#endif

#endif
