/* SPDX-License-Identifier: MIT */
/* Imports that are refused, beside threads that open and close files of their own: a driver closes
 * the number that it was given, as NVIDIA's does and the twin, and what was opened under this
 * number since is not Culvert's to close. */
#define TEST_GROUP "bystanders."
#include "library.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 65536, ENOUGH = 64, CHECKS = 2 };

typedef struct scene {
    lib_world w;
    culv_device *second; /* of the same GPU: its imports have a lock of their own */
    raw_vk_buffer buffer;
    int wrong, right;
    bool reopen; /* bystanders open the file anew; else they dup() */
    atomic_bool stop;
    atomic_uint lost, refused, imported, opened;
} scene;

static culv_memory_desc describe(const scene *s, int fd)
{
    return lib_memory_desc(&s->w, &s->buffer, fd);
}

static void import_wrong(scene *s, culv_device *device)
{
    while (!atomic_load(&s->stop)) {
        culv_memory *memory = POISON(culv_memory);
        culv_memory_desc d = describe(s, s->wrong);
        REQUIRE(culv_memory_import(device, &d, &memory) != CULV_OK);
        REQUIRE(memory == POISON(culv_memory));
        atomic_fetch_add(&s->refused, 1);
    }
}

static void *wrong_in_first(void *user)
{
    scene *s = user;
    import_wrong(s, s->w.device);
    return NULL;
}

static void *wrong_in_second(void *user)
{
    scene *s = user;
    import_wrong(s, s->second);
    return NULL;
}

static void *wrong_in_vulkan(void *user)
{
    scene *s = user;
    while (!atomic_load(&s->stop)) {
        culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
        VkDeviceMemory memory = VK_NULL_HANDLE;
        d.handle = culv_handle_opaque_fd(s->wrong);
        d.size = s->buffer.allocation_size;
        d.memory_type_bits = 1u << s->buffer.memory_type;
        REQUIRE(culv_vk_memory_from_handle(s->w.attachment, &d, &memory) != CULV_OK);
        REQUIRE(memory == VK_NULL_HANDLE);
        atomic_fetch_add(&s->refused, 1);
    }
    return NULL;
}

static void *right_in_first(void *user)
{
    scene *s = user;
    while (!atomic_load(&s->stop)) {
        culv_memory_desc d = describe(s, s->right);
        uint32_t word = 0;
        NEW(culv_memory, memory, culv_memory_import, s->w.device, &d);
        NEW(culv_buffer, mapped, culv_buffer_map, memory, NULL);
        LIB_CU_OK(&s->w,
                  s->w.cu->MemcpyDtoH(&word, culv_buffer_pointer(mapped) + s->buffer.offset + 252,
                                      sizeof word));
        REQUIRE_EQ(word, 0x0b57a4de);
        culv_buffer_unmap(&mapped, NULL);
        culv_memory_destroy(&memory);
        atomic_fetch_add(&s->imported, 1);
    }
    return NULL;
}

/* Each file of a bystander's is open until it closes it. */
static void stand_by(scene *s, int original)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", original);
    while (!atomic_load(&s->stop)) {
        int fd = s->reopen ? open(path, O_RDWR | O_CLOEXEC) : dup(original), k = 0;
        REQUIRE(fd >= 0);
        while (k < CHECKS && fcntl(fd, F_GETFD) >= 0) {
            sched_yield();
            k++;
        }
        if (k < CHECKS || close(fd) != 0) atomic_fetch_add(&s->lost, 1);
        atomic_fetch_add(&s->opened, 1);
    }
}

static void *beside_wrong(void *user)
{
    scene *s = user;
    stand_by(s, s->wrong);
    return NULL;
}

static void *beside_right(void *user)
{
    scene *s = user;
    stand_by(s, s->right);
    return NULL;
}

static int open_null(void)
{
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

static int open_garbage(void)
{
    int file = memfd_create("garbage", MFD_CLOEXEC);
    return file >= 0 && ftruncate(file, 4 * BYTES) == 0 ? file : -1;
}

static void run(int (*open_wrong)(void), bool reopen)
{
    static scene s;
    static void *(*const all[])(void *) = {wrong_in_first, wrong_in_second, wrong_in_vulkan,
                                           right_in_first, beside_wrong,    beside_wrong,
                                           beside_right};
    enum { THREADS = sizeof all / sizeof all[0] };
    pthread_t threads[THREADS];
    lib_open(&s.w);
    culv_device_desc d = culv_device_desc_init();
    d.driver = s.w.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    culv_device_caps caps = lib_caps(s.w.device);
    LIB_OK(culv_device_open_by_ordinal(caps.ordinal, &d, &s.second));
    raw_vk_buffer_create(&s.w.vk, BYTES, RAW_VK_EXPORT, &s.buffer);
    raw_vk_fill(&s.w.vk, &s.buffer, 0, BYTES, 0x0b57a4de, NULL);
    s.wrong = open_wrong();
    REQUIRE(s.wrong >= 0);
    s.right = raw_vk_buffer_fd(&s.w.vk, &s.buffer);
    s.reopen = reopen;
    for (size_t i = 0; i < THREADS; i++)
        REQUIRE_EQ(pthread_create(&threads[i], NULL, all[i], &s), 0);
    while (s.refused < ENOUGH || s.imported < ENOUGH || s.opened < ENOUGH)
        lib_sleep_ms(1);
    atomic_store(&s.stop, true);
    for (size_t i = 0; i < THREADS; i++)
        REQUIRE_EQ(pthread_join(threads[i], NULL), 0);
    printf("%u refused, %u imported, %u files of bystanders, %u of them closed\n", s.refused,
           s.imported, s.opened, s.lost);
    REQUIRE_EQ(s.lost, 0);
    REQUIRE(close(s.right) == 0 && close(s.wrong) == 0);
    culv_device_close(&s.second);
    raw_vk_buffer_destroy(&s.w.vk, &s.buffer);
    lib_close(&s.w);
}

/* One open file description, so that a bystander's dup() looks like the duplicate that was
 * refused. */
TEST_AS(same_description, run(open_null, false))
TEST_AS(same_file, run(open_garbage, true))
