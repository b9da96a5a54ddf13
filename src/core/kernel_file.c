/* SPDX-License-Identifier: MIT */
/* Files of kernels: which driver a file is for, and why one was not loaded. */
#include "core/kernel.h"

#include "base/alloc.h"
#include "base/platform.h"
#include "cuda/context.h"

#include <errno.h>
#include <string.h>

enum { HEAD_SIZE = 2048 };
static const char soft_suffix[] = ".soft.so", fatbin_suffix[] = ".fatbin";

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

culvi_kernel_file culvi_kernel_file_kind(const char *path)
{
    unsigned char head[HEAD_SIZE];
    size_t size = 0;
    const int error = culvi_file_head(path, head, sizeof head, &size);
    if (error != 0) {
        errno = error;
        return CULVI_FILE_MISSING;
    }
    return culvi_kernel_data_kind(head, size);
}

/* Says of a file that is missing whether the other driver's is there. */
static bool other_exists(const culv_device *device, const char *path)
{
    const char *mine = device->caps.is_software ? soft_suffix : fatbin_suffix;
    const char *other = device->caps.is_software ? fatbin_suffix : soft_suffix;
    const size_t length = strlen(path), end = strlen(mine);
    if (length < end || strcmp(path + length - end, mine) != 0) return false;
    char *name = culvi_alloc(length + sizeof soft_suffix);
    if (name == NULL) return false; /* the message says less */
    memcpy(name, path, length - end);
    strcpy(name + length - end, other);
    bool exists = culvi_kernel_file_kind(name) != CULVI_FILE_MISSING;
    culvi_free(name);
    return exists;
}

culv_result culvi_kernel_fail_read(const culvi_voice *voice, const char *path, const char *label,
                                   int error, const char *more)
{
    return culvi_fail_native(voice, label, CULV_ERROR_INVALID, CULV_REASON_MODULE, CULV_NATIVE_OS,
                             error, "open", "'%s' cannot be read: %s%s", path, strerror(error),
                             more);
}

static culv_result fail_missing(const culv_device *device, const char *path, const char *label,
                                int error)
{
    const char *more = "";
    if (other_exists(device, path))
        more =
            device->caps.is_software
                ? "; the .fatbin beside it is for NVIDIA devices, but this one is the software "
                  "twin's: build with the twin (culvert_add_kernels(), or culvert-kernels --soft)"
                : "; the .soft.so beside it is for the software twin, but this device is NVIDIA's: "
                  "build where nvcc is (culvert_add_kernels(), or culvert-kernels --fatbin)";
    return culvi_kernel_fail_read(&device->voice, path, label, error, more);
}

culv_result culvi_kernel_file_check(const culv_device *device, const char *path, const char *label)
{
    errno = 0;
    const culvi_kernel_file kind = culvi_kernel_file_kind(path);
    if (kind == CULVI_FILE_MISSING) return fail_missing(device, path, label, errno);
    return culvi_kernel_kind_check(device, kind, path, label, NULL, 0);
}

culv_result culvi_kernel_kind_check(const culv_device *device, culvi_kernel_file kind,
                                    const char *name, const char *label, const void *data,
                                    size_t size)
{
    CULVI_TEXT(list, 256);
    static const char *const names[] = {
        "", "a fatbin", "a cubin", "PTX", "a shared object", "nothing that Culvert knows", "a DLL"};
    const bool soft = device->caps.is_software;
    /* The twin's kernels on Windows. There the tests let the twin pose as NVIDIA's driver, too. */
    if (kind == CULVI_FILE_DLL) return CULV_OK;
    if (soft == (kind == CULVI_FILE_SHARED_OBJECT) || kind == CULVI_FILE_OTHER)
        if (kind != CULVI_FILE_OTHER || !soft) return CULV_OK; /* else the driver decides */
    if (data != NULL) culvi_kernel_image_text(data, size, &list);
    return culvi_fail(
        &device->voice, label, CULV_ERROR_INVALID, CULV_REASON_MODULE,
        soft
            ? "'%s' is %s%s%s%s, and '%s' is the software twin's device, which runs a .soft.so alone; "
              "culv_kernels_load() picks the right file of the two that culvert_add_kernels() "
              "and culvert-kernels make"
            : "'%s' is %s%s%s%s for the CPU, and '%s' is NVIDIA's device, which runs a fatbin, a cubin or "
              "PTX; culv_kernels_load() picks the right file of the two that "
              "culvert_add_kernels() and culvert-kernels make",
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
        what = "is a shared object without a list of kernels; end the .cu source with "
               "CULV_KERNELS(first, second), which names each kernel of the file";
        break;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
        if (soft)
            what =
                "was compiled with another version of culvert_kernel.h than this twin's; compile "
                "it again";
        else
            what = "has no code for this GPU; add its compute capability to "
                   "CULVERT_CUDA_ARCHITECTURES (culvert-kernels --arch)";
        add_code(device, data, size, &text);
        result = CULV_ERROR_UNSUPPORTED;
        break;
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        what = "has no code for this GPU but PTX of a newer CUDA than the driver's; add the GPU's "
               "compute capability to CULVERT_CUDA_ARCHITECTURES (culvert-kernels --arch)";
        result = CULV_ERROR_UNSUPPORTED;
        break;
    case CUDA_ERROR_INVALID_IMAGE:
        what = soft
                   ? "cannot be opened by dlopen(): it is damaged, for another processor, or calls "
                     "functions that are nowhere; link it with -Wl,-z,defs to see which"
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
