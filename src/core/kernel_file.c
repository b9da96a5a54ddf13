/* SPDX-License-Identifier: MIT */
/* Files of kernels: which driver a file is for, why one was not loaded, the architectures that it
 * has code for; and the fatbinaries that nvcc put into a program: an ELF file's .nv_fatbin. */
#include "core/kernel.h"

enum { HEAD_SIZE = 2048 };
static const char soft_suffix[] = ".soft.so", fatbin_suffix[] = ".fatbin";
static const char section_name[] = ".nv_fatbin";

static bool has_ptx(const char *text, size_t size)
{
    static const char word[] = ".version"; /* PTX ISA: each module begins with it */
    for (size_t i = 0; i + sizeof word <= size; i++)
        if (memcmp(text + i, word, sizeof word - 1) == 0) return true;
    return false;
}

culvi_kernel_file culvi_kernel_data_kind(const void *data, size_t size)
{
    const unsigned char *head = data;
    /* fatbinary_section.h, FATBIN_MAGIC 0xba55ed50 */
    if (size >= 4 && memcmp(head, "\x50\xed\x55\xba", 4) == 0) return CULVI_FILE_FATBIN;
    if (size >= 20 && memcmp(head, "\x7f\x45\x4c\x46", 4) == 0)    /* "ELF" */
        return head[18] == 190 && head[19] == 0 ? CULVI_FILE_CUBIN /* e_machine EM_CUDA */
                                                : CULVI_FILE_SHARED_OBJECT;
    if (size >= 2 && memcmp(head, "MZ", 2) == 0) return CULVI_FILE_DLL;
    return has_ptx(data, size < HEAD_SIZE ? size : HEAD_SIZE) ? CULVI_FILE_PTX : CULVI_FILE_OTHER;
}

/* Says of a file that is missing whether the other driver's is there. */
static bool other_exists(const culv_device *device, const char *path)
{
    const char *mine = device->caps.is_software ? soft_suffix : fatbin_suffix;
    const char *other = device->caps.is_software ? fatbin_suffix : soft_suffix;
    const size_t length = strlen(path), end = strlen(mine);
    unsigned char first;
    size_t size = 0;
    if (length < end || strcmp(path + length - end, mine) != 0) return false;
    char *name = culvi_alloc(length + sizeof soft_suffix);
    if (name == NULL) return false; /* the message says less */
    memcpy(name, path, length - end);
    strcpy(name + length - end, other);
    const bool exists = culvi_file_head(name, &first, sizeof first, &size) == 0;
    culvi_free(name);
    return exists;
}

static culv_result fail_read(const culv_device *device, const char *path, const char *label,
                             int error)
{
    const char *more = "";
    if (other_exists(device, path))
        more =
            device->caps.is_software
                ? "; the .fatbin beside it is for NVIDIA devices, but this one is the software twin's: build with the twin (culvert_add_kernels(), or culvert-kernels --soft)"
                : "; the .soft.so beside it is for the software twin, but this device is NVIDIA's: build where nvcc is (culvert_add_kernels(), or culvert-kernels --fatbin)";
    return culvi_fail_native(&device->voice, label, CULV_ERROR_INVALID, CULV_REASON_MODULE,
                             CULV_NATIVE_OS, error, "open", "'%s' cannot be read: %s%s", path,
                             strerror(error), more);
}

culv_result culvi_kernel_file_read(const culv_device *device, const char *path, const char *label,
                                   unsigned char **owned, size_t *size)
{
    for (size_t room = (size_t)1 << 18;; room *= 4) {
        unsigned char *bytes = room > SIZE_MAX / 8 ? NULL : culvi_alloc(room + 1);
        size_t length = 0;
        if (bytes == NULL) return culvi_fail_host_memory(&device->voice, label);
        const int error = culvi_file_head(path, bytes, room, &length);
        const culvi_kernel_file kind = culvi_kernel_data_kind(bytes, length);
        /* What the twin does not take is not read to its end, which it may not have. */
        const bool enough = device->caps.is_software && kind != CULVI_FILE_SHARED_OBJECT;
        if (error == 0 && (length < room || (enough && kind != CULVI_FILE_DLL))) {
            bytes[length] = 0;
            if (kind == CULVI_FILE_PTX && bytes[length - 1] != 0) length++;
            *owned = bytes;
            *size = length;
            return CULV_OK;
        }
        culvi_free(bytes);
        if (error != 0) return fail_read(device, path, label, error);
    }
}

/* Architectures ------------------------------------------------------------------------------- */

static uint64_t number_at(const unsigned char *bytes, unsigned size)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < size; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

static void add(culvi_text *text, const char *form, uint32_t arch)
{
    if (text->length > 0) culvi_text_add(text, ", ");
    culvi_text_add(text, form, arch);
}

/* e_flags of an ELF of EM_CUDA: the compute capability lies in the second byte since ABI 8 (CUDA
 * 13), and in the first one before. */
static void add_cubin(const unsigned char *bytes, size_t size, culvi_text *text)
{
    if (size < 52) return;
    const uint32_t flags = (uint32_t)number_at(bytes + 48, 4);
    add(text, "sm_%u", bytes[8] >= 8 ? flags >> 8 & 0xff : flags & 0xff);
}

/* A header of 16 bytes, whose last 8 are the size of what follows: entries, each with its kind (1
 * PTX, 2 ELF), the sizes of its header and of its code, and 28 bytes in the architecture. No text
 * of NVIDIA's says so; the fatbins of CUDA 11 to 13 are made like that. */
static void add_fatbin(const unsigned char *bytes, size_t size, culvi_text *text)
{
    size_t at = 16;
    while (at + 32 <= size) {
        const uint32_t kind = (uint32_t)number_at(bytes + at, 4) & 0xffff,
                       head = (uint32_t)number_at(bytes + at + 4, 4),
                       low = (uint32_t)number_at(bytes + at + 8, 4),
                       high = (uint32_t)number_at(bytes + at + 12, 4);
        if (high != 0 || head < 32 || head > size - at || low > size - at - head) return;
        const uint32_t arch = (uint32_t)number_at(bytes + at + 28, 4);
        if (kind == 1) add(text, "PTX of compute_%u", arch);
        if (kind == 2) add(text, "sm_%u", arch);
        at += head + low;
    }
}

static void add_ptx(const char *ptx, size_t size, culvi_text *text)
{
    static const char word[] = ".target sm_";
    for (size_t i = 0; i + sizeof word + 1 < size; i++) {
        if (memcmp(ptx + i, word, sizeof word - 1) != 0) continue;
        uint32_t arch = 0;
        for (i += sizeof word - 1; i < size && ptx[i] >= '0' && ptx[i] <= '9' && arch < 1000; i++)
            arch = arch * 10 + (uint32_t)(ptx[i] - '0');
        add(text, "PTX of compute_%u", arch);
        return;
    }
}

void culvi_kernel_image_text(const void *data, size_t size, culvi_text *text)
{
    switch (culvi_kernel_data_kind(data, size)) {
    case CULVI_FILE_FATBIN: add_fatbin(data, size, text); break;
    case CULVI_FILE_CUBIN: add_cubin(data, size, text); break;
    case CULVI_FILE_PTX: add_ptx(data, size, text); break;
    default: break;
    }
}

/* Checks -------------------------------------------------------------------------------------- */

culv_result culvi_kernel_kind_check(const culv_device *device, culvi_kernel_file kind,
                                    const char *name, const char *label, const void *data,
                                    size_t size)
{
    CULVI_TEXT(list, 256);
    static const char *const names[] = {
        "a fatbin", "a cubin", "PTX", "a shared object", "nothing that Culvert knows", "a DLL"};
    const bool soft = device->caps.is_software;
    /* The twin's kernels on Windows. There the tests let the twin pose as NVIDIA's driver, too. */
    if (kind == CULVI_FILE_DLL) return CULV_OK;
    if (soft == (kind == CULVI_FILE_SHARED_OBJECT) || kind == CULVI_FILE_OTHER)
        if (kind != CULVI_FILE_OTHER || !soft) return CULV_OK; /* else the driver decides */
    if (data != NULL) culvi_kernel_image_text(data, size, &list);
    return culvi_fail(
        &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_MODULE,
        soft
            ? "'%s' is %s%s%s%s, and '%s' is the software twin's device, which runs a .soft.so alone; culv_kernels_load() picks the right file of the two that culvert_add_kernels() and culvert-kernels make"
            : "'%s' is %s%s%s%s for the CPU, and '%s' is NVIDIA's device, which runs a fatbin, a cubin or PTX; culv_kernels_load() picks the right file of the two that culvert_add_kernels() and culvert-kernels make",
        name, names[kind], list.length > 0 ? " (" : "", list.data, list.length > 0 ? ")" : "",
        device->caps.name);
}

/* What there is, and what there should be. */
static void add_code(const culv_device *device, const void *data, size_t size, culvi_text *text)
{
    CULVI_TEXT(list, 256);
    if (device->caps.is_software) return;
    if (data != NULL) culvi_kernel_image_text(data, size, &list);
    culvi_text_add(text, "; the GPU needs sm_%u%u", device->caps.compute_major,
                   device->caps.compute_minor);
    if (list.length > 0) culvi_text_add(text, ", and there is %s", list.data);
}

culv_result culvi_kernel_file_fail(const culv_device *device, const char *name, const char *label,
                                   const void *data, size_t size, CUresult code)
{
    static const char call[] = "cuModuleLoadData";
    CULVI_TEXT(text, 512);
    const bool soft = device->caps.is_software;
    const culvi_voice *voice = &device->voice;
    const char *what = NULL;
    culv_result result = CULV_ERROR_INVALID;
    switch (code) {
    case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
        what =
            "is a shared object without a list of kernels; end the .cu source with CULV_KERNELS(first, second), which names each kernel of the file";
        break;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        if (soft)
            what =
                "was compiled with another version of culvert_kernel.h than this twin's; compile it again";
        else
            what =
                "has no code for this GPU; add its compute capability to CULVERT_CUDA_ARCHITECTURES (culvert-kernels --arch)";
        add_code(device, data, size, &text);
        result = CULV_ERROR_UNSUPPORTED;
        break;
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        what =
            "has no code for this GPU but PTX of a newer CUDA than the driver's; add the GPU's compute capability to CULVERT_CUDA_ARCHITECTURES (culvert-kernels --arch)";
        result = CULV_ERROR_UNSUPPORTED;
        break;
    case CUDA_ERROR_INVALID_IMAGE:
        what =
            soft
                ? "cannot be opened by dlopen(): it is damaged, for another processor, or calls functions that are nowhere; link it with -Wl,-z,defs to see which"
                : "is no fatbin, no cubin and no PTX, or is damaged";
        break;
    default: break;
    }
    if (what == NULL)
        return culvi_fail_cuda(device, label, code, call, CULV_REASON_DRIVER_REFUSED,
                               "'%s' could not be loaded", name);
    return culvi_fail_native(voice, label, result, CULV_REASON_MODULE, CULV_NATIVE_CUDA,
                             (int64_t)code, call, "'%s' %s%s", name, what, text.data);
}

/* Programs ------------------------------------------------------------------------------------ */

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

/* The next fatbinary: a header, whose size is in it, and the bytes behind it (add_fatbin()). They
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
    CULVI_TRY(culv_kernels_load_data(device, image, size, path, &made));
    *loaded = true;
    culv_result result = culv_kernels_get(made, kernel, &found);
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
        "none of the %zu fatbinaries in '%s' has a kernel '%s'; a kernel's name in C++ is the mangled one, which cuFuncGetName tells",
        count, path, kernel);
}

culv_result culvi_kernels_load_program(culv_device *device, const char *path, const char *kernel,
                                       culv_kernels **out)
{
    unsigned char *file;
    size_t all = 0, size = 0;
    CULVI_TRY(culvi_kernel_file_read(device, path, path, &file, &all));
    const unsigned char *section = find_section(file, all, &size);
    const culv_result result =
        section != NULL
            ? try_images(device, section, size, path, kernel, out)
            : culvi_fail(
                  &device->voice, path, CULV_ERROR_INVALID, CULV_REASON_MODULE,
                  "'%s' is no 64-bit ELF file with a section %s, into which nvcc puts a program's kernels",
                  path, section_name);
    culvi_free(file);
    return result;
}
