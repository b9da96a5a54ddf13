/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver: what is imported, mapped and exported. */
#include "cuda_inside.h"
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what is imported and mapped; all under the model's lock ---- */

typedef struct import {
    struct import *next;
    unsigned references; /* its handle and its mappings */
    check_payload *payload;
    uint64_t size;
    bool gone;
    check_site end;
} import;
static import *imports;

typedef struct mapping {
    struct mapping *next;
    import *of;
    uint64_t begin, end, offset;
    bool freed;
    check_site end_site;
} mapping;
static mapping *mappings;

uint64_t cuda_generation;

/* In a child of fork(). */
void cuda_forget_memory(void)
{
    imports = NULL;
    mappings = NULL;
    cuda_generation++;
}

static _Atomic unsigned objects;

bool cuda_has_imports(void)
{
    return imports != NULL;
}

bool cuda_has_objects(void)
{
    return objects > 0;
}

typedef struct image { /* a mipmapped array, or a level of one */
    import *of;
    uint64_t offset;
} image;

static void import_drop(check_model *m, import *i)
{
    if (--i->references > 0) return;
    import **link = &imports;
    while (*link != i)
        link = &(*link)->next;
    *link = i->next;
    check_payload_drop(m, i->payload);
    free(i);
}

static void mapping_remove(check_model *m, mapping **link)
{
    mapping *gone = *link;
    cuda_generation++;
    *link = gone->next;
    import_drop(m, gone->of);
    free(gone);
}

/* What was there before is over: its addresses are given out again. Some of the ended ones are
 * kept, for (h). */
static void mapping_add(check_model *m, import *of, uint64_t begin, uint64_t size, uint64_t offset)
{
    const uint64_t end = begin + size;
    unsigned ended = 0;
    for (mapping **link = &mappings; *link != NULL;) {
        mapping *at = *link;
        const bool dead = at->freed || at->of->gone;
        if (dead) ended++;
        if (dead && ((at->begin < end && begin < at->end) || ended > 64))
            mapping_remove(m, link);
        else
            link = &at->next;
    }
    mapping *made = of != NULL ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) return;
    of->references++;
    *made = (mapping){.next = mappings, .of = of, .begin = begin, .end = end, .offset = offset};
    mappings = made;
    cuda_generation++;
}

static unsigned imports_of(const check_payload *p)
{
    unsigned count = 0;
    for (const import *i = imports; i != NULL; i = i->next)
        if (i->payload == p && !i->gone) count++;
    return count;
}
/* The memory of a mapping that was freed may be another allocation's by now; the driver knows. */
static bool is_live_memory(uint64_t address)
{
    CUdeviceptr base;
    size_t size;
    CUresult(CUDAAPI * ask)(CUdeviceptr *, size_t *, CUdeviceptr);
    void *found = cuda_ask_driver("cuMemGetAddressRange_v2");
    memcpy(&ask, &found, sizeof ask);
    return found == NULL || ask(&base, &size, address) == CUDA_SUCCESS;
}

static mapping **mapping_at(uint64_t address)
{
    mapping **link = &mappings;
    while (*link != NULL && (address < (*link)->begin || address >= (*link)->end))
        link = &(*link)->next;
    return link;
}

cuda_found cuda_resolve(uint64_t address, uint64_t size, CUarray array, check_access_kind kind,
                        const char *how, check_access *out)
{
    *out = (check_access){.kind = kind, .how = how};
    if (array != NULL) {
        const image *i = check_get(CHECK_OF_CU_ARRAY, ADDRESS(array));
        if (i == NULL) return CUDA_NOTHING;
        /* How much of the image that is, only the driver knows; its first byte stands for it. */
        out->payload = i->of->payload;
        out->begin = i->offset;
        out->end = i->offset + 1;
        out->array = true;
        return i->of->gone ? CUDA_ENDED : out->payload != NULL ? CUDA_SHARED : CUDA_NOTHING;
    }
    const mapping *at = size > 0 ? *mapping_at(address) : NULL;
    if (at == NULL) return CUDA_NOTHING;
    if (at->freed || at->of->gone) return CUDA_ENDED;
    out->payload = at->of->payload;
    out->begin = at->offset + (address - at->begin);
    out->end = out->begin + (size < at->end - address ? size : at->end - address);
    return out->payload != NULL ? CUDA_SHARED : CUDA_NOTHING;
}

void cuda_touch(work *w, uint64_t address, uint64_t size, check_access_kind kind)
{
    if (w->capturing || size == 0 || mappings == NULL) return;
    check_model *m = check_open();
    if (m == NULL) return;
    check_access access;
    const cuda_found found = cuda_resolve(address, size, NULL, kind, w->site.call, &access);
    if (found == CUDA_SHARED && w->num_accesses < CUDA_MOST)
        w->accesses[w->num_accesses++] = access;
    check_close();
    if (found != CUDA_ENDED) return;
    /* An address of the import that has not been freed is nobody else's. */
    const bool live = is_live_memory(address);
    m = check_open();
    if (m == NULL) return;
    mapping **link = mapping_at(address);
    if (*link != NULL && (*link)->freed && live)
        mapping_remove(m, link);
    else if (*link != NULL && ((*link)->freed || (*link)->of->gone))
        check_used_after(m, (*link)->of->payload, &w->site,
                         (*link)->freed ? &(*link)->end_site : &(*link)->of->end);
    check_close();
}

void cuda_touch_array(work *w, CUarray array, check_access_kind kind)
{
    check_model *m = w->capturing || array == NULL ? NULL : check_open();
    if (m == NULL) return;
    check_access access;
    const cuda_found found = cuda_resolve(0, 1, array, kind, w->site.call, &access);
    if (found == CUDA_SHARED && w->num_accesses < CUDA_MOST)
        w->accesses[w->num_accesses++] = access;
    if (found == CUDA_ENDED) {
        const image *i = check_get(CHECK_OF_CU_ARRAY, ADDRESS(array));
        check_used_after(m, i->of->payload, &w->site, &i->of->end);
    }
    check_close();
}

void cuda_touch_any(void *user, uint64_t address, uint64_t size, CUarray array,
                    check_access_kind kind)
{
    if (array != NULL)
        cuda_touch_array(user, array, kind);
    else
        cuda_touch(user, address, size, kind);
}

bool cuda_context_uuid(uint8_t uuid[CHECK_UUID])
{
    CUdevice device;
    CUuuid is;
    CUresult(CUDAAPI * current)(CUdevice *);
    CUresult(CUDAAPI * ask)(CUuuid *, CUdevice);
    void *found = cuda_ask_driver("cuCtxGetDevice"),
         *found_ask = cuda_ask_driver("cuDeviceGetUuid_v2");
    if (found_ask == NULL) found_ask = cuda_ask_driver("cuDeviceGetUuid");
    memcpy(&current, &found, sizeof current);
    memcpy(&ask, &found_ask, sizeof ask);
    if (found == NULL || found_ask == NULL || current(&device) != CUDA_SUCCESS ||
        ask(&is, device) != CUDA_SUCCESS)
        return false;
    memcpy(uuid, is.bytes, CHECK_UUID);
    return true;
}

/* ---- imports ---- */

/* Looks at what is imported; returns a reference, of something unseen where nothing is known. */
check_payload *cuda_ask_import(int fd, check_import *i, const check_site *site)
{
    uint8_t uuid[CHECK_UUID];
    const bool has_uuid = cuda_context_uuid(uuid);
    check_model *m = check_open();
    if (m == NULL) return NULL;
    check_tree_saw(TREE_SHARED);
    const check_identity now = check_identify(fd);
    i->payload = fd >= 0 ? check_fd_asked(m, fd, &now, site) : NULL;
    i->uuid = has_uuid ? uuid : NULL;
    if (i->payload != NULL) {
        check_payload_keep(i->payload);
        check_imported(m, i, site);
    } else {
        const check_payload_info info = {.kind = i->memory     ? CHECK_MEMORY
                                                 : i->timeline ? CHECK_TIMELINE
                                                               : CHECK_BINARY,
                                         .size = i->size,
                                         .shared = true,
                                         .foreign = true};
        i->payload = check_payload_make(m, &info, "that the checker did not see made", site);
    }
    i->uuid = NULL;
    check_close();
    return i->payload;
}

CHECK_EXPORT CUresult CUDAAPI cuImportExternalMemory(CUexternalMemory *out,
                                                     const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
    REAL(cuImportExternalMemory, (CUexternalMemory *, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *),
         (out, desc))
    if (desc == NULL) return real(out, desc);
    const check_site site = check_here("cuImportExternalMemory");
    const bool has_fd = desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
                        desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD;
    check_import i = {.size = desc->size,
                      .dedicated = (desc->flags & CUDA_EXTERNAL_MEMORY_DEDICATED) != 0,
                      .memory = true,
                      /* VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, ..._DMA_BUF_BIT_EXT */
                      .type = desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD   ? 0x1
                              : desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD ? 0x200
                                                                                       : 0};
    const int fd = has_fd ? desc->handle.fd : -1;
    check_inside++;
    check_payload *p = cuda_ask_import(fd, &i, &site);
    const CUresult result = real(out, desc);
    check_model *m = check_open();
    if (m != NULL) {
        if (check_fd_is(m, fd, p)) check_fd_taken(m, fd, result == CUDA_SUCCESS, &site);
        import *made = result == CUDA_SUCCESS && p != NULL ? calloc(1, sizeof *made) : NULL;
        if (made != NULL) {
            made->references = 1;
            made->payload = p;
            made->size = i.size;
            made->next = imports;
            imports = made;
            (void)check_put(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)*out, made);
        } else
            check_payload_drop(m, p);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuDestroyExternalMemory(CUexternalMemory handle)
{
    REAL(cuDestroyExternalMemory, (CUexternalMemory), (handle))
    const check_site site = check_here("cuDestroyExternalMemory");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        import *i = check_put(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)handle, NULL);
        if (i != NULL) {
            /* Its mappings and the handle: one reference is none. */
            bool mapped = false;
            for (const mapping *at = mappings; at != NULL; at = at->next)
                if (at->of == i && !at->freed) mapped = true;
            if (mapped && imports_of(i->payload) == 1)
                check_destroying(m, i->payload, CHECK_CUDA, &site);
            i->gone = true;
            cuda_generation++;
            i->end = site;
            import_drop(m, i);
        }
        check_close();
    }
    const CUresult result = real(handle);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuExternalMemoryGetMappedBuffer(
    CUdeviceptr *out, CUexternalMemory handle, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    REAL(cuExternalMemoryGetMappedBuffer,
         (CUdeviceptr *, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *),
         (out, handle, desc))
    if (desc == NULL) return real(out, handle, desc);
    const check_site site = check_here("cuExternalMemoryGetMappedBuffer");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        const import *i = check_get(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)handle);
        if (i != NULL) check_mapped(m, i->payload, i->size, desc->offset, desc->size, &site);
        check_close();
    }
    const CUresult result = real(out, handle, desc);
    m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        import *i = check_get(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)handle);
        mapping_add(m, i, *out, desc->size, desc->offset);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address)
{
    REAL(cuMemFree_v2, (CUdeviceptr), (address))
    const check_site site = check_here("cuMemFree");
    check_inside++;
    /* Before the driver has it: the address may be another thread's mapping at once. */
    bool marked = false;
    check_model *m = check_open();
    if (m != NULL) {
        for (mapping *at = mappings; at != NULL && !marked; at = at->next)
            if (at->begin == address && !at->freed) {
                at->freed = marked = true;
                cuda_generation++;
                at->end_site = site;
            }
        check_close();
    }
    const CUresult result = real(address);
    m = check_open();
    if (m != NULL) {
        /* It waits for what uses the memory. */
        if (result == CUDA_SUCCESS) check_host_may_know(m, CHECK_CUDA);
        for (mapping *at = mappings; at != NULL && marked && result != CUDA_SUCCESS; at = at->next)
            if (at->begin == address && at->freed) {
                at->freed = marked = false;
                cuda_generation++;
            }
        check_close();
    }
    check_inside--;
    return result;
}

static void image_add(unsigned kind, const void *handle, import *of, uint64_t offset)
{
    image *made = calloc(1, sizeof *made);
    cuda_generation++;
    if (made == NULL) return;
    of->references++;
    *made = (image){of, offset};
    image *before = check_put(kind, (uint64_t)(uintptr_t)handle, made);
    if (before != NULL) before->of->references--;
    free(before);
}

static uint64_t half(uint64_t size)
{
    return size > 1 ? size / 2 : 1;
}

/* An image has at least its texels; 1 where they may be fewer, or their size is unknown. */
static uint64_t least_size(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
    uint64_t texel = 0, sum = 0;
    switch (d->Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: texel = 1; break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: texel = 2; break;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: texel = 4; break;
    default: return 1;
    }
    uint64_t width = d->Width, height = d->Height > 0 ? d->Height : 1;
    uint64_t depth = d->Depth > 0 ? d->Depth : 1;
    const uint64_t most = UINT64_C(1) << 20; /* no image is larger in any way; that is not judged */
    if ((d->Flags & CUDA_ARRAY3D_SPARSE) != 0 || d->Width == 0 || d->Width > most ||
        height > most || depth > most || d->NumChannels == 0 || d->NumChannels > 4)
        return 1;
    const bool layers = (d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    for (unsigned i = 0; i < levels && i < 21; i++) {
        sum += width * height * depth;
        width = half(width);
        height = half(height);
        if (!layers) depth = half(depth);
    }
    return sum * texel * d->NumChannels;
}

CHECK_EXPORT CUresult CUDAAPI
cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *out, CUexternalMemory handle,
                                        const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *desc)
{
    REAL(cuExternalMemoryGetMappedMipmappedArray,
         (CUmipmappedArray *, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *),
         (out, handle, desc))
    if (desc == NULL) return real(out, handle, desc);
    const check_site site = check_here("cuExternalMemoryGetMappedMipmappedArray");
    check_inside++;
    const CUresult result = real(out, handle, desc);
    check_model *m = check_open();
    if (m != NULL) {
        import *i = check_get(CHECK_OF_CU_MEMORY, (uint64_t)(uintptr_t)handle);
        if (i != NULL)
            check_mapped(m, i->payload, i->size, desc->offset,
                         least_size(&desc->arrayDesc, desc->numLevels), &site);
        if (i != NULL && result == CUDA_SUCCESS)
            image_add(CHECK_OF_CU_MIPMAPS, *out, i, desc->offset);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray mipmaps,
                                                       unsigned level)
{
    REAL(cuMipmappedArrayGetLevel, (CUarray *, CUmipmappedArray, unsigned), (out, mipmaps, level))
    check_inside++;
    const CUresult result = real(out, mipmaps, level);
    check_model *m = result == CUDA_SUCCESS && level == 0 ? check_open() : NULL;
    if (m != NULL) {
        const image *i = check_get(CHECK_OF_CU_MIPMAPS, (uint64_t)(uintptr_t)mipmaps);
        if (i != NULL) image_add(CHECK_OF_CU_ARRAY, *out, i->of, i->offset);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray mipmaps)
{
    REAL(cuMipmappedArrayDestroy, (CUmipmappedArray), (mipmaps))
    CUarray level = NULL;
    check_inside++;
    void *ask_symbol = cuda_real_of(ROW_cuMipmappedArrayGetLevel);
    CUresult(CUDAAPI * ask)(CUarray *, CUmipmappedArray, unsigned);
    memcpy(&ask, &ask_symbol, sizeof ask);
    if (ask_symbol == NULL || ask(&level, mipmaps, 0) != CUDA_SUCCESS) level = NULL;
    const CUresult result = real(mipmaps);
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        image *ended[2] = {
            check_put(CHECK_OF_CU_MIPMAPS, (uint64_t)(uintptr_t)mipmaps, NULL),
            level != NULL ? check_put(CHECK_OF_CU_ARRAY, (uint64_t)(uintptr_t)level, NULL) : NULL};
        for (int i = 0; i < 2; i++) {
            if (ended[i] == NULL) continue;
            import_drop(m, ended[i]->of);
            cuda_generation++;
            free(ended[i]);
        }
        check_close();
    }
    check_inside--;
    return result;
}
/* ---- surface and texture objects ---- */

static void object_made(uint64_t object, const CUDA_RESOURCE_DESC *desc)
{
    CUarray array = NULL;
    if (desc->resType == CU_RESOURCE_TYPE_ARRAY) array = desc->res.array.hArray;
    if (desc->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        void *ask_symbol = cuda_real_of(ROW_cuMipmappedArrayGetLevel);
        CUresult(CUDAAPI * ask)(CUarray *, CUmipmappedArray, unsigned);
        memcpy(&ask, &ask_symbol, sizeof ask);
        if (ask_symbol == NULL || ask(&array, desc->res.mipmap.hMipmappedArray, 0) != CUDA_SUCCESS)
            return;
    }
    check_model *m = array != NULL ? check_open() : NULL;
    if (m == NULL) return;
    if (desc->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        const image *all =
            check_get(CHECK_OF_CU_MIPMAPS, ADDRESS(desc->res.mipmap.hMipmappedArray));
        if (all != NULL && check_get(CHECK_OF_CU_ARRAY, ADDRESS(array)) == NULL)
            image_add(CHECK_OF_CU_ARRAY, array, all->of, all->offset);
    }
    if (check_get(CHECK_OF_CU_ARRAY, ADDRESS(array)) != NULL &&
        check_put(CHECK_OF_CU_OBJECT, object, array) == NULL)
        objects++;
    check_close();
}

static void object_ended(uint64_t object)
{
    check_model *m = check_open();
    if (m == NULL) return;
    if (check_put(CHECK_OF_CU_OBJECT, object, NULL) != NULL) objects--;
    check_close();
}

CHECK_EXPORT CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *desc)
{
    REAL(cuSurfObjectCreate, (CUsurfObject *, const CUDA_RESOURCE_DESC *), (out, desc))
    check_inside++;
    const CUresult result = real(out, desc);
    if (result == CUDA_SUCCESS) object_made(*out, desc);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *desc,
                                                const CUDA_TEXTURE_DESC *texture,
                                                const CUDA_RESOURCE_VIEW_DESC *view)
{
    REAL(cuTexObjectCreate,
         (CUtexObject *, const CUDA_RESOURCE_DESC *, const CUDA_TEXTURE_DESC *,
          const CUDA_RESOURCE_VIEW_DESC *),
         (out, desc, texture, view))
    check_inside++;
    const CUresult result = real(out, desc, texture, view);
    if (result == CUDA_SUCCESS) object_made(*out, desc);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject object)
{
    REAL(cuSurfObjectDestroy, (CUsurfObject), (object))
    object_ended(object);
    return real(object);
}

CHECK_EXPORT CUresult CUDAAPI cuTexObjectDestroy(CUtexObject object)
{
    REAL(cuTexObjectDestroy, (CUtexObject), (object))
    object_ended(object);
    return real(object);
}

/* ---- memory of cuMemCreate, which leaves as a descriptor ---- */

typedef struct allocation {
    unsigned references;
    import *of;
} allocation;

/* Takes the reference. */
static void allocation_add(check_model *m, CUmemGenericAllocationHandle handle, check_payload *p)
{
    import *made = calloc(1, sizeof *made);
    allocation *entry = calloc(1, sizeof *entry);
    if (made != NULL && entry != NULL) {
        *made =
            (import){.next = imports, .references = 1, .payload = p, .size = check_payload_size(p)};
        imports = made;
        *entry = (allocation){.references = 1, .of = made};
        free(check_put(CHECK_OF_CU_ALLOCATION, handle, entry));
    } else {
        check_payload_drop(m, p);
        free(made);
        free(entry);
    }
}

/* The descriptor stays the program's. */
CHECK_EXPORT CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out,
                                                             void *handle,
                                                             CUmemAllocationHandleType type)
{
    REAL(cuMemImportFromShareableHandle,
         (CUmemGenericAllocationHandle *, void *, CUmemAllocationHandleType), (out, handle, type))
    const check_site site = check_here("cuMemImportFromShareableHandle");
    const int fd = (int)(intptr_t)handle;
    check_payload *p = NULL;
    check_inside++;
    check_model *m = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? check_open() : NULL;
    if (m != NULL) {
        const check_identity now = check_identify(fd);
        p = check_fd_asked(m, fd, &now, &site);
        check_payload_keep(p);
        check_close();
    }
    const CUresult result = real(out, handle, type);
    m = p != NULL ? check_open() : NULL;
    if (m != NULL) {
        if (result == CUDA_SUCCESS)
            allocation_add(m, *out, p);
        else
            check_payload_drop(m, p);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
                                          const CUmemAllocationProp *prop, unsigned long long flags)
{
    REAL(cuMemCreate,
         (CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long),
         (out, size, prop, flags))
    check_inside++;
    const CUresult result = real(out, size, prop, flags);
    check_model *m = NULL;
    if (result == CUDA_SUCCESS &&
        (prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
        m = check_open();
    if (m != NULL) {
        const check_site site = check_here("cuMemCreate");
        const check_payload_info info = {
            .kind = CHECK_MEMORY, .size = size, .shared = true, .any_dedication = true};
        char object[64];
        (void)snprintf(object, sizeof object, "of cuMemCreate 0x%llx", (unsigned long long)*out);
        allocation_add(m, *out, check_payload_make(m, &info, object, &site));
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out,
                                                          void *address)
{
    REAL(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle *, void *), (out, address))
    check_inside++;
    const CUresult result = real(out, address);
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        allocation *entry = check_get(CHECK_OF_CU_ALLOCATION, *out);
        if (entry != NULL) entry->references++;
        check_close();
    }
    check_inside--;
    return result;
}

/* Its mappings and exports go on. */
CHECK_EXPORT CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    REAL(cuMemRelease, (CUmemGenericAllocationHandle), (handle))
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        allocation *entry = check_get(CHECK_OF_CU_ALLOCATION, handle);
        if (entry != NULL && --entry->references == 0) {
            (void)check_put(CHECK_OF_CU_ALLOCATION, handle, NULL);
            import_drop(m, entry->of);
            free(entry);
        }
        check_close();
    }
    const CUresult result = real(handle);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                                       CUmemGenericAllocationHandle handle,
                                       unsigned long long flags)
{
    REAL(cuMemMap, (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long),
         (address, size, offset, handle, flags))
    check_inside++;
    const CUresult result = real(address, size, offset, handle, flags);
    check_model *m = result == CUDA_SUCCESS ? check_open() : NULL;
    if (m != NULL) {
        allocation *entry = check_get(CHECK_OF_CU_ALLOCATION, handle);
        mapping_add(m, entry != NULL ? entry->of : NULL, address, size, offset);
        check_close();
    }
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t size)
{
    REAL(cuMemUnmap, (CUdeviceptr, size_t), (address, size))
    const check_site site = check_here("cuMemUnmap");
    check_inside++;
    check_model *m = check_open();
    if (m != NULL) {
        for (mapping *at = mappings; at != NULL; at = at->next)
            if (at->begin >= address && at->end <= address + size && !at->freed) {
                at->freed = true;
                cuda_generation++;
                at->end_site = site;
            }
        check_close();
    }
    const CUresult result = real(address, size);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuMemExportToShareableHandle(void *out,
                                                           CUmemGenericAllocationHandle handle,
                                                           CUmemAllocationHandleType type,
                                                           unsigned long long flags)
{
    REAL(cuMemExportToShareableHandle,
         (void *, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long),
         (out, handle, type, flags))
    const check_site site = check_here("cuMemExportToShareableHandle");
    check_inside++;
    const CUresult result = real(out, handle, type, flags);
    check_model *m = result == CUDA_SUCCESS && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                         ? check_open()
                         : NULL;
    if (m != NULL) {
        int fd;
        memcpy(&fd, out, sizeof fd);
        const allocation *entry = check_get(CHECK_OF_CU_ALLOCATION, handle);
        const check_identity identity = check_identify(fd);
        check_fd_born(m, fd, entry != NULL ? entry->of->payload : NULL, &identity, &site);
        check_close();
    }
    check_inside--;
    return result;
}
