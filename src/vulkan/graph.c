/* SPDX-License-Identifier: MIT */
/* CUDA graphs in command buffers: all nodes are checked and turned into commands before the first
 * one is recorded. */
#include "culvert/vulkan_kernel.h"

#include "core/graph_read.h"
#include "vulkan/vk_kernel.h"
#include "vulkan/vk_resource.h"
#include "vulkan/vk_space.h"

#include <stdio.h>

/* What a node becomes. */
typedef struct command {
    size_t level;
    CUgraphNodeType type;
    void *own; /* what the fields below point to, for culvi_free() */
    union {
        struct {
            VkCuLaunchInfoNVX info; /* but the arguments */
            size_t count;
            void **params;
        } launch;
        struct {
            VkBuffer buffer;
            VkDeviceSize offset, size, pitch; /* of a row */
            size_t rows;
            uint32_t word;
        } fill;
        struct {
            VkBuffer from, to;
            VkBufferCopy *regions;
            uint32_t count;
        } copy;
    } as;
} command;

typedef struct recording {
    culv_vk_device *vk;
    culv_device *device;
    culv_vk_graph_desc desc;
    culvi_graph_work work;
    command *commands; /* work.count */
} recording;

#define FAIL(r, result, reason, ...)                                                               \
    culvi_fail(&(r)->device->voice, (r)->desc.label, CULV_ERROR_##result, CULV_REASON_##reason,    \
               __VA_ARGS__)

culv_vk_graph_memory culv_vk_buffer_graph_memory(const culv_shared_buffer *buffer)
{
    culv_vk_graph_memory memory = {0, 0, 0, VK_NULL_HANDLE, 0, 0};
    if (culvi_buffer_half(buffer, &culvi_vk_api) == NULL) return memory;
    memory.pointer = culv_shared_buffer_pointer(buffer);
    memory.size = culv_buffer_size(buffer->pair.buffer);
    memory.address = culv_vk_buffer_address(buffer);
    memory.buffer = culv_vk_buffer_handle(buffer);
    memory.usage = buffer->pair.native.usage;
    return memory;
}

/* Memory -------------------------------------------------------------------------------------- */

/* The memory that has all of these bytes. NULL: none has. */
static const culv_vk_graph_memory *find_memory(const recording *r, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < r->desc.num_memory; i++) {
        const culv_vk_graph_memory *m = &r->desc.memory[i];
        if (address >= m->pointer && address - m->pointer <= m->size &&
            bytes <= m->size - (address - m->pointer))
            return m;
    }
    return NULL;
}

static culv_result fail_range(const recording *r, const culvi_graph_node *node, const char *what,
                              uint64_t address, uint64_t bytes)
{
    const culv_vk_graph_memory *m = find_memory(r, address, bytes);
    return FAIL(r, INVALID, RANGE,
                "node %zu of the graph %s %" PRIu64 " bytes at 0x%" PRIx64 ", which %s",
                node->index, what, bytes, address,
                m != NULL ? "has no VkBuffer in culv_vk_graph_desc.memory"
                          : "is in no element of culv_vk_graph_desc.memory");
}

typedef struct access {
    const char *what; /* a node does */
    VkBufferUsageFlagBits needs;
    const char *needs_name;
} access;

static const access sets = {"sets", VK_BUFFER_USAGE_TRANSFER_DST_BIT, "TRANSFER_DST"},
                    reads = {"reads", VK_BUFFER_USAGE_TRANSFER_SRC_BIT, "TRANSFER_SRC"},
                    writes = {"writes", VK_BUFFER_USAGE_TRANSFER_DST_BIT, "TRANSFER_DST"};

/* The buffer of these bytes, and where they are in it. */
static culv_result find_buffer(const recording *r, const culvi_graph_node *node, const access *a,
                               uint64_t address, uint64_t bytes, VkBuffer *buffer,
                               VkDeviceSize *offset)
{
    const culv_vk_graph_memory *m = find_memory(r, address, bytes);
    if (m == NULL || m->buffer == VK_NULL_HANDLE)
        return fail_range(r, node, a->what, address, bytes);
    if (m->usage != 0 && (m->usage & a->needs) == 0)
        return FAIL(r, INVALID, USAGE,
                    "node %zu of the graph %s %" PRIu64 " bytes at 0x%" PRIx64
                    ", whose VkBuffer lacks VK_BUFFER_USAGE_%s_BIT; make it with that usage",
                    node->index, a->what, bytes, address, a->needs_name);
    *buffer = m->buffer;
    *offset = m->offset + (address - m->pointer);
    return CULV_OK;
}

static culv_result check_memory(const recording *r)
{
    for (size_t i = 0; i < r->desc.num_memory; i++) {
        const culv_vk_graph_memory *m = &r->desc.memory[i];
        const char *lacks = m->pointer == 0   ? "pointer"
                            : m->size == 0    ? "size"
                            : m->address == 0 ? "address"
                                              : NULL;
        if (lacks != NULL || m->size > UINT64_MAX - m->pointer ||
            m->size > UINT64_MAX - m->address || m->size > UINT64_MAX - m->offset)
            return FAIL(r, INVALID, VALUE,
                        lacks != NULL
                            ? "culv_vk_graph_desc.memory[%zu] has no %s"
                            : "culv_vk_graph_desc.memory[%zu] goes beyond the last address%s",
                        i, lacks != NULL ? lacks : "");
    }
    return CULV_OK;
}

/* Kernels ------------------------------------------------------------------------------------- */

/* A kernel of a set by its name, if it has it. *out NULL: it has not. */
static culv_result find_name(const recording *r, culv_kernels *kernels, const char *name,
                             culv_kernel **out)
{
    *out = NULL;
    culvi_attempt_begin();
    culv_result result = culv_kernels_get(kernels, name, out);
    if (result == CULV_ERROR_INVALID) {
        (void)culvi_attempt_end(NULL, CULV_OK);
        return CULV_OK;
    }
    return culvi_attempt_end(&r->device->voice, result);
}

static culv_result find_kernel(const recording *r, const culvi_graph_node *node,
                               culv_vk_kernels **of, culv_kernel **out)
{
    *of = NULL;
    for (size_t i = 0; i < r->desc.num_kernels && node->name[0] != '\0'; i++) {
        culv_kernel *kernel;
        culv_vk_kernels *queue = r->desc.kernels[i];
        CULVI_TRY(find_name(r, queue->kernels, node->name, &kernel));
        if (kernel == NULL || (*of != NULL && kernel->function != node->params.kernel.func))
            continue;
        *of = queue;
        *out = kernel;
        if (kernel->function == node->params.kernel.func) break;
    }
    if (*of != NULL) return CULV_OK;
    if (node->name[0] == '\0')
        return FAIL(
            r, UNSUPPORTED, KERNEL,
            "the driver does not tell the name of the kernel that node %zu of the graph launches (cuFuncGetName, CUDA 12.3)",
            node->index);
    return FAIL(
        r, INVALID, KERNEL,
        "node %zu of the graph launches the kernel '%s', and none of the %zu culv_vk_kernels in culv_vk_graph_desc.kernels has it",
        node->index, node->name, r->desc.num_kernels);
}

static bool param_fits(const culv_vk_graph_param *param, const culvi_graph_node *node)
{
    if (node->type != CU_GRAPH_NODE_TYPE_KERNEL) return false;
    if (param->node != NULL) return param->node == node->handle;
    return strcmp(param->kernel, node->name) == 0;
}

/* Puts the caller's values in place of the node's. `given[i]`: argument i has one. */
static culv_result put_params(const recording *r, const culvi_graph_node *node,
                              const culv_kernel *kernel, void **params, bool *given)
{
    for (size_t i = 0; i < r->desc.num_params; i++) {
        const culv_vk_graph_param *param = &r->desc.params[i];
        if (!param_fits(param, node)) continue;
        if (param->index >= kernel->num_params)
            return FAIL(r, INVALID, VALUE,
                        "culv_vk_graph_desc.params[%zu].index is %" PRIu32
                        ", and the kernel '%s' takes %" PRIu32 " arguments",
                        i, param->index, kernel->name, kernel->num_params);
        if (param->size != kernel->sizes[param->index])
            return FAIL(r, INVALID, SIZE,
                        "culv_vk_graph_desc.params[%zu].size is %zu, and argument %" PRIu32
                        " (0 is the first) of the kernel '%s' has %" PRIu32 " bytes",
                        i, param->size, param->index, kernel->name, kernel->sizes[param->index]);
        memcpy(&params[param->index], &param->value, sizeof param->value); /* only read */
        given[param->index] = true;
    }
    return CULV_OK;
}

/* The element of the list that ends there. NULL: none does. In CUDA that byte may be a neighbour's
 * first one, and in Vulkan something else lies there. */
static const culv_vk_graph_memory *find_end(const recording *r, uint64_t address)
{
    for (size_t i = 0; i < r->desc.num_memory; i++)
        if (address == r->desc.memory[i].pointer + r->desc.memory[i].size)
            return &r->desc.memory[i];
    return NULL;
}

static culv_result fail_address(const recording *r, const culvi_graph_node *node,
                                const culv_kernel *kernel, uint32_t index, uint64_t address)
{
    const culv_vk_graph_memory *ends = find_end(r, address);
    char end[160] = "";
    if (ends != NULL)
        snprintf(
            end, sizeof end,
            "; element %zu ends there: add the memory behind it, or give an end that is only compared by culv_vk_graph_desc.params",
            (size_t)(ends - r->desc.memory));
    return FAIL(
        r, INVALID, RANGE,
        "argument %" PRIu32
        " (0 is the first) of node %zu of the graph, a launch of the kernel '%s', is the address 0x%" PRIx64
        ", which is in no element of culv_vk_graph_desc.memory%s",
        index, node->index, kernel->name, address, end);
}

/* Turns addresses of CUDA's into Vulkan's. `room` is for those that change. */
static culv_result translate(const recording *r, const culvi_graph_node *node,
                             const culv_kernel *kernel, void **params, const bool *given,
                             uint64_t *room)
{
    for (uint32_t i = 0; i < kernel->num_params; i++) {
        uint64_t value;
        if (given[i] || kernel->sizes[i] != sizeof value) continue;
        memcpy(&value, params[i], sizeof value);
        const culv_vk_graph_memory *m = find_memory(r, value, 1);
        if (m != NULL) {
            room[i] = m->address + (value - m->pointer);
            params[i] = &room[i];
            continue;
        }
        if (value < 4096) continue; /* no memory is there */
        bool known = find_end(r, value) != NULL;
        if (!known) CULVI_TRY(culvi_graph_is_pointer(r->device, r->desc.label, value, &known));
        if (known) return fail_address(r, node, kernel, i, value);
    }
    return CULV_OK;
}

static culv_result plan_launch(const recording *r, const culvi_graph_node *node, command *out)
{
    const CUDA_KERNEL_NODE_PARAMS *from = &node->params.kernel;
    bool given[CULV_KERNEL_ARGS_MAX] = {false};
    culv_vk_kernels *of = NULL;
    culv_kernel *kernel = NULL;
    CULVI_TRY(find_kernel(r, node, &of, &kernel));
    const size_t count = kernel->num_params;
    out->own = culvi_alloc((count + 1) * (sizeof(uint64_t) + sizeof(void *)));
    if (out->own == NULL) return culvi_fail_host_memory(&r->device->voice, r->desc.label);
    uint64_t *room = out->own;
    void **params = (void **)(void *)(room + count);
    const uint32_t grid[3] = {from->gridDimX, from->gridDimY, from->gridDimZ};
    const uint32_t block[3] = {from->blockDimX, from->blockDimY, from->blockDimZ};
    out->as.launch.count = count;
    out->as.launch.params = params;
    CULVI_TRY(culvi_graph_kernel_params(node, kernel, r->desc.label, params));
    CULVI_TRY(put_params(r, node, kernel, params, given));
    CULVI_TRY(translate(r, node, kernel, params, given, room));
    return culvi_vk_kernel_prepare(of, kernel, grid, block, from->sharedMemBytes,
                                   &out->as.launch.info);
}

/* Memsets and copies -------------------------------------------------------------------------- */

static culv_result plan_fill(const recording *r, const culvi_graph_node *node, command *out)
{
    const CUDA_MEMSET_NODE_PARAMS *set = &node->params.memset;
    const unsigned size = set->elementSize;
    const size_t rows = set->height > 0 ? set->height : 1;
    if (set->width == 0) return CULV_OK; /* no rows */
    if ((size != 1 && size != 2 && size != 4) || set->width > SIZE_MAX / size ||
        (rows > 1 && set->pitch > (SIZE_MAX - set->width * size) / (rows - 1)))
        return FAIL(r, INVALID, SIZE,
                    "node %zu of the graph sets %zu rows of %zu elements of %u bytes", node->index,
                    rows, set->width, size);
    const size_t row = set->width * size;
    const size_t pitch = rows > 1 ? set->pitch : row;
    CULVI_TRY(find_buffer(r, node, &sets, set->dst, (rows - 1) * pitch + row, &out->as.fill.buffer,
                          &out->as.fill.offset));
    if (((out->as.fill.offset | row | (rows > 1 ? pitch : 0)) & 3) != 0)
        return FAIL(r, UNSUPPORTED, GRAPH,
                    "node %zu of the graph sets rows of %zu bytes, %zu apart, from byte %" PRIu64
                    " of a VkBuffer on, and vkCmdFillBuffer takes multiples of 4",
                    node->index, row, pitch, (uint64_t)out->as.fill.offset);
    const uint32_t value = set->value;
    out->as.fill.word = size == 1   ? (value & 0xff) * 0x01010101u
                        : size == 2 ? (value & 0xffff) * 0x00010001u
                                    : value;
    const bool whole = rows == 1 || pitch == row;
    out->as.fill.rows = whole ? 1 : rows;
    out->as.fill.size = whole ? row * rows : row;
    out->as.fill.pitch = pitch;
    return CULV_OK;
}

/* One side of a copy: where its first byte is, and how far apart rows and slices are. */
typedef struct side {
    uint64_t first, row, slice, bytes;
} side;

static bool add_product(uint64_t *sum, uint64_t a, uint64_t b)
{
    if (a != 0 && b > (UINT64_MAX - *sum) / a) return false;
    *sum += a * b;
    return true;
}

static culv_result read_side(const recording *r, const culvi_graph_node *node, bool from, side *out)
{
    const CUDA_MEMCPY3D *c = &node->params.memcpy;
    const CUmemorytype type = from ? c->srcMemoryType : c->dstMemoryType;
    const uint64_t pitch = from ? c->srcPitch : c->dstPitch,
                   height = from ? c->srcHeight : c->dstHeight;
    if ((type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) ||
        (from ? c->srcLOD : c->dstLOD) != 0)
        return FAIL(
            r, UNSUPPORTED, GRAPH,
            "node %zu of the graph copies %s %s; only copies within the memory of culv_vk_graph_desc.memory can be recorded",
            node->index, from ? "from" : "to",
            type == CU_MEMORYTYPE_HOST ? "the host" : "an array");
    uint64_t slice = 0;
    if (!add_product(&slice, pitch, height)) slice = UINT64_MAX;
    out->row = c->Height > 1 || c->Depth > 1 ? pitch : c->WidthInBytes;
    out->slice = c->Depth > 1 ? slice : 0;
    out->first = from ? c->srcDevice : c->dstDevice;
    out->bytes = c->WidthInBytes;
    if (add_product(&out->first, 1, from ? c->srcXInBytes : c->dstXInBytes) &&
        add_product(&out->first, from ? c->srcY : c->dstY, pitch) &&
        add_product(&out->first, from ? c->srcZ : c->dstZ, slice) &&
        add_product(&out->bytes, c->Height - 1, out->row) &&
        add_product(&out->bytes, c->Depth - 1, out->slice))
        return CULV_OK;
    return fail_range(r, node, "copies", out->first, UINT64_MAX);
}

static culv_result plan_copy(const recording *r, const culvi_graph_node *node, command *out)
{
    const CUDA_MEMCPY3D *c = &node->params.memcpy;
    side from, to;
    VkDeviceSize from_offset, to_offset;
    if (c->WidthInBytes == 0 || c->Height == 0 || c->Depth == 0) return CULV_OK; /* no regions */
    CULVI_TRY(read_side(r, node, true, &from));
    CULVI_TRY(read_side(r, node, false, &to));
    CULVI_TRY(
        find_buffer(r, node, &reads, from.first, from.bytes, &out->as.copy.from, &from_offset));
    CULVI_TRY(find_buffer(r, node, &writes, to.first, to.bytes, &out->as.copy.to, &to_offset));
    /* Rows, and slices, without a gap on either side are one region. */
    uint64_t width = c->WidthInBytes, rows = c->Height, slices = c->Depth;
    if (from.row == width && to.row == width &&
        (slices == 1 || (from.slice == width * rows && to.slice == width * rows))) {
        width *= rows * slices;
        rows = slices = 1;
    }
    if (rows > UINT32_MAX / slices || rows * slices > SIZE_MAX / sizeof(VkBufferCopy))
        return fail_range(r, node, "copies", from.first, from.bytes);
    CULVI_NEW_LIST(VkBufferCopy, region, (size_t)(rows * slices), &r->device->voice, r->desc.label);
    out->own = out->as.copy.regions = region;
    out->as.copy.count = (uint32_t)(rows * slices);
    for (uint64_t z = 0; z < slices; z++)
        for (uint64_t y = 0; y < rows; y++)
            *region++ = (VkBufferCopy){from_offset + z * from.slice + y * from.row,
                                       to_offset + z * to.slice + y * to.row, width};
    return CULV_OK;
}

/* The whole ----------------------------------------------------------------------------------- */

static culv_result check_desc(const recording *r)
{
    const culv_vk_graph_desc *desc = &r->desc;
    const culvi_voice *voice = &r->device->voice;
    if (desc->num_kernels > 0) CULVI_REQUIRE_IN(voice, "culv_vk_record_graph", desc->kernels);
    if (desc->num_memory > 0) CULVI_REQUIRE_IN(voice, "culv_vk_record_graph", desc->memory);
    if (desc->num_params > 0) CULVI_REQUIRE_IN(voice, "culv_vk_record_graph", desc->params);
    for (size_t i = 0; i < desc->num_kernels; i++) {
        if (desc->kernels[i] == NULL)
            return FAIL(r, INVALID, NULL_ARGUMENT, "culv_vk_graph_desc.kernels[%zu] is NULL", i);
        if (desc->kernels[i]->vk != r->vk)
            return FAIL(
                r, INVALID, DEVICE_MISMATCH,
                "culv_vk_graph_desc.kernels[%zu] was made with another attachment than the one of '%s'",
                i, r->vk->base.name);
    }
    for (size_t i = 0; i < desc->num_params; i++) {
        const culv_vk_graph_param *param = &desc->params[i];
        if (param->value == NULL || (param->node == NULL && param->kernel == NULL))
            return FAIL(r, INVALID, NULL_ARGUMENT, "culv_vk_graph_desc.params[%zu] has no %s", i,
                        param->value == NULL ? "value" : "node and no kernel");
    }
    return check_memory(r);
}

static culv_result check_params_used(const recording *r)
{
    for (size_t i = 0; i < r->desc.num_params; i++) {
        bool fits = false;
        for (size_t n = 0; n < r->work.count && !fits; n++)
            fits = param_fits(&r->desc.params[i], &r->work.nodes[n]);
        if (!fits)
            return FAIL(
                r, INVALID, VALUE,
                "culv_vk_graph_desc.params[%zu] is for %s%s, which the graph does not launch", i,
                r->desc.params[i].node != NULL ? "a node" : "the kernel ",
                r->desc.params[i].node != NULL ? "" : r->desc.params[i].kernel);
    }
    return CULV_OK;
}

/* Runs in the device's context. */
static culv_result plan(recording *r, CUgraph graph)
{
    CULVI_TRY(culvi_graph_read(r->device, graph, r->desc.label, &r->work));
    CULVI_TRY(check_params_used(r));
    if (r->work.count == 0) return CULV_OK;
    r->commands = r->work.count > SIZE_MAX / sizeof *r->commands
                      ? NULL
                      : culvi_alloc(r->work.count * sizeof *r->commands);
    if (r->commands == NULL) return culvi_fail_host_memory(&r->device->voice, r->desc.label);
    for (size_t i = 0; i < r->work.count; i++) {
        const culvi_graph_node *node = &r->work.nodes[i];
        command *out = &r->commands[i];
        out->level = node->level;
        out->type = node->type;
        CULVI_TRY(node->type == CU_GRAPH_NODE_TYPE_KERNEL   ? plan_launch(r, node, out)
                  : node->type == CU_GRAPH_NODE_TYPE_MEMSET ? plan_fill(r, node, out)
                                                            : plan_copy(r, node, out));
    }
    return CULV_OK;
}

static void record_one(const recording *r, const command *c, VkCommandBuffer to)
{
    const culvi_vk_table *table = &r->vk->table;
    culvi_kernel_values values;
    VkCuLaunchInfoNVX info;
    switch (c->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        values.count = c->as.launch.count;
        values.block = NULL;
        for (size_t i = 0; i < values.count; i++)
            values.params[i] = c->as.launch.params[i];
        info = c->as.launch.info;
        culvi_vk_kernel_launch(r->vk, &info, &values, to);
        return;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        for (size_t i = 0; i < c->as.fill.rows; i++)
            table->vkCmdFillBuffer(to, c->as.fill.buffer, c->as.fill.offset + i * c->as.fill.pitch,
                                   c->as.fill.size, c->as.fill.word);
        return;
    default:
        if (c->as.copy.count > 0)
            table->vkCmdCopyBuffer(to, c->as.copy.from, c->as.copy.to, c->as.copy.count,
                                   c->as.copy.regions);
        return;
    }
}

static void record(const recording *r, VkCommandBuffer to)
{
    VkMemoryBarrier2 b;
    (void)culv_vk_kernel_get_barrier2(&b); /* fails for NULL alone */
    const VkMemoryBarrier old = {CULVI_STYPE(MEMORY_BARRIER),
                                 .srcAccessMask = (VkAccessFlags)b.srcAccessMask,
                                 .dstAccessMask = (VkAccessFlags)b.dstAccessMask};
    for (size_t i = 0; i < r->work.count; i++) {
        if (i > 0 && r->commands[i].level != r->commands[i - 1].level)
            r->vk->table.vkCmdPipelineBarrier(to, (VkPipelineStageFlags)b.srcStageMask,
                                              (VkPipelineStageFlags)b.dstStageMask, 0, 1, &old, 0,
                                              NULL, 0, NULL);
        record_one(r, &r->commands[i], to);
    }
}

culv_result culv_vk_record_graph(culv_vk_device *vk, CUgraph graph, const culv_vk_graph_desc *desc,
                                 VkCommandBuffer command_buffer, uint32_t queue_family)
{
    recording r = {.vk = vk};
    culvi_scope scope;
    CULVI_REQUIRE(NULL, vk);
    r.device = vk->base.device;
    CULVI_REQUIRE3(&r.device->voice, graph, desc, command_buffer);
    CULVI_TRY(
        culvi_desc_read(&r.device->voice, &r.desc, sizeof r.desc, desc, "culv_vk_graph_desc"));
    if (!vk->kernels) return culvi_vk_refuse_kernels(vk, r.desc.label);
    CULVI_TRY(check_desc(&r));
    CULVI_TRY(culvi_vk_check_kernel_family(vk, r.desc.label, queue_family));
    CULVI_TRY(culvi_enter(r.device, &scope, r.desc.label));
    culv_result result = plan(&r, graph);
    culvi_leave(r.device, &scope);
    if (result == CULV_OK) record(&r, command_buffer);
    for (size_t i = 0; r.commands != NULL && i < r.work.count; i++)
        culvi_free(r.commands[i].own);
    culvi_free(r.commands);
    culvi_free(r.work.nodes);
    return result;
}
