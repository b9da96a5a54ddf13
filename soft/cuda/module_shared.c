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

/* The file's symbols, unless it was stripped of them. */
static bool find_symbols(const struct file *file, ElfW(Shdr) * symbols, ElfW(Shdr) * strings)
{
    ElfW(Ehdr) head;
    const void *start = part(file, 0, sizeof(head));
    if (start == NULL) return false;
    memcpy(&head, start, sizeof(head));
    const unsigned char *sections =
        part(file, head.e_shoff, (uint64_t)head.e_shnum * sizeof(ElfW(Shdr)));
    if (sections == NULL || head.e_shentsize != sizeof(ElfW(Shdr))) return false;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        memcpy(symbols, sections + i * sizeof(*symbols), sizeof(*symbols));
        if (symbols->sh_type != SHT_SYMTAB || symbols->sh_link >= head.e_shnum) continue;
        memcpy(strings, sections + symbols->sh_link * sizeof(*strings), sizeof(*strings));
        return true;
    }
    return false;
}

static void read_sections(const struct file *file, const culv_soft_module_table *table,
                          unsigned *bytes)
{
    ElfW(Shdr) symbols, strings;
    if (find_symbols(file, &symbols, &strings)) add_symbols(file, &symbols, &strings, table, bytes);
}

/* Maps the file; false: there is none. */
static bool map_file(const char *path, struct file *file)
{
    struct stat info;
    file->bytes = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (fstat(fd, &info) == 0 && info.st_size > 0) {
        file->size = (size_t)info.st_size;
        void *map = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) file->bytes = map;
    }
    close(fd);
    return file->bytes != NULL;
}

void soft_module_shared(const char *path, const culv_soft_module_table *table, unsigned *bytes)
{
    struct file file;
    if (!map_file(path, &file)) return;
    read_sections(&file, table, bytes);
    munmap((void *)(uintptr_t)file.bytes, file.size);
    /* ptxas pads a kernel's shared variables (4 bytes are 16 on an H200). */
    for (uint32_t k = 0; k < table->num_kernels; k++)
        bytes[k] = (bytes[k] + 15) / 16 * 16;
}

struct variable {
    uintptr_t offset;
    size_t size;
    size_t name; /* in the names */
};

struct soft_variables {
    size_t count;
    const char *names;
    struct variable each[]; /* and the names */
};

/* A variable that is somewhere and has a name and a size. */
static bool is_variable(const ElfW(Sym) * symbol, size_t names_size)
{
    return (symbol->st_info & 15) == STT_OBJECT && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_size > 0 && symbol->st_name < names_size;
}

static struct soft_variables *collect(const struct file *file, const ElfW(Shdr) * symbols,
                                      const ElfW(Shdr) * strings)
{
    const char *names = part(file, strings->sh_offset, strings->sh_size);
    const size_t count = symbols->sh_size / sizeof(ElfW(Sym));
    const unsigned char *first = part(file, symbols->sh_offset, symbols->sh_size);
    if (names == NULL || first == NULL || strings->sh_size == 0 ||
        names[strings->sh_size - 1] != '\0')
        return NULL;
    struct soft_variables *all =
        malloc(sizeof(*all) + count * sizeof(all->each[0]) + strings->sh_size);
    if (all == NULL) return NULL;
    all->count = 0;
    for (size_t i = 0; i < count; i++) {
        ElfW(Sym) symbol;
        memcpy(&symbol, first + i * sizeof(symbol), sizeof(symbol));
        if (!is_variable(&symbol, strings->sh_size)) continue;
        all->each[all->count++] = (struct variable){
            .offset = symbol.st_value, .size = symbol.st_size, .name = symbol.st_name};
    }
    char *copy = (char *)&all->each[count];
    memcpy(copy, names, strings->sh_size);
    all->names = copy;
    return all;
}

struct soft_variables *soft_module_variables(const char *path)
{
    struct file file;
    struct soft_variables *all = NULL;
    if (!map_file(path, &file)) return NULL;
    ElfW(Shdr) symbols, strings;
    if (find_symbols(&file, &symbols, &strings)) all = collect(&file, &symbols, &strings);
    munmap((void *)(uintptr_t)file.bytes, file.size);
    return all;
}

bool soft_variables_find(const struct soft_variables *variables, const char *name,
                         uintptr_t *offset, size_t *size)
{
    for (size_t i = 0; variables != NULL && i < variables->count; i++) {
        const struct variable *variable = &variables->each[i];
        if (strcmp(variables->names + variable->name, name) != 0) continue;
        *offset = variable->offset;
        *size = variable->size;
        return true;
    }
    return false;
}
