/* SPDX-License-Identifier: MIT */
/* The radix tree. */
#include "rdma_index.h"

typedef _Atomic(uintptr_t) slot;

enum { LINE = 64 /* of the processor's cache */ };
enum { CHUNK_BITS = 16, ADDRESS_BITS = 57, LEVELS = 4, TAG = 3, ENTRY = 1, CROWD = 2 };

/* Bits of chunk number below a slot of each level, and slots of a node. */
static const unsigned shifts[LEVELS] = {28, 18, 8, 0};
static const size_t widths[LEVELS] = {(size_t)1 << CULVI_RDMA_ROOT_BITS, 1024, 1024, 256};

typedef struct crowd_row {
    _Atomic(uint64_t) start;
    _Atomic(uintptr_t) entry;
} crowd_row;

struct culvi_rdma_crowd {
    unsigned class; /* has 1 << class rows */
    atomic_uint count;
    culvi_rdma_crowd *next;
    crowd_row rows[]; /* by start */
};

struct culvi_rdma_block {
    culvi_rdma_block *next;
    size_t size;
};

/* Memory --------------------------------------------------------------------------------------- */

/* Look-ups jump about in all of it, so it comes in large blocks, which take few of the entries that
 * a processor has for pages. They double up to a limit. */
static bool more_room(culvi_rdma_index *index, size_t size)
{
    enum { LEAST = 128 << 10, MOST = 16 << 20, LARGE = 4 << 20 };
    const size_t head = sizeof(culvi_rdma_block) + LINE;
    size_t wanted = index->bytes > MOST ? MOST : (size_t)index->bytes;
    if (wanted < LEAST) wanted = LEAST;
    if (wanted < size + head) wanted = size + head;
    culvi_rdma_block *block = culvi_x_alloc(wanted);
    if (block == NULL) return false;
    if (wanted >= LARGE) culvi_x_want_large_pages(block, wanted);
    block->size = wanted;
    block->next = index->blocks;
    index->blocks = block;
    index->bytes += wanted;
    const size_t over = ((uintptr_t)block + sizeof *block) % LINE;
    const size_t start = sizeof *block + (over != 0 ? LINE - over : 0);
    index->room = (char *)block + start;
    index->room_size = wanted - start;
    return true;
}

void *culvi_rdma_index_alloc(culvi_rdma_index *index, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + LINE - 1) / LINE * LINE;
    if (size > index->room_size && !more_room(index, size)) return NULL;
    void *memory = index->room;
    index->room += size;
    index->room_size -= size;
    return memory;
}

bool culvi_rdma_index_init(culvi_rdma_index *index)
{
    index->root = culvi_rdma_index_alloc(index, widths[0] * sizeof(slot));
    return index->root != NULL;
}

void culvi_rdma_index_free(culvi_rdma_index *index)
{
    while (index->blocks != NULL) {
        culvi_rdma_block *block = index->blocks;
        index->blocks = block->next;
        culvi_x_free(block);
    }
}

static culv_rdma_registration *entry_of(uintptr_t value)
{
    return (culv_rdma_registration *)(value - ENTRY);
}

static culvi_rdma_crowd *crowd_of(uintptr_t value)
{
    return (culvi_rdma_crowd *)(value - CROWD);
}

static uintptr_t value_of(const culv_rdma_registration *entry)
{
    return (uintptr_t)entry + ENTRY;
}

static uintptr_t load(const slot *s)
{
    return atomic_load_explicit(s, memory_order_acquire);
}

static void store(slot *s, uintptr_t value)
{
    atomic_store_explicit(s, value, memory_order_release);
}

/* Crowds --------------------------------------------------------------------------------------- */

static culvi_rdma_crowd *crowd_new(culvi_rdma_index *index, unsigned class)
{
    if (class >= CULVI_RDMA_CROWD_CLASSES) return NULL;
    culvi_rdma_crowd *crowd = index->unused[class];
    if (crowd != NULL) {
        index->unused[class] = crowd->next;
    } else {
        crowd = culvi_rdma_index_alloc(index, sizeof *crowd +
                                                  ((size_t)1 << class) * sizeof crowd->rows[0]);
        if (crowd == NULL) return NULL;
        crowd->class = class;
    }
    atomic_store_explicit(&crowd->count, 0, memory_order_relaxed);
    return crowd;
}

static void crowd_unuse(culvi_rdma_index *index, culvi_rdma_crowd *crowd)
{
    crowd->next = index->unused[crowd->class];
    index->unused[crowd->class] = crowd;
}

static void row_set(crowd_row *row, uint64_t start, uintptr_t entry)
{
    atomic_store_explicit(&row->start, start, memory_order_relaxed);
    atomic_store_explicit(&row->entry, entry, memory_order_release);
}

static void row_copy(crowd_row *to, const crowd_row *from)
{
    row_set(to, atomic_load_explicit(&from->start, memory_order_relaxed),
            atomic_load_explicit(&from->entry, memory_order_relaxed));
}

static unsigned crowd_count(const culvi_rdma_crowd *crowd)
{
    return atomic_load_explicit(&crowd->count, memory_order_acquire);
}

/* Readers that come meanwhile may see a row twice, or miss one and look again under the lock. */
static void crowd_add(culvi_rdma_crowd *crowd, culv_rdma_registration *entry)
{
    unsigned n = crowd_count(crowd), at = n;
    while (at > 0 &&
           atomic_load_explicit(&crowd->rows[at - 1].start, memory_order_relaxed) > entry->start) {
        row_copy(&crowd->rows[at], &crowd->rows[at - 1]);
        at--;
    }
    row_set(&crowd->rows[at], entry->start, (uintptr_t)entry);
    atomic_store_explicit(&crowd->count, n + 1, memory_order_release);
}

static void crowd_remove(culvi_rdma_crowd *crowd, const culv_rdma_registration *entry)
{
    const unsigned n = crowd_count(crowd);
    unsigned at = 0;
    while (at < n &&
           atomic_load_explicit(&crowd->rows[at].entry, memory_order_relaxed) != (uintptr_t)entry)
        at++;
    if (at == n) return;
    for (; at + 1 < n; at++)
        row_copy(&crowd->rows[at], &crowd->rows[at + 1]);
    atomic_store_explicit(&crowd->count, n - 1, memory_order_release);
}

/* The last one that starts at the address or before it. */
static culv_rdma_registration *crowd_find(const culvi_rdma_crowd *crowd, uint64_t address)
{
    unsigned low = 0, high = crowd_count(crowd);
    if (high > 1u << crowd->class) high = 1u << crowd->class;
    while (low < high) {
        const unsigned middle = low + (high - low) / 2;
        if (atomic_load_explicit(&crowd->rows[middle].start, memory_order_relaxed) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? (culv_rdma_registration *)atomic_load_explicit(&crowd->rows[low - 1].entry,
                                                                    memory_order_acquire)
                   : NULL;
}

/* Look-ups ------------------------------------------------------------------------------------- */

culv_rdma_registration *culvi_rdma_index_find(const culvi_rdma_index *index, uint64_t address)
{
    if (address >> ADDRESS_BITS != 0) return NULL;
    const uint64_t chunk = address >> CHUNK_BITS;
    uintptr_t value = load(&index->root[chunk >> shifts[0]]);
    for (unsigned level = 1; (value & TAG) == 0; level++) {
        if (value == 0) return NULL;
        value = load((const slot *)value + ((chunk >> shifts[level]) & (widths[level] - 1)));
    }
    return (value & TAG) == ENTRY ? entry_of(value) : crowd_find(crowd_of(value), address);
}

/* Changes -------------------------------------------------------------------------------------- */

/* A part of the tree, and the chunks of a range that lie in it. */
typedef struct part {
    slot *slots;
    unsigned level;
    uint64_t base; /* chunk of slot 0 */
    uint64_t first, last;
} part;

static part whole_tree(const culvi_rdma_index *index, uint64_t start, uint64_t end)
{
    const uint64_t most = (UINT64_C(1) << (ADDRESS_BITS - CHUNK_BITS)) - 1;
    part p = {index->root, 0, 0, start >> CHUNK_BITS, (end - 1) >> CHUNK_BITS};
    if (p.last > most) p.last = most;
    return p;
}

static size_t slot_at(const part *p, uint64_t chunk)
{
    return (size_t)((chunk - p->base) >> shifts[p->level]);
}

/* What slot `i` is of it. */
static part below(const part *p, size_t i, uintptr_t node)
{
    part b = {(slot *)node, p->level + 1, p->base + ((uint64_t)i << shifts[p->level]), p->first,
              p->last};
    const uint64_t last = b.base + (UINT64_C(1) << shifts[p->level]) - 1;
    if (b.first < b.base) b.first = b.base;
    if (b.last > last) b.last = last;
    return b;
}

/* Whether the range has all of slot `i`. */
static bool covers(const part *p, size_t i)
{
    const uint64_t low = p->base + ((uint64_t)i << shifts[p->level]);
    return p->first <= low && low + (UINT64_C(1) << shifts[p->level]) - 1 <= p->last;
}

/* A node in place of what is in the slot: empty, or of registrations as that one. */
static bool make_node(culvi_rdma_index *index, const part *p, slot *s)
{
    const uintptr_t before = load(s);
    slot *slots = culvi_rdma_index_alloc(index, widths[p->level + 1] * sizeof(slot));
    if (slots == NULL) return false;
    for (size_t i = 0; before != 0 && i < widths[p->level + 1]; i++)
        atomic_store_explicit(&slots[i], before, memory_order_relaxed);
    store(s, (uintptr_t)slots);
    return true;
}

/* Room for one more in the slot of a chunk that has others. */
static bool make_room(culvi_rdma_index *index, slot *s)
{
    const uintptr_t value = load(s);
    culvi_rdma_crowd *before = (value & TAG) == CROWD ? crowd_of(value) : NULL;
    if (value == 0 || (before != NULL && crowd_count(before) < 1u << before->class)) return true;
    culvi_rdma_crowd *crowd = crowd_new(index, before != NULL ? before->class + 1 : 2);
    if (crowd == NULL) return false;
    const unsigned n = before != NULL ? crowd_count(before) : 1;
    if (before == NULL) row_set(&crowd->rows[0], entry_of(value)->start, value - ENTRY);
    for (unsigned i = 0; before != NULL && i < n; i++)
        row_copy(&crowd->rows[i], &before->rows[i]);
    atomic_store_explicit(&crowd->count, n, memory_order_release);
    store(s, (uintptr_t)crowd + CROWD);
    if (before != NULL) crowd_unuse(index, before);
    return true;
}

/* Along the first chunk of the range, or the last: inside nothing is to be made. */
static bool reserve_at(culvi_rdma_index *index, part p, uint64_t chunk)
{
    for (;;) {
        const size_t i = slot_at(&p, chunk);
        slot *s = &p.slots[i];
        if (p.level == LEVELS - 1) return make_room(index, s);
        if ((load(s) & TAG) != 0 || load(s) == 0) {
            /* What has all of the slot goes there, where nothing else is. */
            if (load(s) == 0 && covers(&p, i)) return true;
            if (!make_node(index, &p, s)) return false;
        }
        p = below(&p, i, load(s));
    }
}

bool culvi_rdma_index_reserve(culvi_rdma_index *index, const culv_rdma_registration *entry)
{
    const part p = whole_tree(index, entry->start, entry->end);
    return reserve_at(index, p, p.first) && reserve_at(index, p, p.last);
}

static void add(culvi_rdma_index *index, part p, culv_rdma_registration *entry)
{
    for (size_t i = slot_at(&p, p.first); i <= slot_at(&p, p.last); i++) {
        slot *s = &p.slots[i];
        const uintptr_t value = load(s);
        if (value == 0 && (p.level == LEVELS - 1 || covers(&p, i)))
            store(s, value_of(entry));
        else if ((value & TAG) == CROWD)
            crowd_add(crowd_of(value), entry);
        else if (value != 0 && (value & TAG) == 0)
            add(index, below(&p, i, value), entry);
    }
}

void culvi_rdma_index_add(culvi_rdma_index *index, culv_rdma_registration *entry)
{
    add(index, whole_tree(index, entry->start, entry->end), entry);
}

static void take_out(culvi_rdma_index *index, part p, const culv_rdma_registration *entry)
{
    for (size_t i = slot_at(&p, p.first); i <= slot_at(&p, p.last); i++) {
        slot *s = &p.slots[i];
        const uintptr_t value = load(s);
        if (value == value_of(entry)) {
            store(s, 0);
        } else if ((value & TAG) == CROWD) {
            crowd_remove(crowd_of(value), entry);
            if (crowd_count(crowd_of(value)) == 0) {
                store(s, 0);
                crowd_unuse(index, crowd_of(value));
            }
        } else if (value != 0 && (value & TAG) == 0) {
            take_out(index, below(&p, i, value), entry);
        }
    }
}

void culvi_rdma_index_remove(culvi_rdma_index *index, const culv_rdma_registration *entry)
{
    take_out(index, whole_tree(index, entry->start, entry->end), entry);
}

typedef struct wanted {
    uint64_t start, end;
    const culv_rdma_registration *but;
} wanted;

static bool matches(const culv_rdma_registration *e, const wanted *w)
{
    return e != w->but && e->start < w->end && e->end > w->start;
}

static culv_rdma_registration *next_in(part p, const wanted *w)
{
    for (size_t i = slot_at(&p, p.first); i <= slot_at(&p, p.last); i++) {
        const uintptr_t value = load(&p.slots[i]);
        culv_rdma_registration *found = NULL;
        if (value == 0) continue;
        if ((value & TAG) == ENTRY) {
            if (matches(entry_of(value), w)) found = entry_of(value);
        } else if ((value & TAG) == CROWD) {
            culvi_rdma_crowd *crowd = crowd_of(value);
            for (unsigned k = 0; found == NULL && k < crowd_count(crowd); k++) {
                culv_rdma_registration *e = (culv_rdma_registration *)atomic_load_explicit(
                    &crowd->rows[k].entry, memory_order_relaxed);
                if (matches(e, w)) found = e;
            }
        } else {
            found = next_in(below(&p, i, value), w);
        }
        if (found != NULL) return found;
    }
    return NULL;
}

culv_rdma_registration *culvi_rdma_index_next(const culvi_rdma_index *index, uint64_t start,
                                              uint64_t end)
{
    const wanted w = {start, end, NULL};
    return start < end ? next_in(whole_tree(index, start, end), &w) : NULL;
}

culv_rdma_registration *culvi_rdma_index_neighbour(const culvi_rdma_index *index, uint64_t address,
                                                   const culv_rdma_registration *but)
{
    const uint64_t start = address / CULV_RDMA_CHUNK * CULV_RDMA_CHUNK;
    const wanted w = {start, start + CULV_RDMA_CHUNK, but};
    return next_in(whole_tree(index, w.start, w.end), &w);
}
