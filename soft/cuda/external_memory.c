/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: memory that another API exported as an opaque fd.
 *
 * lavapipe and llvmpipe export a memfd that begins with a header, SwiftShader one of a certain
 * name; whatever has neither is refused. Read with pread only: Mesa's own reads share the file
 * offset with every dup of the fd.
 * Errors, and what becomes of the fd after each, are those measured on NVIDIA's driver. */
#include "vmm.h"

#include "../shared/labels.h"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#    include "win32_share.h"
#endif

/* Mesa's llvmpipe_memory_fd_alloc (src/gallium/drivers/llvmpipe/lp_texture.c): the payload starts
 * at `offset`, and the 8 bytes before it repeat that number. The uuid is a hash of the driver's
 * build, the same for all its devices. */
#ifndef _WIN32
struct mesa_header {
    uint64_t size; /* of the whole file */
    uint64_t offset;
    uint8_t driver_uuid[16];
};
#endif

struct soft_external_memory {
    struct soft_object object;
    int fd;
    uint64_t payload; /* where the memory starts in the file */
    uint64_t room;    /* what there is */
    uint64_t size;    /* what the program declared */
    bool dedicated;
    bool of_swiftshader;
    uint64_t mappings;
#ifdef _WIN32
    culv_soft_share share; /* instead of the file */
#endif
};

bool soft_external_memory_of_swiftshader(const struct soft_external_memory *memory)
{
    return memory->of_swiftshader;
}

#ifndef _WIN32
static bool recognize(int fd, uint64_t *payload, uint64_t *room)
{
    struct mesa_header header;
    uint64_t file_size, again;
    if (!soft_file_size(fd, &file_size) || !soft_read_at(fd, &header, sizeof(header), 0))
        return false;
    if (header.size != file_size || header.offset < sizeof(header) + sizeof(again) ||
        header.offset >= header.size)
        return false;
    if (!soft_read_at(fd, &again, sizeof(again), header.offset - sizeof(again)) ||
        again != header.offset)
        return false;
    *payload = header.offset;
    *room = header.size - header.offset;
    return true;
}

/* What the layer says of memory of lavapipe's; false: nothing. */
static bool read_label(int fd, uint64_t payload, culv_soft_memory_label *out)
{
    return payload >= CULV_SOFT_MEMORY_LABEL_AT + sizeof(*out) &&
           soft_read_at(fd, out, sizeof(*out), CULV_SOFT_MEMORY_LABEL_AT) &&
           memcmp(out->magic, CULV_SOFT_MEMORY_LABEL_MAGIC, sizeof(out->magic)) == 0;
}

/* As measured on two H200: in the context of another GPU than the memory's that of a dedicated
 * buffer alone can be imported. Vulkan's memory is another GPU's to an invented device. */
static bool crosses(int fd, uint64_t payload, bool dedicated)
{
    culv_soft_memory_label label;
    return dedicated && read_label(fd, payload, &label) && label.kind == CULV_SOFT_MEMORY_OF_BUFFER;
}

/* Handles of VMM take Vulkan's opaque file descriptors (measured on two H200). The size is whole
 * units where the memory can be mapped: not of plain memory of another size, nor of less than a
 * unit. */
bool soft_vulkan_file_read(int fd, struct soft_shared_memory *out)
{
    culv_soft_memory_label label;
    uint64_t payload, room;
    int owner = 0;
    if (!recognize(fd, &payload, &room) || !read_label(fd, payload, &label)) return false;
    while (owner < soft.device_count && soft.devices[owner].invented)
        owner++;
    *out = (struct soft_shared_memory){.device = owner < soft.device_count ? owner : SOFT_NOT_HERE,
                                       .payload = payload,
                                       .size = label.size};
    if (label.kind != CULV_SOFT_MEMORY_PLAIN && label.size >= SOFT_GRANULARITY)
        out->size = (label.size + SOFT_GRANULARITY - 1) / SOFT_GRANULARITY * SOFT_GRANULARITY;
    out->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    out->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    out->prop.location.id = out->device;
    return true;
}
#endif

#ifdef _WIN32
/* Memory of cuMemCreate, by its handle. */
static CUresult import_section(struct soft_context *context,
                               const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d, CUexternalMemory *out)
{
    struct soft_shared_memory own;
    int fd = -1;
    if (d->handle.win32.handle == NULL || d->handle.win32.name != NULL)
        return CUDA_ERROR_NOT_SUPPORTED; /* an allocation's name is its exporter's affair */
    SOFT_TRY(soft_share_import(d->handle.win32.handle,
                               d->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32
                                   ? CU_MEM_HANDLE_TYPE_WIN32
                                   : CU_MEM_HANDLE_TYPE_WIN32_KMT,
                               &fd, &own));
    struct soft_external_memory *memory = calloc(1, sizeof(*memory));
    if (memory == NULL) {
        soft_close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memory->fd = fd;
    memory->payload = own.payload;
    memory->room = own.size;
    memory->size = d->size;
    memory->dedicated = d->flags & CUDA_EXTERNAL_MEMORY_DEDICATED;
    soft_object_add(&memory->object, SOFT_EXTERNAL_MEMORY, context);
    *out = (CUexternalMemory)(void *)memory;
    return CUDA_SUCCESS;
}

/* cuda.h: memory of one resource must be said to be dedicated. */
static CUresult import_share(struct soft_context *context,
                             const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d, CUexternalMemory *out)
{
    const bool heap = d->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP;
    const bool dedicated = d->flags & CUDA_EXTERNAL_MEMORY_DEDICATED;
    const bool opaque = d->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
    if (opaque || d->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT) {
        CUresult own = import_section(context, d, out);
        if (!opaque || own == CUDA_SUCCESS || own == CUDA_ERROR_OUT_OF_MEMORY) return own;
    }
    if (!opaque && (d->type < CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP ||
                    d->type > CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT))
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!opaque && dedicated == heap) return CUDA_ERROR_INVALID_VALUE;
    struct soft_external_memory *memory = calloc(1, sizeof(*memory));
    if (memory == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = soft_share_open((uint32_t)d->type, d->handle.win32.handle,
                                      d->handle.win32.name, &memory->share);
    if (result == CUDA_SUCCESS && d->size > memory->share.size) {
        soft_share_close(&memory->share);
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result != CUDA_SUCCESS) {
        free(memory);
        return result;
    }
    memory->room = memory->share.size;
    memory->size = d->size;
    memory->dedicated = dedicated;
    soft_object_add(&memory->object, SOFT_EXTERNAL_MEMORY, context);
    *out = (CUexternalMemory)(void *)memory;
    return CUDA_SUCCESS;
}
#endif

void culvSoftPlayDmaBufImport(int takes)
{
    pthread_mutex_lock(&soft.lock);
    soft.takes_dma_bufs = takes != 0;
    pthread_mutex_unlock(&soft.lock);
}

/* CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD, from cuda.h 13.0 on. */
#define DMABUF_FD (CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF + 1)

CUresult CUDAAPI cuImportExternalMemory(CUexternalMemory *extMem_out,
                                        const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *memHandleDesc)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (extMem_out == NULL || memHandleDesc == NULL || memHandleDesc->size == 0 ||
        (memHandleDesc->flags & ~(unsigned)CUDA_EXTERNAL_MEMORY_DEDICATED))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < sizeof(memHandleDesc->reserved) / sizeof(memHandleDesc->reserved[0]);
         i++)
        if (memHandleDesc->reserved[i] != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    if (memHandleDesc->type < CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
        (int)memHandleDesc->type > DMABUF_FD)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    if ((int)memHandleDesc->type == DMABUF_FD && memHandleDesc->flags != 0)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
#ifdef _WIN32
    return soft_end(import_share(context, memHandleDesc, extMem_out));
#else
    /* cuda.h, cuImportExternalMemory, has dma-bufs on Tegra only, where the twin does not play a
     * driver that takes them. */
    const bool dma_buf = (int)memHandleDesc->type == DMABUF_FD && soft.takes_dma_bufs;
    if (memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD && !dma_buf)
        return soft_end(CUDA_ERROR_NOT_SUPPORTED);

    uint64_t payload, room = 0;
    int fd = memHandleDesc->handle.fd;
    struct soft_shared_memory own; /* of cuMemCreate */
    bool refused = soft.devices[context->device].invented;
    const enum soft_partner partner = soft.devices[context->device].partner;
    if (dma_buf) { /* all of a file, as the Vulkan layer has them */
        payload = 0;
        refused = !soft_file_size(fd, &room) || room == 0 || refused;
    } else if (soft_shared_memory_read(fd, &own)) {
        payload = own.payload;
        room = own.size;
        refused = own.device != CU_DEVICE_CPU && own.device != context->device;
    } else if (partner == SOFT_SWIFTSHADER) {
        payload = 0;
        refused = !soft_swiftshader_made(fd, "Memory") || !soft_file_size(fd, &room) ||
                  room <= SOFT_SWIFTSHADER_SPARE || refused;
        room -= SOFT_SWIFTSHADER_SPARE;
    } else {
        refused = !recognize(fd, &payload, &room) ||
                  (refused &&
                   !crosses(fd, payload, memHandleDesc->flags & CUDA_EXTERNAL_MEMORY_DEDICATED));
    }
    if (refused) {
        /* No memory, or another device's: the real driver closes the fd all the same (measured). */
        soft_close(fd);
        return soft_end(CUDA_ERROR_UNKNOWN);
    }
    struct soft_external_memory *memory = calloc(1, sizeof(*memory));
    if (memory == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    /* The real driver closes the number at once (measured). Where no other is left it is kept. */
    memory->fd = soft_duplicate(fd);
    if (memory->fd >= 0)
        soft_close(fd);
    else
        memory->fd = fd;
    memory->payload = payload;
    memory->room = room;
    memory->size = memHandleDesc->size;
    memory->dedicated = memHandleDesc->flags & CUDA_EXTERNAL_MEMORY_DEDICATED;
    memory->of_swiftshader = partner == SOFT_SWIFTSHADER;
    soft_object_add(&memory->object, SOFT_EXTERNAL_MEMORY, context);
    *extMem_out = (CUexternalMemory)(void *)memory;
    return soft_end(CUDA_SUCCESS);
#endif
}

CUresult soft_external_memory_map(struct soft_external_memory *memory, uint64_t offset,
                                  uint64_t size, struct soft_mapping *out)
{
    uint64_t limit = memory->size < memory->room ? memory->size : memory->room;
#ifdef _WIN32
    /* Direct3D 11 does not tell what a texture occupies, so that nobody can tell CUDA. */
    if (out->image && (memory->share.type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE ||
                       memory->share.type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT))
        limit = memory->room;
#endif
    if (size == 0 || size > limit || offset > limit - size) return CUDA_ERROR_INVALID_VALUE;
    /* A dedicated import is one resource: a buffer cannot be mapped again elsewhere (measured), and
     * Vulkan binds a dedicated image at 0 only. */
    if (memory->dedicated && (memory->mappings > 0 || out->image) && offset != 0)
        return CUDA_ERROR_INVALID_VALUE;
#ifdef _WIN32
    if (memory->share.object != NULL)
        out->start = (uint8_t *)memory->share.pages + offset;
    else
#endif
        /* Large ones where cuMemAddressReserve could have them too. */
        out->start = soft_map_file_at_unit(memory->fd, memory->payload + offset, (size_t)size,
                                           SOFT_GRANULARITY, &out->map, &out->map_size);
    if (out->start == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
    out->external = memory;
    memory->mappings++;
    return CUDA_SUCCESS;
}

bool soft_external_memory_misread(const struct soft_external_memory *memory, uint64_t offset)
{
    culv_soft_image_label label;
    if (memory->payload < CULV_SOFT_IMAGE_LABEL_AT + sizeof(label) ||
        !soft_read_at(memory->fd, &label, sizeof(label), CULV_SOFT_IMAGE_LABEL_AT) ||
        memcmp(label.magic, CULV_SOFT_IMAGE_LABEL_MAGIC, sizeof(label.magic)) != 0 ||
        label.count > CULV_SOFT_IMAGE_LABELS)
        return false;
    for (uint64_t i = 0; i < label.count; i++)
        if (label.offsets[i] == offset) return true;
    return false;
}

CUresult CUDAAPI cuExternalMemoryGetMappedBuffer(CUdeviceptr *devPtr, CUexternalMemory extMem,
                                                 const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *bufferDesc)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (devPtr == NULL || bufferDesc == NULL || extMem == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_external_memory *memory = soft_object_find(extMem, SOFT_EXTERNAL_MEMORY);
    if (memory == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (bufferDesc->flags != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < sizeof(bufferDesc->reserved) / sizeof(bufferDesc->reserved[0]); i++)
        if (bufferDesc->reserved[i] != 0) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_mapping mapping = {.image = false};
    SOFT_STEP(soft_external_memory_map(memory, bufferDesc->offset, bufferDesc->size, &mapping));
    const struct soft_range range = {.start = (uintptr_t)mapping.start,
                                     .size = (size_t)bufferDesc->size,
                                     .kind = SOFT_RANGE_MAPPED,
                                     .context = memory->object.context,
                                     .map = mapping.map,
                                     .map_size = mapping.map_size,
                                     .external = memory};
    result = soft_range_add(&range);
    if (result != CUDA_SUCCESS) {
        soft_external_memory_unmapped(memory);
        soft_unmap(range.map, range.map_size);
        return soft_end(result);
    }
    *devPtr = range.start;
    return soft_end(CUDA_SUCCESS);
}

void soft_external_memory_unmapped(struct soft_external_memory *memory)
{
    memory->mappings--;
}

void soft_external_memory_free(void *handle)
{
    struct soft_external_memory *memory = handle;
    /* Mappings keep the pages; the driver promises no more, and no less, than that. */
    soft_ranges_forget_external(memory);
    soft_mipmaps_forget_external(memory);
#ifdef _WIN32
    if (memory->share.object != NULL) soft_share_close(&memory->share);
#endif
    soft_close(memory->fd);
    soft_object_remove(&memory->object);
    free(memory);
}

static void count_dedicated(void *object, void *count)
{
    *(uint64_t *)count += ((const struct soft_external_memory *)object)->dedicated;
}

uint64_t soft_external_memories_dedicated(void)
{
    uint64_t count = 0;
    soft_objects_each(SOFT_EXTERNAL_MEMORY, count_dedicated, &count);
    return count;
}

uint64_t soft_external_memory_fds(void)
{
    return soft_object_count(SOFT_EXTERNAL_MEMORY); /* one each */
}

CUresult CUDAAPI cuDestroyExternalMemory(CUexternalMemory extMem)
{
    SOFT_BEGIN(SOFT_NEED_INIT);
    if (extMem == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_external_memory *memory = soft_object_find(extMem, SOFT_EXTERNAL_MEMORY);
    if (memory == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    soft_external_memory_free(memory);
    return soft_end(CUDA_SUCCESS);
}
