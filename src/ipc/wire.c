/* SPDX-License-Identifier: MIT */
/* Messages, as bytes and back. */
#include "ipc/ipc_channel.h"

#include <inttypes.h>
#include <string.h>

/* "CIPC" */
#define MAGIC UINT32_C(0x43504943)
/* No memory of today's machines is larger. Sums of two such sizes do not overflow. */
#define MOST_BYTES (UINT64_C(1) << 56)

enum { ANSWER = 1, MOST_SIDE = 1 << 20, MOST_LEVELS = 32, MOST_ELEMENT = 1 << 20 };

/* Where the next field is. Both directions read the same list of fields, so that they agree. */
typedef struct cursor {
    unsigned char *bytes;
    size_t at;
    bool write;
} cursor;

static void number(cursor *c, void *value, size_t size)
{
    uint64_t v = 0;
    if (c->at + size > CULVI_IPC_BYTES) return; /* asserted by the tests: no list is so long */
    if (c->write) {
        if (size == 4) {
            uint32_t u;
            memcpy(&u, value, sizeof u);
            v = u;
        } else {
            memcpy(&v, value, sizeof v);
        }
        for (size_t i = 0; i < size; i++)
            c->bytes[c->at + i] = (unsigned char)(v >> (8 * i));
    } else {
        for (size_t i = 0; i < size; i++)
            v |= (uint64_t)c->bytes[c->at + i] << (8 * i);
        if (size == 4) {
            const uint32_t u = (uint32_t)v;
            memcpy(value, &u, sizeof u);
        } else {
            memcpy(value, &v, sizeof v);
        }
    }
    c->at += size;
}

static void u32(cursor *c, uint32_t *value)
{
    number(c, value, sizeof *value);
}

static void u64(cursor *c, uint64_t *value)
{
    number(c, value, sizeof *value);
}

static void raw(cursor *c, void *bytes, size_t size)
{
    if (c->at + size > CULVI_IPC_BYTES) return;
    if (c->write)
        memcpy(c->bytes + c->at, bytes, size);
    else
        memcpy(bytes, c->bytes + c->at, size);
    c->at += size;
}

/* An enum of C's is an int of 4 bytes: all of ours have a member 0x7fffffff. */
#define ENUM(c, field)                                                                             \
    do {                                                                                           \
        uint32_t e_ = (uint32_t)(field);                                                           \
        u32((c), &e_);                                                                             \
        memcpy(&(field), &e_, sizeof e_);                                                          \
    } while (0)

static void info_fields(cursor *c, culv_ipc_info *i)
{
    raw(c, i->name, sizeof i->name);
    raw(c, i->text, sizeof i->text);
    ENUM(c, i->kind);
    ENUM(c, i->handle_type);
    raw(c, i->device.bytes, sizeof i->device.bytes);
    u64(c, &i->allocation_size);
    u64(c, &i->offset);
    u64(c, &i->size);
    u32(c, &i->dedicated);
    u32(c, &i->memory_type_bits);
    ENUM(c, i->element_format);
    u32(c, &i->element_size);
    u64(c, &i->element_count);
    ENUM(c, i->image_type);
    ENUM(c, i->format);
    u32(c, &i->width);
    u32(c, &i->height);
    u32(c, &i->depth);
    u32(c, &i->array_layers);
    u32(c, &i->mip_levels);
    ENUM(c, i->tiling);
    u32(c, &i->usage);
    u32(c, &i->create_flags);
    ENUM(c, i->color);
    ENUM(c, i->alpha);
    ENUM(c, i->semaphore_type);
    u32(c, &i->slots);
    u64(c, &i->value);
    u64(c, &i->generation);
    u32(c, &i->parts);
}

static void body(cursor *c, culvi_ipc_message *m)
{
    switch (m->type) {
    case CULVI_IPC_HELLO:
        u32(c, &m->pid);
        u32(c, &m->driver);
        raw(c, m->device.bytes, sizeof m->device.bytes);
        break;
    case CULVI_IPC_LIST:
        u64(c, &m->number);
        if (!m->answer) break;
        u64(c, &m->total);
        info_fields(c, &m->info);
        break;
    case CULVI_IPC_RECEIVE:
        if (!m->answer) {
            raw(c, m->name, sizeof m->name);
            break;
        }
        info_fields(c, &m->info);
        if (culvi_ipc_is_data(m->info.kind)) raw(c, m->data, sizeof m->data);
        break;
    case CULVI_IPC_CHUNKS:
        u64(c, &m->number);
        if (!m->answer) {
            u64(c, &m->known);
            raw(c, m->name, sizeof m->name);
            break;
        }
        u64(c, &m->total);
        u64(c, &m->generation);
        u64(c, &m->size);
        u32(c, &m->count);
        for (size_t i = 0; i < CULVI_IPC_FDS; i++) {
            u64(c, &m->chunks[i].id);
            u64(c, &m->chunks[i].offset);
            u64(c, &m->chunks[i].size);
        }
        break;
    case CULVI_IPC_JOIN:
        if (!m->answer) raw(c, m->name, sizeof m->name);
        u64(c, &m->number);
        u32(c, &m->join.policy);
        u32(c, &m->join.timelines);
        u32(c, &m->join.depth);
        u32(c, &m->join.parts);
        u64(c, &m->join.page_size);
        u32(c, &m->join.handle_type);
        break;
    case CULVI_IPC_LEAVE: u64(c, &m->number); break;
    case CULVI_IPC_ERROR:
        ENUM(c, m->result);
        ENUM(c, m->reason);
        raw(c, m->text, sizeof m->text);
        break;
    case CULVI_IPC_WAKE:
    case CULVI_IPC_TYPES: break;
    }
}

void culvi_ipc_encode(const culvi_ipc_message *message, unsigned char out[CULVI_IPC_BYTES])
{
    culvi_ipc_message m = *message;
    cursor c = {.bytes = out, .write = true};
    uint32_t magic = MAGIC, version = CULVI_IPC_VERSION, type = (uint32_t)m.type,
             flags = m.answer ? ANSWER : 0;
    memset(out, 0, CULVI_IPC_BYTES);
    u32(&c, &magic);
    u32(&c, &version);
    u32(&c, &type);
    u32(&c, &m.sequence);
    u32(&c, &m.fds);
    u32(&c, &flags);
    body(&c, &m);
}

/* Checks --------------------------------------------------------------------------------------- */

bool culvi_ipc_is_data(culv_ipc_kind kind)
{
    return kind == CULV_IPC_CUDA_MEMORY || kind == CULV_IPC_EVENT || kind == CULV_IPC_POOL_MEMORY ||
           kind == CULV_IPC_VMM_FABRIC || kind == CULV_IPC_POOL_FABRIC;
}

bool culvi_ipc_name_good(const char name[CULV_IPC_NAME_SIZE])
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (memchr(name, 0, CULV_IPC_NAME_SIZE) == NULL || name[0] == 0 || name[0] == '.') return false;
    return strspn(name, good) == strlen(name);
}

/* Text ends, and all behind its end is 0: nothing of the sender's memory leaks out unseen. */
static bool text_good(const char *text, size_t size)
{
    const char *end = memchr(text, 0, size);
    if (end == NULL) return false;
    for (const char *p = end; p < text + size; p++)
        if (*p != 0) return false;
    return true;
}

static bool wrong(culvi_text *why, const char *what, uint64_t value)
{
    culvi_text_add(why, "%s is %" PRIu64, what, value);
    return false;
}

static bool wrong_most(culvi_text *why, const char *what, uint64_t value, uint64_t most)
{
    culvi_text_add(why, "%s is %" PRIu64 ", and may be at most %" PRIu64, what, value, most);
    return false;
}

static bool wrong_least(culvi_text *why, const char *what, uint64_t value, uint64_t least)
{
    culvi_text_add(why, "%s is %" PRIu64 ", and must be at least %" PRIu64, what, value, least);
    return false;
}

#define MOST(field, most)                                                                          \
    do {                                                                                           \
        if ((uint64_t)(i->field) > (uint64_t)(most))                                               \
            return wrong_most(why, #field, (uint64_t)(i->field), (uint64_t)(most));                \
    } while (0)
#define LEAST(field, least)                                                                        \
    do {                                                                                           \
        if ((uint64_t)(i->field) < (uint64_t)(least))                                              \
            return wrong_least(why, #field, (uint64_t)(i->field), (uint64_t)(least));              \
    } while (0)

static bool image_good(const culv_ipc_info *i, culvi_text *why)
{
    LEAST(width, 1);
    MOST(width, MOST_SIDE);
    MOST(height, MOST_SIDE);
    MOST(depth, MOST_SIDE);
    MOST(array_layers, MOST_SIDE);
    MOST(mip_levels, MOST_LEVELS);
    LEAST(format, 1);
    return true;
}

bool culvi_ipc_info_good(const culv_ipc_info *i, culvi_text *why)
{
    if (!culvi_ipc_name_good(i->name)) {
        culvi_text_add(
            why,
            "name must have 1 to 63 letters, digits, '.', '_' and '-', and must not begin with '.'");
        return false;
    }
    if (!text_good(i->text, sizeof i->text)) {
        culvi_text_add(why, "text does not end, or goes on behind its end");
        return false;
    }
    LEAST(kind, CULV_IPC_VMM);
    MOST(kind, CULV_IPC_POOL_FABRIC);
    MOST(handle_type, 31);
    MOST(allocation_size, MOST_BYTES);
    MOST(offset, MOST_BYTES);
    MOST(size, MOST_BYTES);
    MOST(dedicated, 1);
    MOST(element_size, MOST_ELEMENT);
    MOST(element_count, MOST_BYTES);
    MOST(image_type, CULV_IMAGE_CUBE);
    MOST(tiling, CULV_IPC_TILING_LINEAR);
    MOST(color, CULV_IPC_COLOR_BT2020_HLG);
    MOST(alpha, CULV_IPC_ALPHA_PREMULTIPLIED);
    MOST(semaphore_type, CULV_SEMAPHORE_BINARY);
    MOST(slots, CULV_RING_MAX_DEPTH);
    MOST(reserved, 0);
    const bool memory = i->kind == CULV_IPC_VMM || i->kind == CULV_IPC_BUFFER ||
                        i->kind == CULV_IPC_IMAGE || i->kind == CULV_IPC_CUDA_MEMORY ||
                        i->kind == CULV_IPC_POOL_MEMORY || i->kind == CULV_IPC_VMM_FABRIC;
    if (memory) LEAST(allocation_size, 1);
    if (memory || i->kind == CULV_IPC_VECTOR) {
        /* At the end of the allocation nothing is left; a vector may have nothing yet. */
        if (memory) MOST(offset, i->allocation_size - 1);
        MOST(offset, i->allocation_size);
        const uint64_t left = i->allocation_size - i->offset;
        MOST(size, left);
        if (i->element_size != 0)
            MOST(element_count, (i->size != 0 ? i->size : left) / i->element_size);
    }
    if (i->kind == CULV_IPC_IMAGE) return image_good(i, why);
    if (i->kind == CULV_IPC_SEMAPHORE) LEAST(semaphore_type, CULV_SEMAPHORE_TIMELINE);
    if (i->kind == CULV_IPC_RING) LEAST(slots, 1);
    return true;
}

/* How many file descriptors a message of this kind has. */
static bool fds_good(const culvi_ipc_message *m)
{
    const culv_ipc_kind kind = m->info.kind;
    if (m->type == CULVI_IPC_CHUNKS && m->answer) return m->fds <= m->count;
    if (m->type == CULVI_IPC_JOIN && m->answer) return m->fds == (m->join.timelines == 2 ? 4 : 2);
    if (m->type == CULVI_IPC_JOIN) return m->fds == (m->join.timelines == 1 ? 2 : 0);
    if (m->type == CULVI_IPC_RECEIVE && m->answer)
        return m->fds ==
               (kind == CULV_IPC_VECTOR || kind == CULV_IPC_RING || culvi_ipc_is_data(kind) ? 0
                                                                                            : 1);
    return m->fds == 0;
}

static bool chunks_good(const culvi_ipc_message *m, culvi_text *why)
{
    uint64_t id = 0, end = 0;
    if (m->count > CULVI_IPC_FDS || m->number > m->total || m->count > m->total - m->number)
        return wrong(why, "the number of chunks", m->count);
    if (m->count == 0 && m->number < m->total) return wrong(why, "the number of chunks", 0);
    if (m->size > MOST_BYTES) return wrong(why, "the vector's size", m->size);
    for (uint32_t k = 0; k < m->count; k++) {
        const culvi_ipc_chunk *one = &m->chunks[k];
        if (one->id <= id) return wrong(why, "a chunk's id", one->id);
        if (one->offset < end || one->offset > MOST_BYTES)
            return wrong(why, "a chunk's offset", one->offset);
        if (one->size == 0 || one->size > MOST_BYTES)
            return wrong(why, "a chunk's size", one->size);
        id = one->id;
        end = one->offset + one->size;
    }
    return true;
}

static bool join_good(const culvi_ipc_message *m, culvi_text *why)
{
    const culvi_ipc_join *j = &m->join;
    if (j->policy > 1) return wrong(why, "the policy", j->policy);
    if (j->timelines > 2) return wrong(why, "the kind of timelines", j->timelines);
    if (j->handle_type != 0 &&
        (j->timelines == 0 || !culvi_ipc_is_timeline((culv_handle_type)j->handle_type)))
        return wrong(why, "the handle type of the timelines", j->handle_type);
    if (m->answer && (j->depth < 1 || j->depth > CULV_RING_MAX_DEPTH))
        return wrong(why, "the depth", j->depth);
    return true;
}

static bool body_good(const culvi_ipc_message *m, culvi_text *why)
{
    const bool has_name = !m->answer && (m->type == CULVI_IPC_RECEIVE ||
                                         m->type == CULVI_IPC_CHUNKS || m->type == CULVI_IPC_JOIN);
    if (has_name && !culvi_ipc_name_good(m->name)) {
        culvi_text_add(why, "its name is none");
        return false;
    }
    if (m->type == CULVI_IPC_RECEIVE && m->answer && !culvi_ipc_info_good(&m->info, why))
        return false;
    if (m->type == CULVI_IPC_LIST && m->answer && m->number < m->total &&
        !culvi_ipc_info_good(&m->info, why))
        return false;
    if (m->type == CULVI_IPC_CHUNKS && m->answer && !chunks_good(m, why)) return false;
    if (m->type == CULVI_IPC_JOIN && !join_good(m, why)) return false;
    if (m->type == CULVI_IPC_ERROR &&
        ((int)m->result >= 0 || (int)m->reason < 0 || m->reason >= CULV_REASON_COUNT_ ||
         !text_good(m->text, sizeof m->text))) {
        culvi_text_add(why, "its error is none");
        return false;
    }
    if (!fds_good(m)) return wrong(why, "the number of file descriptors", m->fds);
    return true;
}

bool culvi_ipc_decode(const unsigned char *bytes, size_t size, size_t fds, bool answer,
                      culvi_ipc_message *out, culvi_text *why)
{
    unsigned char copy[CULVI_IPC_BYTES];
    culvi_ipc_message m;
    cursor c = {.bytes = copy};
    uint32_t magic = 0, version = 0, type = 0, flags = 0;
    memset(&m, 0, sizeof m);
    m.info = culv_ipc_info_init();
    if (size != CULVI_IPC_BYTES) return wrong(why, "its size in bytes", size);
    memcpy(copy, bytes, CULVI_IPC_BYTES);
    u32(&c, &magic);
    u32(&c, &version);
    u32(&c, &type);
    u32(&c, &m.sequence);
    u32(&c, &m.fds);
    u32(&c, &flags);
    if (magic != MAGIC) return wrong(why, "its first word", magic);
    m.version = version;
    /* Asked first of all: another version may differ in all that follows. */
    if (version != CULVI_IPC_VERSION) {
        culvi_text_add(why, "it speaks version %" PRIu32 " of the protocol, and this is version %d",
                       version, (int)CULVI_IPC_VERSION);
        return false;
    }
    if (type < CULVI_IPC_HELLO || type >= CULVI_IPC_TYPES) return wrong(why, "its type", type);
    if (flags > ANSWER) return wrong(why, "its flags", flags);
    m.type = (culvi_ipc_type)type;
    m.answer = flags == ANSWER;
    if (m.answer != answer || (m.type == CULVI_IPC_ERROR && !answer))
        return wrong(why, "its direction", flags);
    if (m.fds != fds) {
        culvi_text_add(why, "it announces %" PRIu32 " file descriptors and has %zu", m.fds, fds);
        return false;
    }
    body(&c, &m);
    for (size_t i = c.at; i < CULVI_IPC_BYTES; i++)
        if (copy[i] != 0) return wrong(why, "a byte behind its end", copy[i]);
    if (!body_good(&m, why)) return false;
    *out = m;
    return true;
}
