/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: the shared memory that a module's kernels declare, on Windows.
 *
 * gcc has no thread-local variables of Windows' own. It makes "__emutls_v.NAME" of each, whose
 * first word is the variable's size (libgcc, emutls.c), and the DLL's symbols say where that is. */
#include "module_shared.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

struct file {
    const unsigned char *bytes;
    size_t size;
};

static const void *part(const struct file *file, size_t offset, size_t size)
{
    return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

/* A symbol's name is one of the strings, which end with the file. */
static const char *name_of(const struct file *file, size_t strings, const IMAGE_SYMBOL *symbol)
{
    if (symbol->N.Name.Short != 0) return ""; /* of at most 8 letters */
    const size_t at = strings + symbol->N.Name.Long;
    return at < file->size && file->bytes[file->size - 1] == '\0' ? (const char *)file->bytes + at
                                                                  : "";
}

/* The first word of what the symbol names. */
static size_t size_at(const struct file *file, size_t sections, const IMAGE_SYMBOL *symbol)
{
    IMAGE_SECTION_HEADER section;
    size_t size = 0;
    const void *found =
        symbol->SectionNumber < 1
            ? NULL
            : part(file, sections + ((size_t)symbol->SectionNumber - 1) * sizeof(section),
                   sizeof(section));
    if (found == NULL) return 0;
    memcpy(&section, found, sizeof(section));
    found = part(file, (size_t)section.PointerToRawData + symbol->Value, sizeof(size));
    if (found != NULL) memcpy(&size, found, sizeof(size));
    return size;
}

static void read_symbols(const struct file *file, const culv_soft_module_table *table,
                         unsigned *bytes)
{
    static const char emulated[] = "__emutls_v.";
    IMAGE_DOS_HEADER dos;
    IMAGE_NT_HEADERS64 head;
    const void *start = part(file, 0, sizeof(dos));
    if (start == NULL) return;
    memcpy(&dos, start, sizeof(dos));
    start = part(file, (size_t)dos.e_lfanew, sizeof(head));
    if (start == NULL) return;
    memcpy(&head, start, sizeof(head));
    const size_t sections = (size_t)dos.e_lfanew + offsetof(IMAGE_NT_HEADERS64, OptionalHeader) +
                            head.FileHeader.SizeOfOptionalHeader;
    const size_t symbols = head.FileHeader.PointerToSymbolTable;
    const size_t strings = symbols + (size_t)head.FileHeader.NumberOfSymbols * IMAGE_SIZEOF_SYMBOL;
    for (size_t i = 0; symbols != 0 && i < head.FileHeader.NumberOfSymbols; i++) {
        IMAGE_SYMBOL symbol;
        start = part(file, symbols + i * IMAGE_SIZEOF_SYMBOL, IMAGE_SIZEOF_SYMBOL);
        if (start == NULL) return;
        memcpy(&symbol, start, IMAGE_SIZEOF_SYMBOL);
        i += symbol.NumberOfAuxSymbols;
        const char *name = name_of(file, strings, &symbol);
        if (strncmp(name, emulated, sizeof(emulated) - 1) != 0) continue;
        for (uint32_t k = 0; k < table->num_kernels; k++)
            if (soft_shared_is_of(name + sizeof(emulated) - 1, table->kernels[k].name))
                bytes[k] += (unsigned)size_at(file, sections, &symbol);
    }
    /* As module_shared.c does. */
    for (uint32_t k = 0; k < table->num_kernels; k++)
        bytes[k] = (bytes[k] + 15) / 16 * 16;
}

void soft_module_shared(const char *path, const culv_soft_module_table *table, unsigned *bytes)
{
    struct file file = {.size = 0};
    LARGE_INTEGER size;
    const HANDLE opened = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                                      OPEN_EXISTING, 0, NULL);
    if (opened == INVALID_HANDLE_VALUE) return;
    const HANDLE section = GetFileSizeEx(opened, &size)
                               ? CreateFileMappingA(opened, NULL, PAGE_READONLY, 0, 0, NULL)
                               : NULL;
    if (section != NULL) file.bytes = MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0);
    if (file.bytes != NULL) {
        file.size = (size_t)size.QuadPart;
        read_symbols(&file, table, bytes);
        UnmapViewOfFile(file.bytes);
    }
    if (section != NULL) CloseHandle(section);
    CloseHandle(opened);
}

/* A DLL's symbols have no sizes. */
struct soft_variables *soft_module_variables(const char *path)
{
    (void)path;
    return NULL;
}

bool soft_variables_find(const struct soft_variables *variables, const char *name,
                         uintptr_t *offset, size_t *size)
{
    (void)variables, (void)name, (void)offset, (void)size;
    return false;
}
