/* SPDX-License-Identifier: MIT */
#include "race.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

static _Thread_local bool held;

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        REQUIRE_EQ(errno, EINTR);
}

static void hold(void *user, culv_log_level level, const char *message)
{
    lib_race *r = user;
    (void)level;
    if (r->at == NULL || strstr(message, r->at) == NULL) return;
    atomic_fetch_add(&r->count, 1);
    if (!held) return;
    held = false;
    sem_post(&r->arrived);
    wait_for(&r->go);
}

void lib_race_open(lib_race *r, lib_world *w)
{
    memset(r, 0, sizeof *r);
    lib_open_vulkan(w);
    culv_device_desc d = culv_device_desc_init();
    d.log = (culv_log){hold, r, CULV_LOG_DEBUG};
    LIB_OK(culv_device_open_for_vk(vkGetInstanceProcAddr, w->vk.instance, w->vk.physical, &d,
                                   &w->device));
    culv_vk_device_desc v = lib_vk_desc(w);
    LIB_OK(culv_vk_attach(w->device, &v, &w->attachment));
    w->context = culv_device_context(w->device);
}

static void *run_first(void *argument)
{
    lib_race *r = argument;
    held = true;
    r->first(r->user);
    REQUIRE(!held); /* or nobody ever came to the line */
    return NULL;
}

static void *run_second(void *argument)
{
    lib_race *r = argument;
    atomic_store(&r->second_thread, (int)gettid());
    r->second(r->user);
    return NULL;
}

void lib_race_run(lib_race *r, const char *at, void (*first)(void *user),
                  void (*second)(void *user), void *user, bool waits)
{
    pthread_t one, other;
    REQUIRE_EQ(sem_init(&r->arrived, 0, 0), 0);
    REQUIRE_EQ(sem_init(&r->go, 0, 0), 0);
    atomic_store(&r->count, 0);
    atomic_store(&r->second_thread, 0);
    r->user = user;
    r->first = first;
    r->second = second;
    r->at = at;
    REQUIRE_EQ(pthread_create(&one, NULL, run_first, r), 0);
    wait_for(&r->arrived);
    REQUIRE_EQ(pthread_create(&other, NULL, run_second, r), 0);
    if (waits) {
        while (atomic_load(&r->second_thread) == 0)
            usleep(100);
        REQUIRE(test_asleep(0, atomic_load(&r->second_thread), 20));
    } else {
        REQUIRE_EQ(pthread_join(other, NULL), 0);
    }
    sem_post(&r->go);
    if (waits) REQUIRE_EQ(pthread_join(other, NULL), 0);
    REQUIRE_EQ(pthread_join(one, NULL), 0);
    r->at = NULL;
    sem_destroy(&r->go);
    sem_destroy(&r->arrived);
}
