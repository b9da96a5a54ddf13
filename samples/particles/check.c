/* SPDX-License-Identifier: MIT */
/* See check.h. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "star.h"

/* glGetNamedBufferSubData() may answer with old bytes of a shared buffer (culvert/gl_memory.h).
 * They are copied to a buffer of GL's own, which is read. */
static bool read_gl(const exchange *e, void *out)
{
    GLuint copy = 0;
    glCreateBuffers(1, &copy);
    glNamedBufferStorage(copy, (GLsizeiptr)e->size, NULL, GL_MAP_READ_BIT);
    glCopyNamedBufferSubData(e->buffer, copy, 0, 0, (GLsizeiptr)e->size);
    const void *mapped = glMapNamedBufferRange(copy, 0, (GLsizeiptr)e->size, GL_MAP_READ_BIT);
    if (mapped) memcpy(out, mapped, e->size);
    if (mapped) (void)glUnmapNamedBuffer(copy);
    glDeleteBuffers(1, &copy);
    return gl_ok("reading the stars") && mapped;
}

/* The kernel once more, to memory of CUDA's own. */
static bool read_cuda(const exchange *e, solver *s, void *out)
{
    const culv_cuda_api *cu = e->cu;
    CUdeviceptr own = 0;
    bool fine = cuda_ok(cu, cu->cuMemAlloc(&own, e->size), "cuMemAlloc") &&
                solver_publish(s, own) &&
                cuda_ok(cu, cu->cuStreamSynchronize(s->stream), "cuStreamSynchronize") &&
                cuda_ok(cu, cu->cuMemcpyDtoH(out, own, e->size), "cuMemcpyDtoH");
    if (own) (void)cu->cuMemFree(own);
    return fine;
}

static bool compare(const star *by_gl, const star *by_cuda, size_t count, uint64_t *checksum)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325); /* FNV-1a's way, by words */
    for (size_t i = 0; i < count; i++) {
        uint64_t words[sizeof(star) / sizeof(uint64_t)];
        if (memcmp(&by_gl[i], &by_cuda[i], sizeof(star)) != 0) {
            report("star %zu: what OpenGL has is not what CUDA computed", i);
            return false;
        }
        memcpy(words, &by_gl[i], sizeof words);
        for (size_t j = 0; j < sizeof words / sizeof words[0]; j++)
            sum = (sum ^ words[j]) * UINT64_C(0x100000001b3);
    }
    *checksum = sum;
    return true;
}

bool check_stars(exchange *e, solver *s, uint64_t *checksum)
{
    star *by_gl = malloc(e->size), *by_cuda = malloc(e->size);
    bool fine = by_gl && by_cuda;
    if (!fine) report("out of memory for the check");
    fine = fine && read_gl(e, by_gl) && read_cuda(e, s, by_cuda) &&
           compare(by_gl, by_cuda, e->size / sizeof(star), checksum);
    free(by_gl);
    free(by_cuda);
    return fine;
}
