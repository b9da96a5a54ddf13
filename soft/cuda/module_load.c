/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: what a program gives as code. Only a .soft.so is code here; for all else
 * that a GPU's driver takes, the answer is one that such a driver has too, and says why. */
#include "module.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum code { NOTHING, PTX, CUBIN, FATBIN };

/* Of the first line that is no comment; PTX begins with ".version". The text ends with a 0. */
static bool is_ptx(const char *text)
{
    for (;;) {
        while (isspace((unsigned char)*text))
            text++;
        if (text[0] != '/') break;
        if (text[1] == '/') {
            while (*text != '\0' && *text != '\n')
                text++;
        } else if (text[1] == '*') {
            for (text += 2; *text != '\0' && !(text[0] == '*' && text[1] == '/');)
                text++;
            if (*text != '\0') text += 2;
        } else {
            return false;
        }
    }
    return strncmp(text, ".version", 8) == 0;
}

/* Reads no byte behind one that is another format's. */
static enum code kind_of(const void *code)
{
    static const unsigned char fatbin[4] = {0x50, 0xed, 0x55, 0xba},
                               wrapped[4] = {0xb1, 0x43, 0x62, 0x46},
                               elf[4] = {0x7f, 'E', 'L', 'F'};
    const unsigned char *bytes = code;
    if (memcmp(bytes, fatbin, 4) == 0 || memcmp(bytes, wrapped, 4) == 0) return FATBIN;
    /* e_machine, and soft_image_size() says whether it is one of the host's. */
    if (memcmp(bytes, elf, 4) == 0) return bytes[18] == 190 && bytes[19] == 0 ? CUBIN : NOTHING;
    return is_ptx(code) ? PTX : NOTHING;
}

static CUresult refusal(enum code kind, const char **why)
{
    switch (kind) {
    case PTX:
        *why = "this is PTX, and Culvert's software twin has no compiler for it: it runs kernels "
               "that culvert-kernels compiled (.soft.so)";
        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    case CUBIN:
        *why = "this is a cubin, code for a GPU: Culvert's software twin runs kernels that "
               "culvert-kernels compiled (.soft.so)";
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case FATBIN:
        *why = "this is a fatbin, code for GPUs: Culvert's software twin runs kernels that "
               "culvert-kernels compiled (.soft.so)";
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case NOTHING:
    default: *why = NULL; return CUDA_ERROR_INVALID_IMAGE;
    }
}

/* Into the program's log of errors, and once a process on stderr: the error says less. */
static void tell(const char *why, unsigned num_options, const CUjit_option *options, void **values)
{
    static bool told; /* under the lock */
    char *log = NULL;
    size_t room = 0;
    void **size = NULL;
    for (unsigned i = 0; i < num_options; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = &values[i];
    }
    if (size != NULL) room = (size_t)(uintptr_t)*size;
    if (log != NULL && room > 0) {
        snprintf(log, room, "%s", why);
        *size = (void *)(uintptr_t)(strlen(log) + 1);
    }
    if (!told) fprintf(stderr, "culvert: a module is not loaded: %s\n", why);
    told = true;
}

CUresult soft_code_refuse(const void *code, unsigned num_options, const CUjit_option *options,
                          void **values)
{
    const char *why;
    CUresult result = refusal(kind_of(code), &why);
    if (why != NULL) tell(why, num_options, options, values);
    return result;
}

CUresult soft_code_open(const void *code, unsigned num_options, const CUjit_option *options,
                        void **values, struct soft_image *out, size_t *size)
{
    const size_t found = soft_image_size(code);
    if (size != NULL) *size = found;
    return found == 0 ? soft_code_refuse(code, num_options, options, values)
                      : soft_image_open_memory(code, found, out);
}

CUresult soft_code_open_file(const char *name, unsigned num_options, const CUjit_option *options,
                             void **values, struct soft_image *out)
{
    char start[4096] = "";
    CUresult result = soft_image_open(name, out);
    if (result != CUDA_ERROR_INVALID_IMAGE) return result;
    FILE *file = fopen(name, "rb");
    if (file == NULL) return result;
    const size_t read = fread(start, 1, sizeof(start) - 1, file);
    fclose(file);
    start[read] = '\0';
    return soft_code_refuse(start, num_options, options, values);
}
