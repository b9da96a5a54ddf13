/* SPDX-License-Identifier: MIT */
/* Kernels that nvcc put into a program: the fatbinaries in an ELF file's section .nv_fatbin. */
#include "core/kernel.h"

#include "base/alloc.h"
#include "base/attempt.h"
#include "cuda/context.h"

#include <errno.h>
#include <string.h>

static const char section_name[] = ".nv_fatbin";

static uint64_t number_at(const unsigned char *bytes, unsigned size)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < size; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

static bool inside(uint64_t offset, uint64_t size, size_t all)
{
    return offset <= all && size <= all - offset;
}

/* The section's bytes in a 64-bit ELF file (elf.h, Elf64_Ehdr and Elf64_Shdr). NULL: there is no
 * such section, or the file is not one of these. */
static const unsigned char *find_section(const unsigned char *file, size_t all, size_t *out_size)
{
    static const unsigned char magic[] = {0x7f, 'E', 'L', 'F', 2, 1}; /* 64 bits, low byte first */
    if (all < 64 || memcmp(file, magic, sizeof magic) != 0) return NULL;
    const uint64_t headers = number_at(file + 40, 8), each = number_at(file + 58, 2),
                   count = number_at(file + 60, 2), names = number_at(file + 62, 2);
    if (each < 64 || names >= count || !inside(headers, each * count, all)) return NULL;
    const unsigned char *text = file + headers + names * each;
    const uint64_t text_offset = number_at(text + 24, 8), text_size = number_at(text + 32, 8);
    if (!inside(text_offset, text_size, all)) return NULL;
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *header = file + headers + i * each;
        const uint64_t name = number_at(header, 4), type = number_at(header + 4, 4),
                       offset = number_at(header + 24, 8), size = number_at(header + 32, 8);
        if (type == 8 || !inside(offset, size, all) || /* SHT_NOBITS: not in the file */
            !inside(name, sizeof section_name, (size_t)text_size) ||
            memcmp(file + text_offset + name, section_name, sizeof section_name) != 0)
            continue;
        *out_size = (size_t)size;
        return file + offset;
    }
    return NULL;
}

/* The next fatbinary: a header, whose size is in it, and the bytes behind it (kernel_image.c). They
 * begin at multiples of 8, with zeros between them. NULL: there is none. */
static const unsigned char *next_image(const unsigned char *section, size_t all, size_t *at,
                                       size_t *size)
{
    while (inside(*at, 16, all) && number_at(section + *at, 8) == 0)
        *at += 8;
    if (!inside(*at, 16, all)) return NULL;
    const unsigned char *image = section + *at;
    const uint64_t head = number_at(image + 6, 2), rest = number_at(image + 8, 8);
    if (culvi_kernel_data_kind(image, 16) != CULVI_FILE_FATBIN || rest > all ||
        !inside(*at, head + rest, all))
        return NULL;
    *size = (size_t)(head + rest);
    *at += (*size + 7) / 8 * 8;
    return image;
}

/* INVALID and UNSUPPORTED: not this one. */
static culv_result try_image(culv_device *device, const unsigned char *image, size_t size,
                             const char *path, const char *kernel, bool *loaded, culv_kernels **out)
{
    culv_kernels *made = NULL;
    culv_kernel *found;
    culv_result result = culv_kernels_load_data(device, image, size, path, &made);
    if (result != CULV_OK) return result;
    *loaded = true;
    result = culv_kernels_get(made, kernel, &found);
    if (result == CULV_OK)
        *out = made;
    else
        culv_kernels_unload(&made);
    return result;
}

static culv_result try_images(culv_device *device, const unsigned char *section, size_t all,
                              const char *path, const char *kernel, culv_kernels **out)
{
    size_t at = 0, size = 0, count = 0;
    bool loaded = false;
    culv_result result = CULV_ERROR_INVALID;
    const unsigned char *image;
    culvi_attempt_begin();
    while ((image = next_image(section, all, &at, &size)) != NULL) {
        count++;
        result = try_image(device, image, size, path, kernel, &loaded, out);
        if (result != CULV_ERROR_INVALID && result != CULV_ERROR_UNSUPPORTED) break;
    }
    if (result == CULV_OK || (result != CULV_ERROR_INVALID && result != CULV_ERROR_UNSUPPORTED) ||
        (!loaded && count > 0))
        return culvi_attempt_end(&device->voice, result);
    (void)culvi_attempt_end(NULL, CULV_OK);
    return culvi_fail(
        &device->voice, path, CULV_ERROR_INVALID, CULV_REASON_KERNEL,
        "none of the %zu fatbinaries in '%s' has a kernel '%s'; a kernel's name in C++ "
        "is the mangled one, which cuFuncGetName tells",
        count, path, kernel);
}

culv_result culvi_kernels_load_program(culv_device *device, const char *path, const char *kernel,
                                       culv_kernels **out)
{
    unsigned char *file;
    size_t all = 0, size = 0;
    errno = 0;
    if (culvi_kernel_file_kind(path) == CULVI_FILE_MISSING)
        return culvi_kernel_fail_read(&device->voice, path, path, errno, "");
    culv_result result = culvi_kernel_file_read(&device->voice, path, path, &file, &all);
    if (result != CULV_OK) return result;
    const unsigned char *section = find_section(file, all, &size);
    if (section != NULL)
        result = try_images(device, section, size, path, kernel, out);
    else
        result = culvi_fail(&device->voice, path, CULV_ERROR_INVALID, CULV_REASON_MODULE,
                            "'%s' is no 64-bit ELF file with a section %s, into which nvcc puts a "
                            "program's kernels",
                            path, section_name);
    culvi_free(file);
    return result;
}
