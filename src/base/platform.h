/* SPDX-License-Identifier: MIT */
/* What differs between operating systems: posix_*.c and win32_*.c, chosen by CMake. */
#ifndef CULVI_PLATFORM_H_
#define CULVI_PLATFORM_H_

#include "culvert/handle.h"
#include "culvert/result.h"

#include <stdbool.h>

#ifdef _WIN32
enum { CULVI_NAPS_ARE_SHORT = 0 }; /* they end with a tick of the clock, up to 15 ms later */
typedef struct culvi_mutex {
    void *srw; /* an SRWLOCK */
} culvi_mutex;
typedef struct culvi_condition {
    void *variable; /* a CONDITION_VARIABLE */
} culvi_condition;
typedef struct culvi_worker {
    void *handle;
    void (*body)(void *user);
    void *user;
} culvi_worker;
#else
#    include <pthread.h>
enum { CULVI_NAPS_ARE_SHORT = 1 }; /* they end within some 60 us */
typedef struct culvi_mutex {
    pthread_mutex_t m;
} culvi_mutex;
typedef struct culvi_condition {
    pthread_cond_t c;
} culvi_condition;
typedef struct culvi_worker {
    pthread_t thread;
    long process; /* that started it */
    void (*body)(void *user);
    void *user;
} culvi_worker;
#endif

void culvi_mutex_init(culvi_mutex *mutex);
void culvi_mutex_destroy(culvi_mutex *mutex);
void culvi_mutex_lock(culvi_mutex *mutex);
void culvi_mutex_unlock(culvi_mutex *mutex);
/* Does one thing with the mutex held. */
#define CULVI_LOCKED(mutex, statement)                                                             \
    do {                                                                                           \
        culvi_mutex_lock(mutex);                                                                   \
        statement;                                                                                 \
        culvi_mutex_unlock(mutex);                                                                 \
    } while (0)
bool culvi_condition_init(culvi_condition *condition);
void culvi_condition_destroy(culvi_condition *condition);
void culvi_condition_wake_all(culvi_condition *condition);
/* With the mutex held: waits until it is woken (perhaps spuriously) or culvi_now() is `until`;
 * UINT64_MAX: waits forever. Not a cancellation point. */
void culvi_condition_wait(culvi_condition *condition, culvi_mutex *mutex, uint64_t until);
/* Starts a thread of Culvert's own. No signal is delivered to it. False: the system cannot start
 * one. The struct must stay in place until the thread was waited for. */
bool culvi_worker_start(culvi_worker *worker, void (*body)(void *user), void *user);
void culvi_worker_join(culvi_worker *worker);
/* False in a child process. fork() gives it only one thread, so the other one cannot be waited for,
 * and what that thread held stays held. */
bool culvi_worker_exists(const culvi_worker *worker);
/* Between the two calls the calling thread is not cancelled (pthread_cancel), because what it holds
 * would stay held. */
int culvi_cancel_disable(void);
void culvi_cancel_restore(int before);
/* Monotonic nanoseconds. */
uint64_t culvi_now(void);
void culvi_sleep_ms(unsigned ms);

/* Data of each thread. */
typedef struct culvi_thread {
    culv_error error;
    unsigned attempts; /* attempts under way; their failures are not errors yet */
    /* What CUDA's own log said last on this thread (cuLogsRegisterCallback) */
    char driver_log[512];
} culvi_thread;

/* Never NULL: a shared block takes the place of a thread's own one that cannot be allocated. */
culvi_thread *culvi_thread_state(void);

void *culvi_module_open(const char *path, char *why, size_t why_size);
/* The library of that name (not path), if this process has loaded it from wherever. Else NULL. */
void *culvi_module_loaded(const char *name);
void *culvi_module_symbol(void *module, const char *name);
void culvi_module_close(void *module);
/* What is loaded under this name stays until the process ends. Nothing where it is not loaded. */
void culvi_module_keep(const char *name);
/* Whether there is a file at that path, loadable or not. */
bool culvi_module_exists(const char *path);
/* Reads the first bytes of a file, up to `size`. Returns 0, or errno. */
int culvi_file_head(const char *path, void *out, size_t size, size_t *out_size);
/* The absolute directory of the library (or program) that contains this code, without a trailing
 * slash. False when it is unknown or cannot be trusted. */
bool culvi_module_self_dir(char *out, size_t size);

/* Names of the two CUDA drivers' libraries. */
extern const char *const culvi_cuda_library;
extern const char *const culvi_soft_library;

/* Bytes of a page of host memory. */
uint64_t culvi_page_size(void);

/* Whether the program has rights that its user lacks (setuid, setgid, file capabilities). Whoever
 * starts such a program chooses its environment, its arguments and its directory, so it trusts none
 * of them. */
bool culvi_privileged(void);
/* NULL: unset, empty, or the program is privileged. */
const char *culvi_environment(const char *name);

#endif
