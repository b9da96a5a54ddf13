/* SPDX-License-Identifier: MIT */
/* Threads, POSIX half. */
#include "base/platform.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#ifdef CULVI_TEST_HOOKS
/* Tests let another thread run between what is done under locks: called before a lock is taken, and
 * after one was given back. */
void (*_Atomic culvi_lock_hook)(bool before);

static void at_lock(bool before)
{
    void (*hook)(bool before) = atomic_load(&culvi_lock_hook);
    if (hook != NULL) hook(before);
}
#else
static void at_lock(bool before)
{
    (void)before;
}
#endif

/* POSIX: as pthread_mutex_init() without attributes, but it cannot fail. */
void culvi_mutex_init(culvi_mutex *mutex)
{
    *mutex = (culvi_mutex){PTHREAD_MUTEX_INITIALIZER};
}

void culvi_mutex_destroy(culvi_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->m);
}

void culvi_mutex_lock(culvi_mutex *mutex)
{
    at_lock(true);
    pthread_mutex_lock(&mutex->m);
}

void culvi_mutex_unlock(culvi_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->m);
    at_lock(false);
}

bool culvi_condition_init(culvi_condition *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) return false;
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&condition->c, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

void culvi_condition_destroy(culvi_condition *condition)
{
    pthread_cond_destroy(&condition->c);
}

void culvi_condition_wake_all(culvi_condition *condition)
{
    pthread_cond_broadcast(&condition->c);
}

void culvi_condition_wait(culvi_condition *condition, culvi_mutex *mutex, uint64_t until)
{
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000),
                          .tv_nsec = (long)(until % 1000000000)};
    const int before = culvi_cancel_disable();
    if (until == UINT64_MAX)
        pthread_cond_wait(&condition->c, &mutex->m);
    else
        pthread_cond_timedwait(&condition->c, &mutex->m, &at);
    culvi_cancel_restore(before);
}

int culvi_cancel_disable(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

void culvi_cancel_restore(int before)
{
    (void)pthread_setcancelstate(before, NULL);
}

static void *run_worker(void *user)
{
    culvi_worker *worker = (culvi_worker *)user;
    worker->body(worker->user);
    return NULL;
}

bool culvi_worker_start(culvi_worker *worker, void (*body)(void *user), void *user)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t all, before;
    worker->process = (long)getpid();
    worker->body = body;
    worker->user = user;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) /* which are whose they are */
        sigdelset(&all, faults[i]);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
    bool started = pthread_create(&worker->thread, NULL, run_worker, worker) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void culvi_worker_join(culvi_worker *worker)
{
    (void)pthread_join(worker->thread, NULL);
}

bool culvi_worker_exists(const culvi_worker *worker)
{
    return worker->process == (long)getpid();
}

uint64_t culvi_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void culvi_sleep_ms(unsigned ms)
{
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000},
        NULL);
}

culvi_thread *culvi_thread_state(void)
{
    static _Thread_local culvi_thread state;
    return &state;
}

bool culvi_privileged(void)
{
    return getauxval(AT_SECURE) != 0;
}
