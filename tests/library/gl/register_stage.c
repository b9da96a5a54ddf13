/* SPDX-License-Identifier: MIT */
/* What the suites of registered objects of OpenGL share. */
#include "register_stage.h"

void stage_open_with(stage *s, int profile, culv_gl_get_proc get_proc)
{
    memset(s, 0, sizeof *s);
    s->w.cu = lib_driver();
    raw_gl_open(&s->gl, s->w.cu->software, 0, profile);
    culv_gl_desc desc = culv_gl_desc_init();
    desc.get_proc_address = get_proc;
    LIB_OK(culv_device_open_for_gl(&desc, NULL, &s->w.device));
    s->w.context = culv_device_context(s->w.device);
    LIB_OK(culv_gl_attach(s->w.device, &desc, &s->attached));
    s->stream = lib_stream(&s->w);
}

void stage_open(stage *s, int profile)
{
    stage_open_with(s, profile, raw_gl_get_proc);
}

void stage_close(stage *s)
{
    const raw_cuda *cu = s->w.cu;
    lib_finish(&s->w, s->stream);
    lib_stream_destroy(&s->w, s->stream);
    const culv_device_counts counts = lib_counts(&s->w);
    REQUIRE_EQ(counts.registrations, 0);
    REQUIRE_EQ(counts.attached_devices, 1);
    culv_gl_detach(&s->attached);
    culv_device_close(&s->w.device);
    raw_cuda_require_empty(cu);
    raw_gl_close(&s->gl);
}

culv_registration *stage_register(const stage *s, GLuint buffer, culv_access access)
{
    culv_registration *r = NULL;
    culv_gl_register_desc d = culv_gl_register_desc_init();
    d.access = access;
    d.label = "vertices";
    LIB_OK(culv_gl_register_buffer(s->attached, buffer, &d, &r));
    return r;
}

GLuint stage_buffer(const stage *s, size_t size, uint32_t seed)
{
    GLuint buffer = 0;
    uint32_t *words = malloc(size);
    for (uint32_t i = 0; i < size / 4; i++)
        words[i] = lib_word(i, seed);
    s->gl.CreateBuffers(1, &buffer);
    GL_OK(&s->gl, s->gl.NamedBufferData(buffer, (GLsizeiptr)size, words, GL_DYNAMIC_DRAW));
    free(words);
    return buffer;
}

void stage_require_words(const stage *s, GLuint buffer, size_t size, uint32_t seed)
{
    uint32_t *words = malloc(size);
    raw_gl_read_buffer(&s->gl, buffer, words, size);
    REQUIRE_WORDS(words, size / 4, seed);
    free(words);
}

static void move_box(const raw_cuda *cu, CUarray array, void *texels, size_t row, size_t height,
                     size_t slices, bool write)
{
    CU_OK(write ? raw_cuda_write_box(cu, array, texels, row, height, slices)
                : raw_cuda_read_box(cu, array, texels, row, height, slices));
}

void stage_move_level(const stage *s, culv_registration *r, const raw_gl_image *image, int level,
                      uint8_t *texels, bool write, bool layers)
{
    const raw_cuda *cu = s->w.cu;
    int width, height, depth;
    raw_gl_level_size(image->kind, level, &width, &height, &depth);
    const int parts = layers && image->kind->layered ? depth : 1;
    const size_t row = (size_t)width * image->format->bytes;
    const size_t slices = (size_t)(depth / parts);
    CUcontext before = lib_enter(&s->w);
    /* OpenGL's work is done before what follows the map on its stream; the boxes are copied on
     * another one. */
    CU_OK(cu->StreamSynchronize(s->stream));
    for (int i = 0; i < parts; i++) {
        CUarray array = NULL;
        CUDA_ARRAY3D_DESCRIPTOR all;
        uint8_t *part = texels + row * (size_t)height * slices * (size_t)i;
        size_t reached = slices;
        if (layers) {
            LIB_OK(culv_registration_get_array(r, (uint32_t)i, (uint32_t)level, &array));
        } else {
            LIB_OK(culv_image_get_array(culv_registration_image(r), (uint32_t)level, &array));
            CU_OK(cu->Array3DGetDescriptor(&all, array));
            if (all.Depth == 0) reached = 1;
        }
        move_box(cu, array, part, row, (size_t)height, reached, write);
        /* Copies do not reach the other faces of a cube in the array of all of them. */
        for (size_t j = reached; j < slices; j++) {
            LIB_OK(culv_registration_get_array(r, (uint32_t)j, (uint32_t)level, &array));
            move_box(cu, array, part + row * (size_t)height * j, row, (size_t)height, 1, write);
        }
    }
    CU_OK(cu->CtxSynchronize());
    lib_leave(&s->w, before);
}
