/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: files of kernels, which are DLLs on Windows. */
#include "block.h"
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

struct library {
    HMODULE module;
    char file[MAX_PATH]; /* that goes with it, or "" */
};

/* Takes the file if it is the driver's own, also when it fails. */
static CUresult open_image(const char *path, bool own, struct soft_image *out)
{
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    struct library *library = calloc(1, sizeof(*library));
    unsigned *shared = NULL;
    if (library == NULL) goto delete_file;
    result = CUDA_ERROR_INVALID_IMAGE;
    library->module = LoadLibraryExA(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    if (library->module == NULL) goto free_library;
    const FARPROC symbol = GetProcAddress(library->module, CULV_SOFT_MODULE_SYMBOL);
    const culv_soft_module_table *table;
    memcpy(&table, &symbol, sizeof(table));
    result = CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;
    if (table == NULL) goto close_library;
    result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (table->version != CULV_SOFT_MODULE_VERSION) goto close_library;
    shared = calloc(table->num_kernels + 1, sizeof(*shared));
    result = CUDA_ERROR_OUT_OF_MEMORY;
    if (shared == NULL) goto close_library;
    soft_module_shared(path, table, shared);
    if (own) snprintf(library->file, sizeof(library->file), "%s", path);
    *table->services = &soft_block_services;
    *out = (struct soft_image){.library = library, .table = table, .shared = shared};
    return CUDA_SUCCESS;

close_library:
    FreeLibrary(library->module);
free_library:
    free(library);
delete_file:
    if (own) DeleteFileA(path);
    return result;
}

CUresult soft_image_open(const char *name, struct soft_image *out)
{
    char path[MAX_PATH]; /* LoadLibrary() looks elsewhere for a name without a directory */
    const DWORD length = GetFullPathNameA(name, sizeof(path), path, NULL);
    if (length == 0 || length >= sizeof(path) ||
        GetFileAttributesA(path) == INVALID_FILE_ATTRIBUTES)
        return CUDA_ERROR_FILE_NOT_FOUND;
    return open_image(path, false, out);
}

CUresult soft_image_open_memory(const void *data, size_t size, struct soft_image *out)
{
    char directory[MAX_PATH], path[MAX_PATH];
    const char *at = data;
    if (size < 2 || at[0] != 'M' || at[1] != 'Z' || size > MAXDWORD)
        return CUDA_ERROR_INVALID_IMAGE;
    const DWORD length = GetTempPathA(sizeof(directory), directory);
    if (length == 0 || length >= sizeof(directory) ||
        GetTempFileNameA(directory, "cuk", 0, path) == 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    HANDLE file = CreateFileA(path, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    DWORD written = 0;
    bool good = file != INVALID_HANDLE_VALUE && WriteFile(file, data, (DWORD)size, &written, NULL);
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    if (good && written == size) return open_image(path, true, out);
    DeleteFileA(path);
    return CUDA_ERROR_OPERATING_SYSTEM;
}

void soft_image_close(struct soft_image *image)
{
    struct library *library = image->library;
    FreeLibrary(library->module);
    if (library->file[0] != '\0') DeleteFileA(library->file);
    free(library);
    free(image->shared);
}

bool soft_image_variable(const struct soft_image *image, const char *name, uintptr_t *start,
                         size_t *size)
{
    (void)image, (void)name, (void)start, (void)size;
    return false;
}

/* A DLL ends with its last section, or with its symbols and their names. */
size_t soft_image_size(const void *image)
{
    const char *start = image;
    IMAGE_DOS_HEADER dos;
    IMAGE_NT_HEADERS64 head;
    if (memcmp(start, "MZ", 2) != 0) return 0;
    memcpy(&dos, start, sizeof(dos));
    if (dos.e_lfanew < (LONG)sizeof(dos)) return 0;
    memcpy(&head, start + dos.e_lfanew, sizeof(head));
    if (head.Signature != IMAGE_NT_SIGNATURE ||
        head.FileHeader.Machine != IMAGE_FILE_MACHINE_AMD64 ||
        !(head.FileHeader.Characteristics & IMAGE_FILE_DLL))
        return 0;
    size_t end = 0;
    const char *sections = start + dos.e_lfanew + offsetof(IMAGE_NT_HEADERS64, OptionalHeader) +
                           head.FileHeader.SizeOfOptionalHeader;
    for (unsigned i = 0; i < head.FileHeader.NumberOfSections; i++) {
        IMAGE_SECTION_HEADER section;
        memcpy(&section, sections + i * sizeof(section), sizeof(section));
        const size_t last = (size_t)section.PointerToRawData + section.SizeOfRawData;
        if (last > end) end = last;
    }
    if (head.FileHeader.PointerToSymbolTable != 0) {
        const size_t names = head.FileHeader.PointerToSymbolTable +
                             (size_t)head.FileHeader.NumberOfSymbols * IMAGE_SIZEOF_SYMBOL;
        DWORD length; /* counts itself */
        memcpy(&length, start + names, sizeof(length));
        if (names + length > end) end = names + length;
    }
    return end;
}

/* The shared memory that a module's kernels declare, on Windows.
 *
 * gcc has no thread-local variables of Windows' own. It makes "__emutls_v.NAME" of each, whose
 * first word is the variable's size (libgcc, emutls.c), and the DLL's symbols say where that is. */

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
    /* As module_posix.c does. */
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
