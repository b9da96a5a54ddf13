/* SPDX-License-Identifier: MIT */
/* What the rows about OpenGL share. */
#include "gl_rows.h"

void gl_pair_open(gl_pair *p, int profile)
{
    memset(p, 0, sizeof *p);
    p->cu = raw_cuda_open();
    if (p->cu->GraphicsGLRegisterBuffer == NULL) SKIP("the driver has no cuGraphicsGL calls");
    CU_OK(p->cu->DeviceGet(&p->device, 0));
    raw_gl_open(&p->gl, p->cu->software, p->device, profile);
    p->context = raw_cuda_context(p->cu, p->device);
    p->stream = raw_cuda_stream(p->cu);
}

void gl_pair_close(gl_pair *p)
{
    CU_OK(p->cu->StreamSynchronize(p->stream));
    test_settle();
    CU_OK(p->cu->CtxSetCurrent(NULL));
    CU_OK(p->cu->DevicePrimaryCtxRelease(p->device));
    raw_gl_close(&p->gl);
    raw_cuda_require_empty(p->cu);
}

GLuint gl_pair_buffer(const gl_pair *p, size_t size, unsigned seed)
{
    GLuint buffer = 0;
    uint32_t *words = pattern_words(size, seed);
    GL_OK(&p->gl, p->gl.CreateBuffers(1, &buffer));
    GL_OK(&p->gl, p->gl.NamedBufferData(buffer, (GLsizeiptr)size, words, GL_DYNAMIC_DRAW));
    return buffer;
}

CUgraphicsResource gl_pair_register(const gl_pair *p, GLuint buffer, unsigned flags)
{
    CUgraphicsResource resource = NULL;
    CU_OK(p->cu->GraphicsGLRegisterBuffer(&resource, buffer, flags));
    REQUIRE(resource != NULL);
    return resource;
}

CUresult gl_pair_map(const gl_pair *p, CUgraphicsResource resource)
{
    return p->cu->GraphicsMapResources(1, &resource, p->stream);
}

void gl_pair_map_image(const gl_pair *p, CUgraphicsResource resource)
{
    CU_OK(gl_pair_map(p, resource));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

CUresult gl_pair_unmap(const gl_pair *p, CUgraphicsResource resource)
{
    return p->cu->GraphicsUnmapResources(1, &resource, p->stream);
}

CUdeviceptr gl_pair_pointer(const gl_pair *p, CUgraphicsResource resource, size_t size)
{
    CUdeviceptr pointer = 0;
    size_t found = 0;
    CU_OK(p->cu->GraphicsResourceGetMappedPointer(&pointer, &found, resource));
    REQUIRE_EQ(found, size);
    return pointer;
}
