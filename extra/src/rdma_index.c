/* SPDX-License-Identifier: MIT */
/* The radix tree. */
#include "rdma_index.h"

#include <sys/mman.h>

typedef _Atomic(uintptr_t) slot;

enum { LINE = 64 /* of the processor's cache */ };
/* A piece has 512 bytes, as the least that CUDA allocates; CHUNKS is the level of 64 KiB. */
enum { PIECE_BITS = 9, ADDRESS_BITS = 57, CHUNKS = 3, LEVELS = 5, ENTRY = 1 };

/* Bits of piece number below a slot of each level, and slots of a node. */
static const unsigned shifts[LEVELS] = {35, 25, 15, 7, 0};
static const size_t widths[LEVELS] = {(size_t)1 << CULVI_RDMA_ROOT_BITS, 1024, 1024, 256, 128};

struct culvi_rdma_block {
    culvi_rdma_block *next;
    size_t size;
};

/* Memory --------------------------------------------------------------------------------------- */

/* Asks for large pages under [memory, memory + size), where the system has them. */
static void want_large_pages(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)culvi_x_page_size(), end = (uintptr_t)memory + size;
    const uintptr_t start = ((uintptr_t)memory + page - 1) / page * page;
    if (start < end) (void)madvise((void *)start, end / page * page - start, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}

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
    if (wanted >= LARGE) want_large_pages(block, wanted);
    block->size = wanted;
    block->next = index->blocks;
    index->blocks = block;
    index->bytes += wanted;
    const size_t start = sizeof *block + (LINE - ((uintptr_t)block + sizeof *block) % LINE) % LINE;
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

static uintptr_t load(const slot *s)
{
    return atomic_load_explicit(s, memory_order_acquire);
}

static void store(slot *s, uintptr_t value)
{
    atomic_store_explicit(s, value, memory_order_release);
}

/* Where an entry has the next one of a piece. NULL: it has all of that piece. */
static _Atomic(culv_rdma_registration *) *beside(const culv_rdma_registration *entry,
                                                 uint64_t piece)
{
    if (entry->start >> PIECE_BITS == piece) return &entry->rest->beside[0];
    return (entry->end - 1) >> PIECE_BITS == piece ? &entry->rest->beside[1] : NULL;
}

static culv_rdma_registration *next_of(const culv_rdma_registration *entry, uint64_t piece)
{
    _Atomic(culv_rdma_registration *) *next = beside(entry, piece);
    return next != NULL ? atomic_load_explicit(next, memory_order_acquire) : NULL;
}

/* Look-ups ------------------------------------------------------------------------------------- */

culv_rdma_registration *culvi_rdma_index_find(const culvi_rdma_index *index, uint64_t address)
{
    if (address >> ADDRESS_BITS != 0) return NULL;
    const uint64_t piece = address >> PIECE_BITS;
    uintptr_t value = load(&index->root[piece >> shifts[0]]);
    for (unsigned level = 1; (value & ENTRY) == 0; level++) {
        if (value == 0) return NULL;
        value = load((const slot *)value + ((piece >> shifts[level]) & (widths[level] - 1)));
    }
    culv_rdma_registration *e = entry_of(value);
    while (e != NULL && (address < e->start || address >= e->end))
        e = next_of(e, piece);
    return e;
}

/* Changes -------------------------------------------------------------------------------------- */

/* A part of the tree, and the pieces of a range that lie in it. */
typedef struct part {
    slot *slots;
    unsigned level;
    uint64_t base; /* piece of slot 0 */
    uint64_t first, last;
} part;

static part whole_tree(const culvi_rdma_index *index, uint64_t start, uint64_t end)
{
    const uint64_t most = (UINT64_C(1) << (ADDRESS_BITS - PIECE_BITS)) - 1;
    part p = {index->root, 0, 0, start >> PIECE_BITS, (end - 1) >> PIECE_BITS};
    if (p.last > most) p.last = most;
    return p;
}

static size_t slot_at(const part *p, uint64_t piece)
{
    return (size_t)((piece - p->base) >> shifts[p->level]);
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

/* A node in place of what is in slot `i`: nothing, or a registration. */
static bool make_node(culvi_rdma_index *index, const part *p, size_t i)
{
    const uintptr_t before = load(&p->slots[i]);
    slot *slots = culvi_rdma_index_alloc(index, widths[p->level + 1] * sizeof(slot));
    if (slots == NULL) return false;
    if (before != 0) {
        part its = whole_tree(index, entry_of(before)->start, entry_of(before)->end);
        its = below(&(part){p->slots, p->level, p->base, its.first, its.last}, i, (uintptr_t)slots);
        for (size_t k = slot_at(&its, its.first); k <= slot_at(&its, its.last); k++)
            atomic_store_explicit(&slots[k], before, memory_order_relaxed);
    }
    store(&p->slots[i], (uintptr_t)slots);
    return true;
}

/* Along the first piece of the range, or the last: inside nothing is to be made. */
static bool reserve_at(culvi_rdma_index *index, part p, uint64_t piece)
{
    while (p.level < LEVELS - 1) {
        const size_t i = slot_at(&p, piece);
        const uintptr_t value = load(&p.slots[i]);
        /* What has all of the slot goes there, and so does the only one in a chunk. */
        if (value == 0 && (p.level == CHUNKS || covers(&p, i))) return true;
        if ((value == 0 || (value & ENTRY) != 0) && !make_node(index, &p, i)) return false;
        p = below(&p, i, load(&p.slots[i]));
    }
    return true;
}

bool culvi_rdma_index_reserve(culvi_rdma_index *index, const culv_rdma_registration *entry)
{
    const part p = whole_tree(index, entry->start, entry->end);
    return reserve_at(index, p, p.first) && reserve_at(index, p, p.last);
}

/* In a piece that has others it comes before them. */
static void add(part p, culv_rdma_registration *entry)
{
    for (size_t i = slot_at(&p, p.first); i <= slot_at(&p, p.last); i++) {
        slot *s = &p.slots[i];
        const uintptr_t value = load(s);
        if (value != 0 && (value & ENTRY) == 0) {
            add(below(&p, i, value), entry);
        } else if (p.level >= CHUNKS || covers(&p, i)) {
            if (value != 0) atomic_store(beside(entry, p.base + i), entry_of(value));
            store(s, (uintptr_t)entry + ENTRY);
        }
    }
}

void culvi_rdma_index_add(culvi_rdma_index *index, culv_rdma_registration *entry)
{
    atomic_store(&entry->rest->beside[0], NULL);
    atomic_store(&entry->rest->beside[1], NULL);
    add(whole_tree(index, entry->start, entry->end), entry);
}

static void take_out(part p, const culv_rdma_registration *entry)
{
    for (size_t i = slot_at(&p, p.first); i <= slot_at(&p, p.last); i++) {
        slot *s = &p.slots[i];
        const uintptr_t value = load(s);
        if (value == 0) continue;
        if ((value & ENTRY) == 0) {
            take_out(below(&p, i, value), entry);
            continue;
        }
        const uint64_t piece = p.base + ((uint64_t)i << shifts[p.level]);
        culv_rdma_registration *before = entry_of(value), *next = next_of(entry, piece);
        while (before != NULL && before != entry && next_of(before, piece) != entry)
            before = next_of(before, piece);
        if (before == entry)
            store(s, next != NULL ? (uintptr_t)next + ENTRY : 0);
        else if (before != NULL)
            atomic_store(beside(before, piece), next);
    }
}

void culvi_rdma_index_remove(culvi_rdma_index *index, const culv_rdma_registration *entry)
{
    take_out(whole_tree(index, entry->start, entry->end), entry);
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
        if ((value & ENTRY) == 0) {
            found = next_in(below(&p, i, value), w);
        } else {
            const uint64_t piece = p.base + ((uint64_t)i << shifts[p.level]);
            for (culv_rdma_registration *e = entry_of(value); e != NULL; e = next_of(e, piece))
                if (matches(e, w) && (found == NULL || e->start < found->start)) found = e;
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
