/* SPDX-License-Identifier: MIT */
/* Whose memory it is when its owners go, in whatever order. After each step somebody else allocates
 * as much and writes there: memory that went too early is that one's then. */
#define TEST_GROUP "lives."
#include "dlpack_stage.h"
#include "fallback_scene.h"

enum { SIZE = 2 << 20, WORDS = SIZE / 4, HELD = 0x600d600d, OTHERS = 0x0bad0bad, MOST = 16 };

/* Ways of sharing: what Culvert makes, memory of the caller's own, and a vector. */
typedef enum way { SHARED, PAGES, MAPPED, PEER, IMPORTED, VECTOR } way;
typedef enum holder { TENSOR, TWO_TENSORS, SECOND_BUFFER, VIEW } holder;

static struct {
    scene s;
    way way;
    CUcontext context; /* keeps the canaries when Culvert's device has gone */
    CUdeviceptr canaries[MOST];
    int num_canaries;
    culv_shared_buffer *made;
    raw_vk_buffer raw;
    culv_buffer *buffer, *second;
    culv_vector *vector;
    culv_vector_view *view;
    culv_dl_managed_tensor_versioned *tensors[2];
    CUdeviceptr held; /* 0: nobody has it any more */
} t;

static void require_words(CUdeviceptr at, uint32_t value)
{
    static uint32_t words[WORDS];
    CU_OK(t.s.w.cu->MemcpyDtoH(words, at, SIZE));
    for (size_t i = 0; i < WORDS; i += WORDS - 1)
        REQUIRE_EQ(words[i], value);
}

static void let_others_allocate(void)
{
    const raw_cuda *cu = t.s.w.cu;
    CUdeviceptr *canary = &t.canaries[t.num_canaries++];
    REQUIRE(t.num_canaries <= MOST);
    CU_OK(cu->MemAlloc(canary, SIZE));
    CU_OK(cu->MemsetD32Async(*canary, OTHERS, WORDS, NULL));
    CU_OK(cu->CtxSynchronize());
    for (int i = 0; i < t.num_canaries; i++)
        require_words(t.canaries[i], OTHERS);
    if (t.held != 0) require_words(t.held, HELD);
}

static culv_buffer *import(const raw_vk_buffer *raw)
{
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    culv_buffer_desc b = culv_buffer_desc_init();
    culv_memory *memory = NULL;
    d.memory = raw->memory;
    d.allocation_size = raw->allocation_size;
    b.offset = raw->offset;
    b.size = SIZE;
    LIB_OK(culv_vk_memory_import_shared(t.s.w.attachment, &d, &memory));
    NEW(culv_buffer, buffer, culv_buffer_map, memory, &b);
    culv_memory_destroy(&memory);
    return buffer;
}

static void begin(way which, holder who)
{
    static const scene_kind kinds[] = {
        [PAGES] = SCENE_PAGES,   [MAPPED] = SCENE_MAPPED,   [PEER] = SCENE_PEER,
        [SHARED] = SCENE_SHARED, [IMPORTED] = SCENE_SHARED, [VECTOR] = SCENE_SHARED};
    memset(&t, 0, sizeof t);
    t.way = which;
    scene_open_bare(&t.s, kinds[which]);
    t.context = raw_cuda_context(t.s.w.cu, which == PEER ? 1 : 0);
    culv_vector_desc d = culv_vector_desc_init();
    d.size = SIZE;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    if (which == VECTOR) {
        LIB_OK(culv_vector_create(t.s.w.device, &d, &t.vector));
        t.held = culv_vector_pointer(t.vector);
    } else if (which == IMPORTED) {
        raw_vk_buffer_create(&t.s.w.vk, SIZE, RAW_VK_EXPORT, &t.raw);
        t.buffer = import(&t.raw);
        t.held = culv_buffer_pointer(t.buffer);
    } else {
        LIB_OK(scene_buffer(&t.s, SIZE, which == SHARED ? 0 : CULV_FALLBACK_ANY, &t.made));
        REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(t.made)), t.s.path);
        t.held = culv_shared_buffer_pointer(t.made);
    }
    for (int i = 0; i < (who == TWO_TENSORS ? 2 : who == TENSOR); i++)
        LIB_OK(which == VECTOR ? culv_vector_get_dlpack(t.vector, NULL, &t.tensors[i])
                               : culv_buffer_get_dlpack(
                                     which == IMPORTED ? t.buffer : culv_shared_buffer_cuda(t.made),
                                     NULL, &t.tensors[i]));
    if (who == SECOND_BUFFER) t.second = import(&t.raw);
    culv_vk_vector_view_desc v = culv_vk_vector_view_desc_init();
    v.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    if (who == VIEW) LIB_OK(culv_vk_vector_view_create(t.s.w.attachment, t.vector, &v, &t.view));
    CU_OK(t.s.w.cu->MemsetD32Async(t.held, HELD, WORDS, NULL));
    CU_OK(t.s.w.cu->CtxSynchronize());
}

/* The caller's own memory goes, and its handle is the next one's, which CUDA and Vulkan share. */
static void replace_native(void)
{
    static uint32_t words[WORDS];
    const VkDeviceMemory before = t.raw.memory;
    raw_vk_buffer_destroy(&t.s.w.vk, &t.raw);
    raw_vk_buffer_create(&t.s.w.vk, SIZE, RAW_VK_EXPORT, &t.raw);
    if (t.s.w.cu->software) REQUIRE(t.raw.memory == before); /* the twin's layer sees to that */
    OWN(culv_buffer) *fresh = import(&t.raw);
    CU_OK(t.s.w.cu->MemsetD32Async(culv_buffer_pointer(fresh), OTHERS, WORDS, NULL));
    CU_OK(t.s.w.cu->CtxSynchronize());
    raw_vk_read(&t.s.w.vk, &t.raw, 0, words, SIZE);
    REQUIRE_EQ(words[0], OTHERS);
}

/* o: its owner, d: the attachment, c: the device, n: the native memory, h and g: those who hold. */
static void step(char what)
{
    switch (what) {
    case 'o':
        if (t.made != NULL) LIB_OK(culv_shared_buffer_destroy(&t.made, NULL));
        if (t.buffer != NULL) LIB_OK(culv_buffer_unmap(&t.buffer, NULL));
        culv_vector_destroy(&t.vector, NULL);
        if (t.tensors[0] == NULL && t.tensors[1] == NULL && t.second == NULL) t.held = 0;
        break;
    case 'd': culv_vk_detach(&t.s.w.attachment); break;
    case 'c': culv_device_close(&t.s.w.device); break;
    case 'n': replace_native(); break;
    default:
        for (int i = what == 'g'; i <= (what == 'g'); i++)
            if (t.tensors[i] != NULL) t.tensors[i]->deleter(t.tensors[i]);
        t.tensors[what == 'g'] = NULL;
        if (t.second != NULL) LIB_OK(culv_buffer_unmap(&t.second, NULL));
        culv_vector_view_destroy(&t.view);
        if (t.made == NULL && t.buffer == NULL && t.vector == NULL && t.tensors[0] == NULL &&
            t.tensors[1] == NULL)
            t.held = 0;
    }
    let_others_allocate();
}

static void end(way which)
{
    for (int i = 0; i < t.num_canaries; i++)
        CU_OK(t.s.w.cu->MemFree(t.canaries[i]));
    if (t.raw.buffer != VK_NULL_HANDLE) raw_vk_buffer_destroy(&t.s.w.vk, &t.raw);
    CU_OK(t.s.w.cu->CtxPopCurrent(&t.context));
    CU_OK(t.s.w.cu->DevicePrimaryCtxRelease(which == PEER ? 1 : 0));
    lib_close(&t.s.w);
}

static const struct {
    holder who;
    const char *ways; /* digits of `way` */
    const char *orders[7];
} rows[] = {
    {TENSOR, "01235", {"ohdc", "odhc", "odch", "hodc", "dohc", "doch", "cdoh"}},
    {TENSOR, "4", {"onhdc", "ondhc", "ondch", "ohndc"}},
    {TWO_TENSORS, "01235", {"ohgdc", "ogdch", "hodcg", "dcohg"}},
    {TWO_TENSORS, "4", {"onhgdc", "ohngdc", "hondcg"}},
    {SECOND_BUFFER, "4", {"ohndc", "hondc"}},
    {VIEW, "5", {"ohdc", "dcoh", "hodc", "odch"}},
};

static void lives_of(way which)
{
    /* That layer gives each object a number of its own, which never comes again. */
    if (which == IMPORTED) lib_with_option("--validation=off");
    unsigned tried = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int k = 0; k < 7 && rows[i].orders[k] != NULL; k++) {
            if (strchr(rows[i].ways, '0' + (int)which) == NULL) continue;
            printf("holder %d, order %s\n", (int)rows[i].who, rows[i].orders[k]);
            begin(which, rows[i].who);
            for (const char *c = rows[i].orders[k]; *c != '\0'; c++)
                step(*c);
            end(which);
            tried++;
        }
    REQUIRE(tried >= 9);
}

TEST_AS(shared, lives_of(SHARED), .own = true, .time_limit = 300)
TEST_AS(pages, lives_of(PAGES), .own = true, .time_limit = 300)
TEST_AS(mapped, lives_of(MAPPED), .own = true, .time_limit = 300)
TEST_AS(peer, lives_of(PEER), .own = true, .time_limit = 300)
TEST_AS(imported, lives_of(IMPORTED), .own = true, .time_limit = 300)
TEST_AS(vector, lives_of(VECTOR), .own = true, .time_limit = 300)
