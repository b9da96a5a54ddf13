/* SPDX-License-Identifier: MIT */
/* Contract rows: the data of registered buffers and images of OpenGL, both ways. */
#define TEST_GROUP "gl."
#include "gl_rows.h"

static size_t differences(const void *a, const void *b, size_t size)
{
    const uint8_t *x = a, *y = b;
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += x[i] != y[i];
    return count;
}

/* Buffers ------------------------------------------------------------------------------------- */

GL_PAIR_CASE(buffers, RAW_GL_CORE, .mark = TEST_BOTH, .smoke = true)
{
    static const struct {
        const char *name;
        unsigned flags;
        bool immutable;
    } rows[] = {{"NONE", CU_GRAPHICS_REGISTER_FLAGS_NONE, false},
                {"READ_ONLY", CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY, false},
                {"WRITE_DISCARD", CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD, false},
                {"NONE, immutable storage", CU_GRAPHICS_REGISTER_FLAGS_NONE, true}};
    const size_t size = 123456;
    uint32_t *first = pattern_words(size, 1), *second = pattern_words(size, 2),
             *found = test_memory(size);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        GLuint buffer = 0;
        if (rows[i].immutable) {
            p->gl.CreateBuffers(1, &buffer);
            GL_OK(&p->gl, p->gl.NamedBufferStorage(buffer, (GLsizeiptr)size, first, 0));
        } else {
            buffer = gl_pair_buffer(p, size, 1);
        }
        CUgraphicsResource resource = gl_pair_register(p, buffer, rows[i].flags);
        const bool reads = rows[i].flags != CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD;
        const bool writes = rows[i].flags != CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY;
        CU_OK(gl_pair_map(p, resource));
        const CUdeviceptr pointer = gl_pair_pointer(p, resource, size);
        if (reads) {
            CU_OK(p->cu->MemcpyDtoHAsync(found, pointer, size, p->stream));
            CU_OK(p->cu->StreamSynchronize(p->stream));
            answer_wrong(answer_key("%s, read by CUDA", rows[i].name),
                         differences(found, first, size), size);
        }
        if (writes) CU_OK(p->cu->MemcpyHtoDAsync(pointer, second, size, p->stream));
        CU_OK(gl_pair_unmap(p, resource));
        raw_gl_read_buffer(&p->gl, buffer, found, size);
        answer_wrong(answer_key("%s, read by OpenGL", rows[i].name),
                     differences(found, writes ? second : first, size), size);
        CU_OK(p->cu->GraphicsUnregisterResource(resource));
        GL_OK(&p->gl, p->gl.DeleteBuffers(1, &buffer));
    }
}

/* Images -------------------------------------------------------------------------------------- */

static size_t wrong, all;

/* A level's subresources, each to or from its part of `texels`. */
static void move_level(const gl_pair *p, CUgraphicsResource resource, const raw_gl_image *image,
                       int level, uint8_t *texels, bool write)
{
    int width, height, depth;
    raw_gl_level_size(image->kind, level, &width, &height, &depth);
    const int parts = image->kind->layered ? depth : 1, slices = depth / parts;
    const size_t row = (size_t)width * image->format->bytes;
    for (int i = 0; i < parts; i++) {
        CUarray array = NULL, again = NULL;
        uint8_t *part = texels + row * (size_t)height * (size_t)slices * (size_t)i;
        CU_OK(p->cu->GraphicsSubResourceGetMappedArray(&array, resource, (unsigned)i,
                                                       (unsigned)level));
        CU_OK(p->cu->GraphicsSubResourceGetMappedArray(&again, resource, (unsigned)i,
                                                       (unsigned)level));
        REQUIRE(array == again);
        CU_OK(write ? raw_cuda_write_box(p->cu, array, part, row, (size_t)height, (size_t)slices)
                    : raw_cuda_read_box(p->cu, array, part, row, (size_t)height, (size_t)slices));
    }
}

static void describe(const gl_pair *p, CUgraphicsResource resource, const raw_gl_image *image)
{
    CUarray array = NULL;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    CU_OK(p->cu->GraphicsSubResourceGetMappedArray(&array, resource, 0, 0));
    CU_OK(p->cu->Array3DGetDescriptor(&desc, array));
    REQUIRE_EQ(desc.Width, image->kind->width);
    REQUIRE_EQ(desc.Height, image->kind->height);
    REQUIRE_EQ(desc.Format, image->format->cuda);
    REQUIRE_EQ(desc.NumChannels, image->format->channels);
}

/* GL's texels in CUDA, CUDA's in GL; the registration's result. */
static CUresult both_ways(const gl_pair *p, const raw_gl_image *image, unsigned flags)
{
    uint8_t *texels[8], *found = test_memory(raw_gl_level_bytes(image, 0));
    CUgraphicsResource resource = NULL;
    CUresult result =
        p->cu->GraphicsGLRegisterImage(&resource, image->name, image->kind->target, flags);
    if (result != CUDA_SUCCESS) return result;
    for (int i = 0; i < image->kind->levels; i++) {
        texels[i] = test_memory(raw_gl_level_bytes(image, i));
        raw_gl_fill(image->format, texels[i], raw_gl_level_bytes(image, i), 10u + (unsigned)i);
        raw_gl_image_write(&p->gl, image, i, texels[i]);
    }
    gl_pair_map_image(p, resource);
    describe(p, resource, image);
    for (int i = 0; i < image->kind->levels; i++) {
        const size_t bytes = raw_gl_level_bytes(image, i);
        memset(found, 0, bytes);
        move_level(p, resource, image, i, found, false);
        wrong += differences(found, texels[i], bytes);
        raw_gl_fill(image->format, texels[i], bytes, 20u + (unsigned)i);
        move_level(p, resource, image, i, texels[i], true);
        all += 2 * bytes;
    }
    CU_OK(p->cu->CtxSynchronize()); /* those copies are not in the pair's stream */
    CU_OK(gl_pair_unmap(p, resource));
    for (int i = 0; i < image->kind->levels; i++) {
        const size_t bytes = raw_gl_level_bytes(image, i);
        memset(found, 0, bytes);
        raw_gl_image_read(&p->gl, image, i, found);
        wrong += differences(found, texels[i], bytes);
    }
    CU_OK(p->cu->GraphicsUnregisterResource(resource));
    return CUDA_SUCCESS;
}

/* A row a kind: which formats are refused or wrong. */
static void formats(bool compatibility)
{
    gl_pair p;
    gl_pair_open(&p, compatibility ? RAW_GL_COMPATIBILITY : RAW_GL_CORE);
    for (const raw_gl_kind *kind = raw_gl_kinds; kind->name != NULL; kind++) {
        char text[512] = "";
        size_t length = 0;
        unsigned right = 0;
        for (const raw_gl_format *format = raw_gl_formats; format->name != NULL; format++) {
            raw_gl_image image;
            if (format->compatibility != compatibility) continue;
            if (compatibility && kind->target == GL_RENDERBUFFER)
                continue; /* none may draw to it */
            if (!raw_gl_image_make(&p.gl, kind, format, &image)) {
                while (p.gl.GetError() != GL_NO_ERROR) {
                }
                continue; /* OpenGL has none, and CUDA is not to blame */
            }
            wrong = all = 0;
            const CUresult result = both_ways(&p, &image, CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST);
            raw_gl_require_ok(&p.gl, format->name, __FILE__, __LINE__);
            if (result == CUDA_SUCCESS && wrong == 0) {
                REQUIRE(all > 0);
                right++;
            } else if (length < sizeof text) {
                length += (size_t)snprintf(
                    text + length, sizeof text - length, "; %s %s", format->name,
                    result == CUDA_SUCCESS ? "wrong" : raw_cuda_result_name(result));
            }
            raw_gl_image_delete(&p.gl, &image);
        }
        ANSWER(kind->name, "%u right%s", right, text);
    }
    gl_pair_close(&p);
}

TEST_AS(core_formats, formats(false), .title = "gl.formats", .mark = TEST_BOTH)
TEST_AS(compatibility_formats, formats(true), .mark = TEST_BOTH)

/* How many layers or faces one copy reaches, and what is in them. */
static void answer_reach(const gl_pair *p, const raw_gl_image *image, int level, CUarray array,
                         uint8_t *found, const uint8_t *texels)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    int width, height, depth;
    raw_gl_level_size(image->kind, level, &width, &height, &depth);
    CU_OK(p->cu->Array3DGetDescriptor(&d, array));
    const size_t row = (size_t)width * image->format->bytes;
    int reached = depth;
    while (reached > 0 && raw_cuda_read_box(p->cu, array, found, row, (size_t)height,
                                            (size_t)reached) != CUDA_SUCCESS)
        reached--;
    CU_OK(p->cu->CtxSynchronize());
    const size_t bytes = row * (size_t)height * (size_t)reached;
    ANSWER(image->kind->name,
           "%zu x %zu x %zu, flags 0x%x; a copy reaches %d of %d, %zu bytes wrong", d.Width,
           d.Height, d.Depth, d.Flags, reached, depth, differences(found, texels, bytes));
}

/* One array of all layers or faces. */
GL_PAIR_CASE(mipmapped_arrays, RAW_GL_CORE, .mark = TEST_BOTH)
{
    for (const raw_gl_kind *kind = raw_gl_kinds; kind->name != NULL; kind++) {
        raw_gl_image image;
        CUgraphicsResource resource = NULL;
        CUmipmappedArray arrays = NULL;
        CUarray array = NULL;
        REQUIRE(raw_gl_image_make(&p->gl, kind, raw_gl_format_named("GL_RGBA8"), &image));
        CU_OK(p->cu->GraphicsGLRegisterImage(&resource, image.name, kind->target,
                                             CU_GRAPHICS_REGISTER_FLAGS_NONE));
        const int level = kind->levels - 1;
        const size_t bytes = raw_gl_level_bytes(&image, level);
        uint8_t *texels = test_memory(bytes), *found = test_memory(bytes);
        raw_gl_fill(image.format, texels, bytes, 5);
        raw_gl_image_write(&p->gl, &image, level, texels);
        gl_pair_map_image(p, resource);
        CUresult result = p->cu->GraphicsResourceGetMappedMipmappedArray(&arrays, resource);
        if (result == CUDA_SUCCESS)
            result = p->cu->MipmappedArrayGetLevel(&array, arrays, (unsigned)level);
        if (result == CUDA_SUCCESS) {
            answer_reach(p, &image, level, array, found, texels);
        } else {
            answer_is(kind->name, result, CUDA_SUCCESS);
        }
        CU_OK(gl_pair_unmap(p, resource));
        CU_OK(p->cu->GraphicsUnregisterResource(resource));
        raw_gl_image_delete(&p->gl, &image);
    }
}

/* What a program set for its own pixels stays, and counts for nothing. */
GL_PAIR_CASE(pixel_state, RAW_GL_CORE, .mark = TEST_BOTH)
{
    raw_gl_image image;
    REQUIRE(raw_gl_image_make(&p->gl, &raw_gl_kinds[0], raw_gl_format_named("GL_R8"), &image));
    const GLuint buffer = gl_pair_buffer(p, 4096, 3);
    p->gl.PixelStorei(GL_PACK_ROW_LENGTH, 99);
    p->gl.PixelStorei(GL_UNPACK_SKIP_ROWS, 3);
    CUgraphicsResource resource = NULL;
    CU_OK(p->cu->GraphicsGLRegisterImage(&resource, image.name, GL_TEXTURE_2D,
                                         CU_GRAPHICS_REGISTER_FLAGS_NONE));
    p->gl.BindBuffer(GL_PIXEL_PACK_BUFFER, buffer);
    p->gl.BindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
    gl_pair_map_image(p, resource);
    uint8_t texels[37 * 22], found[sizeof texels];
    raw_gl_fill(image.format, texels, sizeof texels, 7);
    move_level(p, resource, &image, 0, texels, true);
    CU_OK(p->cu->CtxSynchronize());
    CU_OK(gl_pair_unmap(p, resource));
    GLint row = 0, skip = 0, pack = 0, unpack = 0;
    p->gl.GetIntegerv(GL_PACK_ROW_LENGTH, &row);
    p->gl.GetIntegerv(GL_UNPACK_SKIP_ROWS, &skip);
    p->gl.GetIntegerv(GL_PIXEL_PACK_BUFFER_BINDING, &pack);
    p->gl.GetIntegerv(GL_PIXEL_UNPACK_BUFFER_BINDING, &unpack);
    REQUIRE_EQ(row, 99);
    REQUIRE_EQ(skip, 3);
    REQUIRE_EQ(pack, buffer);
    REQUIRE_EQ(unpack, buffer);
    p->gl.BindBuffer(GL_PIXEL_PACK_BUFFER, 0);
    p->gl.BindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    p->gl.PixelStorei(GL_PACK_ROW_LENGTH, 0);
    p->gl.PixelStorei(GL_UNPACK_SKIP_ROWS, 0);
    raw_gl_image_read(&p->gl, &image, 0, found);
    answer_wrong("written by CUDA", differences(found, texels, sizeof texels), sizeof texels);
    CU_OK(p->cu->GraphicsUnregisterResource(resource));
    raw_gl_image_delete(&p->gl, &image);
    p->gl.DeleteBuffers(1, &buffer);
}

/* All or none of many. */
GL_PAIR_CASE(many, RAW_GL_CORE, .mark = TEST_BOTH)
{
    enum { COUNT = 64, SIZE = 4096 };
    GLuint buffers_made[COUNT];
    CUgraphicsResource resources[COUNT];
    uint32_t found[SIZE / 4];
    for (unsigned i = 0; i < COUNT; i++) {
        buffers_made[i] = gl_pair_buffer(p, SIZE, i);
        resources[i] = gl_pair_register(p, buffers_made[i], CU_GRAPHICS_REGISTER_FLAGS_NONE);
    }
    CU_OK(p->cu->GraphicsMapResources(COUNT, resources, p->stream));
    for (unsigned i = 0; i < COUNT; i++)
        CU_OK(p->cu->MemsetD32Async(gl_pair_pointer(p, resources[i], SIZE), 1000 + i, SIZE / 4,
                                    p->stream));
    CU_OK(p->cu->GraphicsUnmapResources(COUNT, resources, p->stream));
    size_t bad = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        raw_gl_read_buffer(&p->gl, buffers_made[i], found, SIZE);
        for (unsigned w = 0; w < SIZE / 4; w++)
            bad += found[w] != 1000 + i;
        CU_OK(p->cu->GraphicsUnregisterResource(resources[i]));
    }
    answer_wrong("written by CUDA", bad, COUNT * SIZE / 4);
    p->gl.DeleteBuffers(COUNT, buffers_made);
}
