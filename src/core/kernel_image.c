/* SPDX-License-Identifier: MIT */
/* Files of kernels: their bytes, and the architectures that they have code for. */
#include "core/kernel.h"

#include "base/alloc.h"
#include "base/platform.h"
#include "cuda/context.h"

#include <string.h>

culv_result culvi_kernel_file_read(const culvi_voice *voice, const char *path, const char *label,
                                   unsigned char **owned, size_t *size)
{
    for (size_t room = (size_t)1 << 18;; room *= 4) {
        unsigned char *bytes = culvi_alloc(room + 1);
        size_t length = 0;
        if (bytes == NULL) return culvi_fail_host_memory(voice, label);
        const int error = culvi_file_head(path, bytes, room, &length);
        if (error == 0 && length < room) {
            bytes[length] = 0;
            if (culvi_kernel_data_kind(bytes, length) == CULVI_FILE_PTX && bytes[length - 1] != 0)
                length++;
            *owned = bytes;
            *size = length;
            return CULV_OK;
        }
        culvi_free(bytes);
        if (error != 0) return culvi_kernel_fail_read(voice, path, label, error, "");
        if (room > SIZE_MAX / 8) return culvi_fail_host_memory(voice, label);
    }
}

/* Architectures ------------------------------------------------------------------------------- */

static uint32_t word_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
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
    const uint32_t flags = word_at(bytes + 48);
    add(text, "sm_%u", bytes[8] >= 8 ? flags >> 8 & 0xff : flags & 0xff);
}

/* A header of 16 bytes, whose last 8 are the size of what follows: entries, each with its kind (1
 * PTX, 2 ELF), the sizes of its header and of its code, and 28 bytes in the architecture. No text
 * of NVIDIA's says so; the fatbins of CUDA 11 to 13 are made like that. */
static void add_fatbin(const unsigned char *bytes, size_t size, culvi_text *text)
{
    size_t at = 16;
    while (at + 32 <= size) {
        const uint32_t kind = word_at(bytes + at) & 0xffff, head = word_at(bytes + at + 4),
                       low = word_at(bytes + at + 8), high = word_at(bytes + at + 12);
        if (high != 0 || head < 32 || head > size - at || low > size - at - head) return;
        const uint32_t arch = word_at(bytes + at + 28);
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
