/* SPDX-License-Identifier: MIT */
/* What the library finds or makes once, raced by two threads.
 *
 * One thread stops between two locks, the other one does the same from beginning to end, and the
 * first one goes on: before its first lock, after it, before its second one, and so on through the
 * whole call. No chance is in it. A thread that has to wait for the stopped one is left waiting
 * until that goes on. */
#include "library.h"

#include "cuda/device.h"
#include "rdma/rdma_cache.h"
#include "vulkan/vk.h"
#include "vulkan/vk_check.h"

#include <culvert/torch.h>
#include <culvert/vulkan_adopt.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In the static library of a build with tests. */
extern void (*_Atomic culvi_lock_hook)(bool before);

enum { FIRST, SECOND };
#define BLOCK ((uint64_t)2 << 20)

/* What a row makes. */
typedef struct scene {
    lib_world w;
    uint64_t got[2]; /* what each thread found */
    unsigned turn;
    culv_vmm_allocation *allocation;
    culv_vmm_range *range;
    culv_vmm_adopted *adopted[2];
    culv_vk_adopted *views[2];
    raw_vk_buffer raw;
    culv_memory *memory[2];
    culv_shared_image *image;
    culv_rdma_cache *cache;
    culv_rdma_registration *registration[2];
    atomic_uint pins;
    CUdeviceptr pointer;
    culv_vector *vector;
    culv_dl_managed_tensor_versioned *tensor;
    atomic_uint told; /* lines about a vector that was destroyed */
    void *block[2];
} scene;

static scene s;

typedef struct race {
    const char *name;
    void (*make)(void);    /* before each turn; may be NULL */
    void (*act)(int who);  /* in a thread of its own */
    void (*between)(void); /* the second one is through, the first one has stopped; may be NULL */
    void (*judge)(void);   /* NULL: both have found the same */
    void (*end)(void);     /* after each turn; may be NULL */
    bool reopens;          /* each turn has a device of its own */
    bool alone;            /* opens its device itself */
    unsigned most;         /* turns; 0: any */
} race;

/* Stopping ------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned stop_at; /* places that the first thread passes before it stops; 0: it does not */
    bool stopped, go_on, done[2];
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local struct {
    bool first;      /* the thread that stops */
    unsigned held;   /* locks */
    unsigned passed; /* places */
} self;

static void at_lock(bool before)
{
    if (!self.first) return;
    if (!before) self.held--;
    if (self.held == 0 && ++self.passed == gate.stop_at) {
        pthread_mutex_lock(&gate.lock);
        gate.stopped = true;
        pthread_cond_broadcast(&gate.changed);
        while (!gate.go_on)
            pthread_cond_wait(&gate.changed, &gate.lock);
        pthread_mutex_unlock(&gate.lock);
    }
    if (before) self.held++;
}

typedef struct racer {
    const race *race;
    int who;
    atomic_int id;
    pthread_t thread;
} racer;

static void *run(void *user)
{
    racer *r = user;
    atomic_store(&r->id, (int)syscall(SYS_gettid));
    self.first = r->who == FIRST;
    r->race->act(r->who);
    self.first = false;
    pthread_mutex_lock(&gate.lock);
    gate.done[r->who] = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
    return NULL;
}

static void start(racer *r, const race *row, int who)
{
    *r = (racer){.race = row, .who = who};
    REQUIRE_EQ(pthread_create(&r->thread, NULL, run, r), 0);
}

/* One turn; false: the first thread came to its end before that place. */
static bool turn(const race *row, unsigned place)
{
    racer racers[2];
    gate.stop_at = place;
    gate.stopped = gate.go_on = gate.done[FIRST] = gate.done[SECOND] = false;
    start(&racers[FIRST], row, FIRST);
    pthread_mutex_lock(&gate.lock);
    while (!gate.stopped && !gate.done[FIRST])
        pthread_cond_wait(&gate.changed, &gate.lock);
    const bool stopped = gate.stopped;
    pthread_mutex_unlock(&gate.lock);
    start(&racers[SECOND], row, SECOND);
    while (atomic_load(&racers[SECOND].id) == 0)
        lib_sleep_ms(1);
    /* It is through, or it waits for the first one. */
    REQUIRE(test_asleep(0, atomic_load(&racers[SECOND].id), 1));
    pthread_mutex_lock(&gate.lock);
    const bool through = gate.done[SECOND];
    pthread_mutex_unlock(&gate.lock);
    if (stopped && through && row->between != NULL) row->between();
    pthread_mutex_lock(&gate.lock);
    gate.go_on = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
    for (int i = 0; i < 2; i++)
        REQUIRE_EQ(pthread_join(racers[i].thread, NULL), 0);
    return stopped;
}

static void same(void)
{
    if (s.got[FIRST] != s.got[SECOND] || s.got[FIRST] == 0)
        FAIL("turn %u: the first thread has %#llx, the second one %#llx", s.turn,
             (unsigned long long)s.got[FIRST], (unsigned long long)s.got[SECOND]);
}

static void run_race(const race *row)
{
    memset(&s, 0, sizeof s);
    if (!row->alone && !row->reopens) lib_open(&s.w);
    bool more = true;
    for (s.turn = 1; more && (row->most == 0 || s.turn <= row->most); s.turn++) {
        if (row->reopens) lib_open(&s.w);
        s.got[FIRST] = s.got[SECOND] = 0;
        if (row->make != NULL) row->make();
        atomic_store(&culvi_lock_hook, at_lock);
        more = turn(row, s.turn);
        atomic_store(&culvi_lock_hook, NULL);
        (row->judge != NULL ? row->judge : same)();
        if (row->end != NULL) row->end();
        if (row->reopens) lib_close(&s.w);
    }
    if (!row->alone && !row->reopens) lib_close(&s.w);
    printf("%u turns\n", s.turn - 1);
    REQUIRE(s.turn > 2); /* it has stopped somewhere */
}

/* Somebody's memory ---------------------------------------------------------------------------- */

static void map_memory(void)
{
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    r.size = a.size = BLOCK;
    a.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vmm_range_create(s.w.device, &r, &s.range));
    LIB_OK(culv_vmm_allocation_create(s.w.device, &a, &s.allocation));
    LIB_OK(culv_vmm_map(s.range, 0, s.allocation, NULL, 0));
}

static void unmap_memory(void)
{
    LIB_OK(culv_vmm_unmap(s.range, 0, BLOCK));
    LIB_OK(culv_vmm_range_destroy(&s.range));
    culv_vmm_allocation_destroy(&s.allocation);
}

static void adopt(int who)
{
    culv_vmm_adopted_chunk chunk;
    size_t count = 0;
    LIB_OK(
        culv_vmm_adopt(s.w.device, culv_vmm_range_pointer(s.range) + 512, 4096, &s.adopted[who]));
    LIB_OK(culv_vmm_adopted_get_chunks(s.adopted[who], &chunk, 1, &count));
    s.got[who] = chunk.id;
}

static void drop_adopted(void)
{
    for (int i = 0; i < 2; i++)
        culv_vmm_adopted_destroy(&s.adopted[i]);
    unmap_memory();
    REQUIRE_EQ(lib_counts(&s.w).vmm_allocations, 0);
}

static void make_adopted(void)
{
    map_memory();
    adopt(FIRST);
}

static void view_adopted(int who)
{
    culv_vk_adopted_buffer part = {0};
    size_t count = 0;
    culv_vk_adopted_desc d = culv_vk_adopted_desc_init();
    d.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    LIB_OK(culv_vk_adopted_create(s.w.attachment, s.adopted[FIRST], &d, &s.views[who]));
    LIB_OK(culv_vk_adopted_get_buffers(s.views[who], &part, 1, &count));
    s.got[who] = (uint64_t)(uintptr_t)part.buffer;
}

static void drop_views(void)
{
    for (int i = 0; i < 2; i++)
        culv_vk_adopted_destroy(&s.views[i]);
    drop_adopted();
}

/* Imports and images --------------------------------------------------------------------------- */

static void make_buffer(void)
{
    raw_vk_buffer_create(&s.w.vk, 65536, RAW_VK_EXPORT, &s.raw);
}

static void import_shared(int who)
{
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = s.raw.memory;
    d.allocation_size = s.raw.allocation_size;
    LIB_OK(culv_vk_memory_import_shared(s.w.attachment, &d, &s.memory[who]));
    s.got[who] = (uint64_t)(uintptr_t)s.memory[who];
}

static void drop_imports(void)
{
    for (int i = 0; i < 2; i++)
        culv_memory_destroy(&s.memory[i]);
    REQUIRE_EQ(lib_counts(&s.w).memories, 0);
    raw_vk_buffer_destroy(&s.w.vk, &s.raw);
}

static VkImageCreateInfo image_info(void)
{
    return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = VK_FORMAT_R8G8B8A8_UNORM,
                               .extent = {61, 33, 1},
                               .mipLevels = 3,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                        VK_IMAGE_USAGE_TRANSFER_DST_BIT};
}

static void make_image(void)
{
    const VkImageCreateInfo info = image_info();
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    LIB_OK(culv_vk_image_create(s.w.attachment, &d, &s.image));
}

static void drop_image(void)
{
    culv_shared_image_destroy(&s.image);
    lib_settle(&s.w);
}

static void get_array(int who)
{
    CUarray array = NULL;
    LIB_OK(culv_image_get_array(culv_shared_image_cuda(s.image), 1, &array));
    s.got[who] = (uint64_t)(uintptr_t)array;
}

static void get_surface(int who)
{
    CUsurfObject surface = 0;
    LIB_OK(culv_image_get_surface(culv_shared_image_cuda(s.image), 2, &surface));
    s.got[who] = surface;
}

static void get_texture(int who)
{
    CUtexObject texture = 0;
    culv_texture_desc d = culv_texture_desc_init();
    d.filter = CULV_TEXTURE_FILTER_LINEAR;
    LIB_OK(culv_image_get_texture(culv_shared_image_cuda(s.image), &d, &texture));
    s.got[who] = texture;
}

/* What a device or an attachment is asked once ------------------------------------------------- */

static void get_table(int who)
{
    const culv_cuda_api *api = culv_device_cuda_api(s.w.device);
    REQUIRE(api != NULL && api->cuMemAlloc != NULL && api->cuGraphAddKernelNode != NULL);
    s.got[who] = (uint64_t)(uintptr_t)api;
}

static void get_granularity(int who)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    LIB_OK(culv_vmm_get_granularity(s.w.device, &d, &s.got[who]));
}

static void one_granularity(void)
{
    unsigned kept = 0;
    for (size_t i = 0; i < CULVI_GRANULARITIES; i++)
        kept += s.w.device->granularities[i].bytes != 0;
    REQUIRE_EQ(kept, 1);
    same();
}

static uint64_t arrays_of_driver(void)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (s.w.cu->SoftCounts != NULL) s.w.cu->SoftCounts(&c);
    return c.arrays;
}

/* A format that not every driver has: a small array answers, which stays. */
static void ask_format(int who)
{
    s.got[who] = 1 + (culv_check_format(s.w.device, CULV_FORMAT_BC7_UNORM_BLOCK,
                                        CULV_TEXELS_STORED) == CULV_OK);
}

static void one_array(void)
{
    if (s.w.cu->SoftCounts != NULL) REQUIRE_EQ(arrays_of_driver(), s.got[FIRST] - 1);
    same();
}

static void check_image(int who)
{
    const VkImageCreateInfo info = image_info();
    culv_vk_sharing_info shared = culv_vk_sharing_info_init();
    LIB_OK(culv_vk_check_image(s.w.attachment, &info, NULL, &shared));
    s.got[who] = 1 + (uint64_t)shared.memory_type_index;
}

/* Each answer is kept once. */
static void no_answer_twice(void)
{
    const culvi_vk_known *known = &s.w.attachment->known;
    unsigned kept = 0;
    for (size_t i = 0; i < CULVI_VK_ANSWERS; i++) {
        kept += known->hashes[i] != 0;
        for (size_t j = 0; known->hashes[i] != 0 && j < i; j++)
            REQUIRE(memcmp(&known->entries[i].question, &known->entries[j].question,
                           sizeof known->entries[i].question) != 0);
    }
    REQUIRE(kept > 0);
    same();
}

/* Registrations -------------------------------------------------------------------------------- */

static culv_result pin(void *user, const culv_rdma_range *range, void **cookie)
{
    (void)range;
    (void)user;
    *cookie = (void *)(uintptr_t)(atomic_fetch_add(&s.pins, 1) + 1);
    return CULV_OK;
}

static void unpin(void *user, const culv_rdma_range *range, void *cookie, culv_rdma_unpin_why why)
{
    (void)user;
    (void)range;
    (void)cookie;
    (void)why;
    atomic_fetch_sub(&s.pins, 1);
}

static void make_cache(void)
{
    culv_rdma_cache_desc d = culv_rdma_cache_desc_init();
    d.pin = pin;
    d.unpin = unpin;
    d.no_sync_memops = 1;
    if (s.w.cu->software)
        s.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 1);
    LIB_OK(culv_rdma_cache_create(s.w.device, &d, &s.cache));
    LIB_CU_OK(&s.w, s.w.cu->MemAlloc(&s.pointer, BLOCK));
}

static void get_registration(int who)
{
    LIB_OK(culv_rdma_cache_get(s.cache, s.pointer + 100, 70001, &s.registration[who]));
    s.got[who] = (uint64_t)(uintptr_t)s.registration[who];
}

static void one_pin(void)
{
    REQUIRE_EQ(atomic_load(&s.pins), 1);
    same();
}

static void drop_cache(void)
{
    for (int i = 0; i < 2; i++)
        culv_rdma_registration_put(&s.registration[i]);
    culv_rdma_cache_destroy(&s.cache);
    REQUIRE_EQ(atomic_load(&s.pins), 0);
    LIB_CU_OK(&s.w, s.w.cu->MemFree(s.pointer));
    if (s.w.cu->software) s.w.cu->SoftPlayAttribute(0, 0);
}

/* The allocator that opens a device by itself, once: a device for each turn -------------------- */

static void allocate_first(int who)
{
    s.block[who] = culv_torch_malloc(4096, (int)s.turn, NULL);
    REQUIRE(s.block[who] != NULL);
}

static void one_context(void)
{
    const raw_cuda *cu = lib_driver();
    culv_soft_counts c = {.struct_size = sizeof c};
    cu->SoftCounts(&c);
    REQUIRE_EQ(c.contexts, s.turn);
    REQUIRE(s.block[FIRST] != s.block[SECOND]);
    for (int i = 0; i < 2; i++)
        culv_torch_free(s.block[i], 4096, (int)s.turn, NULL);
    cu->SoftCounts(&c);
    REQUIRE_EQ(c.reservations, 0);
}

/* The end of a vector beside the end of its last tensor ---------------------------------------- */

static void listen(void *user, culv_log_level level, const char *message)
{
    (void)user;
    (void)level;
    if (strstr(message, "destroyed vector 'odd one'") != NULL) atomic_fetch_add(&s.told, 1);
}

static void make_tensor(void)
{
    culv_device_desc dd = culv_device_desc_init();
    culv_vector_desc d = culv_vector_desc_init();
    culv_dlpack_desc t = culv_dlpack_desc_init();
    s.w.cu = lib_driver();
    dd.driver = s.w.cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    dd.log.fn = listen;
    dd.log.level = CULV_LOG_INFO;
    LIB_OK(culv_device_open_by_ordinal(0, &dd, &s.w.device));
    d.size = 70001;
    d.label = "odd one";
    LIB_OK(culv_vector_create(s.w.device, &d, &s.vector));
    LIB_OK(culv_vector_get_dlpack(s.vector, &t, &s.tensor));
    atomic_store(&s.told, 0);
}

static void end_vector(int who)
{
    if (who == FIRST)
        culv_vector_destroy(&s.vector);
    else
        s.tensor->deleter(s.tensor);
}

static void end_vector_after(int who)
{
    if (who == FIRST)
        culv_vector_destroy_after(&s.vector, NULL);
    else
        s.tensor->deleter(s.tensor);
}

/* Where the second thread has freed the vector, the first one has no more to say of it. */
static void gone_is_told(void)
{
    culv_device_counts c = culv_device_counts_init();
    LIB_OK(culv_device_get_counts(s.w.device, &c));
    if (c.vmm_ranges == 0) REQUIRE_EQ(atomic_load(&s.told), 1);
}

static void told_once(void)
{
    REQUIRE(s.vector == NULL);
    REQUIRE_EQ(atomic_load(&s.told), 1);
    culv_device_close(&s.w.device);
}

/* The rows ------------------------------------------------------------------------------------- */

static const race races[] = {
    {"adopted_chunk", .make = map_memory, .act = adopt, .end = drop_adopted},
    {"view_of_adopted", .make = make_adopted, .act = view_adopted, .end = drop_views},
    {"shared_import", .make = make_buffer, .act = import_shared, .end = drop_imports},
    {"image_array", .make = make_image, .act = get_array, .end = drop_image},
    {"image_surface", .make = make_image, .act = get_surface, .end = drop_image},
    {"image_texture", .make = make_image, .act = get_texture, .end = drop_image},
    {"registration", .make = make_cache, .act = get_registration, .judge = one_pin,
     .end = drop_cache},
    {"table_of_functions", .act = get_table, .reopens = true},
    {"granularity", .act = get_granularity, .judge = one_granularity, .reopens = true},
    {"format", .act = ask_format, .judge = one_array, .reopens = true},
    {"answers_of_vulkan", .act = check_image, .judge = no_answer_twice, .reopens = true},
    {"allocator", .act = allocate_first, .judge = one_context, .alone = true, .most = 15},
    {"vector_and_tensor", .make = make_tensor, .act = end_vector, .between = gone_is_told,
     .judge = told_once, .alone = true},
    {"vector_after_and_tensor", .make = make_tensor, .act = end_vector_after,
     .between = gone_is_told, .judge = told_once, .alone = true},
};

TEST(run_named, .title = "adopted_chunk", .smoke = true)
{
    for (size_t i = 0; i < sizeof races / sizeof races[0]; i++)
        if (strcmp(races[i].name, test_case_name()) == 0) {
            run_race(&races[i]);
            return;
        }
    FAIL("there is no such race");
}

/* The twin alone has so many devices; the allocator keeps them open. */
TEST(run_allocator, .title = "allocator", .own = true)
{
    lib_with_environment("CULVERT_SOFT_DEVICES", "16");
    if (lib_driver()->SoftCounts == NULL) SKIP("the twin alone has a device for each turn");
    run_named();
    fflush(stdout);
    _exit(0);
}

TEST_FN(run_named, .title = "view_of_adopted")
TEST_FN(run_named, .title = "shared_import")
TEST_FN(run_named, .title = "image_array")
TEST_FN(run_named, .title = "image_surface")
TEST_FN(run_named, .title = "image_texture")
TEST_FN(run_named, .title = "registration")
TEST_FN(run_named, .title = "table_of_functions")
TEST_FN(run_named, .title = "granularity")
TEST_FN(run_named, .title = "format")
TEST_FN(run_named, .title = "answers_of_vulkan")
TEST_FN(run_named, .title = "vector_and_tensor")
TEST_FN(run_named, .title = "vector_after_and_tensor")
