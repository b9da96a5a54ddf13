/* SPDX-License-Identifier: MIT */
/* The user's kernel. See work.h. */
#include "work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <culvert/vulkan_kernel.h>

/* Command lines -------------------------------------------------------------------------------- */

static char *copy(const char *text, size_t length)
{
    char *out = malloc(length + 1);
    REQUIRE(out != NULL);
    memcpy(out, text, length);
    out[length] = '\0';
    return out;
}

bool work_kernel_name(work_kernel *k, const char *text)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || colon[1] == '\0') return false;
    k->path = copy(text, (size_t)(colon - text));
    k->name = copy(colon + 1, strlen(colon + 1));
    return true;
}

bool work_extent(uint32_t out[3], const char *text)
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        errno = 0;
        const unsigned long value = strtoul(text, &end, 10);
        if (*text < '0' || *text > '9' || errno != 0 || value == 0 || value > 0x7fffffff)
            return false;
        out[i] = (uint32_t)value;
        if (*end == '\0') return true;
        if (*end != ',') return false;
        text = end + 1;
    }
    return false;
}

/* "u32:7"; *end is what follows. */
static bool read_value(work_arg *a, const char *text, char **end)
{
    union {
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
        uint8_t bytes[8];
    } v;
    memset(&v, 0, sizeof v);
    const char *number = text + 4;
    bool wide = false; /* more than 32 bits; of less, the low half is the value */
    if (strlen(text) < 5 || text[3] != ':') return false;
    errno = 0;
    a->kind = WORK_VALUE;
    a->size = text[1] == '3' ? 4 : 8;
    if (strncmp(text, "i32", 3) == 0)
        v.i64 = strtoll(number, end, 0), wide = v.i64 < INT32_MIN || v.i64 > INT32_MAX;
    else if (strncmp(text, "u32", 3) == 0)
        v.u64 = strtoull(number, end, 0), wide = v.u64 > UINT32_MAX;
    else if (strncmp(text, "i64", 3) == 0)
        v.i64 = strtoll(number, end, 0);
    else if (strncmp(text, "u64", 3) == 0)
        v.u64 = strtoull(number, end, 0);
    else if (strncmp(text, "f32", 3) == 0)
        v.f32 = strtof(number, end);
    else if (strncmp(text, "f64", 3) == 0)
        v.f64 = strtod(number, end);
    else
        return false;
    memcpy(a->value, v.bytes, sizeof a->value);
    return *end != number && errno == 0 && !wide;
}

static bool read_memory(work_arg *a, const char *text, char **end)
{
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    a->kind = WORK_MEMORY;
    a->bytes = strtoull(text, end, 10);
    const int shift = **end == 'K' ? 10 : **end == 'M' ? 20 : **end == 'G' ? 30 : 0;
    if (shift != 0) ++*end;
    if (errno != 0 || a->bytes == 0 || a->bytes > (UINT64_C(1) << 36) >> shift) return false;
    a->bytes <<= shift;
    return true;
}

bool work_kernel_args(work_kernel *k, const char *text)
{
    for (k->num_args = 0; k->num_args < WORK_ARGS;) {
        work_arg *a = &k->args[k->num_args++];
        char *end = NULL;
        memset(a, 0, sizeof *a);
        if (strncmp(text, "frame", 5) == 0) {
            a->kind = WORK_FRAME;
            end = (char *)(uintptr_t)(text + 5);
        } else if (!read_memory(a, text, &end) && !read_value(a, text, &end)) {
            return false;
        }
        if (*end == '\0') return true;
        if (*end != ',') return false;
        text = end + 1;
    }
    return false;
}

/* Running -------------------------------------------------------------------------------------- */

static void open_memory(work_arg *a, rig *r)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = (a->bytes + 3) / 4 * 4,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    culv_vk_buffer_create_desc desc = culv_vk_buffer_create_desc_init();
    desc.create_info = &info;
    CULV_OK_OR_EXIT(culv_vk_buffer_create(r->attached, &desc, &a->buffer));
    a->pointer = culv_shared_buffer_pointer(a->buffer);
    a->address = culv_vk_buffer_address(a->buffer);
    RIG_CU(r->cu->MemsetD32Async(a->pointer, 0, (size_t)info.size / 4, r->stream));
    RIG_CU(r->cu->StreamSynchronize(r->stream));
}

void work_kernel_open(work_kernel *k, rig *r)
{
    CULV_OK_OR_EXIT(culv_kernels_load_file(r->device, k->path, &k->loaded));
    CULV_OK_OR_EXIT(culv_kernels_get(k->loaded, k->name, &k->kernel));
    for (size_t i = 0; i < k->num_args; i++)
        if (k->args[i].kind == WORK_MEMORY) open_memory(&k->args[i], r);
    if (!r->vk.kernels) {
        snprintf(k->obstacle, sizeof k->obstacle, "the device has no VK_NVX_binary_import");
    } else if (culv_vk_kernels_create(r->attached, k->loaded, &k->queue) != CULV_OK ||
               culv_vk_kernels_prepare(k->queue, k->kernel) != CULV_OK) {
        snprintf(k->obstacle, sizeof k->obstacle, "%.*s", (int)sizeof k->obstacle - 1,
                 culv_last_error_message());
        culv_vk_kernels_destroy(&k->queue);
    }
}

void work_kernel_close(work_kernel *k)
{
    culv_vk_kernels_destroy(&k->queue);
    for (size_t i = 0; i < k->num_args; i++)
        culv_shared_buffer_destroy(&k->args[i].buffer);
    culv_kernels_unload(&k->loaded);
}

static culv_kernel_call call_of(const work_kernel *k, culv_kernel_call_arg args[WORK_ARGS],
                                const uint64_t *frame)
{
    culv_kernel_call call = culv_kernel_call_init(k->kernel);
    for (size_t i = 0; i < k->num_args; i++) {
        const work_arg *a = &k->args[i];
        if (a->kind == WORK_FRAME)
            args[i] = (culv_kernel_call_arg){frame, NULL, sizeof *frame};
        else if (a->kind == WORK_MEMORY)
            args[i] = (culv_kernel_call_arg){&a->pointer, &a->address, sizeof a->pointer};
        else
            args[i] = (culv_kernel_call_arg){a->value, NULL, a->size};
    }
    memcpy(call.grid, k->grid, sizeof call.grid);
    memcpy(call.block, k->block, sizeof call.block);
    call.shared_bytes = k->shared_bytes;
    call.args = args;
    call.num_args = k->num_args;
    return call;
}

void work_kernel_launch(const work_kernel *k, CUstream stream, uint64_t frame)
{
    culv_kernel_call_arg args[WORK_ARGS];
    const culv_kernel_call call = call_of(k, args, &frame);
    for (uint32_t i = 0; i < k->launches; i++)
        CULV_OK_OR_EXIT(culv_kernel_call_launch(&call, stream));
}

void work_kernel_record(const work_kernel *k, VkCommandBuffer commands, uint32_t family,
                        uint64_t frame)
{
    culv_kernel_call_arg args[WORK_ARGS];
    const culv_kernel_call call = call_of(k, args, &frame);
    VkMemoryBarrier2 memory;
    CULV_OK_OR_EXIT(culv_vk_kernel_get_barrier2(&memory));
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &memory};
    for (uint32_t i = 0; i < k->launches; i++) {
        if (i != 0) vkCmdPipelineBarrier2(commands, &info);
        CULV_OK_OR_EXIT(culv_vk_kernel_call_record(k->queue, &call, commands, family));
    }
}
