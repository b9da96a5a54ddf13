/* SPDX-License-Identifier: MIT */
/* suballocator: a dozen buffers and images in one VkDeviceMemory, as an allocator like
 * VulkanMemoryAllocator places them. CUDA imports the block once; each resource is mapped at its
 * offset. Kernels write all of them, Vulkan shows all of them in one picture. */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/arguments.h"
#include "../common/files.h"
#include "../common/interop.h"
#include "../common/report.h"
#include "sheet.h"

enum { NUM_KERNELS = 5 };

typedef struct program {
    const char *output, *device_choice;
    bool validation;
    vulkan_setup vulkan;
    culv_device *device;
    culv_vk_device *vk;
    culv_shared_semaphore *ready; /* CUDA has written */
    const culv_cuda_api *cu;
    CUcontext callers_context;
    culv_kernels *loaded;
    CUfunction kernels[NUM_KERNELS]; /* by resource_kind */
    CUstream stream;
    block block;
    resource resources[NUM_RESOURCES];
    sheet sheet;
} program;

static const char usage[] =
    "Usage: suballocator [options]\n"
    "Shares a dozen Vulkan buffers and images that lie in one allocation with CUDA, by one import.\n"
    "\n"
    "  --output PATH    PNG of all of them (out/suballocator.png)\n"
    "  --device WHICH   auto: NVIDIA's GPU, else the software twin (default); nvidia; soft; list: show them; "
    "a\n"
    "                   number of that list; or part of a name\n"
    "  --validation     run under Vulkan's validation and synchronization validation; fail if it says "
    "anything\n"
    "  --help           this text\n"
    "The line RESULT {...} on stdout is for programs.\n";

static arguments_result parse(program *p, int argc, char **argv)
{
    p->output = "out/suballocator.png";
    p->device_choice = "auto";
    const argument table[] = {
        {"--output", ARGUMENT_TEXT, &p->output, NULL, 0, 0, NULL},
        {"--device", ARGUMENT_TEXT, &p->device_choice, NULL, 0, 0, NULL},
        {"--validation", ARGUMENT_FLAG, &p->validation, NULL, 0, 0, NULL},
        {NULL, ARGUMENT_FLAG, NULL, NULL, 0, 0, NULL},
    };
    return arguments_parse(table, usage, 1, argc, argv);
}

static bool open_devices(program *p)
{
    const vulkan_setup *v = &p->vulkan;
    vulkan_wishes wishes = {.name = "suballocator", .validation = p->validation};
    if (!vulkan_setup_create(&p->vulkan, p->device_choice, &wishes)) return false;
    fprintf(stderr, "suballocator: %s by %s\n", v->candidate.name, v->why);
    return interop_open_device(v, &p->device, &p->cu, &p->callers_context) &&
           interop_attach(v, p->device, &p->vk) && interop_timeline(p->vk, "ready", &p->ready);
}

static bool open_cuda(program *p)
{
    static const char *const names[NUM_KERNELS] = {
        [BUFFER] = "suballocator_buffer",           [SURFACE_2D] = "suballocator_2d",
        [SURFACE_LAYERED] = "suballocator_layered", [SURFACE_3D] = "suballocator_3d",
        [SURFACE_CUBE] = "suballocator_cube",
    };
    const culv_cuda_api *cu = p->cu;
    if (!interop_load_kernels(p->device, "suballocator", &p->loaded) ||
        !cuda_ok(cu, cu->cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"))
        return false;
    for (int i = 0; i < NUM_KERNELS; i++) {
        if (!interop_kernel(p->loaded, names[i], &p->kernels[i])) return false;
    }
    return true;
}

/* Vulkan says what each needs; then there is one block for all. */
static bool make_resources(program *p)
{
    uint32_t type_bits = UINT32_MAX;
    VkDeviceSize size = 0;
    for (uint32_t i = 0; i < NUM_RESOURCES; i++) {
        resource *r = &p->resources[i];
        if (!resource_create(&p->vulkan, p->vk, &resource_plans[i], r)) return false;
        type_bits &= r->needs.memoryTypeBits;
        size +=
            r->needs.size + r->needs.alignment + p->vulkan.properties.limits.bufferImageGranularity;
    }
    if (!block_create(&p->vulkan, size, type_bits, &p->block)) return false;
    for (uint32_t i = 0; i < NUM_RESOURCES; i++) {
        if (!resource_bind(&p->vulkan, &p->block, &p->resources[i])) return false;
    }
    for (uint32_t i = 0; i < NUM_RESOURCES; i++) {
        if (!resource_map(p->vk, &p->block, &p->resources[i])) return false;
    }
    return true;
}

/* Images are in UNDEFINED and nobody's: Vulkan hands them to CUDA once before CUDA's first use. */
static bool hand_to_cuda(program *p)
{
    vulkan_once once;
    bool fine = vulkan_once_begin(&p->vulkan, &once);
    for (uint32_t i = 0; fine && i < NUM_RESOURCES; i++) {
        if (!p->resources[i].image) continue;
        VkImageMemoryBarrier2 barrier;
        culv_vk_image_transfer transfer = culv_vk_image_transfer_init();
        transfer.image = p->resources[i].image;
        transfer.queue_family = p->vulkan.queue_family;
        transfer.discard = VK_TRUE;
        fine = culv_ok(culv_vk_image_get_barrier2(&transfer, CULV_VK_RELEASE, &barrier),
                       "culv_vk_image_get_barrier2");
        VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                 .imageMemoryBarrierCount = 1,
                                 .pImageMemoryBarriers = &barrier};
        if (fine) vkCmdPipelineBarrier2(once.commands, &info);
    }
    return vulkan_once_end(&p->vulkan, &once, fine);
}

static bool launch(program *p, const resource *r, int number)
{
    const resource_plan *plan = r->plan;
    CUdeviceptr pointer = culv_buffer_pointer(r->cuda_buffer);
    CUsurfObject surface = 0;
    uint32_t width = plan->width, height = plan->height;
    if (r->cuda_image &&
        (!culv_ok(culv_image_get_surface(r->cuda_image, plan->level, &surface),
                  "culv_image_get_surface") ||
         !culv_ok(culv_image_get_extent(r->cuda_image, plan->level, &width, &height, NULL),
                  "culv_image_get_extent")))
        return false;
    int bgra = plan->format == VK_FORMAT_B8G8R8A8_UNORM;
    int layer = (int)plan->layer;
    int w = (int)width, h = (int)height;
    void *params[] = {
        r->cuda_image ? (void *)&surface : (void *)&pointer, &w, &h, &layer, &number, &bgra};
    return cuda_ok(p->cu,
                   p->cu->cuLaunchKernel(p->kernels[plan->kind], (width + 15) / 16,
                                         (height + 15) / 16, 1, 16, 16, 1, 0, p->stream, params,
                                         NULL),
                   "cuLaunchKernel");
}

static bool run(program *p)
{
    if (!hand_to_cuda(p)) return false;
    for (int i = 0; i < NUM_RESOURCES; i++) {
        if (!launch(p, &p->resources[i], i)) return false;
    }
    return culv_ok(culv_semaphore_signal(culv_shared_semaphore_cuda(p->ready), p->stream, 1),
                   "culv_semaphore_signal") &&
           sheet_draw(&p->vulkan, &p->sheet, p->resources, culv_vk_semaphore_handle(p->ready), 1) &&
           sheet_write(&p->sheet, p->output);
}

static void print(const program *p)
{
    culv_device_counts counts = culv_device_counts_init();
    (void)culv_device_get_counts(p->device, &counts);
    printf("%-16s %12s %12s %14s\n", "", "offset", "bytes", "acquire + map");
    for (int i = 0; i < NUM_RESOURCES; i++) {
        const resource *r = &p->resources[i];
        printf("%-16s %12llu %12llu %11.1f us\n", r->plan->name, (unsigned long long)r->offset,
               (unsigned long long)r->needs.size, r->map_us);
    }
    printf(
        "one block of %llu bytes: %llu import, %llu mappings at the driver (one for all buffers, one an "
        "image)\n",
        (unsigned long long)p->block.size, (unsigned long long)counts.memories,
        (unsigned long long)counts.mappings);
    printf("%s\n", p->output);
    printf(
        "RESULT {\"sample\": \"suballocator\", \"device\": \"%s\", \"resources\": %d, \"block_bytes\": %llu, "
        "\"imports\": %llu, \"mappings\": %llu}\n",
        p->vulkan.candidate.name, (int)NUM_RESOURCES, (unsigned long long)p->block.size,
        (unsigned long long)counts.memories, (unsigned long long)counts.mappings);
}

static void tear_down(program *p)
{
    const culv_cuda_api *cu = p->cu;
    if (p->stream) (void)cu->cuStreamSynchronize(p->stream);
    if (p->vulkan.device) {
        (void)vkDeviceWaitIdle(p->vulkan.device);
        for (int i = 0; i < NUM_RESOURCES; i++)
            resource_destroy(&p->vulkan, &p->block, &p->resources[i]);
        block_destroy(&p->vulkan, &p->block);
        sheet_destroy(&p->vulkan, &p->sheet);
    }
    culv_shared_semaphore_destroy(&p->ready);
    if (p->stream) (void)cu->cuStreamDestroy(p->stream);
    culv_kernels_unload(&p->loaded);
    culv_vk_detach(&p->vk);
    interop_close_device(&p->device, cu, p->callers_context);
    vulkan_setup_destroy(&p->vulkan);
}

int main(int argc, char **argv)
{
    static program p;
    report_set_program("suballocator");
    const arguments_result parsed = parse(&p, argc, argv);
    if (parsed != ARGUMENTS_RUN) return parsed == ARGUMENTS_BAD ? 2 : EXIT_SUCCESS;
    if (strcmp(p.device_choice, "list") == 0)
        return vulkan_setup_list() ? EXIT_SUCCESS : EXIT_FAILURE;
    bool fine = files_make_parents(p.output) && open_devices(&p) && open_cuda(&p) &&
                sheet_create(&p.vulkan, &p.sheet) && make_resources(&p) && run(&p);
    if (fine) print(&p);
    tear_down(&p);
    if (p.vulkan.num_messages > 0) {
        report("validation: %u messages", p.vulkan.num_messages);
        fine = false;
    }
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
