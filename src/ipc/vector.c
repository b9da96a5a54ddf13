/* SPDX-License-Identifier: MIT */
/* culv_ipc_vector: the chunks of a server's vector, imported and mapped one behind the other. */
#include "base/alloc.h"
#include "base/desc.h"
#include "base/handle.h"
#include "ipc/ipc_client.h"
#include "vmm/mapping.h"

#include <inttypes.h>
#include <string.h>

typedef struct chunk {
    struct chunk *next; /* by id, which is by offset */
    uint64_t id, offset, size;
    culv_vmm_allocation *allocation;
    culv_handle handle; /* kept, or type NONE */
    bool mapped;        /* in the present range */
    bool seen;          /* the server still has it */
} chunk;

struct culv_ipc_vector {
    culv_ipc_client *client;
    culv_device *device;
    char name[CULV_IPC_NAME_SIZE];
    culv_uuid exporter;
    uint64_t reserve; /* as asked for */
    bool keep_handles;
    culv_vmm_range *range;
    chunk *chunks;
    size_t count;
    uint64_t size, generation;
};

enum { RESTARTS = 64, MOST_CHUNKS = 1 << 20 };

static uint64_t known(const culv_ipc_vector *v)
{
    uint64_t id = 0;
    for (const chunk *c = v->chunks; c != NULL; c = c->next)
        id = c->id;
    return id;
}

static void free_chunk(chunk *c)
{
    culv_vmm_allocation_destroy(&c->allocation);
    if (c->handle.type != CULV_HANDLE_NONE) culvi_handle_close(&c->handle);
    culvi_free(c);
}

/* The handle is gone, whatever the result. */
static culv_result add_chunk(culv_ipc_vector *v, chunk **end, const culvi_ipc_chunk *what,
                             culvi_ipc_native native)
{
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    culv_handle handle = culvi_ipc_handle((culv_handle_type)CULVI_HANDLE_OPAQUE, native);
    chunk *c = culvi_alloc(sizeof *c);
    culv_result result = c != NULL ? CULV_OK : culvi_fail_host_memory(&v->device->voice, v->name);
    if (result == CULV_OK) {
        d.handle = handle;
        d.size = what->size;
        d.exporter = v->exporter;
        d.label = v->name;
        result = culv_vmm_import(v->device, &d, &c->allocation);
    }
    if (result == CULV_OK && v->keep_handles)
        c->handle = handle;
    else
        culvi_handle_close(&handle);
    if (result != CULV_OK) {
        culvi_free(c);
        return result;
    }
    c->id = what->id;
    c->offset = what->offset;
    c->size = what->size;
    c->seen = true;
    *end = c;
    v->count++;
    return CULV_OK;
}

/* One answer: marks the chunks that are there already, and takes in those that are new. All
 * handles are gone. */
static culv_result take_answer(culv_ipc_vector *v, const culvi_ipc_message *m,
                               const culvi_ipc_native *fds)
{
    culv_result result = CULV_OK;
    uint32_t fd = 0;
    const uint64_t last = known(v);
    chunk **end = &v->chunks;
    for (uint32_t i = 0; i < m->count; i++) {
        const culvi_ipc_chunk *what = &m->chunks[i];
        if (what->id > last) {
            while (*end != NULL)
                end = &(*end)->next;
            if (fd == m->fds) {
                result = culvi_fail(
                    &v->device->voice, v->name, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                    "the server's answer lacks the handle of chunk %" PRIu64, what->id);
                break;
            }
            result = add_chunk(v, end, what, fds[fd++]);
            if (result != CULV_OK) break;
            continue;
        }
        while (*end != NULL && (*end)->id < what->id)
            end = &(*end)->next;
        if (*end == NULL || (*end)->id != what->id || (*end)->offset != what->offset ||
            (*end)->size != what->size) {
            result = culvi_fail(
                &v->device->voice, v->name, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                "the server says that chunk %" PRIu64 " is another than before", what->id);
            break;
        }
        (*end)->seen = true;
    }
    culvi_ipc_close_fds(fds + fd, m->fds - fd);
    return result;
}

/* Asks for all chunks. *size and *generation are of one moment. */
static culv_result ask(culv_ipc_vector *v, const char *call, uint64_t until, uint64_t *size,
                       uint64_t *generation)
{
    culvi_ipc_message question, reply;
    culvi_ipc_native fds[CULVI_IPC_FDS];
    uint64_t at = 0;
    unsigned restarts = 0;
    for (;;) {
        if (at == 0)
            for (chunk *c = v->chunks; c != NULL; c = c->next)
                c->seen = false;
        memset(&question, 0, sizeof question);
        question.type = CULVI_IPC_CHUNKS;
        question.number = at;
        question.known = known(v);
        memcpy(question.name, v->name, sizeof question.name);
        culv_result result = culvi_ipc_ask(v->client, call, &question, NULL, until, &reply, fds);
        if (result != CULV_OK) return result;
        if ((at != 0 && reply.generation != *generation) || reply.number != at) {
            /* It changed between two answers. */
            culvi_ipc_close_fds(fds, reply.fds);
            if (++restarts > RESTARTS || reply.total > MOST_CHUNKS)
                return culvi_fail(&v->device->voice, v->name, CULV_ERROR_TIMEOUT,
                                  CULV_REASON_IPC_GONE,
                                  "the server's vector changes faster than it can be asked for");
            at = 0;
            continue;
        }
        result = take_answer(v, &reply, fds);
        if (result != CULV_OK) return result;
        *size = reply.size;
        *generation = reply.generation;
        at += reply.count;
        if (at >= reply.total) return CULV_OK;
    }
}

static culv_result refuse_layout(const culv_ipc_vector *v, const char *what)
{
    return culvi_fail(&v->device->voice, v->name, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                      "the chunks that the server told %s", what);
}

/* The chunks that are still there lie one behind the other, and hold the vector's size. */
static culv_result check_layout(const culv_ipc_vector *v, uint64_t size, uint64_t *end)
{
    *end = 0;
    for (const chunk *c = v->chunks; c != NULL; c = c->next) {
        if (!c->seen) continue;
        if (c->offset != *end) return refuse_layout(v, "have a hole between them");
        *end += c->size;
    }
    return size <= *end ? CULV_OK : refuse_layout(v, "hold less than its size");
}

static culv_result make_range(const culv_ipc_vector *v, uint64_t bytes, culv_vmm_range **out)
{
    const uint64_t least = UINT64_C(1) << 30;
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    d.size = v->reserve;
    if (d.size == 0) d.size = bytes > least / 16 ? bytes * 16 : least;
    if (d.size < bytes) d.size = bytes * 2;
    d.label = v->name;
    return culv_vmm_range_create(v->device, &d, out);
}

static culv_result map_one(const culv_ipc_vector *v, culv_vmm_range *range, const chunk *c)
{
    culv_vmm_access access = {.device = v->device, .flags = CULV_VMM_ACCESS_READ_WRITE};
    return culv_vmm_map(range, c->offset, c->allocation, &access, 1);
}

/* Gives up a range whose GPU work may still run. */
static void give_up(culv_vmm_range **range, bool has_last_use, CUstream last_use)
{
    if (*range == NULL) return;
    const uint64_t size = culv_vmm_range_size(*range);
    if (!has_last_use || culv_vmm_unmap_after(*range, 0, size, last_use) != CULV_OK)
        culvi_vmm_unmap_or_defer(*range, 0, size);
    culvi_vmm_range_release_or_defer(range);
    *range = NULL;
}

/* All chunks at another address, since they no longer fit where they are. */
static culv_result move(culv_ipc_vector *v, uint64_t end, CUstream last_use)
{
    culv_vmm_range *range = NULL, *old = v->range;
    culv_result result = make_range(v, end, &range);
    for (const chunk *c = v->chunks; result == CULV_OK && c != NULL; c = c->next)
        if (c->seen) result = map_one(v, range, c);
    if (result != CULV_OK) {
        give_up(&range, false, NULL);
        return result;
    }
    for (chunk *c = v->chunks; c != NULL; c = c->next)
        c->mapped = c->seen;
    v->range = range;
    give_up(&old, true, last_use);
    return CULV_OK;
}

static culv_result map_new(culv_ipc_vector *v)
{
    for (chunk *c = v->chunks; c != NULL; c = c->next) {
        if (!c->seen || c->mapped) continue;
        culv_result result = map_one(v, v->range, c);
        if (result != CULV_OK) return result;
        c->mapped = true;
    }
    return CULV_OK;
}

static culv_result drop_old(culv_ipc_vector *v, CUstream last_use)
{
    for (chunk **at = &v->chunks; *at != NULL;) {
        chunk *c = *at;
        if (c->seen) {
            at = &c->next;
            continue;
        }
        if (c->mapped) {
            culv_result result = culv_vmm_unmap_after(v->range, c->offset, c->size, last_use);
            if (result != CULV_OK) return result;
        }
        *at = c->next;
        v->count--;
        free_chunk(c);
    }
    return CULV_OK;
}

/* Whether a new chunk comes to where one is still mapped: deferred, or about to be. */
static bool collides(const culv_ipc_vector *v)
{
    for (const chunk *c = v->chunks; c != NULL; c = c->next)
        for (const chunk *o = v->chunks; !c->mapped && c->seen && o != NULL; o = o->next)
            if (!o->seen && o->mapped && o->offset < c->offset + c->size &&
                c->offset < o->offset + o->size)
                return true;
    return false;
}

static culv_result update(culv_ipc_vector *v, const char *call, CUstream last_use, uint64_t timeout)
{
    uint64_t size = 0, generation = 0, end = 0;
    culv_result result = ask(v, call, culvi_ipc_until(timeout), &size, &generation);
    if (result == CULV_OK) result = check_layout(v, size, &end);
    if (result != CULV_OK) return result;
    if (end > 0 && (v->range == NULL || end > culv_vmm_range_size(v->range) || collides(v)))
        result = move(v, end, last_use);
    if (result == CULV_OK) result = drop_old(v, last_use);
    if (result == CULV_OK && end > 0) {
        result = map_new(v);
        /* An earlier shrink's mappings may still be there. */
        if (result == CULV_ERROR_BUSY) result = move(v, end, last_use);
    }
    if (result != CULV_OK) return result;
    v->size = size;
    v->generation = generation;
    return CULV_OK;
}

culv_result culv_ipc_vector_update(culv_ipc_vector *vector, CUstream last_use, uint64_t timeout)
{
    CULVI_REQUIRE(NULL, vector);
    return update(vector, __func__, last_use, timeout);
}

culv_result culv_ipc_vector_open(culv_ipc_client *client, const culv_ipc_vector_desc *desc,
                                 uint64_t timeout, culv_ipc_vector **out)
{
    culv_ipc_vector_desc d;
    CULVI_REQUIRE(NULL, client);
    const culvi_voice *voice = culvi_ipc_voice(client->device);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_ipc_vector_desc");
    if (result != CULV_OK) return result;
    CULVI_REQUIRE(voice, desc->name);
    if (client->device == NULL)
        return culvi_fail(NULL, client->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_ipc_vector_open: the client was connected without a device; pass "
                          "one to culv_ipc_client_connect()");
    culv_ipc_vector *v = culvi_alloc(sizeof *v);
    if (v == NULL) return culvi_fail_host_memory(voice, client->label);
    v->client = culvi_ipc_client_ref(client);
    v->device = client->device;
    v->exporter = client->server_device;
    v->reserve = d.reserve;
    v->keep_handles = d.keep_handles != 0;
    culvi_device_ref(v->device);
    result = culvi_ipc_read_name(voice, __func__, d.name, v->name);
    if (result == CULV_OK) result = update(v, __func__, NULL, timeout);
    if (result != CULV_OK) {
        culv_ipc_vector_destroy(&v);
        return result;
    }
    *out = v;
    return CULV_OK;
}

void culv_ipc_vector_destroy(culv_ipc_vector **vector)
{
    if (vector == NULL || *vector == NULL) return;
    culv_ipc_vector *v = *vector;
    culv_device *device = v->device;
    *vector = NULL;
    give_up(&v->range, false, NULL);
    for (chunk *c = v->chunks; c != NULL; c = v->chunks) {
        v->chunks = c->next;
        free_chunk(c);
    }
    culvi_ipc_client_unref(v->client);
    culvi_free(v);
    culvi_device_unref(device);
}

CUdeviceptr culv_ipc_vector_pointer(const culv_ipc_vector *vector)
{
    return vector != NULL ? culv_vmm_range_pointer(vector->range) : 0;
}

uint64_t culv_ipc_vector_size(const culv_ipc_vector *vector)
{
    return vector != NULL ? vector->size : 0;
}

uint64_t culv_ipc_vector_generation(const culv_ipc_vector *vector)
{
    return vector != NULL ? vector->generation : 0;
}

culv_result culv_ipc_vector_get_chunk(const culv_ipc_vector *vector, size_t index,
                                      culv_ipc_chunk *out, size_t *count)
{
    CULVI_REQUIRE(NULL, vector);
    const culvi_voice *voice = &vector->device->voice;
    CULVI_REQUIRE(voice, out);
    culv_result result = culvi_struct_check(voice, out, "culv_ipc_chunk");
    if (result != CULV_OK) return result;
    const chunk *c = vector->chunks;
    for (size_t i = 0; c != NULL && i < index; i++)
        c = c->next;
    if (c != NULL) {
        culv_ipc_chunk copy = culv_ipc_chunk_init();
        copy.id = c->id;
        copy.offset = c->offset;
        copy.size = c->size;
        copy.handle = c->handle;
        culvi_struct_write(out, &copy, sizeof copy);
    }
    if (count != NULL) *count = vector->count;
    return CULV_OK;
}
