/* What differs between operating systems: posix_*.c and win32_*.c, chosen by CMake.
 * SPDX-License-Identifier: MIT */
#ifndef CULVI_PLATFORM_H_
#define CULVI_PLATFORM_H_

#include "culvert/handle.h"
#include "culvert/result.h"

#include <stdbool.h>

#ifdef _WIN32
typedef struct culvi_mutex {
    void *srw; /* an SRWLOCK */
} culvi_mutex;
#else
#    include <pthread.h>
typedef struct culvi_mutex {
    pthread_mutex_t m;
} culvi_mutex;
#endif

bool culvi_mutex_init(culvi_mutex *mutex);
void culvi_mutex_destroy(culvi_mutex *mutex);
void culvi_mutex_lock(culvi_mutex *mutex);
void culvi_mutex_unlock(culvi_mutex *mutex);

/* What each thread has of its own. */
typedef struct culvi_thread {
    culv_error error;
    char driver_log[512]; /* what CUDA's own log said last on this thread (cuLogsRegisterCallback) */
} culvi_thread;

/* Never NULL: where a thread's own block cannot be had, one is shared. */
culvi_thread *culvi_thread_state(void);

void *culvi_module_open(const char *path, char *why, size_t why_size);
void *culvi_module_symbol(void *module, const char *name);
void culvi_module_close(void *module);
/* Directory of the library (or program) that this code is in, without a trailing slash; false when unknown.
 */
bool culvi_module_self_dir(char *out, size_t size);

/* Names of the two CUDA drivers' libraries. */
extern const char *const culvi_cuda_library;
extern const char *const culvi_soft_library;

/* Handles. `problem` gets the reason and `text` the words when a handle cannot be what it is said to be. */
bool culvi_handle_check(const culv_handle *handle, culv_reason *problem, char *text, size_t size);

/* A duplicate that the driver may have, and lose. */
typedef struct culvi_duplicate {
    culv_handle handle;
    bool reopened; /* another open file description of the same file */
} culvi_duplicate;

bool culvi_handle_duplicate(const culv_handle *handle, culvi_duplicate *out, int *os_error);
/* After a driver refused a duplicate: closes it if it is still open and still the same file. Some drivers
 * close it on failure, and the number may be somebody else's by then. */
void culvi_handle_close_refused(const culvi_duplicate *duplicate, const culv_handle *original);
void culvi_handle_close(const culv_handle *handle);
/* What can be said of the size of the allocation behind a handle without the driver: an upper bound in bytes,
 * or UINT64_MAX. */
uint64_t culvi_handle_size_limit(const culv_handle *handle);

const char *culvi_environment(const char *name);

#endif
