/* SPDX-License-Identifier: MIT */
/* Calls that look something up and act on it, and what the library finds or makes once, with
 * another thread in each gap. */
#include "base/tree.h"
#include "cuda/device.h"
#include "gaps.h"
#include "image_stage.h"
#include "vulkan/vk.h"
#include "vulkan/vk_check.h"
#include "vulkan/vk_kernels_stage.h"

#include <culvert/vmm.h>
#include <culvert/vulkan_vmm.h>
#include <stdatomic.h>
#include <unistd.h>

#define CHUNK (UINT64_C(2) << 20)

/* What the paths share; each uses some of it. [GAPS_FIRST] is the first thread's. */
static struct {
    lib_world w;
    uint64_t got[2]; /* what each thread found */
    culv_kernels *kernels;
    culv_kernel *kernel[2];
    CUdeviceptr memory;
    CUstream stream;
    culv_vmm_range *range;
    culv_vmm_allocation *allocation;
    culv_vmm_adopted *adopted[2];
    culv_vk_adopted *views[2];
    raw_vk_buffer raw;
    culv_memory *import[2];
    culv_shared_image *image;
    culv_vector *vector;
    culv_dl_managed_tensor_versioned *tensor;
    atomic_uint told; /* lines about a vector that was destroyed */
    void *blocks[2];
    int device; /* a new one each round */
} s;

/* The case of a path. What a round leaves would be the next one's. */
#define GAPS(path, ...)                                                                            \
    static const gaps_path path = {__VA_ARGS__};                                                   \
    TEST_AS(path##_in_gaps, gaps_all(&(path)), .title = #path, .time_limit = 300, .own = true)

static void open_world(void)
{
    memset(&s, 0, sizeof s);
    lib_open(&s.w);
}

static void close_world(void)
{
    lib_close(&s.w);
}

static void listen(void *user, culv_log_level level, const char *message)
{
    if (strstr(message, "destroyed vector 'odd one'") != NULL) atomic_fetch_add(&s.told, 1);
}

static void open_device(void)
{
    memset(&s, 0, sizeof s);
    s.w.cu = lib_driver();
    s.w.device = lib_another_device(0, &(culv_log){.fn = listen, .level = CULV_LOG_INFO});
    s.w.context = culv_device_context(s.w.device);
}

static void close_device(void)
{
    lib_settle(&s.w);
    lib_require_no_objects(&s.w);
    culv_device_close(&s.w.device);
}

static void same(void)
{
    if (s.got[GAPS_FIRST] != s.got[GAPS_SECOND] || s.got[GAPS_FIRST] == 0)
        FAIL("the first thread has %#llx, the second one %#llx",
             (unsigned long long)s.got[GAPS_FIRST], (unsigned long long)s.got[GAPS_SECOND]);
    s.got[GAPS_FIRST] = s.got[GAPS_SECOND] = 0;
}

/* One name, asked for by two threads, is one kernel -------------------------------------------- */

static void load_kernels(void)
{
    char share[TEST_PATH_MAX];
    open_device();
    LIB_OK(culv_kernels_load(s.w.device, test_path(share, "share/culvert"), "block_kernels",
                             &s.kernels));
}

static void get_kernel(int i)
{
    LIB_OK(culv_kernels_get(s.kernels, "block_touch", &s.kernel[i]));
}

static void one_kernel(void)
{
    REQUIRE(s.kernel[0] == s.kernel[1]);
    culv_kernels_unload(&s.kernels);
    close_device();
}

GAPS(kernels_get, .begin = load_kernels, .act = get_kernel, .judge = one_kernel, .least = {1, 3})

/* What a VkDevice needs of a kernel is made once ----------------------------------------------- */

static vk_kernels_stage recorded;

static void open_recorded(void)
{
    vk_kernels_open(&recorded);
    s.kernel[0] = vk_kernels_get(&recorded, "queue_add");
}

static void prepare(int who)
{
    (void)who;
    LIB_OK(culv_vk_kernels_prepare(recorded.queue, s.kernel[0]));
}

static void one_function(void)
{
    lib_layer layer;
    culv_soft_vk_counts counts = {.struct_size = sizeof counts};
    if (lib_layer_find(&layer)) {
        layer.counts(&counts);
        REQUIRE_EQ(counts.functions, 1);
    }
    vk_kernels_close(&recorded);
}

GAPS(kernels_prepared, .begin = open_recorded, .act = prepare, .judge = one_function,
     .least = {1, 0, 1})

/* One kernel, launched with different dynamic shared memory ------------------------------------ */

static void launch(int who)
{
    int bytes = who == GAPS_FIRST ? 60000 : 80000;
    unsigned seed = 3;
    culv_launch_desc d = culv_launch_1d(1, 100, s.stream);
    d.shared_bytes = (uint32_t)bytes;
    LIB_OK(CULV_LAUNCH(s.kernel[0], &d, CULV_ARG(s.memory), CULV_ARG(bytes), CULV_ARG(seed)));
}

static void open_kernel(void)
{
    load_kernels();
    get_kernel(0);
    s.stream = lib_stream(&s.w);
    LIB_CU_OK(&s.w, s.w.cu->MemAlloc(&s.memory, 80000));
}

static void launch_again(void)
{
    launch(GAPS_SECOND);
    launch(GAPS_FIRST);
    lib_finish(&s.w, s.stream);
    LIB_CU_OK(&s.w, s.w.cu->MemFree(s.memory));
    lib_stream_destroy(&s.w, s.stream);
    culv_kernels_unload(&s.kernels);
    close_device();
}

GAPS(launches, .begin = open_kernel, .act = launch, .judge = launch_again, .least = {0, 2})

/* Somebody's memory: one chunk, adopted by two threads, has one number, and one buffer --------- */

static void map_memory(void)
{
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    culv_vmm_allocation_desc a = culv_vmm_allocation_desc_init();
    r.size = a.size = CHUNK;
    a.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vmm_range_create(s.w.device, &r, &s.range));
    LIB_OK(culv_vmm_allocation_create(s.w.device, &a, &s.allocation));
    LIB_OK(culv_vmm_map(s.range, 0, s.allocation, NULL, 0));
}

static void adopt(int who)
{
    culv_part chunk;
    size_t count = 0;
    LIB_OK(
        culv_vmm_adopt(s.w.device, culv_vmm_range_pointer(s.range) + 512, 4096, &s.adopted[who]));
    LIB_OK(culv_vmm_adopted_get_parts(s.adopted[who], &chunk, 1, &count));
    s.got[who] = chunk.id;
}

static void drop_adopted(void)
{
    same();
    for (int i = 0; i < 2; i++)
        culv_vmm_adopted_destroy(&s.adopted[i]);
    LIB_OK(culv_vmm_unmap(s.range, 0, CHUNK, NULL));
    LIB_OK(culv_vmm_range_destroy(&s.range));
    culv_vmm_allocation_destroy(&s.allocation);
    REQUIRE_EQ(lib_counts(&s.w).vmm_allocations, 0);
}

GAPS(adopts, .open = open_device, .begin = map_memory, .act = adopt, .judge = drop_adopted,
     .close = close_device, .least = {3, 3})

static void make_adopted(void)
{
    map_memory();
    adopt(GAPS_FIRST);
}

static void view_adopted(int who)
{
    culv_part part = {0};
    size_t count = 0;
    culv_vk_adopted_desc d = culv_vk_adopted_desc_init();
    d.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    LIB_OK(culv_vk_adopted_create(s.w.attachment, s.adopted[GAPS_FIRST], &d, &s.views[who]));
    LIB_OK(culv_vk_adopted_get_parts(s.views[who], &part, 1, &count));
    s.got[who] = part.buffer;
}

static void drop_views(void)
{
    for (int i = 0; i < 2; i++)
        culv_vk_adopted_destroy(&s.views[i]);
    drop_adopted();
}

GAPS(views_of_adopted, .open = open_world, .begin = make_adopted, .act = view_adopted,
     .judge = drop_views, .close = close_world, .least = {1, 0})

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
    LIB_OK(culv_vk_memory_import_shared(s.w.attachment, &d, &s.import[who]));
    s.got[who] = (uint64_t)(uintptr_t)s.import[who];
}

static void drop_imports(void)
{
    same();
    for (int i = 0; i < 2; i++)
        culv_memory_destroy(&s.import[i]);
    REQUIRE_EQ(lib_counts(&s.w).memories, 0);
    raw_vk_buffer_destroy(&s.w.vk, &s.raw);
}

GAPS(shared_imports, .open = open_world, .begin = make_buffer, .act = import_shared,
     .judge = drop_imports, .close = close_world, .least = {1, 0})

static void make_image(void)
{
    const VkImageCreateInfo info = image_info(VK_FORMAT_R8G8B8A8_UNORM, 61, 33, 3, 0, NULL);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    LIB_OK(culv_vk_image_create(s.w.attachment, &d, &s.image));
}

static void drop_image(void)
{
    same();
    culv_shared_image_destroy(&s.image, NULL);
    lib_settle(&s.w);
}

static void get_array(int who)
{
    CUarray array = NULL;
    LIB_OK(culv_image_get_array(culv_shared_image_cuda(s.image), 1, 0, &array));
    s.got[who] = (uint64_t)(uintptr_t)array;
}

static void get_surface(int who)
{
    CUsurfObject surface = 0;
    LIB_OK(culv_image_get_surface(culv_shared_image_cuda(s.image), 2, 0, &surface));
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

#define OF_IMAGE(name, get)                                                                        \
    GAPS(name, .open = open_world, .begin = make_image, .act = get, .judge = drop_image,           \
         .close = close_world, .least = {1, 0})
OF_IMAGE(image_arrays, get_array)
OF_IMAGE(image_surfaces, get_surface)
OF_IMAGE(image_textures, get_texture)

/* What a device or an attachment is asked once ------------------------------------------------- */

static void one_answer(void)
{
    same();
    close_world();
}

static void get_table(int who)
{
    const culv_cuda_api *api = culv_device_cuda_api(s.w.device, 0);
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
    REQUIRE_EQ(s.w.device->granularity[0].bytes, s.got[0]);
    one_answer();
}

/* A format that not every driver has: a small array answers, which stays. */
static void ask_format(int who)
{
    s.got[who] = 1 + (culv_check_format(s.w.device, CULV_FORMAT_BC7_UNORM_BLOCK,
                                        CULV_TEXELS_STORED) == CULV_OK);
}

static void one_array(void)
{
    if (s.w.cu->SoftCounts != NULL)
        REQUIRE_EQ(lib_soft_counts(s.w.cu).arrays, s.got[GAPS_FIRST] - 1);
    one_answer();
}

#define ASKED(name, ask, kept)                                                                     \
    GAPS(name, .begin = open_world, .act = ask, .judge = kept, .brief = true)
ASKED(table_of_functions, get_table, one_answer)
ASKED(granularity, get_granularity, one_granularity)
ASKED(format, ask_format, one_array)

/* The end of a vector beside the end of its last tensor ---------------------------------------- */

static void make_tensor(void)
{
    culv_vector_desc d = culv_vector_desc_init();
    open_device();
    d.size = 70001;
    d.label = "odd one";
    LIB_OK(culv_vector_create(s.w.device, &d, &s.vector));
    LIB_OK(culv_vector_get_dlpack(s.vector, NULL, &s.tensor));
}

static void end_vector_after(int who)
{
    if (who == GAPS_FIRST)
        culv_vector_destroy(&s.vector, &(CUstream){NULL});
    else
        s.tensor->deleter(s.tensor);
}

static void end_vector(int who)
{
    if (who == GAPS_FIRST)
        culv_vector_destroy(&s.vector, NULL);
    else
        end_vector_after(who);
}

/* Where the second thread has freed the vector, the first one has no more to say of it. */
static void gone_is_told(void)
{
    if (lib_counts(&s.w).vmm_ranges == 0) REQUIRE_EQ(atomic_load(&s.told), 1);
}

static void told_once(void)
{
    REQUIRE(s.vector == NULL);
    REQUIRE_EQ(atomic_load(&s.told), 1);
    close_device();
}

#define ENDS(name, end)                                                                            \
    GAPS(name, .begin = make_tensor, .act = end, .between = gone_is_told, .judge = told_once,      \
         .least = {1, 0})
ENDS(tensors, end_vector)
ENDS(tensors_after, end_vector_after)

/* A vector grows in two threads ---------------------------------------------------------------- */

static void make_vector(void)
{
    open_device();
    culv_vector_desc d = culv_vector_desc_init();
    d.size = CHUNK;
    LIB_OK(culv_vector_create(s.w.device, &d, &s.vector));
}

static void grow(int who)
{
    if (who == GAPS_FIRST) {
        LIB_OK(culv_vector_grow(s.vector, 5 * CHUNK));
        return;
    }
    LIB_OK(culv_vector_reserve(s.vector, 2 * CHUNK));
    LIB_OK(culv_vector_grow(s.vector, 3 * CHUNK + 4));
    LIB_OK(culv_vector_retire(s.vector, 0, NULL));
}

static void grown(void)
{
    culv_part chunks[8];
    size_t count = 0;
    uint64_t end = 0;
    LIB_OK(culv_vector_get_parts(s.vector, chunks, 8, &count, NULL));
    for (size_t i = 0; i < count; end += chunks[i++].size)
        REQUIRE_EQ(chunks[i].offset, end);
    REQUIRE_EQ(culv_vector_size(s.vector), 5 * CHUNK);
    REQUIRE_EQ(culv_vector_committed(s.vector), end);
    REQUIRE(end >= 5 * CHUNK);
    culv_vector_destroy(&s.vector, NULL);
    close_device();
}

GAPS(grows, .begin = make_vector, .act = grow, .judge = grown, .least = {3, 3})

/* A view is brought up to date while its vector grows ------------------------------------------ */

static culv_vector_view *view;

static void make_view(void)
{
    culv_vector_desc d = culv_vector_desc_init();
    culv_vk_vector_view_desc v = culv_vk_vector_view_desc_init();
    d.max_chunk = CHUNK;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    v.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    LIB_OK(culv_vector_create(s.w.device, &d, &s.vector));
    LIB_OK(culv_vk_vector_view_create(s.w.attachment, s.vector, &v, &view));
    LIB_OK(culv_vector_grow(s.vector, 1));
}

static void update(int who)
{
    LIB_OK(who == GAPS_FIRST ? culv_vector_view_update(view)
                             : culv_vector_grow(s.vector, 9 * CHUNK));
}

static void updated(void)
{
    culv_part parts[9];
    size_t count = 0;
    LIB_OK(culv_vector_view_update(view));
    LIB_OK(culv_vector_view_get_parts(view, parts, 9, &count));
    REQUIRE(count == 9 && parts[8].offset == 8 * CHUNK);
    LIB_OK(culv_vector_view_destroy(&view));
    culv_vector_destroy(&s.vector, NULL);
}

GAPS(views, .open = open_world, .begin = make_view, .act = update, .judge = updated,
     .close = close_world, .least = {2, 0}, .brief = true)

/* culv_torch_malloc() beside culv_torch_free(), and for the first time of a device ------------- */

static void make_block(void)
{
    memset(&s, 0, sizeof s);
    s.w.cu = lib_driver();
    s.blocks[0] = culv_torch_malloc(12345, 0, NULL);
    REQUIRE(s.blocks[0] != NULL);
}

static void free_and_take(int who)
{
    if (who == GAPS_FIRST) {
        culv_torch_free(s.blocks[0], 12345, 0, NULL);
        return;
    }
    s.blocks[1] = culv_torch_malloc(54321, 0, NULL);
    REQUIRE(s.blocks[1] != NULL);
}

static void block_works(void)
{
    enum { WORDS = 54321 / 4 };
    uint32_t words[WORDS];
    CUcontext context = raw_cuda_context(s.w.cu, 0);
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)s.blocks[1];
    CU_OK(s.w.cu->MemsetD32Async(at, 0xa5b6c7d8u, WORDS, NULL));
    CU_OK(s.w.cu->MemcpyDtoH(words, at, sizeof words));
    for (size_t i = 0; i < WORDS; i++)
        REQUIRE_EQ(words[i], 0xa5b6c7d8u);
    CU_OK(s.w.cu->CtxPopCurrent(&context));
    CU_OK(s.w.cu->DevicePrimaryCtxRelease(0));
    culv_torch_free(s.blocks[1], 54321, 0, NULL);
}

GAPS(blocks, .begin = make_block, .act = free_and_take, .judge = block_works, .least = {2, 2})

/* The twin alone has so many devices; the allocator keeps them open. */
static void next_device(void)
{
    lib_with_environment("CULVERT_SOFT_DEVICES", "16");
    s.w.cu = lib_driver();
    if (!s.w.cu->software) SKIP("the twin alone has a device for each turn");
    s.device++;
}

static void allocate_first(int who)
{
    s.blocks[who] = culv_torch_malloc(4096, s.device, NULL);
    REQUIRE(s.blocks[who] != NULL);
}

static void one_context(void)
{
    REQUIRE_EQ(lib_soft_counts(s.w.cu).contexts, s.device);
    REQUIRE(s.blocks[GAPS_FIRST] != s.blocks[GAPS_SECOND]);
    for (int i = 0; i < 2; i++)
        culv_torch_free(s.blocks[i], 4096, s.device, NULL);
    REQUIRE_EQ(lib_soft_counts(s.w.cu).reservations, 0);
}

static void leave(void)
{
    test_pass();
}

GAPS(allocator, .begin = next_device, .act = allocate_first, .judge = one_context, .close = leave,
     .brief = true, .most = 15)

#undef TEST_GROUP
#define TEST_GROUP "tree."
/* The ordered tree, beside a table that is searched from one end to the other. */

enum { ITEMS = 301, KEYS = 97 };

typedef struct item {
    uint64_t major, minor, turn; /* when it was added; 0: it is not in the tree */
    culvi_tree_node node;
} item;

static item items[ITEMS];

static bool is_before(const item *a, const item *b)
{
    if (a->major != b->major) return a->major < b->major;
    if (a->minor != b->minor) return a->minor < b->minor;
    return a->turn < b->turn;
}

/* The least item of the table that is behind `after` (NULL: of all); NULL: there is none. */
static const item *least_behind(const item *after)
{
    const item *least = NULL;
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].turn != 0 && (after == NULL || is_before(after, &items[i])) &&
            (least == NULL || is_before(&items[i], least)))
            least = &items[i];
    return least;
}

static void require_same(const culvi_tree *tree)
{
    const culvi_tree_node *node = culvi_tree_from(tree, 0, 0);
    const item *expected = least_behind(NULL);
    for (; expected != NULL; expected = least_behind(expected)) {
        REQUIRE(node == &expected->node);
        node = culvi_tree_next(node);
    }
    REQUIRE(node == NULL);
}

TEST(model)
{
    culvi_tree tree = {NULL};
    uint32_t seed = 5;
    for (uint64_t turn = 1; turn < 6000; turn++) {
        seed = seed * 1664525u + 1013904223u;
        item *it = &items[(seed >> 8) % ITEMS];
        if (it->turn != 0) {
            culvi_tree_remove(&tree, &it->node);
            it->turn = 0;
        } else {
            it->major = seed >> 12 & 7 ? (seed >> 16) % KEYS : UINT64_MAX;
            it->minor = (seed >> 10) % 3;
            it->turn = turn;
            culvi_tree_add(&tree, &it->node, it->major, it->minor);
        }
        const item key = {.major = (seed >> 20) % KEYS, .minor = (seed >> 9) % 3};
        const item *from = NULL, *up_to = NULL;
        for (const item *at = least_behind(NULL); at != NULL && turn % 16 == 0;
             at = least_behind(at)) {
            const bool above =
                at->major > key.major || (at->major == key.major && at->minor > key.minor);
            const bool same = at->major == key.major && at->minor == key.minor;
            if (from == NULL && (above || same)) from = at;
            if (!above) up_to = at;
        }
        if (turn % 16 != 0) continue;
        require_same(&tree);
        REQUIRE(culvi_tree_from(&tree, key.major, key.minor) ==
                (from != NULL ? &from->node : NULL));
        REQUIRE(culvi_tree_up_to(&tree, key.major, key.minor) ==
                (up_to != NULL ? &up_to->node : NULL));
        const bool there = from != NULL && from->major == key.major && from->minor == key.minor;
        REQUIRE(culvi_tree_find(&tree, key.major, key.minor) == (there ? &from->node : NULL));
    }
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].turn != 0) culvi_tree_remove(&tree, &items[i].node);
    REQUIRE(tree.root == NULL);
}
