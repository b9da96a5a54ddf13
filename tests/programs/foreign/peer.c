/* SPDX-License-Identifier: MIT */
/* foreign-peer DRIVER DEVICE SOCKET: a process that is sent memory and changes it, and that sends
 * some. It uses Culvert without a graphics API, and says why where something fails. */
#include "bytes.h"
#include "wire.h"

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Compares memory of the host, and writes it anew. */
static bool peer_turn(unsigned char *data, uint64_t bytes, uint32_t seed, char why[256])
{
    uint64_t at = 0;
    const uint64_t wrong = app_wrong_bytes(data, 0, bytes, seed, &at);

    if (wrong != 0) {
        snprintf(why, 256, "the peer sees %llu of %llu wrong bytes, the first at %llu",
                 (unsigned long long)wrong, (unsigned long long)bytes, (unsigned long long)at);
        return false;
    }
    app_fill_host(data, 0, bytes, seed + 1);
    return true;
}

static culv_device *device;

static bool fine(culv_result result, const char *call, char why[256])
{
    if (result != CULV_OK) snprintf(why, 256, "%s: %s", call, culv_last_error_message());
    return result == CULV_OK;
}
#define FINE(call) fine((call), #call, why)

static bool cuda(CUresult result, const char *call, char why[256])
{
    if (result != CUDA_SUCCESS) snprintf(why, 256, "%s: CUDA error %d", call, (int)result);
    return result == CUDA_SUCCESS;
}
#define CUDA(call) cuda((call), #call, why)

/* `name` is "soft" for the twin; `uuid` has 32 digits. */
static bool open_device(const char *name, const char *uuid, char why[256])
{
    culv_device_desc d = culv_device_desc_init();
    culv_uuid id;

    for (int i = 0; i < 16; i++) {
        unsigned byte;

        if (sscanf(uuid + 2 * (size_t)i, "%2x", &byte) != 1) return false;
        id.bytes[i] = (uint8_t)byte;
    }
    d.driver = CULV_DRIVER_NVIDIA;
    if (strcmp(name, "soft") == 0) {
        d.driver = CULV_DRIVER_SOFT;
        if (!FINE(culv_soft_enable())) return false;
    }
    if (!FINE(culv_device_open_by_uuid(&id, &d, &device))) return false;
    return CUDA(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
}

static bool turn(CUdeviceptr at, uint64_t bytes, uint32_t seed, char why[256])
{
    unsigned char *copy = malloc(bytes);
    bool ok = copy && CUDA(CULV_CUDA(device)->cuMemcpyDtoH(copy, at, bytes)) &&
              peer_turn(copy, bytes, seed, why) &&
              CUDA(CULV_CUDA(device)->cuMemcpyHtoD(at, copy, bytes)) &&
              CUDA(CULV_CUDA(device)->cuMemcpyDtoH(copy, at, bytes));

    free(copy);
    return ok;
}

static bool map(culv_vmm_allocation *memory, uint64_t size, culv_vmm_range **out, char why[256])
{
    culv_vmm_range_desc d = culv_vmm_range_desc_init();

    d.size = size;
    return FINE(culv_vmm_range_create(device, &d, out)) &&
           FINE(culv_vmm_map(*out, 0, memory, NULL, 0));
}

static bool unmap(culv_vmm_range **range, char why[256])
{
    return FINE(culv_vmm_unmap(*range, 0, culv_vmm_range_size(*range), NULL)) &&
           FINE(culv_vmm_range_destroy(range));
}

static bool touch_vmm(int fd, uint64_t size, uint64_t bytes, uint32_t seed, char why[256])
{
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    culv_vmm_allocation *memory = NULL;
    culv_vmm_range *range = NULL;

    d.handle = culv_handle_opaque_fd(fd);
    d.size = size;
    bool ok = FINE(culv_vmm_import(device, &d, &memory)) && map(memory, size, &range, why) &&
              turn(culv_vmm_range_pointer(range), bytes, seed, why) && unmap(&range, why);
    culv_vmm_allocation_destroy(&memory);
    return ok;
}

static bool touch_vulkan(int fd, uint64_t size, uint64_t bytes, uint32_t seed, char why[256])
{
    culv_memory_desc d = culv_memory_desc_init();
    culv_memory *memory = NULL;
    culv_buffer *buffer = NULL;

    d.handle = culv_handle_opaque_fd(fd);
    d.size = size;
    bool ok = FINE(culv_memory_import(device, &d, &memory)) &&
              FINE(culv_buffer_map(memory, NULL, &buffer)) &&
              turn(culv_buffer_pointer(buffer), bytes, seed, why);
    culv_buffer_unmap(&buffer, NULL);
    culv_memory_destroy(&memory);
    return ok;
}

static bool make(uint64_t bytes, uint32_t seed, int *fd, uint64_t *size, char why[256])
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    unsigned char *data = calloc(1, bytes);
    culv_vmm_allocation *memory = NULL;
    culv_vmm_range *range = NULL;
    culv_handle handle;

    d.size = bytes;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    if (data) app_fill_host(data, 0, bytes, seed);
    bool ok =
        data && FINE(culv_vmm_allocation_create(device, &d, &memory)) &&
        FINE(culv_vmm_allocation_get_info(memory, &info)) && map(memory, info.size, &range, why) &&
        CUDA(CULV_CUDA(device)->cuMemcpyHtoD(culv_vmm_range_pointer(range), data, bytes)) &&
        CUDA(CULV_CUDA(device)->cuMemcpyDtoH(data, culv_vmm_range_pointer(range), bytes)) &&
        FINE(culv_vmm_export_dup(memory, CULV_HANDLE_OPAQUE_FD, &handle)) && unmap(&range, why);
    if (ok) {
        *fd = handle.value.fd;
        *size = info.size;
    }
    culv_vmm_allocation_destroy(&memory);
    free(data);
    return ok;
}

static bool answer(const wire_message *question, int fd, wire_message *reply, int *out)
{
    const uint64_t size = question->size, bytes = question->bytes;

    switch (question->what) {
    case WIRE_VMM: return touch_vmm(fd, size, bytes, question->seed, reply->why);
    case WIRE_VULKAN: return touch_vulkan(fd, size, bytes, question->seed, reply->why);
    case WIRE_MAKE: return make(bytes, question->seed, out, &reply->size, reply->why);
    default:
        snprintf(reply->why, sizeof reply->why, "no question: %d", (int)question->what);
        return false;
    }
}

int main(int argc, char **argv)
{
    wire_message question, reply = {.what = WIRE_FAILED};
    int fd, out;

    if (argc != 4) {
        fprintf(stderr, "usage: %s DRIVER DEVICE SOCKET\n", argv[0]);
        return 2;
    }
    const int socket = atoi(argv[3]);
    const bool opened = open_device(argv[1], argv[2], reply.why);

    while (wire_receive(socket, &question, &fd)) {
        if (question.what == WIRE_BYE) return 0;
        out = -1;
        if (opened) {
            memset(&reply, 0, sizeof reply);
            reply.what = answer(&question, fd, &reply, &out) ? WIRE_DONE : WIRE_FAILED;
        }
        if (!wire_send(socket, &reply, out)) return 1;
        if (fd >= 0) close(fd);
        if (out >= 0) close(out);
    }
    return 1;
}
