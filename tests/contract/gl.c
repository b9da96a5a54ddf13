/* SPDX-License-Identifier: MIT */
/* Contract rows: registered buffers and images of OpenGL: their data, both ways, and what is
 * refused, and when. A row's name is that of the call, and what is wrong. */
#define TEST_GROUP "gl."
#include "contract.h"
#include "raw_gl.h"

#define NONE     CU_GRAPHICS_REGISTER_FLAGS_NONE
#define READ     CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY
#define DISCARD  CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD
#define SURFACES CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST

typedef struct gl_pair {
    const raw_cuda *cu;
    CUdevice device;
    CUcontext context; /* primary, current */
    CUstream stream;   /* non-blocking */
    raw_gl gl;         /* current */
} gl_pair;

static void gl_pair_open(gl_pair *p, int profile)
{
    memset(p, 0, sizeof *p);
    p->cu = raw_cuda_open();
    CU_OK(p->cu->DeviceGet(&p->device, 0));
    raw_gl_open(&p->gl, p->cu->software, p->device, profile);
    p->context = raw_cuda_context(p->cu, p->device);
    p->stream = raw_cuda_stream(p->cu);
}

static void gl_pair_close(gl_pair *p)
{
    CU_OK(p->cu->StreamSynchronize(p->stream));
    test_settle();
    CU_OK(p->cu->CtxSetCurrent(NULL));
    CU_OK(p->cu->DevicePrimaryCtxRelease(p->device));
    raw_gl_close(&p->gl);
    raw_cuda_require_empty(p->cu);
}

#define GL_PAIR_CASE(name, ...)                                                                    \
    TEST_ON_(gl_pair, p, gl_pair_open(p, TEST_FIRST(__VA_ARGS__)), gl_pair_close(p), name,         \
             TEST_REST(__VA_ARGS__))

/* What a case makes is there to its end, in the context that it then has. */
static void end_buffer(const void *p, void *buffer)
{
    ((const gl_pair *)p)->gl.DeleteBuffers(1, buffer);
}

static void end_image(const void *p, void *image)
{
    raw_gl_image_delete(&((const gl_pair *)p)->gl, image);
}

static void end_registration(const void *p, void *resource)
{
    CU_OK(((const gl_pair *)p)->cu->GraphicsUnregisterResource(*(CUgraphicsResource *)resource));
}

/* With `size` bytes of a pattern. */
static GLuint gl_pair_buffer(const gl_pair *p, size_t size, unsigned seed)
{
    GLuint buffer = 0;
    uint32_t *words = pattern_words(size, seed);
    GL_OK(&p->gl, p->gl.CreateBuffers(1, &buffer));
    GL_OK(&p->gl, p->gl.NamedBufferData(buffer, (GLsizeiptr)size, words, GL_DYNAMIC_DRAW));
    test_later(end_buffer, p, &buffer, sizeof buffer);
    return buffer;
}

static CUgraphicsResource gl_pair_register(const gl_pair *p, GLuint buffer, unsigned flags)
{
    CUgraphicsResource resource = NULL;
    CU_OK(p->cu->GraphicsGLRegisterBuffer(&resource, buffer, flags));
    REQUIRE(resource != NULL);
    test_later(end_registration, p, &resource, sizeof resource);
    return resource;
}

static CUgraphicsResource gl_pair_one(const gl_pair *p)
{
    return gl_pair_register(p, gl_pair_buffer(p, 4096, 1), NONE);
}

static CUgraphicsResource gl_pair_image(const gl_pair *p, const raw_gl_kind *kind,
                                        const char *format, unsigned flags, raw_gl_image *image)
{
    CUgraphicsResource resource = NULL;
    REQUIRE(raw_gl_image_make(&p->gl, kind, raw_gl_format_named(format), image));
    test_later(end_image, p, image, sizeof *image);
    CU_OK(p->cu->GraphicsGLRegisterImage(&resource, image->name, kind->target, flags));
    test_later(end_registration, p, &resource, sizeof resource);
    return resource;
}

static CUresult gl_pair_map(const gl_pair *p, CUgraphicsResource resource)
{
    return p->cu->GraphicsMapResources(1, &resource, p->stream);
}

/* For copies that are not in the pair's stream: they wait for the map here. */
static void gl_pair_map_image(const gl_pair *p, CUgraphicsResource resource)
{
    CU_OK(gl_pair_map(p, resource));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

static CUresult gl_pair_unmap(const gl_pair *p, CUgraphicsResource resource)
{
    return p->cu->GraphicsUnmapResources(1, &resource, p->stream);
}

static CUdeviceptr gl_pair_pointer(const gl_pair *p, CUgraphicsResource resource, size_t size)
{
    CUdeviceptr pointer = 0;
    size_t found = 0;
    CU_OK(p->cu->GraphicsResourceGetMappedPointer(&pointer, &found, resource));
    REQUIRE_EQ(found, size);
    return pointer;
}

GL_PAIR_CASE(buffers, RAW_GL_CORE, .mark = TEST_BOTH, .smoke = true)
{
    static const struct {
        const char *name;
        unsigned flags;
        bool immutable;
    } rows[] = {{"NONE", NONE, false},
                {"READ_ONLY", READ, false},
                {"WRITE_DISCARD", DISCARD, false},
                {"NONE, immutable storage", NONE, true}};
    const size_t size = 123456;
    uint32_t *first = pattern_words(size, 1), *second = pattern_words(size, 2),
             *found = test_memory(size);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        GLuint buffer = 0;
        if (rows[i].immutable) {
            p->gl.CreateBuffers(1, &buffer);
            GL_OK(&p->gl, p->gl.NamedBufferStorage(buffer, (GLsizeiptr)size, first, 0));
            test_later(end_buffer, p, &buffer, sizeof buffer);
        } else {
            buffer = gl_pair_buffer(p, size, 1);
        }
        CUgraphicsResource resource = gl_pair_register(p, buffer, rows[i].flags);
        const bool reads = rows[i].flags != DISCARD;
        const bool writes = rows[i].flags != READ;
        CU_OK(gl_pair_map(p, resource));
        const CUdeviceptr pointer = gl_pair_pointer(p, resource, size);
        if (reads) {
            CU_OK(p->cu->MemcpyDtoHAsync(found, pointer, size, p->stream));
            CU_OK(p->cu->StreamSynchronize(p->stream));
            answer_wrong(answer_key("%s, read by CUDA", rows[i].name),
                         bytes_wrong(found, first, size), size);
        }
        if (writes) CU_OK(p->cu->MemcpyHtoDAsync(pointer, second, size, p->stream));
        CU_OK(gl_pair_unmap(p, resource));
        raw_gl_read_buffer(&p->gl, buffer, found, size);
        answer_wrong(answer_key("%s, read by OpenGL", rows[i].name),
                     bytes_wrong(found, writes ? second : first, size), size);
    }
}

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
           d.Height, d.Depth, d.Flags, reached, depth, bytes_wrong(found, texels, bytes));
}

/* One array of all layers or faces. */
GL_PAIR_CASE(mipmapped_arrays, RAW_GL_CORE, .mark = TEST_BOTH)
{
    for (const raw_gl_kind *kind = raw_gl_kinds; kind->name != NULL; kind++) {
        raw_gl_image image;
        CUmipmappedArray arrays = NULL;
        CUarray array = NULL;
        const CUgraphicsResource resource = gl_pair_image(p, kind, "GL_RGBA8", NONE, &image);
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
            answer_ok(kind->name, result);
        }
        CU_OK(gl_pair_unmap(p, resource));
    }
}

/* What a program set for its own pixels stays, and counts for nothing. */
GL_PAIR_CASE(pixel_state, RAW_GL_CORE, .mark = TEST_BOTH)
{
    raw_gl_image image;
    const GLuint buffer = gl_pair_buffer(p, 4096, 3);
    p->gl.PixelStorei(GL_PACK_ROW_LENGTH, 99);
    p->gl.PixelStorei(GL_UNPACK_SKIP_ROWS, 3);
    const CUgraphicsResource resource = gl_pair_image(p, &raw_gl_kinds[0], "GL_R8", NONE, &image);
    p->gl.BindBuffer(GL_PIXEL_PACK_BUFFER, buffer);
    p->gl.BindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
    gl_pair_map_image(p, resource);
    uint8_t texels[37 * 22], found[sizeof texels];
    CUarray array = NULL;
    raw_gl_fill(image.format, texels, sizeof texels, 7);
    CU_OK(p->cu->GraphicsSubResourceGetMappedArray(&array, resource, 0, 0));
    CU_OK(raw_cuda_write_array(p->cu, array, texels, (size_t)image.kind->width,
                               (size_t)image.kind->height));
    CU_OK(p->cu->CtxSynchronize());
    CU_OK(gl_pair_unmap(p, resource));
    GLint row = 0, skip = 0, pack = 0, unpack = 0;
    p->gl.GetIntegerv(GL_PACK_ROW_LENGTH, &row);
    p->gl.GetIntegerv(GL_UNPACK_SKIP_ROWS, &skip);
    p->gl.GetIntegerv(GL_PIXEL_PACK_BUFFER_BINDING, &pack);
    p->gl.GetIntegerv(GL_PIXEL_UNPACK_BUFFER_BINDING, &unpack);
    REQUIRE(row == 99 && skip == 3 && pack == (GLint)buffer && unpack == (GLint)buffer);
    p->gl.BindBuffer(GL_PIXEL_PACK_BUFFER, 0);
    p->gl.BindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    p->gl.PixelStorei(GL_PACK_ROW_LENGTH, 0);
    p->gl.PixelStorei(GL_UNPACK_SKIP_ROWS, 0);
    raw_gl_image_read(&p->gl, &image, 0, found);
    answer_wrong("written by CUDA", bytes_wrong(found, texels, sizeof texels), sizeof texels);
}

static CUresult register_image(const gl_pair *p, GLuint name, GLenum target)
{
    CUgraphicsResource resource = NULL;
    const CUresult result = p->cu->GraphicsGLRegisterImage(&resource, name, target, NONE);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->GraphicsUnregisterResource(resource));
    return result;
}

GL_PAIR_CASE(refused_images, RAW_GL_CORE, .mark = TEST_BOTH)
{
    static const struct {
        const char *name;
        GLenum target, format;
        int depth;
    } rows[] = {
        {"GL_RGB8", GL_TEXTURE_2D, GL_RGB8, 1},
        {"GL_RGB32F", GL_TEXTURE_2D, GL_RGB32F, 1},
        {"GL_SRGB8_ALPHA8", GL_TEXTURE_2D, GL_SRGB8_ALPHA8, 1},
        {"GL_RGBA8_SNORM", GL_TEXTURE_2D, GL_RGBA8_SNORM, 1},
        {"GL_RGB10_A2", GL_TEXTURE_2D, GL_RGB10_A2, 1},
        {"GL_R11F_G11F_B10F", GL_TEXTURE_2D, GL_R11F_G11F_B10F, 1},
        {"GL_COMPRESSED_RGBA_BPTC_UNORM", GL_TEXTURE_2D, GL_COMPRESSED_RGBA_BPTC_UNORM, 1},
        {"GL_DEPTH_COMPONENT24", GL_TEXTURE_2D, GL_DEPTH_COMPONENT24, 1},
        {"GL_DEPTH_COMPONENT32F", GL_TEXTURE_2D, GL_DEPTH_COMPONENT32F, 1},
        {"GL_DEPTH24_STENCIL8", GL_TEXTURE_2D, GL_DEPTH24_STENCIL8, 1},
        {"GL_TEXTURE_1D", GL_TEXTURE_1D, GL_RGBA8, 0},
        {"GL_TEXTURE_1D_ARRAY", GL_TEXTURE_1D_ARRAY, GL_RGBA8, 1},
        {"GL_TEXTURE_CUBE_MAP_ARRAY", GL_TEXTURE_CUBE_MAP_ARRAY, GL_RGBA8, 12},
        {"GL_TEXTURE_2D_MULTISAMPLE", GL_TEXTURE_2D_MULTISAMPLE, GL_RGBA8, 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        GLuint name = 0;
        p->gl.CreateTextures(rows[i].target, 1, &name);
        if (rows[i].target == GL_TEXTURE_2D_MULTISAMPLE)
            p->gl.TextureStorage2DMultisample(name, 4, rows[i].format, 16, 16, GL_TRUE);
        else if (rows[i].depth == 0)
            p->gl.TextureStorage1D(name, 1, rows[i].format, 16);
        else if (rows[i].depth > 1)
            p->gl.TextureStorage3D(name, 1, rows[i].format, 16, 16, rows[i].depth);
        else
            p->gl.TextureStorage2D(name, 1, rows[i].format, 16, 16);
        raw_gl_require_ok(&p->gl, rows[i].name, __FILE__, __LINE__);
        answer_call(rows[i].name, register_image(p, name, rows[i].target));
        p->gl.DeleteTextures(1, &name);
    }
    GLuint name = 0;
    p->gl.CreateRenderbuffers(1, &name);
    GL_OK(&p->gl, p->gl.NamedRenderbufferStorageMultisample(name, 4, GL_RGBA8, 16, 16));
    answer_call("a renderbuffer of 4 samples", register_image(p, name, GL_RENDERBUFFER));
    GL_OK(&p->gl, p->gl.NamedRenderbufferStorage(name, GL_DEPTH_COMPONENT24, 16, 16));
    answer_call("a renderbuffer of depth", register_image(p, name, GL_RENDERBUFFER));
    answer_call("a renderbuffer as GL_TEXTURE_2D", register_image(p, name, GL_TEXTURE_2D));
    p->gl.DeleteRenderbuffers(1, &name);
    answer_call("a deleted renderbuffer", register_image(p, name, GL_RENDERBUFFER));
    p->gl.CreateTextures(GL_TEXTURE_2D, 1, &name);
    answer_call("a texture without storage", register_image(p, name, GL_TEXTURE_2D));
    GL_OK(&p->gl, p->gl.TextureStorage2D(name, 1, GL_RGBA8, 16, 16));
    answer_call("a 2D texture as GL_TEXTURE_3D", register_image(p, name, GL_TEXTURE_3D));
    answer_call("target 0", register_image(p, name, 0));
    p->gl.DeleteTextures(1, &name);
    answer_call("a deleted texture", register_image(p, name, GL_TEXTURE_2D));
    answer_call("texture 0", register_image(p, 0, GL_TEXTURE_2D));
    raw_gl_require_ok(&p->gl, "refusals", __FILE__, __LINE__);
}

GL_PAIR_CASE(bad_registrations, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    CUgraphicsResource resource = NULL, second = NULL;
    GLuint buffer = gl_pair_buffer(p, 4096, 1), empty = 0;
    p->gl.CreateBuffers(1, &empty);
    static const struct {
        const char *what;
        enum { STORED, EMPTY, NO_BUFFER } of;
        unsigned name, flags;
    } rows[] = {{"buffer 0", NO_BUFFER, 0, NONE},
                {"a name that is no buffer", NO_BUFFER, 12345, NONE},
                {"a buffer without storage", EMPTY, 0, NONE},
                {"flags 0x40", STORED, 0, 0x40},
                {"READ_ONLY and WRITE_DISCARD", STORED, 0, READ | DISCARD},
                {"a buffer, SURFACE_LDST", STORED, 0, SURFACES}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const GLuint name = rows[i].of == STORED  ? buffer
                            : rows[i].of == EMPTY ? empty
                                                  : rows[i].name;
        const CUresult result = p->cu->GraphicsGLRegisterBuffer(&resource, name, rows[i].flags);
        answer_call(rows[i].what, result);
        if (result == CUDA_SUCCESS) CU_OK(p->cu->GraphicsUnregisterResource(resource));
    }
    resource = gl_pair_register(p, buffer, NONE);
    const CUresult twice = p->cu->GraphicsGLRegisterBuffer(&second, buffer, NONE);
    answer_call("the same buffer again", twice);
    if (twice == CUDA_SUCCESS) {
        CU_OK(gl_pair_map(p, resource));
        const CUresult both = gl_pair_map(p, second);
        answer_call("both are mapped", both);
        if (both == CUDA_SUCCESS) CU_OK(gl_pair_unmap(p, second));
        CU_OK(gl_pair_unmap(p, resource));
        CU_OK(p->cu->GraphicsUnregisterResource(second));
    }
    p->gl.DeleteBuffers(1, &empty);
    raw_gl_require_ok(&p->gl, "refusals", __FILE__, __LINE__);
}

GL_PAIR_CASE(states, RAW_GL_CORE, .mark = TEST_BOTH)
{
    raw_gl_image image;
    CUgraphicsResource r[2] = {gl_pair_one(p),
                               gl_pair_image(p, &raw_gl_kinds[0], "GL_RGBA8", NONE, &image)};
    CUdeviceptr pointer = 0;
    size_t size = 0;
    CUarray array = NULL;
    CUmipmappedArray arrays = NULL;
    const raw_cuda *cu = p->cu;
#define POINTER(i, size)      cu->GraphicsResourceGetMappedPointer(&pointer, size, r[i])
#define ARRAY(i, part, level) cu->GraphicsSubResourceGetMappedArray(&array, r[i], part, level)
#define ARRAYS(i)             cu->GraphicsResourceGetMappedMipmappedArray(&arrays, r[i])
    answer_call("the pointer before a map", POINTER(0, &size));
    answer_call("the array before a map", ARRAY(1, 0, 0));
    answer_call("the mipmapped array before a map", ARRAYS(1));
    answer_call("an unmap before a map", gl_pair_unmap(p, r[0]));
    answer_call("map flags 8", cu->GraphicsResourceSetMapFlags(r[0], 8));
    answer_call("map flags READ_ONLY", cu->GraphicsResourceSetMapFlags(r[0], 1));
    answer_call("map flags NONE", cu->GraphicsResourceSetMapFlags(r[0], 0));
    answer_call("a map of 0", cu->GraphicsMapResources(0, r, p->stream));
    CUgraphicsResource same[2] = {r[0], r[0]};
    answer_call("a map of one twice", cu->GraphicsMapResources(2, same, p->stream));
    CU_OK(cu->GraphicsMapResources(2, r, p->stream));
    answer_call("a second map", gl_pair_map(p, r[0]));
    answer_call("map flags while it is mapped", cu->GraphicsResourceSetMapFlags(r[0], 0));
    answer_call("the pointer of an image", POINTER(1, &size));
    answer_call("the array of a buffer", ARRAY(0, 0, 0));
    answer_call("the mipmapped array of a buffer", ARRAYS(0));
    answer_call("the array of layer 1 of 1", ARRAY(1, 1, 0));
    answer_call("the array of level 4 of 4", ARRAY(1, 0, 4));
    answer_call("a pointer without a size", POINTER(0, NULL));
    answer_call("an unmap of one twice", cu->GraphicsUnmapResources(2, same, p->stream));
    answer_call("an unmap of that one then", gl_pair_unmap(p, r[0]));
    CU_OK(gl_pair_unmap(p, r[1]));
    answer_call("a second unmap", gl_pair_unmap(p, r[0]));
    raw_gl_require_ok(&p->gl, "states", __FILE__, __LINE__);
}

/* After these NVIDIA's driver is left as it is. Each has a process, for one may take it along. */
typedef struct misused {
    gl_pair p;
    GLuint buffer;
    CUgraphicsResource r;
} misused;

static void misuse_begin(misused *m)
{
    gl_pair_open(&m->p, RAW_GL_CORE);
    m->buffer = gl_pair_buffer(&m->p, 4096, 1);
    m->r = gl_pair_register(&m->p, m->buffer, NONE);
}

static void misuse_end(misused *m)
{
    if (!m->p.cu->software) test_pass();
    raw_gl_require_ok(&m->p.gl, "misuse", __FILE__, __LINE__);
    gl_pair_close(&m->p);
}
#define MISUSE_CASE(...)                                                                           \
    TEST_ON(misused, m, misuse_begin(m), misuse_end(m), __VA_ARGS__, .own = true)

static void misuse_map(const misused *m, const char *name)
{
    const CUresult result = gl_pair_map(&m->p, m->r);
    answer_call(name, result);
    if (result == CUDA_SUCCESS) {
        CUdeviceptr pointer = 0;
        size_t size = 0;
        const CUresult asked = m->p.cu->GraphicsResourceGetMappedPointer(&pointer, &size, m->r);
        answer_with("its mapped size", asked, "%zu", size);
        answer_call("its unmap", gl_pair_unmap(&m->p, m->r));
    }
}

MISUSE_CASE(unregistered_early, .mark = TEST_BOTH)
{
    CU_OK(gl_pair_map(&m->p, m->r));
    const CUresult early = m->p.cu->GraphicsUnregisterResource(m->r);
    answer_call("an unregistration while it is mapped", early);
    if (early == CUDA_SUCCESS)
        test_forget(&m->r, sizeof m->r);
    else if (m->p.cu->software)
        CU_OK(gl_pair_unmap(&m->p, m->r));
}

MISUSE_CASE(resized, .mark = TEST_BOTH)
{
    m->p.gl.NamedBufferData(m->buffer, 8192, NULL, GL_DYNAMIC_DRAW);
    ANSWER("glNamedBufferData of a registered buffer", "0x%x", m->p.gl.GetError());
    misuse_map(m, "a map of a resized buffer");
}

MISUSE_CASE(mapped_by_gl, .mark = TEST_BOTH)
{
    void *mapped = m->p.gl.MapNamedBufferRange(m->buffer, 0, 16, GL_MAP_READ_BIT);
    ANSWER("glMapNamedBufferRange of a registered buffer", "%s", mapped != NULL ? "maps" : "NULL");
    misuse_map(m, "a map of a buffer that OpenGL has mapped");
    m->p.gl.UnmapNamedBuffer(m->buffer);
}

MISUSE_CASE(deleted, .mark = TEST_BOTH)
{
    m->p.gl.DeleteBuffers(1, &m->buffer);
    misuse_map(m, "a map of a deleted buffer");
}

GL_PAIR_CASE(contexts, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = p->cu;
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    void *shared = raw_gl_another(&p->gl, true);
    CUgraphicsResource r = NULL, other = NULL;
    unsigned count = 0;
    CUdevice device = -1;

    raw_gl_current(&p->gl, NULL);
    answer_call("a registration without a GL context",
                cu->GraphicsGLRegisterBuffer(&r, buffer, NONE));
    answer_call("cuGLGetDevices without a GL context", cu->GLGetDevices(&count, &device, 1, 1));
    raw_gl_current(&p->gl, p->gl.context);
    CU_OK(cu->CtxSetCurrent(NULL));
    answer_call("a registration without a CUDA context",
                cu->GraphicsGLRegisterBuffer(&r, buffer, NONE));
    answer_call("cuGLGetDevices without a CUDA context", cu->GLGetDevices(&count, &device, 1, 1));
    CU_OK(cu->CtxSetCurrent(p->context));

    r = gl_pair_register(p, buffer, NONE);
    raw_gl_current(&p->gl, shared);
    answer_call("a map in a context that shares", gl_pair_map(p, r));
    answer_call("an unmap in a context that shares", gl_pair_unmap(p, r));
    CU_OK(cu->GraphicsGLRegisterBuffer(&other, gl_pair_buffer(p, 4096, 2), NONE));
    CU_OK(cu->GraphicsUnregisterResource(other));
    raw_gl_current(&p->gl, p->gl.context);
    raw_gl_destroy(&p->gl, shared);
}

/* True: it is gone, and nothing may follow. */
static bool unregistered(const gl_pair *p, const char *name, CUgraphicsResource r)
{
    const CUresult result = p->cu->GraphicsUnregisterResource(r);
    answer_call(name, result);
    return result == CUDA_SUCCESS && !p->cu->software;
}

/* Contexts that have nothing to do with the registration. */
GL_PAIR_CASE(strange_contexts, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = p->cu;
    const CUgraphicsResource r = gl_pair_one(p);
    void *stranger = raw_gl_another(&p->gl, false);
    raw_gl_current(&p->gl, stranger);
    answer_call("a map in a context that does not share", gl_pair_map(p, r));
    if (unregistered(p, "an unregistration in a context that does not share", r)) test_pass();
    raw_gl_current(&p->gl, NULL);
    answer_call("a map without a GL context", gl_pair_map(p, r));
    if (!cu->software) {
        ANSWER("an unregistration without a GL context", "crashes"); /* so it is not called */
        test_pass();
    }
    if (unregistered(p, "an unregistration without a GL context", r)) test_pass();
    raw_gl_current(&p->gl, p->gl.context);
    raw_gl_destroy(&p->gl, stranger);
}

/* The right context of OpenGL, and a wrong one of CUDA. */
GL_PAIR_CASE(strange_cuda_context, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    const raw_cuda *cu = p->cu;
    CUgraphicsResource r = gl_pair_one(p);
    CUcontext second = NULL;
    CU_OK(cu->CtxCreate(&second, 0, p->device));
    answer_call("a map in another CUDA context", cu->GraphicsMapResources(1, &r, NULL));
    answer_call("an unregistration in another CUDA context", cu->GraphicsUnregisterResource(r));
    if (!cu->software) test_pass(); /* how it goes on there is not known */
    CU_OK(cu->CtxDestroy(second));
    CU_OK(cu->CtxSetCurrent(p->context));
}

GL_PAIR_CASE(devices, RAW_GL_CORE, .mark = TEST_BOTH)
{
    static const char *const names[] = {"ALL", "CURRENT_FRAME", "NEXT_FRAME"};
    for (int list = 1; list <= 3; list++) {
        unsigned count = 0;
        CUdevice found[4] = {-1, -1, -1, -1};
        const CUresult result = p->cu->GLGetDevices(&count, found, 4, list);
        answer_with(names[list - 1], result, "%u devices, %s", count,
                    found[0] == p->device ? "the context's first" : "another one");
    }
    unsigned count = 7;
    answer_call("list 4", p->cu->GLGetDevices(&count, NULL, 0, 4));
    answer_call("no room", p->cu->GLGetDevices(&count, NULL, 0, 1));
}

/* The CUDA context ends, and takes what is registered and mapped with it. */
GL_PAIR_CASE(end_of_the_context, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    CUcontext second = NULL;
    CU_OK(p->cu->CtxCreate(&second, 0, p->device));
    CUgraphicsResource r = gl_pair_register(p, buffer, NONE);
    test_forget(&r, sizeof r);
    CU_OK(p->cu->GraphicsMapResources(1, &r, NULL));
    CU_OK(p->cu->MemsetD32Async(gl_pair_pointer(p, r, 4096), 5, 1024, NULL));
    CU_OK(p->cu->CtxDestroy(second));
    CU_OK(p->cu->CtxSetCurrent(p->context));
    raw_gl_require_ok(&p->gl, "the end", __FILE__, __LINE__);
    /* It can be registered anew. */
    r = gl_pair_register(p, buffer, NONE);
    const CUresult result = gl_pair_map(p, r);
    answer_call("a map in the next context", result);
    if (result == CUDA_SUCCESS) CU_OK(gl_pair_unmap(p, r));
}

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_opened = PTHREAD_COND_INITIALIZER;
static bool gate_open;

static void CUDA_CB wait_at_gate(void *unused)
{
    pthread_mutex_lock(&gate_lock);
    while (!gate_open)
        pthread_cond_wait(&gate_opened, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

static void *open_gate(void *unused)
{
    pthread_mutex_lock(&gate_lock);
    gate_open = true;
    pthread_cond_broadcast(&gate_opened);
    pthread_mutex_unlock(&gate_lock);
    return NULL;
}

/* The stream is held while the unmap is called: what is behind the gate is there afterwards, and a
 * map before it sees what GL was told to do. */
GL_PAIR_CASE(order, RAW_GL_CORE, .mark = TEST_BOTH)
{
    enum { SIZE = 1 << 20 };
    GLuint buffer = gl_pair_buffer(p, SIZE, 1);
    uint32_t *found = pattern_words(SIZE, 9), value = 77;
    CUgraphicsResource r = gl_pair_register(p, buffer, NONE);
    p->gl.ClearNamedBufferData(buffer, GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, &value);
    CU_OK(gl_pair_map(p, r));
    CUdeviceptr pointer = gl_pair_pointer(p, r, SIZE);
    CU_OK(p->cu->MemcpyDtoHAsync(found, pointer, SIZE, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    answer_wrong("GL before the map", words_not(found, 77, SIZE / 4), SIZE / 4);

    pthread_t opener;
    gate_open = false;
    CU_OK(p->cu->LaunchHostFunc(p->stream, wait_at_gate, NULL));
    CU_OK(p->cu->MemsetD32Async(pointer, 78, SIZE / 4, p->stream));
    REQUIRE_EQ(pthread_create(&opener, NULL, open_gate, NULL), 0);
    CU_OK(gl_pair_unmap(p, r));
    raw_gl_read_buffer(&p->gl, buffer, found, SIZE);
    REQUIRE_EQ(pthread_join(opener, NULL), 0);
    answer_wrong("CUDA before the unmap", words_not(found, 78, SIZE / 4), SIZE / 4);
}

/* In a stream that is captured. */
GL_PAIR_CASE(captured, RAW_GL_CORE, .mark = TEST_BOTH, .own = true)
{
    const CUgraphicsResource r = gl_pair_one(p);
    CUgraph graph = NULL;
    CU_OK(p->cu->StreamBeginCapture(p->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    const CUresult result = gl_pair_map(p, r);
    answer_call("a map in a captured stream", result);
    answer_call("the capture then", p->cu->StreamEndCapture(p->stream, &graph));
    if (graph != NULL) CU_OK(p->cu->GraphDestroy(graph));
    if (result == CUDA_SUCCESS) CU_OK(gl_pair_unmap(p, r));
}

/* As mpv does it: it maps once, takes the array, unmaps, and copies each frame into the array. */
GL_PAIR_CASE(copies_after_the_unmap, RAW_GL_CORE, .mark = TEST_BOTH)
{
    enum { SIZE = 64 };
    static uint8_t texels[SIZE * SIZE], found[SIZE * SIZE];
    raw_gl_image image;
    CUarray array = NULL;
    raw_gl_kind flat = raw_gl_kinds[0];
    flat.width = flat.height = SIZE;
    flat.levels = 1;
    const CUgraphicsResource r = gl_pair_image(p, &flat, "GL_R8", DISCARD, &image);
    gl_pair_map_image(p, r);
    CU_OK(p->cu->GraphicsSubResourceGetMappedArray(&array, r, 0, 0));
    CU_OK(gl_pair_unmap(p, r));
    for (int i = 0; i < 3; i++) {
        memset(texels, 0x10 * (i + 1), sizeof texels);
        const CUresult copied = raw_cuda_write_array(p->cu, array, texels, SIZE, SIZE);
        raw_gl_image_read(&p->gl, &image, 0, found);
        answer_with(answer_key("copy %d after the unmap", i), copied, "%zu of %zu texels wrong",
                    bytes_wrong(found, texels, sizeof found), sizeof found);
    }
}

GL_PAIR_CASE(turns, RAW_GL_CORE, .mark = TEST_BOTH)
{
    GLuint buffer = gl_pair_buffer(p, 4096, 1);
    size_t fds = 0;
    for (unsigned i = 0; i < 2000; i++) {
        CUgraphicsResource r = NULL;
        CU_OK(p->cu->GraphicsGLRegisterBuffer(&r, buffer, NONE));
        CU_OK(gl_pair_map(p, r));
        CU_OK(gl_pair_unmap(p, r));
        CU_OK(p->cu->GraphicsUnregisterResource(r));
        if (i == 100) fds = test_open_fds();
    }
    answer_number("fds after 2000 turns", (int64_t)test_open_fds(), (int64_t)fds);
}
