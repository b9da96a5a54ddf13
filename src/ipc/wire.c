/* SPDX-License-Identifier: MIT */
/* Messages, as bytes and back. */
#include "ipc/ipc_channel.h"

/* "CIPC" */
#define MAGIC UINT32_C(0x43504943)
/* No memory of today's machines is larger. Sums of two such sizes do not overflow. */
#define MOST_BYTES (UINT64_C(1) << 56)

enum {
    ANSWER = 1,
    MOST_SIDE = 1 << 20,
    MOST_LEVELS = 32,
    MOST_ELEMENT = 1 << 20,
    MOST_TYPE = 31, /* of a handle: a bit of uint32_t stands for each */
    MOST_PARTS = 16,
    MOST_DRIVER = 1000000 /* cuDriverGetVersion() of today is 13000 */
};
#define ANY_U32 UINT32_MAX
#define ANY_U64 UINT64_MAX

/* Tells where the next field is. All that goes through a message goes through the same list of
 * fields, so that both directions, the checks and docs/ipc-protocol.md agree. */
typedef struct cursor {
    unsigned char *bytes;
    size_t at;
    enum { READ, WRITE, CHECK, TELL } mode;
    /* CHECK */
    bool bad;
    culvi_text *why;
    /* TELL */
    culvi_ipc_tell tell;
    void *user;
} cursor;

static uint64_t number_of(const void *value, size_t size)
{
    uint64_t v = 0;
    uint32_t u = 0;
    if (size == sizeof v) {
        memcpy(&v, value, sizeof v);
        return v;
    }
    memcpy(&u, value, sizeof u);
    return u;
}

static void read_number(const unsigned char *bytes, void *value, size_t size)
{
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)bytes[i] << (8 * i);
    const uint32_t u = (uint32_t)v;
    if (size == sizeof v)
        memcpy(value, &v, sizeof v);
    else
        memcpy(value, &u, sizeof u);
}

static bool field_good(const culvi_ipc_field *f, const void *value, culvi_text *why);

static void field(cursor *c, const char *name, void *value, size_t size, culvi_ipc_form form,
                  uint64_t least, uint64_t most)
{
    const culvi_ipc_field f = {strstr(name, "->") + 2, c->at, size, form, least, most};
    if (c->at + size > CULVI_IPC_BYTES) return; /* asserted by the tests: no list is so long */
    switch (c->mode) {
    case READ:
        if (form == CULVI_IPC_NUMBER)
            read_number(c->bytes + c->at, value, size);
        else
            memcpy(value, c->bytes + c->at, size);
        break;
    case WRITE:
        if (form == CULVI_IPC_NUMBER)
            for (size_t i = 0; i < size; i++)
                c->bytes[c->at + i] = (unsigned char)(number_of(value, size) >> (8 * i));
        else
            memcpy(c->bytes + c->at, value, size);
        break;
    case CHECK: c->bad = c->bad || !field_good(&f, value, c->why); break;
    case TELL: c->tell(c->user, &f); break;
    }
    c->at += size;
}

/* A number of 4 or 8 bytes, with the least and the most that it may be. */
#define NUMBER(c, member, least, most)                                                             \
    field((c), #member, &(member), sizeof(member), CULVI_IPC_NUMBER, (least), (most))
/* Our enums are 4 bytes, because each has a member 0x7fffffff. */
#define ENUM(c, member, least, most)                                                               \
    do {                                                                                           \
        uint32_t e_ = (uint32_t)(member);                                                          \
        field((c), #member, &e_, sizeof e_, CULVI_IPC_NUMBER, (uint64_t)(least),                   \
              (uint64_t)(most));                                                                   \
        memcpy(&(member), &e_, sizeof e_);                                                         \
    } while (0)
#define BYTES(c, member, form) field((c), #member, (member), sizeof(member), (form), 0, 0)

static void head(cursor *c, culvi_ipc_head *h)
{
    NUMBER(c, h->magic, MAGIC, MAGIC);
    NUMBER(c, h->version, CULVI_IPC_VERSION, CULVI_IPC_VERSION);
    NUMBER(c, h->type, CULVI_IPC_HELLO, CULVI_IPC_TYPES - 1);
    NUMBER(c, h->sequence, 0, ANY_U32);
    NUMBER(c, h->fds, 0, CULVI_IPC_FDS);
    NUMBER(c, h->flags, 0, ANSWER);
}

static void info_fields(cursor *c, culv_ipc_info *i)
{
    const bool image = i->kind == CULV_IPC_IMAGE;
    const uint64_t side = image ? MOST_SIDE : ANY_U32;
    BYTES(c, i->name, CULVI_IPC_NAME);
    BYTES(c, i->text, CULVI_IPC_TEXTUAL);
    ENUM(c, i->kind, CULV_IPC_VMM, CULV_IPC_POOL_FABRIC);
    ENUM(c, i->handle_type, 0, MOST_TYPE);
    BYTES(c, i->device.bytes, CULVI_IPC_PLAIN);
    NUMBER(c, i->allocation_size, 0, MOST_BYTES);
    NUMBER(c, i->offset, 0, MOST_BYTES);
    NUMBER(c, i->size, 0, MOST_BYTES);
    NUMBER(c, i->dedicated, 0, 1);
    NUMBER(c, i->memory_type_bits, 0, ANY_U32);
    ENUM(c, i->element_format, 0, ANY_U32);
    NUMBER(c, i->element_size, 0, MOST_ELEMENT);
    NUMBER(c, i->element_count, 0, MOST_BYTES);
    ENUM(c, i->image_type, 0, CULV_IMAGE_CUBE);
    ENUM(c, i->format, image ? 1 : 0, ANY_U32);
    NUMBER(c, i->width, image ? 1 : 0, side);
    NUMBER(c, i->height, 0, side);
    NUMBER(c, i->depth, 0, side);
    NUMBER(c, i->array_layers, 0, side);
    NUMBER(c, i->mip_levels, 0, image ? MOST_LEVELS : ANY_U32);
    ENUM(c, i->tiling, 0, CULV_IPC_TILING_LINEAR);
    NUMBER(c, i->usage, 0, ANY_U32);
    NUMBER(c, i->create_flags, 0, ANY_U32);
    ENUM(c, i->color, 0, CULV_IPC_COLOR_BT2020_HLG);
    ENUM(c, i->alpha, 0, CULV_IPC_ALPHA_PREMULTIPLIED);
    ENUM(c, i->semaphore_type, i->kind == CULV_IPC_SEMAPHORE ? (int)CULV_SEMAPHORE_TIMELINE : 0,
         CULV_SEMAPHORE_BINARY);
    NUMBER(c, i->num_slots, i->kind == CULV_IPC_RING ? 1 : 0, CULV_RING_MAX_DEPTH);
    NUMBER(c, i->value, 0, ANY_U64);
    NUMBER(c, i->generation, 0, ANY_U64);
    NUMBER(c, i->parts, i->kind == CULV_IPC_RING ? 1 : 0, MOST_PARTS);
}

static void join_fields(cursor *c, culvi_ipc_message *m)
{
    /* What only the answer says is 0 in the question. */
    const bool tells = m->answer;
    if (!m->answer) BYTES(c, m->name, CULVI_IPC_NAME);
    NUMBER(c, m->number, 0, tells ? ANY_U64 : 0);
    NUMBER(c, m->join.policy, 0, CULV_RING_MAILBOX);
    NUMBER(c, m->join.timelines, 0, 2);
    NUMBER(c, m->join.depth, tells ? 1 : 0, tells ? CULV_RING_MAX_DEPTH : 0);
    NUMBER(c, m->join.parts, tells ? 1 : 0, tells ? MOST_PARTS : 0);
    NUMBER(c, m->join.page_size, tells ? CULVI_IPC_PAGE : 0, tells ? CULVI_IPC_PAGE : 0);
    NUMBER(c, m->join.handle_type, 0, MOST_TYPE);
}

/* Whether the thing is plain bytes, and no file descriptor goes with it. */
static bool is_data(culv_ipc_kind kind)
{
    return kind == CULV_IPC_CUDA_MEMORY || kind == CULV_IPC_EVENT || kind == CULV_IPC_POOL_MEMORY ||
           kind == CULV_IPC_VMM_FABRIC || kind == CULV_IPC_POOL_FABRIC;
}

static void body(cursor *c, culvi_ipc_message *m)
{
    switch (m->type) {
    case CULVI_IPC_HELLO:
        NUMBER(c, m->pid, 0, INT32_MAX);
        NUMBER(c, m->driver, 0, MOST_DRIVER);
        BYTES(c, m->device.bytes, CULVI_IPC_PLAIN);
        break;
    case CULVI_IPC_LIST:
        NUMBER(c, m->number, 0, ANY_U64);
        if (!m->answer) break;
        NUMBER(c, m->total, 0, CULVI_IPC_OFFERS);
        /* An answer to a number past the last object describes none. */
        if (m->number < m->total || c->mode == TELL) info_fields(c, &m->info);
        break;
    case CULVI_IPC_RECEIVE:
        if (!m->answer) {
            BYTES(c, m->name, CULVI_IPC_NAME);
            break;
        }
        info_fields(c, &m->info);
        if (is_data(m->info.kind) || c->mode == TELL) BYTES(c, m->data, CULVI_IPC_PLAIN);
        break;
    case CULVI_IPC_CHUNKS:
        NUMBER(c, m->number, 0, ANY_U64);
        if (!m->answer) {
            NUMBER(c, m->known, 0, ANY_U64);
            BYTES(c, m->name, CULVI_IPC_NAME);
            break;
        }
        NUMBER(c, m->total, 0, ANY_U64);
        NUMBER(c, m->generation, 0, ANY_U64);
        NUMBER(c, m->size, 0, MOST_BYTES);
        NUMBER(c, m->count, 0, CULVI_IPC_FDS);
        for (size_t k = 0; k < CULVI_IPC_FDS; k++) {
            const bool there = k < m->count || c->mode == TELL;
            NUMBER(c, m->chunks[k].id, there, there ? ANY_U64 : 0);
            NUMBER(c, m->chunks[k].offset, 0, there ? MOST_BYTES : 0);
            NUMBER(c, m->chunks[k].size, there, there ? MOST_BYTES : 0);
        }
        break;
    case CULVI_IPC_JOIN: join_fields(c, m); break;
    case CULVI_IPC_LEAVE: NUMBER(c, m->number, 0, ANY_U64); break;
    case CULVI_IPC_ERROR:
        ENUM(c, m->result, UINT32_C(1) << 31, ANY_U32); /* each error is below 0 */
        ENUM(c, m->reason, 0, CULV_REASON_COUNT_ - 1);
        BYTES(c, m->text, CULVI_IPC_CUT);
        break;
    case CULVI_IPC_WAKE:
    case CULVI_IPC_TYPES: break;
    }
}

void culvi_ipc_encode(const culvi_ipc_message *message, unsigned char out[CULVI_IPC_BYTES])
{
    culvi_ipc_message m = *message;
    culvi_ipc_head h = {.magic = MAGIC,
                        .version = CULVI_IPC_VERSION,
                        .type = (uint32_t)m.type,
                        .sequence = m.sequence,
                        .fds = m.fds,
                        .flags = m.answer ? ANSWER : 0};
    cursor c = {.bytes = out, .mode = WRITE};
    memset(out, 0, CULVI_IPC_BYTES);
    head(&c, &h);
    body(&c, &m);
}

void culvi_ipc_fields(culvi_ipc_type type, bool answer, culv_ipc_kind kind, culvi_ipc_tell tell,
                      void *user)
{
    culvi_ipc_head h = {0};
    culvi_ipc_message m;
    cursor c = {.bytes = NULL, .mode = TELL, .tell = tell, .user = user};
    memset(&m, 0, sizeof m);
    m.type = type;
    m.answer = answer;
    m.info.kind = kind;
    head(&c, &h);
    if (type != CULVI_IPC_TYPES) body(&c, &m);
}

/* Checks --------------------------------------------------------------------------------------- */

const char culvi_ipc_name_rule[] =
    "name must have 1 to 63 letters, digits, '.', '_' and '-', and must not begin with '.'";

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

/* `rule` is "" or says what the value must be; then `limit` follows. */
static bool wrong_by(culvi_text *why, const char *what, uint64_t value, const char *rule,
                     uint64_t limit)
{
    culvi_text_add(why, "%s is %" PRIu64 "%s", what, value, rule);
    if (rule[0] != 0) culvi_text_add(why, " %" PRIu64, limit);
    return false;
}

static const char at_most[] = ", and may be at most", at_least[] = ", and must be at least";
#define wrong(why, what, value)              wrong_by(why, what, value, "", 0)
#define wrong_most(why, what, value, most)   wrong_by(why, what, value, at_most, most)
#define wrong_least(why, what, value, least) wrong_by(why, what, value, at_least, least)

static bool field_good(const culvi_ipc_field *f, const void *value, culvi_text *why)
{
    if (f->form == CULVI_IPC_NAME && !culvi_ipc_name_good(value)) {
        culvi_text_add(why, "%s", culvi_ipc_name_rule);
        return false;
    }
    const bool text = f->form == CULVI_IPC_TEXTUAL || f->form == CULVI_IPC_CUT;
    if ((text && !text_good(value, f->size)) ||
        (f->form == CULVI_IPC_TEXTUAL && !culvi_text_plain(value))) {
        culvi_text_add(
            why,
            "text does not end, goes on behind its end, has control characters, or is not UTF-8");
        return false;
    }
    if (f->form != CULVI_IPC_NUMBER) return true;
    const uint64_t v = number_of(value, f->size);
    if (v > f->most) return wrong_most(why, f->name, v, f->most);
    if (v < f->least) return wrong_least(why, f->name, v, f->least);
    return true;
}

/* What the fields of a description must be to each other. */
static bool sizes_good(const culv_ipc_info *i, culvi_text *why)
{
    const bool memory = i->kind == CULV_IPC_VMM || i->kind == CULV_IPC_BUFFER ||
                        i->kind == CULV_IPC_IMAGE || i->kind == CULV_IPC_CUDA_MEMORY ||
                        i->kind == CULV_IPC_POOL_MEMORY || i->kind == CULV_IPC_VMM_FABRIC;
    if (i->element_size == 0 && i->element_count != 0)
        return wrong_most(why, "element_count", i->element_count, 0);
    if (!memory && i->kind != CULV_IPC_VECTOR) return true;
    if (memory && i->allocation_size == 0) return wrong_least(why, "allocation_size", 0, 1);
    /* At the end of the allocation nothing is left; a vector may have nothing yet. */
    const uint64_t last = memory ? i->allocation_size - 1 : i->allocation_size;
    if (i->offset > last) return wrong_most(why, "offset", i->offset, last);
    const uint64_t left = i->allocation_size - i->offset;
    if (i->size > left) return wrong_most(why, "size", i->size, left);
    if (i->element_size == 0) return true;
    const uint64_t most = (i->size != 0 ? i->size : left) / i->element_size;
    return i->element_count <= most || wrong_most(why, "element_count", i->element_count, most);
}

bool culvi_ipc_info_good(const culv_ipc_info *info, culvi_text *why)
{
    culv_ipc_info copy = *info;
    cursor c = {.mode = CHECK, .why = why};
    info_fields(&c, &copy);
    if (c.bad) return false;
    if (info->reserved != 0) return wrong_most(why, "reserved", info->reserved, 0);
    return sizes_good(info, why);
}

/* How many file descriptors a message of this kind has. */
static bool fds_good(const culvi_ipc_message *m)
{
    const culv_ipc_kind kind = m->info.kind;
    if (m->type == CULVI_IPC_CHUNKS && m->answer) return m->fds <= m->count;
    if (m->type == CULVI_IPC_JOIN && m->answer) return m->fds == (m->join.timelines == 2 ? 4 : 2);
    /* A join without its handles passes: the server did not let them in, and is asked why. */
    if (m->type == CULVI_IPC_JOIN) return m->fds == 0 || (m->join.timelines == 1 && m->fds == 2);
    if (m->type == CULVI_IPC_RECEIVE && m->answer)
        return m->fds ==
               (kind == CULV_IPC_VECTOR || kind == CULV_IPC_RING || is_data(kind) ? 0 : 1);
    return m->fds == 0;
}

static bool chunks_good(const culvi_ipc_message *m, culvi_text *why)
{
    uint64_t id = 0, end = 0;
    if (m->number > m->total || m->count > m->total - m->number)
        return wrong(why, "the number of chunks", m->count);
    if (m->count == 0 && m->number < m->total) return wrong(why, "the number of chunks", 0);
    for (uint32_t k = 0; k < m->count; k++) {
        const culvi_ipc_chunk *one = &m->chunks[k];
        if (one->id <= id) return wrong(why, "a chunk's id", one->id);
        if (one->offset < end) return wrong(why, "a chunk's offset", one->offset);
        id = one->id;
        end = one->offset + one->size;
    }
    return true;
}

static bool join_good(const culvi_ipc_message *m, culvi_text *why)
{
    const culvi_ipc_join *j = &m->join;
    if (j->handle_type != 0 &&
        (j->timelines == 0 || !culvi_ipc_is_timeline((culv_handle_type)j->handle_type)))
        return wrong(why, "the handle type of the timelines", j->handle_type);
    return true;
}

static bool body_good(const culvi_ipc_message *m, culvi_text *why)
{
    const bool info = m->answer && (m->type == CULVI_IPC_RECEIVE ||
                                    (m->type == CULVI_IPC_LIST && m->number < m->total));
    if (info && !sizes_good(&m->info, why)) return false;
    if (m->type == CULVI_IPC_CHUNKS && m->answer && !chunks_good(m, why)) return false;
    if (m->type == CULVI_IPC_JOIN && !join_good(m, why)) return false;
    if (!fds_good(m)) return wrong(why, "the number of file descriptors", m->fds);
    return true;
}

bool culvi_ipc_decode(const unsigned char *bytes, size_t size, size_t fds, bool answer,
                      culvi_ipc_message *out, culvi_text *why)
{
    unsigned char copy[CULVI_IPC_BYTES];
    culvi_ipc_message m;
    culvi_ipc_head h;
    cursor c = {.bytes = copy, .mode = READ}, check = {.mode = CHECK, .why = why};
    memset(&m, 0, sizeof m);
    m.info = culv_ipc_info_init();
    if (size != CULVI_IPC_BYTES) return wrong(why, "its size in bytes", size);
    memcpy(copy, bytes, CULVI_IPC_BYTES);
    head(&c, &h);
    if (h.magic != MAGIC) return wrong(why, "its first word", h.magic);
    /* Asked first of all: another version may differ in all that follows. */
    if (h.version != CULVI_IPC_VERSION) {
        culvi_text_add(why, "it speaks version %" PRIu32 " of the protocol, and this is version %d",
                       h.version, (int)CULVI_IPC_VERSION);
        return false;
    }
    head(&check, &h);
    if (check.bad) return false;
    m.version = h.version;
    m.type = (culvi_ipc_type)h.type;
    m.sequence = h.sequence;
    m.fds = h.fds;
    m.answer = h.flags == ANSWER;
    if (m.answer != answer || (m.type == CULVI_IPC_ERROR && !answer))
        return wrong(why, "its direction", h.flags);
    if (m.fds != fds) {
        culvi_text_add(why, "it announces %" PRIu32 " file descriptors and has %zu", m.fds, fds);
        return false;
    }
    body(&c, &m);
    for (size_t i = c.at; i < CULVI_IPC_BYTES; i++)
        if (copy[i] != 0) return wrong(why, "a byte behind its end", copy[i]);
    body(&check, &m);
    if (check.bad || !body_good(&m, why)) return false;
    *out = m;
    return true;
}
