/* SPDX-License-Identifier: MIT */
/* NULL in place of each pointer of each function. What a function needs is refused, before it looks
 * at anything else. */
#include "nulls.h"
#include "library.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 65536, NEEDED = 430, REFUSED = 10 };

static void *null_page;
static struct {
    const char *type;
    void *object;
} objects[24];

void *null_object(const char *type)
{
    for (int i = 0; objects[i].type != NULL; i++)
        if (strcmp(objects[i].type, type) == 0) return objects[i].object;
    return null_page;
}

static void add(const char *type, const void *object)
{
    int i = 0;
    while (objects[i].type != NULL)
        i++;
    REQUIRE(object != NULL);
    objects[i].type = type;
    objects[i].object = (void *)(uintptr_t)object;
}

/* One of what most functions take; they end with the process. */
static void make_objects(void)
{
    lib_world w;
    culv_shared_semaphore *semaphore = NULL;
    culv_shared_buffer *buffer = NULL;
    culv_shared_image *image = NULL;
    culv_ring *ring = NULL;
    culv_vector *vector = NULL;
    culv_vmm_range *range = NULL;
    culv_vmm_allocation *allocation = NULL;
    const VkBufferCreateInfo b = raw_vk_buffer_info(4096, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    const VkImageCreateInfo i =
        raw_vk_image_info(VK_FORMAT_R8G8B8A8_UNORM, 16, 16, VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    culv_vk_buffer_create_desc bd = culv_vk_buffer_create_desc_init();
    culv_vk_image_create_desc id = culv_vk_image_create_desc_init();
    culv_vk_ring_desc rd = culv_vk_ring_desc_init();
    culv_vmm_range_desc range_desc = culv_vmm_range_desc_init();
    culv_vmm_allocation_desc allocation_desc = culv_vmm_allocation_desc_init();
    lib_open(&w);
    range_desc.size = allocation_desc.size = 1 << 21;
    bd.create_info = &b;
    id.create_info = &i;
    rd.max_depth = 2;
    rd.queue_family = 0;
    LIB_OK(culv_vk_buffer_create(w.attachment, &bd, &buffer));
    LIB_OK(culv_vk_image_create(w.attachment, &id, &image));
    LIB_OK(culv_vk_semaphore_create(w.attachment, NULL, &semaphore));
    LIB_OK(culv_vk_ring_create(w.attachment, w.vk.queues[0].queue, &rd, &ring));
    LIB_OK(culv_vector_create(w.device, NULL, &vector));
    LIB_OK(culv_vmm_range_create(w.device, &range_desc, &range));
    LIB_OK(culv_vmm_allocation_create(w.device, &allocation_desc, &allocation));
    add("culv_device", w.device);
    add("culv_vk_device", w.attachment);
    add("culv_shared_buffer", buffer);
    add("culv_buffer", culv_shared_buffer_cuda(buffer));
    add("culv_shared_image", image);
    add("culv_image", culv_shared_image_cuda(image));
    add("culv_shared_semaphore", semaphore);
    add("culv_semaphore", culv_shared_semaphore_cuda(semaphore));
    add("culv_ring", ring);
    add("culv_vector", vector);
    add("culv_vmm_range", range);
    add("culv_vmm_allocation", allocation);
}

/* In a process for itself: where NULL is allowed, the call goes on to objects that are zeros. */
static int call(const null_row *row)
{
    int status = 0;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        alarm(TEST_FAR_MS / 1000);
        const culv_result result = row->call();
        culv_error e = culv_error_init();
        char says[128];
        culv_last_error(&e);
        if (result != CULV_ERROR_INVALID || e.reason != CULV_REASON_NULL_ARGUMENT) _exit(0);
        snprintf(says, sizeof says, "%s: %s is NULL", row->function, row->parameter);
        if (strncmp(e.message, says, strlen(says)) != 0) _exit(0);
        for (size_t i = 0; i < PAGE; i++)
            if (((const char *)null_page)[i] != 0) _exit(0); /* an output was written */
        _exit(REFUSED);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A function that no longer refuses what it needs makes them fewer.. */
TEST(nulls, .own = true, .time_limit = 300)
{
    unsigned refused = 0;
    if (test_sanitized()) SKIP("a crash takes a sanitizer too long");
    if (!lib_driver()->software) SKIP("NVIDIA's driver does not survive a fork");
    null_page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(null_page != MAP_FAILED);
    make_objects();
    for (const null_row *row = null_rows; row->function != NULL; row++) {
        if (call(row) != REFUSED) continue;
        printf("%s %s\n", row->function, row->parameter);
        refused++;
    }
    MEASURED("nulls", "%u are refused", refused);
    REQUIRE(refused >= NEEDED);
    test_pass();
}

/* On any driver, and in any build. */
TEST(destroyed)
{
    null_destroys();
    REQUIRE(null_ends >= 37);
}
