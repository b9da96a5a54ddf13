/* SPDX-License-Identifier: MIT */
/* What a server offers. */
#include "cuda/context.h"
#include "ipc/ipc_server.h"

/* The list with this name (FNV-1a). */
static culvi_ipc_offer **list_of(culv_ipc_server *server, const char *name)
{
    uint32_t hash = UINT32_C(2166136261);
    for (; *name != 0; name++)
        hash = (hash ^ (unsigned char)*name) * UINT32_C(16777619);
    return &server->by_name[(hash ^ hash >> 16) % CULVI_IPC_LISTS];
}

culvi_ipc_offer *culvi_ipc_offer_find(culv_ipc_server *server, const char *name)
{
    for (culvi_ipc_offer *o = *list_of(server, name); o != NULL; o = o->next)
        if (strcmp(o->info.name, name) == 0) return o;
    return NULL;
}

/* Room for one offer more. */
static bool make_room(culv_ipc_server *server)
{
    if (server->num_offers < server->room) return true;
    const uint64_t room = server->room != 0 ? 2 * server->room : 16;
    culvi_ipc_offer **offers = culvi_alloc((size_t)room * sizeof(culvi_ipc_offer *));
    if (offers == NULL) return false;
    for (uint64_t i = 0; i < server->num_offers; i++)
        offers[i] = server->offers[i];
    culvi_free(server->offers);
    server->offers = offers;
    server->room = room;
    return true;
}

/* Takes the offer, whose info is complete. Refuses what makes no sense and names that are taken. */
static culv_result add(culv_ipc_server *server, const char *call, const culvi_ipc_offer *offer)
{
    const culvi_voice *voice = &server->device->voice;
    CULVI_TEXT(why, 192);
    CULVI_REFUSE_IF(!culvi_ipc_info_good(&offer->info, &why), voice, server->label,
                    CULV_REASON_VALUE, "%s: culv_ipc_info: %s", call, why.data);
    const culvi_ipc_offer *other = culvi_ipc_offer_find(server, offer->info.name);
    if (other != NULL)
        return culvi_fail(voice, server->label, CULV_ERROR_BUSY, CULV_REASON_IPC_NAME,
                          "%s: something of the name '%s' is offered already; %s", call,
                          offer->info.name,
                          other->ring != NULL || other->belongs != NULL
                              ? "it belongs to a ring, and culv_ring_destroy() withdraws it"
                              : "culv_ipc_withdraw() that, or choose another name");
    CULVI_REFUSE_IF(server->num_offers >= CULVI_IPC_OFFERS, voice, server->label, CULV_REASON_VALUE,
                    "%s: the server offers %d things, and that is the most", call,
                    (int)CULVI_IPC_OFFERS);
    culvi_ipc_offer *o = make_room(server) ? culvi_alloc(sizeof *o) : NULL;
    if (o == NULL) return culvi_fail_host_memory(voice, server->label);
    culvi_ipc_offer **list = list_of(server, offer->info.name);
    *o = *offer;
    o->next = *list;
    *list = o;
    server->offers[server->num_offers++] = o;
    return CULV_OK;
}

void culvi_ipc_offer_remove(culv_ipc_server *server, const culvi_ipc_offer *offer)
{
    culvi_ipc_offer **at = list_of(server, offer->info.name);
    uint64_t i = server->num_offers;
    while (*at != offer)
        at = &(*at)->next;
    culvi_ipc_offer *o = *at;
    *at = o->next;
    while (server->offers[--i] != o) {
    }
    for (server->num_offers--; i < server->num_offers; i++)
        server->offers[i] = server->offers[i + 1];
    if (o->handle.type != CULV_HANDLE_NONE) culvi_handle_close(&o->handle);
    culvi_free(o);
}

culv_result culvi_ipc_offer_ring(culv_ipc_server *server, const char *call, const char *name,
                                 culvi_ipc_ring *ring, uint32_t slots, uint32_t parts)
{
    culvi_ipc_offer offer = {.ring = ring};
    offer.info = culv_ipc_info_named(name);
    offer.info.kind = CULV_IPC_RING;
    offer.info.device = server->device->caps.uuid;
    offer.info.num_slots = slots;
    offer.info.parts = parts;
    return add(server, call, &offer);
}

/* It goes as plain bytes, at most CULVI_IPC_DATA. */
static void set_data(culvi_ipc_offer *offer, const void *bytes, size_t size)
{
    offer->info.handle_type = CULV_HANDLE_NONE;
    memcpy(offer->data, bytes, size);
}

static culv_result begin(culv_ipc_server *server, const culv_ipc_info *info, culvi_ipc_offer *out)
{
    memset(out, 0, sizeof *out);
    CULVI_TRY(culvi_desc_read(&server->device->voice, &out->info, sizeof out->info, info,
                              "culv_ipc_info"));
    out->info.struct_size = sizeof out->info;
    out->info.dedicated = out->info.dedicated != 0;
    out->info.device = server->device->caps.uuid;
    out->info.handle_type = (culv_handle_type)CULVI_HANDLE_OPAQUE;
    out->info.num_slots = out->info.parts = 0;
    out->info.generation = 0;
    return CULV_OK;
}

static culv_result from_vmm(culv_ipc_server *server, const char *call,
                            const culv_ipc_source *source, culvi_ipc_offer *offer)
{
    culv_vmm_allocation *allocation = (culv_vmm_allocation *)source->object;
    culv_vmm_allocation_info what = culv_vmm_allocation_info_init();
    culv_handle fabric;
    CULVI_TRY(culv_vmm_allocation_get_info(allocation, &what));
    offer->info.device = what.device;
    offer->info.allocation_size = what.size;
    const uint64_t offset = offer->info.offset;
    CULVI_REFUSE_IF(offset >= what.size, &server->device->voice, server->label, CULV_REASON_VALUE,
                    "%s: culv_ipc_info.offset is %" PRIu64 ", and the allocation has %" PRIu64
                    " bytes",
                    call, offset, what.size);
    if (offer->info.size == 0)
        offer->info.size = (what.requested > offset ? what.requested : what.size) - offset;
    if (offer->info.kind == CULV_IPC_VMM)
        return culv_vmm_export_dup(allocation, offer->info.handle_type, &offer->handle);
    culv_result result = culv_vmm_export_dup(allocation, CULV_HANDLE_FABRIC, &fabric);
    if (result == CULV_OK) set_data(offer, fabric.value.fabric, CULVI_IPC_DATA);
    return result;
}

static culv_result from_vector(culv_ipc_server *server, const char *call,
                               const culv_ipc_source *source, culvi_ipc_offer *offer)
{
    culv_vector *vector = (culv_vector *)source->object;
    culv_part first;
    size_t count = 0;
    CULVI_TRY(culv_vector_get_parts(vector, &first, 1, &count, NULL));
    if (count > 0) { /* else the first answer says that its chunks cannot be exported */
        culv_vmm_allocation_info what = culv_vmm_allocation_info_init();
        CULVI_TRY(culv_vmm_allocation_get_info(first.allocation, &what));
        CULVI_REFUSE_IF(
            !(what.handle_types & UINT32_C(1) << (unsigned)CULVI_HANDLE_OPAQUE),
            &server->device->voice, server->label, CULV_REASON_NOT_EXPORTABLE,
            "%s: the vector was not made for export; give it %s in culv_vector_desc.handle_types",
            call, culvi_handle_type_name((culv_handle_type)CULVI_HANDLE_OPAQUE));
    }
    offer->vector = vector;
    offer->info.allocation_size = culv_vector_committed(vector);
    offer->info.size = culv_vector_size(vector);
    offer->info.offset = offer->info.element_count = 0;
    return CULV_OK;
}

/* What the file behind a handle says of its size, where the system tells it. */
static culv_result check_handle(const culv_ipc_server *server, const culv_ipc_info *info,
                                const culv_handle *handle)
{
    const culvi_voice *voice = &server->device->voice;
    const bool semaphore = info->kind == CULV_IPC_SEMAPHORE;
    culvi_handle_facts facts;
    const bool binary = semaphore && info->semaphore_type == CULV_SEMAPHORE_BINARY;
    culv_result result =
        culvi_handle_use_check(voice, server->label, "culv_ipc_offer: handle.type", handle->type,
                               binary      ? CULVI_USE_BINARY
                               : semaphore ? CULVI_USE_TIMELINE
                                           : CULVI_USE_MEMORY);
    CULVI_REFUSE_IF(
        result == CULV_OK && (!culvi_handle_owns(handle->type) || handle->name != NULL), voice,
        server->label, CULV_REASON_HANDLE_TYPE,
        "culv_ipc_offer: handle is %s, which keeps nothing alive for the other process; export an NT handle and offer that",
        handle->name != NULL ? "a name" : "a KMT handle");
    if (result == CULV_OK)
        result = culvi_handle_check(
            voice, server->label, "culv_ipc_offer: handle",
            semaphore ? culvi_handle_semaphore_source : culvi_handle_memory_source, handle, &facts);
    if (result != CULV_OK || semaphore || info->allocation_size <= facts.size_limit) return result;
    return culvi_fail(voice, server->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                      "culv_ipc_offer: culv_ipc_info.allocation_size is %" PRIu64
                      " bytes, and the file behind the handle has %" PRIu64,
                      info->allocation_size, facts.size_limit);
}

/* R30: a handle is of the whole allocation, whatever the description says. Padding is less than the
 * alignments of today's drivers. */
static void tell_rest(const culv_ipc_server *server, const culv_ipc_info *info)
{
    enum { PADDING = 2 << 20 };
    if (info->kind != CULV_IPC_BUFFER || info->size == 0 ||
        info->allocation_size - info->size < PADDING)
        return;
    culvi_log(
        &server->device->voice, CULV_LOG_WARNING,
        "culv_ipc_offer: '%s' has %" PRIu64 " bytes of an allocation of %" PRIu64
        ", and the handle gives the other process all of it; give it an allocation of its own",
        info->name, info->size, info->allocation_size);
}

/* `info` may name another GPU than the server's. */
static culv_result from_handle(culv_ipc_server *server, const char *call,
                               const culv_ipc_source *source, const culv_ipc_info *info,
                               culvi_ipc_offer *offer)
{
    const culv_handle *handle = source->object;
    if (culvi_uuid_given(&info->device)) offer->info.device = info->device;
    CULVI_REFUSE_IF(offer->info.kind != CULV_IPC_BUFFER && offer->info.kind != CULV_IPC_IMAGE &&
                        offer->info.kind != CULV_IPC_SEMAPHORE,
                    &server->device->voice, server->label, CULV_REASON_VALUE,
                    "%s: culv_ipc_info.kind is %d; a handle is a BUFFER, an IMAGE or a SEMAPHORE",
                    call, (int)offer->info.kind);
    CULVI_TRY(check_handle(server, &offer->info, handle));
    tell_rest(server, &offer->info);
    offer->info.handle_type = handle->type;
    return culv_handle_dup(handle, &offer->handle);
}

/* What CUDA shares by itself, as a server offers it (R30, R31) --------------------------------- */

/* The rule of R30: nothing but what the caller means goes to the other process. */
static culv_result whole_blocks(const culv_ipc_server *server, const char *call,
                                CUdeviceptr pointer, const culv_pointer_info *what)
{
    const culvi_voice *voice = &server->device->voice;
    CULVI_REFUSE_IF(
        what->kind != CULV_POINTER_DEVICE || !what->ipc, voice, server->label,
        CULV_REASON_NOT_EXPORTABLE,
        "%s: CUDA has no cuIpc handle for what lies at 0x%llx. %s goes to other processes by %s",
        call, (unsigned long long)pointer,
        what->kind == CULV_POINTER_VMM    ? "Memory of cuMemCreate"
        : what->kind == CULV_POINTER_POOL ? "Memory of a pool"
        : what->kind == CULV_POINTER_EXTERNAL
            ? "Memory of a graphics API"
            : "Neither managed memory, nor the host's, nor what is none of CUDA's",
        what->kind == CULV_POINTER_VMM ? "culv_ipc_from_vmm()"
        : what->kind == CULV_POINTER_POOL
            ? "culv_ipc_from_pool_memory(), if its pool was made with handle types (cuMemPoolCreate); the default pool of cudaMallocAsync was not, so take memory of such a pool or of culv_vmm_allocation_create()"
        : what->kind == CULV_POINTER_EXTERNAL ? "culv_ipc_from_handle()"
                                              : "any call; use culv_vmm_allocation_create()");
    CULVI_REFUSE_IF(
        what->device != (int32_t)server->device->ordinal, voice, server->label,
        CULV_REASON_DEVICE_MISMATCH,
        "%s: the memory is of CUDA device %d, and the server's is %d; offer it by a server of its device",
        call, (int)what->device, (int)server->device->ordinal);
    if (pointer == what->range_start && pointer % CULV_IPC_CUDA_BLOCK == 0 &&
        what->range_size % CULV_IPC_CUDA_BLOCK == 0)
        return CULV_OK;
    return culvi_fail(
        voice, server->label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
        "%s: 0x%llx lies %" PRIu64 " bytes into an allocation of %" PRIu64
        " bytes at 0x%llx. CUDA shares whole blocks of %" PRIu64
        " bytes, so that the other process would get what else lies in them. Offer an allocation from its start whose size is a multiple of that (cuMemAlloc aligns it), or memory of culv_vmm_allocation_create()",
        call, (unsigned long long)pointer, (uint64_t)(pointer - what->range_start),
        what->range_size, (unsigned long long)what->range_start, CULV_IPC_CUDA_BLOCK);
}

static culv_result too_old(const culv_ipc_server *server, const char *call)
{
    return culvi_fail(
        &server->device->voice, server->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
        "%s: the CUDA driver lacks cuIpcGetMemHandle and its like; offer memory of culv_vmm_allocation_create()",
        call);
}

static culv_result from_memory(culv_ipc_server *server, const char *call, CUdeviceptr pointer,
                               culvi_ipc_offer *offer)
{
    CUipcMemHandle handle;
    culv_pointer_info what = culv_pointer_info_init();
    culv_device *device = server->device;
    if (device->cuda->cuIpcGetMemHandle == NULL) return too_old(server, call);
    CULVI_TRY(culv_pointer_get_info(device, pointer, &what));
    CULVI_TRY(whole_blocks(server, call, pointer, &what));
    CULVI_CU_INSIDE(r, device, server->label, cuIpcGetMemHandle, (&handle, pointer));
    CULVI_CU_CHECK(device, server->label, r, "cuIpcGetMemHandle", CULV_REASON_NOT_EXPORTABLE,
                   "the memory at 0x%llx could not be shared", (unsigned long long)pointer);
    offer->info.allocation_size = what.range_size;
    set_data(offer, &handle, sizeof handle);
    return CULV_OK;
}

static culv_result from_event(culv_ipc_server *server, const char *call, CUevent event,
                              culvi_ipc_offer *offer)
{
    CUipcEventHandle handle;
    culv_device *device = server->device;
    if (device->cuda->cuIpcGetEventHandle == NULL) return too_old(server, call);
    CULVI_CU_INSIDE(r, device, server->label, cuIpcGetEventHandle, (&handle, event));
    if (r == CUDA_ERROR_INVALID_HANDLE || r == CUDA_ERROR_INVALID_VALUE)
        return culvi_fail_native(
            &device->voice, server->label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
            CULV_NATIVE_CUDA, (int64_t)r, "cuIpcGetEventHandle",
            "the event is not for other processes; make it with CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING");
    CULVI_CU_CHECK(device, server->label, r, "cuIpcGetEventHandle", CULV_REASON_NOT_EXPORTABLE,
                   "the event could not be shared");
    set_data(offer, &handle, sizeof handle);
    return CULV_OK;
}

static culv_result from_pool(const culv_ipc_server *server, const char *call,
                             const culv_handle *handle, culvi_ipc_offer *offer)
{
    if (handle->type == offer->info.handle_type) return culv_handle_dup(handle, &offer->handle);
    CULVI_REFUSE_IF(handle->type != CULV_HANDLE_FABRIC, &server->device->voice, server->label,
                    CULV_REASON_HANDLE_TYPE,
                    "%s: a pool goes by a handle of type %s or FABRIC, and this one is %s", call,
                    culvi_handle_type_name(offer->info.handle_type),
                    culvi_handle_type_name(handle->type));
    offer->info.kind = CULV_IPC_POOL_FABRIC;
    set_data(offer, handle->value.fabric, CULVI_IPC_DATA);
    return CULV_OK;
}

static culv_result from_cuda(culv_ipc_server *server, const char *call,
                             const culv_ipc_source *source, culvi_ipc_offer *offer)
{
    culv_pointer_info what = culv_pointer_info_init();
    culv_result result;
    if (source->kind == CULV_IPC_POOL) return from_pool(server, call, source->object, offer);
    if (source->kind == CULV_IPC_EVENT)
        return from_event(server, call, (CUevent)source->object, offer);
    if (source->kind == CULV_IPC_CUDA_MEMORY) {
        result = from_memory(server, call, source->pointer, offer);
    } else {
        result = culv_pointer_get_info(server->device, source->pointer, &what);
        offer->info.allocation_size = what.range_size;
        set_data(offer, source->object, sizeof(culv_mem_pool_pointer));
    }
    offer->info.offset = 0;
    if (offer->info.size == 0) offer->info.size = offer->info.allocation_size;
    return result;
}

culv_result culvi_ipc_offer_by(culv_ipc_server *server, const char *call, const culv_ipc_info *info,
                               culv_ipc_source source, culvi_ipc_ring *belongs)
{
    culvi_ipc_offer offer;
    const culvi_voice *voice = &server->device->voice;
    if (source.object == NULL && source.kind != CULV_IPC_CUDA_MEMORY)
        return culvi_fail_null(voice, call, "source.object");
    CULVI_TRY(begin(server, info, &offer));
    culv_result result;
    offer.belongs = belongs;
    if (source.kind != CULV_IPC_NONE) offer.info.kind = source.kind;
    switch (source.kind) {
    case CULV_IPC_NONE: result = from_handle(server, call, &source, info, &offer); break;
    case CULV_IPC_VMM:
    case CULV_IPC_VMM_FABRIC: result = from_vmm(server, call, &source, &offer); break;
    case CULV_IPC_VECTOR: result = from_vector(server, call, &source, &offer); break;
    case CULV_IPC_CUDA_MEMORY:
    case CULV_IPC_EVENT:
    case CULV_IPC_POOL:
    case CULV_IPC_POOL_MEMORY: result = from_cuda(server, call, &source, &offer); break;
    default:
        return culvi_fail(
            voice, server->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
            "%s: culv_ipc_source.kind is %d, of which nothing can be offered; culv_ipc_from_vmm() and its like make a source",
            call, (int)source.kind);
    }
    if (result == CULV_OK) result = add(server, call, &offer);
    if (result != CULV_OK && offer.handle.type != CULV_HANDLE_NONE)
        culvi_handle_close(&offer.handle);
    return result;
}

culv_result culv_ipc_offer(culv_ipc_server *server, const culv_ipc_info *info,
                           culv_ipc_source source)
{
    CULVI_REQUIRE_WITH(server, &server->device->voice, info);
    return culvi_ipc_offer_by(server, __func__, info, source, NULL);
}

culv_result culv_ipc_withdraw(culv_ipc_server *server, const char *name)
{
    CULVI_REQUIRE_WITH(server, &server->device->voice, name);
    const culvi_voice *voice = &server->device->voice;
    const culvi_ipc_offer *offer = culvi_ipc_offer_find(server, name);
    CULVI_REFUSE_IF(offer == NULL, voice, server->label, CULV_REASON_IPC_NAME,
                    "culv_ipc_withdraw: nothing of the name '%.63s' is offered", name);
    CULVI_REFUSE_IF(offer->ring != NULL || offer->belongs != NULL, voice, server->label,
                    CULV_REASON_OWNED,
                    "culv_ipc_withdraw: '%s' belongs to a ring; culv_ring_destroy() withdraws it",
                    offer->info.name);
    culvi_ipc_offer_remove(server, offer);
    return CULV_OK;
}
