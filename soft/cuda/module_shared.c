/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: the shared memory that a module's kernels declare.
 *
 * To the host's compiler a __shared__ variable is a thread's own one in a function. Nothing in the
 * source can say its size to the table of kernels, but the module's symbols do: its name begins
 * with the function's ("_ZZL6reduceIN...6stacksE...E4tile", Itanium C++ ABI, 5.1.6). */
#include "module_shared.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
    const unsigned char *bytes;
    size_t size;
};

static const void *part(const struct file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

static void add_symbols(const struct file *file, const ElfW(Shdr) * symbols,
                        const ElfW(Shdr) * strings, const culv_soft_module_table *table,
                        unsigned *bytes)
{
    const char *names = part(file, strings->sh_offset, strings->sh_size);
    const size_t count = symbols->sh_size / sizeof(ElfW(Sym));
    const unsigned char *first = part(file, symbols->sh_offset, symbols->sh_size);
    if (names == NULL || first == NULL || strings->sh_size == 0 ||
        names[strings->sh_size - 1] != '\0')
        return;
    for (size_t i = 0; i < count; i++) {
        ElfW(Sym) symbol;
        memcpy(&symbol, first + i * sizeof(symbol), sizeof(symbol));
        if ((symbol.st_info & 15) != STT_TLS || symbol.st_name >= strings->sh_size) continue;
        for (uint32_t k = 0; k < table->num_kernels; k++)
            if (soft_shared_is_of(names + symbol.st_name, table->kernels[k].name))
                bytes[k] += (unsigned)symbol.st_size;
    }
}

static void read_sections(const struct file *file, const culv_soft_module_table *table,
                          unsigned *bytes)
{
    ElfW(Ehdr) head;
    const void *start = part(file, 0, sizeof(head));
    if (start == NULL) return;
    memcpy(&head, start, sizeof(head));
    const unsigned char *sections =
        part(file, head.e_shoff, (uint64_t)head.e_shnum * sizeof(ElfW(Shdr)));
    if (sections == NULL || head.e_shentsize != sizeof(ElfW(Shdr))) return;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        ElfW(Shdr) symbols, strings;
        memcpy(&symbols, sections + i * sizeof(symbols), sizeof(symbols));
        if (symbols.sh_type != SHT_SYMTAB || symbols.sh_link >= head.e_shnum) continue;
        memcpy(&strings, sections + symbols.sh_link * sizeof(strings), sizeof(strings));
        add_symbols(file, &symbols, &strings, table, bytes);
    }
}

void soft_module_shared(const char *path, const culv_soft_module_table *table, unsigned *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info;
    if (fstat(fd, &info) == 0 && info.st_size > 0) {
        struct file file = {.size = (size_t)info.st_size};
        void *map = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            file.bytes = map;
            read_sections(&file, table, bytes);
            munmap(map, file.size);
            /* ptxas pads a kernel's shared variables (4 bytes are 16 on an H200). */
            for (uint32_t k = 0; k < table->num_kernels; k++)
                bytes[k] = (bytes[k] + 15) / 16 * 16;
        }
    }
    close(fd);
}
