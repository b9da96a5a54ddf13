/* SPDX-License-Identifier: MIT */
/* Descriptors in memory of just their size, labels, pNext chains and files. */
#include "fuzz.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Lies before the struct, so that the end of the allocation is the struct's. */
typedef struct box {
    size_t known;     /* the struct's real size */
    size_t allocated; /* bytes of it that there are */
    size_t given;     /* what struct_size says */
    size_t unused;
} box;

_Static_assert(sizeof(box) % _Alignof(max_align_t) == 0, "structs behind it are aligned");

enum { PATTERN = 0xa5, LARGEST = 65536 };

static const box *box_of(const void *desc)
{
    return (const box *)desc - 1;
}

static void *box_new(fuzz_reader *r, size_t size)
{
    uint8_t how = fuzz_u8(r);
    size_t given = size;
    if (how >= 240) switch (how & 7) {
        case 0: given = fuzz_u8(r); break;
        case 1: given = size - 1 - fuzz_u8(r) % size; break;
        case 2: given = size + 1 + fuzz_u8(r); break;
        case 3: given = size - 8 * (fuzz_u8(r) % (size / 8)); break;
        case 4: given = (size_t)fuzz_bytes(r, 2); break;
        case 5: given = LARGEST + fuzz_u8(r) - 128; break;
        default: given = (size_t)fuzz_u64(r);
        }
    size_t bytes = given > LARGEST ? size : given < sizeof(size_t) ? sizeof(size_t) : given;
    box *b = malloc(sizeof *b + bytes);
    FUZZ_REQUIRE(b != NULL, "malloc");
    *b = (box){.known = size, .allocated = bytes, .given = given};
    return b + 1;
}

void *fuzz_box(fuzz_reader *r, const void *desc, size_t size)
{
    unsigned char *out = box_new(r, size);
    size_t bytes = box_of(out)->allocated;
    size_t given = box_of(out)->given;
    memset(out, 0, bytes);
    memcpy(out, desc, bytes < size ? bytes : size);
    memcpy(out, &given, sizeof given);
    /* A field of a later version. */
    if (bytes > size && fuzz_flag(r)) out[size + fuzz_bytes(r, 2) % (bytes - size)] = 1;
    return out;
}

void *fuzz_box_out(fuzz_reader *r, size_t size)
{
    unsigned char *out = box_new(r, size);
    size_t given = box_of(out)->given;
    memset(out, PATTERN, box_of(out)->allocated);
    memcpy(out, &given, sizeof given);
    return out;
}

void fuzz_require_untouched(const void *desc)
{
    const box *b = box_of(desc);
    const unsigned char *bytes = desc;
    FUZZ_REQUIRE(memcmp(bytes, &b->given, sizeof b->given) == 0,
                 "struct_size was written after an error");
    for (size_t i = sizeof b->given; i < b->allocated; i++)
        FUZZ_REQUIRE(bytes[i] == PATTERN, "byte %zu of %zu was written after an error", i,
                     b->allocated);
}

bool fuzz_box_whole(const void *desc)
{
    size_t given = box_of(desc)->given;
    return given >= box_of(desc)->known && given <= LARGEST && given % sizeof(size_t) == 0;
}

void fuzz_unbox(void *desc)
{
    free((box *)desc - 1);
}

const char *fuzz_label(fuzz_reader *r)
{
    static const char *const labels[] = {
        NULL,
        "",
        "fuzz",
        "%s%n%1000d",
        "\xff\xc3(",
        "a label that is much longer than the sixty-three bytes that are copied of it, and a good deal more"};
    return labels[fuzz_pick(r, sizeof labels / sizeof labels[0])];
}

/* A header, its offset once more, and then the memory. */
int fuzz_memory_file(uint64_t size)
{
    const uint64_t header[] = {4096 + 40 + size, 4096};
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, (off_t)header[0]) == 0, "a file of %llu bytes",
                 (unsigned long long)size);
    ssize_t n = pwrite(fd, header, sizeof header, 0);
    if (n == (ssize_t)sizeof header) n = pwrite(fd, &header[1], sizeof header[1], 4096 - 8);
    FUZZ_REQUIRE(n == (ssize_t)sizeof header[1], "pwrite");
    return fd;
}

void *fuzz_chain_alloc(fuzz_chain *chain, size_t size)
{
    FUZZ_REQUIRE(chain->count < sizeof chain->pieces / sizeof chain->pieces[0],
                 "the chain is full");
    void *piece = calloc(1, size);
    FUZZ_REQUIRE(piece != NULL, "calloc");
    chain->pieces[chain->count++] = piece;
    return piece;
}

void fuzz_chain_free(fuzz_chain *chain)
{
    while (chain->count > 0)
        free(chain->pieces[--chain->count]);
}

const void *fuzz_chain_find(const void *chain, VkStructureType type)
{
    for (const VkBaseInStructure *s = chain; s != NULL; s = s->pNext)
        if (s->sType == type) return s;
    return NULL;
}
