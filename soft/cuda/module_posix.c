/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: files of kernels, which are shared objects. */
#include "block.h"
#include "module.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A shared object that dlopen() finds at this path. */
static CUresult open_image(const char *path, struct soft_image *out)
{
    CUresult result;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return CUDA_ERROR_INVALID_IMAGE;
    const culv_soft_module_table *table = dlsym(library, CULV_SOFT_MODULE_SYMBOL);
    if (table == NULL || table->version != CULV_SOFT_MODULE_VERSION) {
        result = table == NULL ? CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
                               : CUDA_ERROR_NO_BINARY_FOR_GPU;
        goto close_library;
    }
    result = CUDA_ERROR_OUT_OF_MEMORY;
    unsigned *shared = calloc(table->num_kernels + 1, sizeof(*shared));
    if (shared == NULL) goto close_library;
    soft_module_shared(path, table, shared);
    *table->services = &soft_block_services;
    *out = (struct soft_image){.library = library,
                               .table = table,
                               .shared = shared,
                               .variables = soft_module_variables(path)};
    return CUDA_SUCCESS;

close_library:
    dlclose(library);
    return result;
}

CUresult soft_image_open(const char *name, struct soft_image *out)
{
    char *path = realpath(name, NULL); /* dlopen looks elsewhere for a name without a slash */
    if (path == NULL) return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result = open_image(path, out);
    free(path);
    return result;
}

/* dlopen() takes a library that it has under the same name for the same one, and fds' numbers come
 * again. */
static void name_of_fd(char *name, size_t size, int fd)
{
    static _Atomic uint32_t serial;
    uint32_t bits = atomic_fetch_add(&serial, 1);
    size_t length = (size_t)snprintf(name, size, "/proc/self/");
    for (; bits != 0; bits >>= 1)
        length += (size_t)snprintf(name + length, size - length, bits & 1 ? ".//" : "./");
    snprintf(name + length, size - length, "fd/%d", fd);
}

CUresult soft_image_open_memory(const void *data, size_t size, struct soft_image *out)
{
    static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'};
    char name[160];
    if (size < sizeof(elf) || memcmp(data, elf, sizeof(elf)) != 0) return CUDA_ERROR_INVALID_IMAGE;
    int fd = soft_make_file("culvert kernels", size);
    if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    const char *at = data;
    size_t left = size;
    while (left > 0) {
        ssize_t put = pwrite(fd, at + (size - left), left, (off_t)(size - left));
        if (put <= 0) goto close_file;
        left -= (size_t)put;
    }
    name_of_fd(name, sizeof(name), fd);
    result = open_image(name, out);
close_file:
    close(fd);
    return result;
}

void soft_image_close(struct soft_image *image)
{
    free(image->variables);
    free(image->shared);
    dlclose(image->library);
}

bool soft_image_variable(const struct soft_image *image, const char *name, uintptr_t *start,
                         size_t *size)
{
    const struct link_map *map;
    uintptr_t offset;
    if (!soft_variables_find(image->variables, name, &offset, size) ||
        dlinfo(image->library, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    *start = map->l_addr + offset;
    return true;
}

size_t soft_image_size(const void *image)
{
    Elf64_Ehdr head;
    if (memcmp(image, ELFMAG, SELFMAG) != 0) return 0;
    memcpy(&head, image, EI_NIDENT);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    memcpy(&head, image, sizeof(head));
    size_t end = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
    for (unsigned i = 0; i < head.e_shnum && head.e_shentsize == sizeof(Elf64_Shdr); i++) {
        Elf64_Shdr section;
        memcpy(&section, (const char *)image + head.e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
            end = section.sh_offset + section.sh_size;
    }
    return head.e_machine == 190 ? 0 : end; /* EM_CUDA: a cubin */
}

/* The shared memory that a module's kernels declare.
 *
 * To the host's compiler a __shared__ variable is a thread's own one in a function. Nothing in the
 * source can say its size to the table of kernels, but the module's symbols do: its name begins
 * with the function's ("_ZZL6reduceIN...6stacksE...E4tile", Itanium C++ ABI, 5.1.6). */

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
