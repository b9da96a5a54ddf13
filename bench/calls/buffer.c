/* SPDX-License-Identifier: MIT */
/* Importing a VkDeviceMemory, mapping it as a buffer, and giving both up. */
#include "calls.h"

#include <string.h>

enum { IMPORT, MAP, UNMAP, RELEASE, PHASES };

typedef struct buffer_state {
    bench *b;
    raw_vk_buffer vk;
    bool control; /* the raw calls on both sides */
    uint32_t word;
    /* What a turn holds between its phases. */
    culv_memory *import;
    culv_buffer *buffer;
    CUexternalMemory memory;
    CUdeviceptr pointer;
} buffer_state;

static void culvert_open(buffer_state *s, double at[])
{
    culv_vk_memory_desc desc = culv_vk_memory_desc_init();
    desc.memory = s->vk.memory;
    desc.allocation_size = s->vk.allocation_size;
    CULV_OK_OR_EXIT(culv_vk_memory_import(s->b->rig.attached, &desc, &s->import));
    at[MAP] = bench_now();
    CULV_OK_OR_EXIT(culv_buffer_map(s->import, NULL, &s->buffer));
    at[UNMAP] = bench_now();
    s->pointer = culv_buffer_pointer(s->buffer);
}

static void culvert_close(buffer_state *s, double at[])
{
    at[UNMAP] = bench_now();
    culv_buffer_unmap(&s->buffer, NULL);
    at[RELEASE] = bench_now();
    culv_memory_destroy(&s->import);
    at[PHASES] = bench_now();
}

static void raw_open(buffer_state *s, double at[])
{
    const raw_cuda *cu = s->b->rig.cu;
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = s->vk.memory,
                                       .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    VK_OK(vkGetMemoryFdKHR(s->b->rig.vk.device, &info, &fd));
    RIG_CU(raw_cuda_import_memory(cu, fd, s->vk.allocation_size, false, &s->memory));
    at[MAP] = bench_now();
    RIG_CU(raw_cuda_map_buffer(cu, s->memory, 0, s->vk.allocation_size, &s->pointer));
    at[UNMAP] = bench_now();
}

static void raw_close(buffer_state *s, double at[])
{
    at[UNMAP] = bench_now();
    RIG_CU(s->b->rig.cu->MemFree(s->pointer));
    at[RELEASE] = bench_now();
    RIG_CU(s->b->rig.cu->DestroyExternalMemory(s->memory));
    at[PHASES] = bench_now();
}

static void turn(void *state, bench_side side, double ns[])
{
    buffer_state *s = state;
    double open[PHASES + 1], close[PHASES + 1];
    bool culvert = side == BENCH_CULVERT && !s->control;
    open[IMPORT] = bench_now();
    (culvert ? culvert_open : raw_open)(s, open);
    (culvert ? culvert_close : raw_close)(s, close);
    ns[IMPORT] = open[MAP] - open[IMPORT];
    ns[MAP] = open[UNMAP] - open[MAP];
    ns[UNMAP] = close[RELEASE] - close[UNMAP];
    ns[RELEASE] = close[PHASES] - close[RELEASE];
}

/* CUDA writes both ends by this side's pointer, Vulkan reads them. */
static void check(buffer_state *s, bool culvert)
{
    double at[PHASES + 1];
    uint32_t got[64], expected[64];
    const rig *r = &s->b->rig;
    size_t words = sizeof got / sizeof got[0];
    (culvert ? culvert_open : raw_open)(s, at);
    for (int end = 0; end < 2; end++) {
        VkDeviceSize offset = end == 0 ? 0 : s->vk.size - sizeof got;
        s->word += 0x01010101u;
        for (size_t i = 0; i < words; i++)
            expected[i] = s->word;
        RIG_CU(r->cu->MemsetD32Async(s->pointer + offset, s->word, words, r->stream));
        RIG_CU(r->cu->StreamSynchronize(r->stream));
        raw_vk_read(&s->b->rig.vk, &s->vk, offset, got, sizeof got);
        REQUIRE_EQ_BYTES(got, expected, sizeof got);
    }
    (culvert ? culvert_close : raw_close)(s, at);
    bench_checked(s->b);
}

static void measure_size(bench *b, VkDeviceSize size, const char *text, bool control)
{
    buffer_state s = {.b = b, .control = control, .word = 0x10203040u};
    bench_series series;
    bench_variant(b, "%s", text);
    raw_vk_buffer_create(&b->rig.vk, size, RAW_VK_EXPORT, &s.vk);
    check(&s, !control);
    check(&s, false);
    bench_begin(b, &series,
                (bench_setup){.kind = control ? BENCH_CONTROL : BENCH_PAIR,
                              .turn = turn,
                              .state = &s,
                              .num_phases = PHASES,
                              .calls = 1});
    bench_row(b, &series,
              (bench_row_desc){.name = "import + map",
                               .phases = 1u << IMPORT | 1u << MAP,
                               .goal = control ? 0.0 : GOAL_IMPORT_MAP});
    if (!control) {
        bench_row(b, &series, (bench_row_desc){.name = "import", .phases = 1u << IMPORT});
        bench_row(b, &series, (bench_row_desc){.name = "map", .phases = 1u << MAP});
        bench_row(b, &series, (bench_row_desc){.name = "unmap", .phases = 1u << UNMAP});
        bench_row(b, &series,
                  (bench_row_desc){.name = "release the import", .phases = 1u << RELEASE});
    }
    bench_end(&series);
    check(&s, !control);
    check(&s, false);
    raw_vk_buffer_destroy(&b->rig.vk, &s.vk);
}

void measure_buffer(bench *b)
{
    const VkDeviceSize kib = 1024, mib = kib * kib;
    measure_size(b, 64 * kib, "64 KiB", false);
    measure_size(b, 64 * kib, "64 KiB, control", true);
    measure_size(b, 8 * mib, "8 MiB", false);
    if (b->quick) return;
    /* Where the CPU is the GPU, a GiB would be most of the machine. */
    if (b->rig.caps.is_software)
        measure_size(b, 64 * mib, "64 MiB", false);
    else
        measure_size(b, 1024 * mib, "1 GiB", false);
}
