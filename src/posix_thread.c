/* Threads, POSIX half. SPDX-License-Identifier: MIT */
#include "platform.h"

#include <stdlib.h>

bool culvi_mutex_init(culvi_mutex *mutex)
{
    return pthread_mutex_init(&mutex->m, NULL) == 0;
}

void culvi_mutex_destroy(culvi_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->m);
}

void culvi_mutex_lock(culvi_mutex *mutex)
{
    pthread_mutex_lock(&mutex->m);
}

void culvi_mutex_unlock(culvi_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->m);
}

culvi_thread *culvi_thread_state(void)
{
    static _Thread_local culvi_thread state;
    return &state;
}

const char *culvi_environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}
