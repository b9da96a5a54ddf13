/* SPDX-License-Identifier: MIT */
/* Whether the drivers themselves grow when an object is made and destroyed over and over, by plain
 * calls: what the library's own endurance test has to be compared with. Reported only.
 * --raw-turns=N says how often. */
#include "binaries.h"

#include <malloc.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

/* Outlives the turns. */
typedef struct lasting {
    pair p;
    raw_vk_buffer memory;
    VkSemaphore timeline;
    shared_timeline shared;
    uint64_t value; /* last signaled of `shared` */
} lasting;

static void memory_exported(lasting *l)
{
    close(raw_vk_buffer_fd(&l->p.vk, &l->memory));
}

static CUexternalMemory import_memory(lasting *l, raw_vk_buffer *vk)
{
    CUexternalMemory memory = NULL;
    CU_OK(raw_cuda_import_memory(l->p.cu, raw_vk_buffer_fd(&l->p.vk, vk), vk->allocation_size,
                                 false, &memory));
    return memory;
}

static void memory_imported(lasting *l)
{
    CU_OK(l->p.cu->DestroyExternalMemory(import_memory(l, &l->memory)));
}

static void map_and_destroy(lasting *l, raw_vk_buffer *vk)
{
    CUexternalMemory memory = import_memory(l, vk);
    CUdeviceptr pointer = 0;
    CU_OK(raw_cuda_map_buffer(l->p.cu, memory, 0, SIZE, &pointer));
    CU_OK(l->p.cu->MemFree(pointer));
    CU_OK(l->p.cu->DestroyExternalMemory(memory));
}

static void memory_mapped(lasting *l)
{
    map_and_destroy(l, &l->memory);
}

static void memory_allocated_and_mapped(lasting *l)
{
    raw_vk_buffer own;
    raw_vk_buffer_create(&l->p.vk, SIZE, RAW_VK_EXPORT | RAW_VK_DEDICATED, &own);
    map_and_destroy(l, &own);
    raw_vk_buffer_destroy(&l->p.vk, &own);
}

static void timeline_exported(lasting *l)
{
    close(raw_vk_semaphore_fd(&l->p.vk, l->timeline));
}

static CUexternalSemaphore import_timeline(lasting *l)
{
    CUexternalSemaphore semaphore = NULL;
    CU_OK(
        raw_cuda_import_timeline(l->p.cu, raw_vk_semaphore_fd(&l->p.vk, l->timeline), &semaphore));
    return semaphore;
}

static void timeline_imported(lasting *l)
{
    CU_OK(l->p.cu->DestroyExternalSemaphore(import_timeline(l)));
}

static void timeline_used(lasting *l)
{
    CUexternalSemaphore semaphore = import_timeline(l);
    CU_OK(raw_cuda_signal(l->p.cu, semaphore, ++l->value, l->p.stream));
    CU_OK(raw_cuda_wait(l->p.cu, semaphore, l->value, l->p.stream));
    CU_OK(l->p.cu->StreamSynchronize(l->p.stream));
    CU_OK(l->p.cu->DestroyExternalSemaphore(semaphore));
}

static void timeline_created_and_imported(lasting *l)
{
    shared_timeline own;
    shared_timeline_open(&l->p, 0, &own);
    shared_timeline_close(&l->p, &own);
}

static void binary_created_and_imported(lasting *l)
{
    shared_binary own;
    shared_binary_open(&l->p, &own);
    shared_binary_close(&l->p, &own);
}

static void event_recorded(lasting *l)
{
    CUevent event = NULL;
    CU_OK(l->p.cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU_OK(l->p.cu->EventRecord(event, l->p.stream));
    CU_OK(l->p.cu->EventSynchronize(event));
    CU_OK(l->p.cu->EventDestroy(event));
}

static void signal_and_wait(lasting *l)
{
    CU_OK(raw_cuda_signal(l->p.cu, l->shared.cu, ++l->value, l->p.stream));
    CU_OK(raw_cuda_wait(l->p.cu, l->shared.cu, l->value, l->p.stream));
    CU_OK(l->p.cu->StreamSynchronize(l->p.stream));
}

typedef struct level {
    double resident, heap; /* bytes */
} level;

static level measure(void)
{
    unsigned long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file != NULL && fscanf(file, "%lu %lu", &pages, &resident) == 2);
    fclose(file);
    struct mallinfo2 heap = mallinfo2();
    return (level){(double)resident * (double)sysconf(_SC_PAGESIZE), (double)heap.uordblks};
}

static void many_turns(const char *name, void (*turn)(lasting *))
{
    static lasting l;
    long turns = strtol(test_option("raw-turns", "2000"), NULL, 10);
    level levels[3];
    size_t fds = 0;
    REQUIRE(turns >= 100);
    pair_open(&l.p);
    raw_vk_buffer_create(&l.p.vk, SIZE, RAW_VK_EXPORT, &l.memory);
    l.timeline = raw_vk_timeline(&l.p.vk, 0, true);
    shared_timeline_open(&l.p, 0, &l.shared);
    for (long i = 0; i < turns / 10; i++) /* caches fill */
        turn(&l);
    levels[0] = measure();
    fds = test_open_fds();
    for (int half = 1; half <= 2; half++) {
        for (long i = 0; i < turns / 2; i++)
            turn(&l);
        levels[half] = measure();
    }
    double each = (double)(turns / 2);
    MEASURED("raw_endurance",
             "%s: %ld turns, resident bytes a turn %.0f in the first half, %.0f in the second; "
             "heap in use %.0f and %.0f",
             name, turns, (levels[1].resident - levels[0].resident) / each,
             (levels[2].resident - levels[1].resident) / each,
             (levels[1].heap - levels[0].heap) / each, (levels[2].heap - levels[1].heap) / each);
    ANSWER("fds more after the turns", "%ld", (long)test_open_fds() - (long)fds);
    shared_timeline_close(&l.p, &l.shared);
    raw_vk_semaphore_destroy(&l.p.vk, l.timeline);
    raw_vk_buffer_destroy(&l.p.vk, &l.memory);
    pair_close(&l.p);
}

/* One process each, so that none is measured in the memory that another left. */
#define MANY(turn)                                                                                 \
    TEST_AS(many_##turn, many_turns(#turn, turn), .title = "measured.endurance_" #turn,            \
            .time_limit = 300)
MANY(memory_exported)
MANY(memory_imported)
MANY(memory_mapped)
MANY(memory_allocated_and_mapped)
MANY(timeline_exported)
MANY(timeline_imported)
MANY(timeline_used)
MANY(timeline_created_and_imported)
MANY(binary_created_and_imported)
MANY(event_recorded)
MANY(signal_and_wait)
