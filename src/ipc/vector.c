/* SPDX-License-Identifier: MIT */
/* A culv_vector of another process: the chunks of the server's vector, imported and mapped one
 * behind the other. */
#include "vmm/vector.h"

#include "ipc/ipc_client.h"

/* Where a vector comes from: its culv_vector::source. */
typedef struct source {
    culv_ipc_client *client;
    char name[CULV_IPC_NAME_SIZE];
    bool keep_handles;
} source;

/* What an update makes of the vector. The chunks that it had come first. */
typedef struct change {
    culv_vector *v;
    const source *from;
    const char *call;
    struct entry {
        culv_part chunk;
        bool seen; /* the server still has it */
    } * entries;
    size_t count, capacity, had;
    uint64_t size, generation;
} change;

enum { RESTARTS = 64, MOST_CHUNKS = 1 << 20 };

static void free_source(void *user)
{
    source *s = user;
    culvi_ipc_client_unref(s->client);
    culvi_free(s);
}

static uint64_t known(const change *c)
{
    return c->count > 0 ? c->entries[c->count - 1].chunk.id : 0;
}

/* What the server says ------------------------------------------------------------------------- */

static culv_result refuse(const change *c, const char *what)
{
    return culvi_fail(&c->v->device->voice, c->v->label, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                      "the chunks that the server told %s", what);
}

static culv_result make_room(change *c)
{
    if (c->count < c->capacity) return CULV_OK;
    const size_t capacity = 2 * c->capacity + 8;
    struct entry *entries = culvi_alloc(capacity * sizeof *entries);
    if (entries == NULL) return culvi_fail_host_memory(&c->v->device->voice, c->v->label);
    if (c->count > 0) memcpy(entries, c->entries, c->count * sizeof *entries);
    culvi_free(c->entries);
    c->entries = entries;
    c->capacity = capacity;
    return CULV_OK;
}

/* The handle is gone, whatever the result. */
static culv_result add_chunk(change *c, const culvi_ipc_chunk *what, culvi_ipc_native native)
{
    const uint32_t type = CULVI_HANDLE_OPAQUE;
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    struct entry e = {.chunk = {.id = what->id, .offset = what->offset, .size = what->size},
                      .seen = true};
    d.handle = culvi_ipc_handle((culv_handle_type)type, native);
    d.size = what->size;
    d.exporter = c->from->client->server_device;
    d.label = c->v->label;
    culv_result result = make_room(c);
    if (result == CULV_OK) result = culv_vmm_import(c->v->device, &d, &e.chunk.allocation);
    if (result == CULV_OK && c->from->keep_handles) {
        e.chunk.allocation->kept = d.handle;
        e.chunk.allocation->handle_types = UINT32_C(1) << type;
    } else {
        culvi_handle_close(&d.handle);
    }
    if (result != CULV_OK) return result;
    e.chunk.allocation->owner_destroy_call = "culv_vector_destroy";
    c->entries[c->count++] = e;
    return CULV_OK;
}

/* One answer: marks the chunks that are there already, and takes in those that are new. All
 * handles are gone. */
static culv_result take_answer(change *c, const culvi_ipc_message *m, const culvi_ipc_native *fds)
{
    const culv_vector *v = c->v;
    culv_result result = CULV_OK;
    uint32_t fd = 0;
    size_t at = 0;
    const uint64_t last = known(c);
    for (uint32_t i = 0; i < m->count; i++) {
        const culvi_ipc_chunk *what = &m->chunks[i];
        if (what->id > last) {
            if (fd == m->fds) {
                result = culvi_fail(
                    &v->device->voice, v->label, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                    "the server's answer lacks the handle of chunk %" PRIu64, what->id);
                break;
            }
            result = add_chunk(c, what, fds[fd++]);
            if (result != CULV_OK) break;
            continue;
        }
        while (at < c->count && c->entries[at].chunk.id < what->id)
            at++;
        struct entry *e = &c->entries[at];
        if (at == c->count || e->chunk.id != what->id || e->chunk.offset != what->offset ||
            e->chunk.size != what->size) {
            result = culvi_fail(
                &v->device->voice, v->label, CULV_ERROR_ASYNC, CULV_REASON_IPC_PROTOCOL,
                "the server says that chunk %" PRIu64 " is another than before", what->id);
            break;
        }
        e->seen = true;
    }
    culvi_ipc_close_fds(fds + fd, m->fds - fd);
    return result;
}

/* Asks for all chunks. The size and the generation are of one moment. */
static culv_result ask(change *c, uint64_t until)
{
    culvi_ipc_message reply;
    culvi_ipc_native fds[CULVI_IPC_FDS];
    uint64_t at = 0;
    unsigned restarts = 0;
    for (;;) {
        for (size_t i = 0; at == 0 && i < c->count; i++)
            c->entries[i].seen = false;
        culvi_ipc_message question = {.type = CULVI_IPC_CHUNKS, .number = at, .known = known(c)};
        memcpy(question.name, c->from->name, sizeof question.name);
        CULVI_TRY(culvi_ipc_ask(c->from->client, c->call, &question, NULL, until, &reply, fds));
        if ((at != 0 && reply.generation != c->generation) || reply.number != at) {
            /* It changed between two answers. */
            culvi_ipc_close_fds(fds, reply.fds);
            if (++restarts > RESTARTS || reply.total > MOST_CHUNKS)
                return culvi_fail(&c->v->device->voice, c->v->label, CULV_ERROR_TIMEOUT,
                                  CULV_REASON_IPC_GONE,
                                  "the server's vector changes faster than it can be asked for");
            at = 0;
            continue;
        }
        CULVI_TRY(take_answer(c, &reply, fds));
        c->size = reply.size;
        c->generation = reply.generation;
        at += reply.count;
        if (at >= reply.total) return CULV_OK;
    }
}

/* The chunks that are still there lie one behind the other, and hold the vector's size. Since none
 * changes its place, those that went lay behind the ones that stay. */
static culv_result check_layout(const change *c, uint64_t *end)
{
    *end = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!c->entries[i].seen) continue;
        if (c->entries[i].chunk.offset != *end) return refuse(c, "have a hole between them");
        *end += c->entries[i].chunk.size;
    }
    return c->size <= *end ? CULV_OK : refuse(c, "hold less than its size");
}

/* Addresses ------------------------------------------------------------------------------------ */

static culv_result map(const change *c, culvi_vector_space *space, size_t from)
{
    const culv_vector *v = c->v;
    const uint64_t before = space->mapped;
    for (size_t i = from; i < c->count; i++) {
        const culv_part *chunk = &c->entries[i].chunk;
        if (!c->entries[i].seen) continue;
        culv_result result = culvi_vmm_map_resolved(space->top->range, chunk->offset,
                                                    chunk->allocation, v->access, v->access_count);
        if (result == CULV_OK) {
            space->mapped = chunk->offset + chunk->size;
            continue;
        }
        for (; i-- > from;)
            if (c->entries[i].seen)
                culvi_vector_segment_unmap(space->top, c->entries[i].chunk.offset,
                                           c->entries[i].chunk.size);
        space->mapped = before;
        return result;
    }
    return CULV_OK;
}

/* All of them at another address, since they do not fit where the vector is. */
static culv_result move(const change *c, uint64_t end, culvi_vector_space **fresh)
{
    culv_vector *v = c->v;
    const uint64_t least = UINT64_C(1) << 30;
    uint64_t size = v->reserve;
    if (size == 0) size = end > least / 16 ? end * 16 : least;
    if (size < end) size = end * 2;
    if (culvi_vector_is_pinned(v, 0, 0)) return culvi_vector_fail_pinned(v, c->call);
    culv_result result = culvi_vector_space_create(v, culvi_vector_round(v, size), fresh);
    if (result == CULV_OK) result = map(c, *fresh, 0);
    if (result == CULV_OK || *fresh == NULL) return result;
    culvi_vector_space_free(*fresh, false);
    *fresh = NULL;
    return result;
}

/* The update ----------------------------------------------------------------------------------- */

/* From here on nothing fails. */
static void publish(const change *c, culvi_vector_space *fresh, culv_part *chunks, uint64_t end)
{
    culv_vector *v = c->v;
    culvi_mutex_lock(&v->lock);
    culvi_free(v->chunks);
    v->chunks = chunks;
    v->num_chunks = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->entries[i].seen) chunks[v->num_chunks++] = c->entries[i].chunk;
    v->capacity = v->num_chunks;
    if (fresh != NULL) {
        if (v->space != NULL) v->stats.moves++;
        v->space = fresh;
    }
    if (end > v->stats.peak) v->stats.peak = end;
    /* The order matters: see culv_vector::base. */
    if (c->size < atomic_load(&v->size)) atomic_store(&v->size, c->size);
    atomic_store(&v->base, v->space->base);
    atomic_store(&v->committed, end);
    atomic_store(&v->size, c->size);
    atomic_store(&v->generation, c->generation);
    culvi_mutex_unlock(&v->lock);
}

/* Everything or nothing. */
static culv_result apply(change *c, CUstream last_use)
{
    culv_vector *v = c->v;
    culvi_vector_space *fresh = NULL, *old = v->space;
    uint64_t end = 0;
    size_t kept = 0;
    culv_result result = check_layout(c, &end);
    if (result != CULV_OK) return result;
    while (kept < c->had && c->entries[kept].seen)
        kept++;
    bool grows = false;
    for (size_t i = c->had; i < c->count; i++)
        grows = grows || c->entries[i].seen;
    const uint64_t goes_from = kept < c->had ? c->entries[kept].chunk.offset : UINT64_MAX;
    if (kept < c->had && culvi_vector_is_pinned(v, 0, goes_from))
        return culvi_vector_fail_pinned(v, c->call);
    culv_part *chunks = culvi_alloc((c->count + 1) * sizeof *chunks);
    if (chunks == NULL) return culvi_fail_host_memory(&v->device->voice, v->label);
    /* New ones at the place of old ones, whose mappings wait for the stream. */
    bool moves = old == NULL || end > old->reserved || (grows && kept < c->had);
    if (!moves && grows) {
        result = map(c, old, c->had);
        moves = result == CULV_ERROR_BUSY; /* an earlier update's mappings are still there */
    }
    if (moves)
        result = move(c, end, &fresh);
    else if (result == CULV_OK && kept < c->had)
        result = culvi_vector_unmap_after(old, goes_from, last_use, c->call);
    CULVI_TRY_OR(result, culvi_free(chunks));
    publish(c, fresh, chunks, end);
    if (fresh != NULL && old != NULL) /* the GPU may still use it */
        culvi_vector_space_free(old,
                                culvi_vector_unmap_after(old, 0, last_use, c->call) != CULV_OK);
    return CULV_OK;
}

static culv_result update(culv_vector *v, const char *call, CUstream last_use, uint64_t timeout)
{
    change c = {.v = v, .from = v->source, .call = call};
    culv_result result = CULV_OK;
    (void)culvi_vector_take(v, UINT64_MAX);
    for (; result == CULV_OK && c.count < v->num_chunks; c.count++) {
        result = make_room(&c);
        if (result == CULV_OK) c.entries[c.count] = (struct entry){.chunk = v->chunks[c.count]};
    }
    c.had = v->num_chunks;
    if (result == CULV_OK) result = ask(&c, culvi_ipc_until(timeout));
    if (result == CULV_OK) result = apply(&c, last_use);
    /* What is not the vector's, or no longer. */
    for (size_t i = result == CULV_OK ? 0 : c.had; i < c.count; i++)
        if (result != CULV_OK || !c.entries[i].seen)
            culvi_vmm_allocation_give_up(&c.entries[i].chunk.allocation);
    culvi_free(c.entries);
    culvi_vector_give(v);
    return result;
}

culv_result culv_ipc_vector_update(culv_vector *vector, CUstream last_use, uint64_t timeout)
{
    CULVI_REQUIRE(NULL, vector);
    CULVI_REFUSE_IF(
        vector->source == NULL, &vector->device->voice, vector->label, CULV_REASON_USAGE,
        "culv_ipc_vector_update: the vector is this process's own; culv_vector_grow() and culv_vector_shrink() change it");
    return update(vector, __func__, last_use, timeout);
}

static culv_result make_source(culv_ipc_client *client, const culv_ipc_vector_desc *d,
                               const culvi_voice *voice, const char *call, source **out)
{
    CULVI_NEW(source, s, voice, client->label);
    s->keep_handles = d->keep_handles != 0;
    CULVI_TRY_OR(culvi_ipc_read_name(voice, call, ": ", d->name, s->name), culvi_free(s));
    s->client = culvi_ipc_client_ref(client);
    *out = s;
    return CULV_OK;
}

culv_result culv_ipc_vector_open(culv_ipc_client *client, const culv_ipc_vector_desc *desc,
                                 uint64_t timeout, culv_vector **out)
{
    culv_vector_desc vd = culv_vector_desc_init();
    source *from = NULL;
    culv_vector *v = NULL;
    CULVI_REQUIRE_WITH2(client, culvi_ipc_voice(client->device), desc, out);
    const culvi_voice *voice = culvi_ipc_voice(client->device);
    CULVI_READ(voice, culv_ipc_vector_desc, d, desc);
    CULVI_REQUIRE(voice, desc->name);
    CULVI_REFUSE_IF(
        client->device == NULL, NULL, client->label, CULV_REASON_VALUE,
        "culv_ipc_vector_open: the client was connected without a device; pass one to culv_ipc_client_connect()");
    CULVI_TRY(make_source(client, &d, voice, __func__, &from));
    vd.label = from->name;
    vd.handle_types = from->keep_handles ? UINT32_C(1) << CULVI_HANDLE_OPAQUE : 0;
    CULVI_TRY_OR(culvi_vector_new(client->device, &vd, &v), free_source(from));
    v->source = from;
    v->free_source = free_source;
    v->reserve = d.reserve;
    CULVI_TRY_OR(update(v, __func__, NULL, timeout), culvi_vector_free_all(v, true));
    culvi_log_object(voice, "made", "vector", v->label, culv_vector_committed(v));
    *out = v;
    return CULV_OK;
}
