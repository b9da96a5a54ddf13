/* SPDX-License-Identifier: MIT */
/* culv_memory: imports, and when they go. */
#include "core/memory.h"

#include "core/image.h"

#include <stdio.h>

bool culvi_memory_is_import(culv_device *device, CUdeviceptr pointer)
{
    culvi_mutex_lock(&device->lock);
    const culv_memory *memory =
        CULVI_TREE_OBJECT(culvi_tree_up_to(&device->mapped, pointer, 0), const culv_memory, mapped);
    const bool found = memory != NULL && pointer - memory->base < memory->size;
    culvi_mutex_unlock(&device->lock);
    return found;
}

static bool is_import(const culv_memory *memory)
{
    return !memory->own && memory->host == NULL && memory->way != CULVI_MEMORY_OPENED;
}

static bool unmap(culv_device *device, culv_memory *memory, bool last_try)
{
    if (!culvi_memory_drop_addresses(memory, last_try)) return false;
    if (memory->registered) {
        if (!CULVI_RELEASED(device, last_try, cuMemHostUnregister, (memory->host))) return false;
        memory->registered = false;
    } else if ((memory->way == CULVI_MEMORY_PLACED || memory->by_vmm) && memory->base != 0) {
        if (!culvi_memory_displace(memory, last_try)) return false;
        memory->by_vmm = false;
    } else if (memory->way == CULVI_MEMORY_OPENED && memory->base != 0) {
        if (!CULVI_RELEASED(device, last_try, cuIpcCloseMemHandle, (memory->base))) return false;
    } else if (memory->base != 0) {
        if (!CULVI_RELEASED(device, last_try, cuMemFree, (memory->base))) return false;
    } else {
        return true;
    }
    if (is_import(memory)) culvi_tree_remove(&device->mapped, &memory->mapped);
    memory->base = 0;
    --*(memory->own ? &device->counts.allocations : &device->counts.mappings);
    return true;
}

static const char *kind_of(const culv_memory *memory)
{
    return memory->own                          ? "device memory"
           : memory->host != NULL               ? "host memory"
           : memory->way == CULVI_MEMORY_OPENED ? "memory of another process"
                                                : "import of memory";
}

static void log_made(const culv_memory *memory)
{
    culvi_log_object(&memory->device->voice, "made", kind_of(memory), memory->label, memory->size);
}

/* Makes the struct, which has no import yet. */
static culv_memory *new_memory(culv_device *device, const culvi_words *words, uint64_t size,
                               const char *label)
{
    culv_memory *memory = culvi_alloc_for(&device->voice, label, sizeof *memory);
    if (memory == NULL) return NULL;
    memory->device = device;
    memory->words = words;
    memory->size = size;
    memory->refs = 1;
    memory->holders = 1;
    culvi_label_set(memory->label, label);
    return memory;
}

/* It is whole, and has its reference on the device. */
static void enter_list(culv_memory *memory)
{
    CULVI_LOCKED(&memory->device->lock, CULVI_LIST_ADD(memory->device->memories, memory));
    log_made(memory);
}

/* Frees the mapping once no buffer needs it, then the import once nobody holds it, then the object.
 * The caller holds the lock and has entered the context. False: the driver refused, try again. */
static bool release_unused(culv_memory *memory, bool last_try)
{
    culv_device *device = memory->device;
    if (memory->buffers == 0 && !unmap(device, memory, last_try)) return false;
    if (memory->refs > 0) return true;
    if (is_import(memory) && !memory->away) {
        const bool placed = memory->way == CULVI_MEMORY_PLACED;
        CUresult r = placed ? culvi_memory_release_placed(memory)
                            : CULVI_RELEASE(device, cuDestroyExternalMemory, (memory->external));
        const char *call = placed ? "cuMemRelease" : "cuDestroyExternalMemory";
        if (!culvi_release_done(device, call, r, last_try)) return false;
        device->counts.memories--;
    }
    CULVI_LIST_REMOVE(memory);
    culvi_log_object(&device->voice, "destroyed", kind_of(memory), memory->label, memory->size);
    culvi_free(memory->block);
    culvi_free(memory);
    return true;
}

static bool release_memory(culv_device *device, culvi_deferred *self, bool last_try)
{
    culv_memory *memory = CULVI_CONTAINER(self, culv_memory, deferred);
    (void)device;
    memory->waiting = false;
    if (release_unused(memory, last_try)) return true;
    memory->waiting = true;
    return false;
}

void culvi_memory_release_unused(culv_memory *memory, bool entered, bool last_try)
{
    culv_device *device = memory->device;
    if (memory->waiting || (entered && release_unused(memory, last_try))) return;
    memory->waiting = true;
    memory->deferred.event = NULL;
    memory->deferred.release = release_memory;
    culvi_defer(device, &memory->deferred);
}

culv_memory *culvi_memory_find_shared(culv_device *device, uint64_t owner, uint64_t key)
{
    culv_memory *memory =
        CULVI_TREE_OBJECT(culvi_tree_find(&device->shared, owner, key), culv_memory, shared);
    if (memory == NULL || culvi_lost(device)) return NULL;
    memory->refs++;
    memory->holders++;
    culvi_device_ref(device);
    return memory;
}

void culvi_memory_share(culv_memory *memory, uint64_t owner, uint64_t key)
{
    memory->acquired = true;
    culvi_tree_add(&memory->device->shared, &memory->shared, owner, key);
}

void culvi_memory_drop_holder(culv_memory *memory)
{
    if (--memory->holders > 0 || !memory->acquired) return;
    culvi_tree_remove(&memory->device->shared, &memory->shared);
    memory->acquired = false;
}

static CUresult give(culv_device *device, const culv_handle *duplicate, void *object)
{
    culv_memory *memory = object;
    const culvi_handle_row *row = culvi_handle_row_of(duplicate->type);
    if (memory->way == CULVI_MEMORY_PLACED || memory->by_vmm)
        return CULVI_CU(device, cuMemImportFromShareableHandle,
                        (&memory->placed, (void *)(intptr_t)duplicate->value.fd,
                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC d = {0};
    d.type = (CUexternalMemoryHandleType)row->number[CULVI_USE_MEMORY];
    d.size = memory->size;
    d.flags = memory->dedicated ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0;
    if (row->kind == CULVI_KIND_FD) {
        d.handle.fd = duplicate->value.fd;
    } else {
        d.handle.win32.handle = duplicate->value.win32;
        d.handle.win32.name = duplicate->name;
    }
    return CULVI_CU(device, cuImportExternalMemory, (&memory->external, &d));
}

static void describe(const void *object, culvi_text *text)
{
    const culv_memory *memory = object;
    const culvi_handle_row *row = culvi_handle_row_of(memory->handle_type);
    if (memory->way != CULVI_MEMORY_IMPORTED)
        culvi_text_add(
            text, "it must be an %s of a %s that lies on another GPU, whose memory '%s' reaches",
            culvi_handle_type_name(memory->handle_type), memory->words->memory,
            memory->device->caps.name);
    else if (culvi_words_of_handle(memory->handle_type) != &culvi_plain_words)
        culvi_text_add(text, "it must be %s of this same GPU", row->words);
    else
        culvi_text_add(text, "it must be an %s of a %s of this same GPU",
                       culvi_handle_type_name(memory->handle_type), memory->words->memory);
    culvi_text_add(text, ", of %" PRIu64 " bytes, allocated %s%s", memory->size,
                   memory->dedicated ? "for one resource (dedicated)" : "as dedicated says",
                   row->kind == CULVI_KIND_KMT
                       ? "; a KMT handle keeps nothing alive, so that must still be there"
                       : "");
}

static culvi_import how_to_import(culv_device *device, const culv_memory_desc *d)
{
    return (culvi_import){.what = "memory",
                          .call = "cuImportExternalMemory",
                          .field = "culv_memory_desc.handle",
                          .source = culvi_handle_memory_source,
                          .use = CULVI_USE_MEMORY,
                          .handle = &d->handle,
                          .label = d->label,
                          .count = &device->counts.memories,
                          .give = give,
                          .describe = describe};
}

/* Imports memory by a handle that was checked. */
static culv_result import_checked(culv_device *device, const culvi_words *words,
                                  const culvi_import *import, const culv_memory_desc *d,
                                  culvi_memory_way way, culv_memory **out)
{
    if (d->size > import->facts.size_limit) {
        /* The field that the caller has filled. A handle of an API's own memory it has not seen. */
        char what[60];
        if (words == culvi_words_of_handle(d->handle.type))
            snprintf(what, sizeof what, "file descriptor %d", d->handle.value.fd);
        else
            snprintf(what, sizeof what, "the %s", words->memory);
        return culvi_fail(&device->voice, d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                          "%s.%s is %" PRIu64 " bytes, but at most %" PRIu64
                          " are behind %s; pass the whole allocation's size (%s)",
                          words->memory_desc, words->memory_size, d->size, import->facts.size_limit,
                          what, words->size);
    }
    culv_memory *memory = new_memory(device, words, d->size, d->label);
    if (memory == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    memory->way = way;
    const culvi_dedicated kind = culvi_handle_row_of(d->handle.type)->dedicated;
    memory->dedicated =
        kind == CULVI_DEDICATED_ALWAYS || (kind == CULVI_DEDICATED_EITHER && d->dedicated != 0);
    if (memory->dedicated) memory->kind = CULV_MEMORY_KIND_FAST;
    memory->handle_type = d->handle.type;
    CULVI_TRY_OR(culvi_import_run(device, import, memory), culvi_free(memory));
    enter_list(memory);
    *out = memory;
    return CULV_OK;
}

culv_result culvi_memory_import_exported(culv_device *device, const culvi_words *words,
                                         const culv_memory_desc *d, culvi_memory_way way,
                                         culv_memory **out)
{
    culvi_import import = how_to_import(device, d);
    if (way == CULVI_MEMORY_PLACED) {
        import.call = "cuMemImportFromShareableHandle";
        import.lent = true; /* the file descriptor stays open (measured) */
    }
    culv_result result = culvi_import_trust(device, &import);
    if (result == CULV_OK) result = import_checked(device, words, &import, d, way, out);
    culvi_handle_close(&d->handle);
    return result;
}

culv_memory *culvi_memory_own(culv_device *device, uint64_t size, const char *label)
{
    culv_memory *memory = new_memory(device, &culvi_plain_words, size, label);
    if (memory == NULL) return NULL;
    memory->own = true;
    memory->kind = CULV_MEMORY_KIND_FAST;
    culvi_device_ref(device);
    log_made(memory);
    return memory;
}

culv_memory *culvi_memory_host(culv_device *device, void *pages, uint64_t size, void *block,
                               const char *label)
{
    culv_memory *memory = new_memory(device, &culvi_plain_words, size, label);
    if (memory == NULL) return NULL;
    memory->host = pages;
    memory->block = block;
    culvi_device_ref(device);
    enter_list(memory);
    return memory;
}

culv_memory *culvi_memory_to_open(culv_device *device, uint64_t size, const char *label)
{
    culv_memory *memory = new_memory(device, &culvi_plain_words, size, label);
    if (memory == NULL) return NULL;
    memory->way = CULVI_MEMORY_OPENED;
    culvi_device_ref(device);
    enter_list(memory);
    return memory;
}

culv_result culv_memory_import(culv_device *device, const culv_memory_desc *desc, culv_memory **out)
{
    CULVI_REQUIRE_WITH2(device, &device->voice, desc, out);
    CULVI_READ(&device->voice, culv_memory_desc, d, desc);
    CULVI_REFUSE_IF(d.size == 0, &device->voice, d.label, CULV_REASON_SIZE,
                    "culv_memory_desc.size is 0; it is the whole allocation's size in bytes (%s)",
                    culvi_words_of_handle(d.handle.type)->size);
    culvi_import import = how_to_import(device, &d);
    CULVI_TRY(culvi_import_check(device, &import, &d.exporter));
    return import_checked(device, culvi_words_of_handle(d.handle.type), &import, &d,
                          CULVI_MEMORY_IMPORTED, out);
}

void culv_memory_destroy(culv_memory **memory)
{
    if (memory == NULL || *memory == NULL) return;
    culv_memory *mine = *memory;
    culv_device *device = mine->device;
    culvi_scope scope;
    *memory = NULL;
    culvi_mutex_lock(&device->lock);
    culvi_memory_drop_holder(mine);
    mine->refs--;
    /* While buffers or images are alive there is nothing to do yet. When there are none, no mapping
     * is left that GPU work could use. */
    if (mine->refs == 0) {
        bool entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
        culvi_memory_release_unused(mine, entered || device->lost, false);
        if (entered) culvi_leave(device, &scope);
    }
    culvi_mutex_unlock(&device->lock);
    culvi_device_unref(device);
}

/* Checkpoints ---------------------------------------------------------------------------------- */

static bool suspend_images(culv_memory *memory)
{
    culv_device *device = memory->device;
    for (culv_image *image = memory->first_image; image != NULL; image = image->next) {
        if (!culvi_image_release_arrays(device, image, false) ||
            !culvi_image_release_views(device, image, false))
            return false;
        for (uint32_t i = 0; i < image->slots; i++)
            atomic_store(&image->levels[i].array, NULL);
    }
    return true;
}

bool culvi_memory_suspend(culv_memory *memory)
{
    culv_device *device = memory->device;
    const CUdeviceptr base = memory->base;
    if (memory->away || !suspend_images(memory)) return memory->away;
    if (base != 0) {
        if (!unmap(device, memory, false)) return false;
        memory->before = base;
        culvi_memory_keep_addresses(memory);
    }
    if (is_import(memory)) {
        if (!CULVI_RELEASED(device, false, cuDestroyExternalMemory, (memory->external)))
            return false;
        memory->external = NULL;
        device->counts.memories--;
    }
    memory->away = true;
    return true;
}

/* Exports the native memory once more and imports it, as `external`, or as `placed`. */
static culv_result import_again(culv_memory *memory, bool by_vmm)
{
    const culvi_source *source = &memory->source;
    culv_device *device = memory->device;
    culv_memory_desc d = culv_memory_desc_init();
    d.size = memory->size;
    d.label = memory->label;
    CULVI_TRY(culvi_source_export(device, source, memory->label, "memory", &d.handle));
    culvi_import import = how_to_import(device, &d);
    if (by_vmm) {
        import.call = "cuMemImportFromShareableHandle";
        import.lent = true;
        import.count = NULL;
    }
    memory->by_vmm = by_vmm;
    culv_result result = culvi_import_run_again(device, &import, memory);
    memory->by_vmm = false;
    return result;
}

/* The mapping at its old addresses by a second import, which goes with it: external memory cannot
 * choose an address. A failure costs the address alone. */
static void map_at_old_address(culv_memory *memory)
{
    const culvi_voice *voice = &memory->device->voice;
    CUresult r = CUDA_SUCCESS;
    const culv_result result = CULVI_ATTEMPT(import_again(memory, true));
    if (result == CULV_OK && culvi_memory_place_again(memory, &r)) return;
    culvi_log(voice, CULV_LOG_INFO, "%s: it cannot be mapped at its old address (CUDA error %d)",
              culvi_named("memory", memory->label).text, (int)r);
}

static culv_result map_again(culv_memory *memory)
{
    if (memory->kept != 0 && memory->buffers > 0) map_at_old_address(memory);
    /* Twice: what the next mapping lies at is not for this one to decide. */
    if (!culvi_memory_drop_addresses(memory, false))
        (void)culvi_memory_drop_addresses(memory, true);
    if (memory->buffers == 0) {
        memory->before = 0;
        return CULV_OK;
    }
    culv_result result = culvi_memory_map(memory);
    for (culv_buffer *b = memory->first_buffer; result == CULV_OK && b != NULL; b = b->next)
        b->pointer = memory->base + (b->pointer - memory->before);
    return result;
}

culv_result culvi_memory_resume(culv_memory *memory)
{
    culv_result result = CULV_OK;
    if (memory->holders == 0) return CULV_OK; /* it was destroyed meanwhile, and is collected */
    if (memory->away && memory->host == NULL) result = import_again(memory, false);
    if (result != CULV_OK) return result;
    memory->away = false;
    if (memory->before != 0 && memory->base == 0) result = map_again(memory);
    for (culv_image *image = memory->first_image; result == CULV_OK && image != NULL;
         image = image->next) {
        if (image->arrays[0] != NULL) continue;
        result = culvi_image_make_arrays(image);
        if (result != CULV_OK && !culvi_image_release_arrays(memory->device, image, false))
            (void)culvi_image_release_arrays(memory->device, image, true);
    }
    return result;
}

CULVI_GETTER(uint64_t, culv_memory_size, culv_memory, self->size, 0)
