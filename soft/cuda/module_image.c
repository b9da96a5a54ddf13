/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: files of kernels, which are shared objects. */
#include "block.h"
#include "module_shared.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
