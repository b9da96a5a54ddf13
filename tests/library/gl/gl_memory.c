/* SPDX-License-Identifier: MIT */
/* Memory objects: buffers of Culvert's, offsets, CUDA's own memory, vectors, textures of every kind
 * and a dozen formats, with the data read back on the other side. */
#define TEST_GROUP "gl."
#include "gl_stage.h"
#include "raw_cuda_image.h"
#include "raw_gl.h"

#include <culvert/gl_register.h>
#include <culvert/vulkan.h>

enum { WORDS = 12347, BYTES = 4 * WORDS, MIB2 = 2 << 20 };
static uint32_t words[WORDS];

static culv_gl_image_create_desc image_desc(GLenum target, GLenum format, int width, int height)
{
    culv_gl_image_create_desc d = culv_gl_image_create_desc_init();
    d.target = target;
    d.internal_format = format;
    d.width = (uint32_t)width;
    d.height = (uint32_t)height;
    return d;
}

static culv_shared_buffer *make_buffer(const gl_stage *s, uint64_t size, uint32_t fallback)
{
    culv_gl_buffer_create_desc d = culv_gl_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    d.size = size;
    d.fallback = fallback;
    d.label = "buffer";
    LIB_OK(culv_gl_buffer_create(s->attachment, &d, &buffer));
    REQUIRE(s->gl.GetError() == 0 && culv_gl_buffer_name(buffer) != 0);
    return buffer;
}

static void both_ways(gl_stage *s, uint32_t name, CUdeviceptr pointer, uint32_t seed)
{
    lib_fill(words, WORDS, seed);
    gl_stage_upload(s, pointer, words, BYTES);
    memset(words, 0, sizeof words);
    raw_gl_read_buffer(&s->gl, name, words, BYTES);
    REQUIRE_WORDS(words, WORDS, seed);
    lib_fill(words, WORDS, ~seed);
    raw_gl_write_buffer(&s->gl, name, words, BYTES);
    s->gl.Finish();
    memset(words, 0, sizeof words);
    gl_stage_download(s, words, pointer, BYTES);
    REQUIRE_WORDS(words, WORDS, ~seed);
}

/* The old way and the new one meet: what has storage of a memory object can be registered, too. */
GL_CASE(buffers_registered, 0, .smoke = true)
{
    OWN(culv_shared_buffer) *buffer = make_buffer(s, BYTES, 0);
    REQUIRE_EQ(culv_buffer_size(culv_shared_buffer_cuda(buffer)), BYTES);
    LIB_OK(culv_gl_copy(buffer, NULL, CULV_COPY_UPLOAD)); /* nothing to copy */
    LIB_OK(culv_gl_copy(buffer, NULL, CULV_COPY_DOWNLOAD));
    const uint32_t name = culv_gl_buffer_name(buffer);
    NEW(culv_registration, r, culv_gl_register_buffer, s->attachment, name, NULL);
    for (uint32_t seed = 10; seed < 14; seed++) {
        lib_fill(words, WORDS, seed);
        gl_stage_upload(s, culv_shared_buffer_pointer(buffer), words, BYTES);
        LIB_OK(culv_registration_map(&r, 1, s->stream));
        memset(words, 0, sizeof words);
        gl_stage_download(s, words, culv_registration_pointer(r), BYTES);
        REQUIRE_WORDS(words, WORDS, seed);
        lib_fill(words, WORDS, ~seed);
        gl_stage_upload(s, culv_registration_pointer(r), words, BYTES);
        LIB_OK(culv_registration_unmap(&r, 1, s->stream));
        memset(words, 0, sizeof words);
        raw_gl_read_buffer(&s->gl, name, words, BYTES);
        REQUIRE_WORDS(words, WORDS, ~seed);
        both_ways(s, name, culv_shared_buffer_pointer(buffer), seed);
    }
    LIB_OK(culv_registration_destroy(&r));
}

static culv_vmm_allocation *allocate(const gl_stage *s)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = MIB2;
    d.handle_types = UINT32_C(1) << CULV_HANDLE_OPAQUE_FD;
    NEW(culv_vmm_allocation, allocation, culv_vmm_allocation_create, s->device, &d);
    return allocation;
}

/* The context's GPU is another one than the device, which works on its buffers in place; and what
 * does not go across says what does. */
TEST(across, .own = true)
{
    gl_stage s;
    culv_shared_image *image = NULL;
    culv_gl *again = NULL;
    culv_gl_memory *memory = NULL;
    gl_stage_across = true;
    gl_stage_open(&s, 0);
    culv_shared_buffer *buffer = make_buffer(&s, BYTES, 0);
    REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(buffer)), CULV_SHARING_DIRECT);
    for (uint32_t seed = 0; seed < 3; seed++)
        both_ways(&s, culv_gl_buffer_name(buffer), culv_shared_buffer_pointer(buffer), seed);
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
    const culv_gl_image_create_desc d = image_desc(GL_TEXTURE_2D, GL_RGBA8, 32, 32);
    LIB_REFUSES(image, culv_gl_image_create(s.attachment, &d, &image), UNSUPPORTED, DEVICE_MISMATCH,
                "Share a buffer");
    culv_gl_desc silent = gl_stage_desc(0);
    silent.allow_other_gpu = 0;
    LIB_REFUSES(again, culv_gl_attach(s.device, &silent, &again), INVALID, DEVICE_MISMATCH,
                "culv_gl_desc.allow_other_gpu");
    if (lib_caps(s.device).vmm) {
        OWN(culv_vmm_allocation) *allocation = allocate(&s);
        LIB_REFUSES(memory, culv_gl_memory_from_vmm(s.attachment, allocation, NULL, &memory),
                    INVALID, DEVICE_MISMATCH);
    }
    gl_stage_close(&s);
}

/* Whether the driver gives a buffer what is at an offset. */
static bool offsets_honoured(const gl_stage *s)
{
    GLuint name = 0;
    culv_vmm_allocation *allocation = allocate(s);
    NEW(culv_gl_memory, memory, culv_gl_memory_from_vmm, s->attachment, allocation, "chunk");
    GL_OK(&s->gl, s->gl.CreateBuffers(1, &name));
    const culv_result result = culv_gl_memory_bind(memory, name, 65536, BYTES, NULL);
    if (result != CULV_OK) REQUIRE_EQ(result, CULV_ERROR_UNSUPPORTED);
    GL_OK(&s->gl, s->gl.DeleteBuffers(1, &name));
    LIB_OK(culv_gl_memory_destroy(&memory));
    culv_vmm_allocation_destroy(&allocation);
    return result == CULV_OK;
}

TEST(offsets)
{
    static gl_stage s[1];
    gl_stage_open(s, 0);
    REQUIRE_EQ(offsets_honoured(s), !s->cu->software);
    gl_stage_close(s);
}

/* A chunk of CUDA's in both APIs. */
typedef struct chunk {
    gl_stage s;
    bool honoured; /* offsets in it */
    culv_vmm_range *range;
    culv_gl_memory *memory;
    CUdeviceptr at;
} chunk;

static void open_chunk(chunk *c)
{
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    memset(c, 0, sizeof *c);
    gl_stage_open(&c->s, 0);
    c->honoured = offsets_honoured(&c->s);
    OWN(culv_vmm_allocation) *allocation = allocate(&c->s);
    r.size = MIB2;
    LIB_OK(culv_vmm_range_create(c->s.device, &r, &c->range));
    LIB_OK(culv_vmm_map(c->range, 0, allocation, NULL, 0));
    LIB_OK(culv_gl_memory_from_vmm(c->s.attachment, allocation, "chunk", &c->memory));
    c->at = culv_vmm_range_pointer(c->range);
}

static void close_chunk(chunk *c)
{
    LIB_OK(culv_gl_memory_destroy(&c->memory));
    LIB_OK(culv_vmm_unmap(c->range, 0, MIB2, NULL));
    LIB_OK(culv_vmm_range_destroy(&c->range));
    gl_stage_close(&c->s);
}

#define CHUNK_CASE(...) TEST_ON(chunk, c, open_chunk(c), close_chunk(c), __VA_ARGS__)
#define BIND_INVALID(name, offset, size, desc, ...)                                                \
    LIB_INVALID(culv_gl_memory_bind(c->memory, name, offset, size, desc), __VA_ARGS__)

/* CUDA's memory in OpenGL, at an offset where the driver honours that. */
CHUNK_CASE(cuda_memory)
{
    gl_stage *s = &c->s;
    GLuint name[2];
    GL_OK(&s->gl, s->gl.CreateBuffers(2, name));
    LIB_OK(culv_gl_memory_bind(c->memory, name[0], 0, BYTES, NULL));
    both_ways(s, name[0], c->at, 5);
    BIND_INVALID(name[0], 0, BYTES, NULL, VALUE); /* it has storage */
    GLuint mutable_one = 0;
    GL_OK(&s->gl, s->gl.CreateBuffers(1, &mutable_one));
    GL_OK(&s->gl, s->gl.NamedBufferData(mutable_one, 4099, NULL, GL_DYNAMIC_DRAW));
    BIND_INVALID(mutable_one, 0, BYTES, NULL, VALUE, "has storage already");
    s->gl.DeleteBuffers(1, &mutable_one);
    BIND_INVALID(4711, 0, BYTES, NULL, VALUE);
    BIND_INVALID(name[1], MIB2, 4, NULL, RANGE);
    BIND_INVALID(name[1], 0, 0, NULL, SIZE);
    if (c->honoured) {
        LIB_OK(culv_gl_memory_bind(c->memory, name[1], 65536, BYTES, NULL));
        both_ways(s, name[1], c->at + 65536, 6);
    } else {
        LIB_ERROR(culv_gl_memory_bind(c->memory, name[1], 65536, BYTES, NULL), UNSUPPORTED, RANGE,
                  "ignores offsets");
    }
    s->gl.DeleteBuffers(2, name);
}

GL_CASE(memory_refused, 0, .title = "gl.memory.refused")
{
    culv_gl_memory *memory = NULL;
    culv_gl_memory_desc d = culv_gl_memory_desc_init();
    culv_handle handle;
    OWN(culv_vmm_allocation) *allocation = allocate(s);
    LIB_OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_FD, &handle));
    lib_fd watched = lib_fd_watch(handle.value.fd);
    d.handle = handle;
    d.size = MIB2;
    d.exporter = lib_caps(s->device).uuid;
#define ROW(change, ...)                                                                           \
    SPOILT(d, change,                                                                              \
           LIB_REFUSES(memory, culv_gl_memory_import(s->attachment, &d, &memory), INVALID,         \
                       __VA_ARGS__))
    ROW(d.size = 0, SIZE);
    ROW(d.exporter.bytes[0] ^= 1, DEVICE_MISMATCH);
    ROW(d.handle.type = CULV_HANDLE_DMA_BUF_FD, HANDLE_TYPE);
#undef ROW
    lib_fd_require_untouched(&watched);
    LIB_OK(culv_gl_memory_import(s->attachment, &d, &memory));
    lib_fd_require_untouched(&watched);
    LIB_OK(culv_gl_memory_destroy(&memory));
    lib_fd_done(&watched, true);
}

GL_CASE(vectors, 0)
{
    enum { STEP = 2 << 20 };
    culv_vector_desc d = culv_vector_desc_init();
    OWN(culv_vector_view) *view = NULL;
    culv_part parts[8];
    size_t count = 0;
    NEW(OWN(culv_vector), vector, culv_vector_create, s->device, &d);
    LIB_REFUSES(view, culv_gl_vector_view_create(s->attachment, vector, NULL, &view), INVALID,
                NOT_EXPORTABLE);
    culv_vector_destroy(&vector, NULL);
    d.size = STEP;
    d.max_chunk = STEP;
    d.handle_types = UINT32_C(1) << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vector_create(s->device, &d, &vector));
    LIB_OK(culv_gl_vector_view_create(s->attachment, vector, "view", &view));
    for (size_t chunks = 1; chunks <= 4; chunks++) {
        if (chunks > 1) LIB_OK(culv_vector_grow(vector, (uint64_t)chunks * STEP));
        LIB_OK(culv_vector_view_update(view));
        LIB_OK(culv_vector_view_get_parts(view, parts, 8, &count));
        REQUIRE_EQ(count, chunks);
        for (size_t i = 0; i < count; i++) {
            REQUIRE_EQ(parts[i].offset, i * STEP);
            REQUIRE_EQ(parts[i].size, STEP);
            both_ways(s, (uint32_t)parts[i].buffer, culv_vector_pointer(vector) + parts[i].offset,
                      (uint32_t)(16 * chunks + i));
        }
    }
    LIB_OK(culv_vector_shrink(vector, STEP, s->stream));
    LIB_OK(culv_vector_view_update(view));
    LIB_OK(culv_vector_view_get_parts(view, NULL, 0, &count));
    REQUIRE_EQ(count, 1);
    REQUIRE_EQ(culv_vector_view_generation(view), culv_vector_generation(vector));
    VkDeviceAddress address = 77; /* of Vulkan's views alone */
    LIB_INVALID(culv_vk_vector_view_get_address(view, &address), VALUE);
    REQUIRE_EQ(address, 77);
}

/* The types are one family's, so the compiler takes OpenGL's objects for Vulkan's. */
GL_CASE(not_vulkans_objects, 0, .title = "gl.not_vulkans")
{
    const culv_gl_image_create_desc id = image_desc(GL_TEXTURE_2D, GL_RGBA8, 37, 21);
    culv_gl_semaphore_create_desc sd = culv_gl_semaphore_create_desc_init();
    VkDeviceSize size = 77;
    VkCommandBuffer commands = (VkCommandBuffer)(uintptr_t)&size; /* nobody may look into it */
    OWN(culv_shared_buffer) *buffer = make_buffer(s, BYTES, 0);
    NEW(OWN(culv_shared_image), image, culv_gl_image_create, s->attachment, &id);
    NEW(OWN(culv_shared_semaphore), semaphore, culv_gl_semaphore_create, s->attachment, &sd);
    REQUIRE(culv_vk_buffer_handle(buffer) == VK_NULL_HANDLE);
    REQUIRE(culv_vk_buffer_memory(buffer, &size) == VK_NULL_HANDLE && size == 0);
    REQUIRE(culv_vk_buffer_host_pointer(buffer) == NULL);
    REQUIRE_EQ(culv_vk_buffer_address(buffer), 0);
    REQUIRE(culv_vk_image_handle(image) == VK_NULL_HANDLE);
    size = 77;
    REQUIRE(culv_vk_image_memory(image, &size) == VK_NULL_HANDLE && size == 0);
    REQUIRE(culv_vk_semaphore_handle(semaphore) == VK_NULL_HANDLE);
    LIB_INVALID(culv_vk_buffer_record_copy(buffer, CULV_COPY_UPLOAD, commands), VALUE,
                "takes what was made for Vulkan, and this was made for OpenGL");
    LIB_INVALID(culv_vk_buffer_record_copy(buffer, CULV_COPY_DOWNLOAD, commands), VALUE);
    LIB_INVALID(
        culv_vk_image_record_copy(image, CULV_COPY_UPLOAD, commands, VK_IMAGE_LAYOUT_GENERAL),
        VALUE);
    LIB_INVALID(
        culv_vk_image_record_copy(image, CULV_COPY_DOWNLOAD, commands, VK_IMAGE_LAYOUT_GENERAL),
        VALUE);
    both_ways(s, culv_gl_buffer_name(buffer), culv_shared_buffer_pointer(buffer), 5);
}

/* Textures ------------------------------------------------------------------------------------- */

static const raw_gl_kind kinds[] = {
    {"GL_TEXTURE_2D", GL_TEXTURE_2D, 37, 22, 1, 4, false},
    {"GL_TEXTURE_3D", GL_TEXTURE_3D, 19, 14, 9, 3, false},
    {"GL_TEXTURE_2D_ARRAY", GL_TEXTURE_2D_ARRAY, 21, 10, 5, 2, true},
    {"GL_TEXTURE_CUBE_MAP", GL_TEXTURE_CUBE_MAP, 20, 20, 6, 3, true},
    {"GL_TEXTURE_CUBE_MAP_ARRAY", GL_TEXTURE_CUBE_MAP_ARRAY, 12, 12, 12, 2, true},
    {"GL_TEXTURE_1D", GL_TEXTURE_1D, 37, 1, 1, 3, false},
    {"GL_TEXTURE_1D_ARRAY", GL_TEXTURE_1D_ARRAY, 21, 1, 5, 2, true},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const char *const format_names[] = {
    "GL_R8",    "GL_RGBA8",   "GL_RG16",  "GL_RGBA16", "GL_R16F",   "GL_RGBA16F", "GL_R32F",
    "GL_RG32F", "GL_RGBA32F", "GL_R32UI", "GL_RGBA8I", "GL_RG16UI", "GL_RGBA32I"};
enum { FORMATS = sizeof format_names / sizeof format_names[0] };

static uint8_t texels[65536], found[65536];

/* A level of an image, by CUDA's array: what is in `texels` goes to OpenGL; what OpenGL has done is
 * found. */
typedef struct crossing {
    culv_shared_image *image;
    CUarray array;
    size_t row, height, depth; /* in bytes; in rows of texels or of blocks */
} crossing;

static crossing level_of(culv_shared_image *image, uint32_t number, size_t row, size_t height,
                         size_t depth)
{
    crossing l = {image, NULL, row, height, depth};
    LIB_OK(culv_image_get_array(culv_shared_image_cuda(image), number, 0, &l.array));
    return l;
}

static void give_to_gl(gl_stage *s, const crossing *l)
{
    CU_OK_IN(s, raw_cuda_write_box(s->cu, l->array, texels, l->row, l->height, l->depth));
    LIB_OK(culv_image_copy(culv_shared_image_cuda(l->image), CULV_COPY_UPLOAD, s->stream));
    gl_stage_finish(s);
    LIB_OK(culv_gl_copy(NULL, l->image, CULV_COPY_UPLOAD));
    memset(found, 0, l->row * l->height * l->depth);
}

static void take_from_gl(gl_stage *s, const crossing *l)
{
    LIB_OK(culv_gl_copy(NULL, l->image, CULV_COPY_DOWNLOAD));
    s->gl.Finish();
    LIB_OK(culv_image_copy(culv_shared_image_cuda(l->image), CULV_COPY_DOWNLOAD, s->stream));
    gl_stage_finish(s);
    memset(found, 0, l->row * l->height * l->depth);
    CU_OK_IN(s, raw_cuda_read_box(s->cu, l->array, found, l->row, l->height, l->depth));
}

/* Textures of one row have calls of their own. */
static void write_level(gl_stage *s, const raw_gl_image *raw, int level, const void *from)
{
    const GLenum target = raw->kind->target, pixels = raw->format->pixels, type = raw->format->type;
    int width, height, depth;
    raw_gl_level_size(raw->kind, level, &width, &height, &depth);
    if (target != GL_TEXTURE_1D && target != GL_TEXTURE_1D_ARRAY) {
        raw_gl_image_write(&s->gl, raw, level, from);
        return;
    }
    s->gl.PixelStorei(GL_UNPACK_ALIGNMENT, 1);
    if (target == GL_TEXTURE_1D) {
        PFNGLTEXTURESUBIMAGE1DPROC call = NULL;
        void *address = raw_gl_get_proc("glTextureSubImage1D");
        REQUIRE(address != NULL);
        memcpy(&call, &address, sizeof call);
        call(raw->name, level, 0, width, pixels, type, from);
    } else {
        s->gl.TextureSubImage2D(raw->name, level, 0, 0, width, depth, pixels, type, from);
    }
}

/* One level, each way. */
static void level_turn(gl_stage *s, const raw_gl_image *raw, culv_shared_image *image, int number,
                       uint32_t seed)
{
    int width, height, depth;
    raw_gl_level_size(raw->kind, number, &width, &height, &depth);
    const size_t size = raw_gl_level_bytes(raw, number);
    REQUIRE(size <= sizeof texels);
    const crossing l = level_of(image, (uint32_t)number, (size_t)width * raw->format->bytes,
                                (size_t)height, (size_t)depth);
    raw_gl_fill(raw->format, texels, size, seed);
    give_to_gl(s, &l);
    raw_gl_image_read(&s->gl, raw, number, found);
    if (memcmp(texels, found, size) != 0)
        FAIL("%s of %s, level %d: OpenGL reads other texels", raw->kind->name, raw->format->name,
             number);
    raw_gl_fill(raw->format, texels, size, seed + 1);
    write_level(s, raw, number, texels);
    take_from_gl(s, &l);
    if (memcmp(texels, found, size) != 0)
        FAIL("%s of %s, level %d: CUDA reads other texels", raw->kind->name, raw->format->name,
             number);
    REQUIRE(s->gl.GetError() == 0);
}

static void image_turn(gl_stage *s, const raw_gl_kind *kind, const raw_gl_format *format,
                       uint32_t fallback)
{
    culv_gl_image_create_desc d =
        image_desc(kind->target, format->internal, kind->width, kind->height);
    d.depth = kind->layered ? 0 : (uint32_t)kind->depth;
    d.array_layers = kind->layered ? (uint32_t)kind->depth : 0;
    d.mip_levels = (uint32_t)kind->levels;
    d.label = kind->name;
    d.fallback = fallback;
    NEW(OWN(culv_shared_image), image, culv_gl_image_create, s->attachment, &d);
    REQUIRE_EQ(culv_image_sharing(culv_shared_image_cuda(image)),
               fallback != 0 ? CULV_SHARING_HOST : CULV_SHARING_SHARED);
    const raw_gl_image raw = {kind, format, culv_gl_image_name(image)};
    for (int number = 0; number < kind->levels; number++)
        level_turn(s, &raw, image, number, 3 * (uint32_t)number + format->internal);
}

/* A texel of a packed format, as A1R5G5B5_UNORM_PACK16, with all of one channel. */
static uint32_t only(const char *name, char channel)
{
    uint32_t word = 0;
    char *end = NULL;
    for (const char *at = name; *at != '_'; at = end) {
        const unsigned long bits = strtoul(at + 1, &end, 10);
        word = word << bits | (*at == channel ? (1u << bits) - 1u : 0u);
    }
    return word;
}

/* CUDA writes a channel where the format's name has it, and OpenGL reads that color: the names that
 * the table gives one format have the same bits. */
static void packed_turn(gl_stage *s, uint32_t number, uint32_t fallback)
{
    culv_format_info f = culv_format_info_init();
    LIB_OK(culv_format_get_info((culv_format)number, &f));
    if (!f.mapped || f.gl_internal_format == 0 || strstr(f.name, "_UNORM_PACK") == NULL) return;
    culv_gl_image_create_desc d = image_desc(GL_TEXTURE_2D, f.gl_internal_format, 4, 4);
    d.fallback = fallback;
    NEW(OWN(culv_shared_image), image, culv_gl_image_create, s->attachment, &d);
    const crossing l = level_of(image, 0, 4 * (size_t)f.bytes_per_block, 4, 1);
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t word = only(f.name, "RGBA"[i / 4]);
        memcpy(texels + i * f.bytes_per_block, &word, f.bytes_per_block);
    }
    give_to_gl(s, &l);
    s->gl.GetTextureImage(culv_gl_image_name(image), 0, GL_RGBA, GL_UNSIGNED_BYTE, 64, found);
    REQUIRE_EQ(s->gl.GetError(), 0);
    for (size_t i = 0; i < 64; i++) {
        const uint8_t *at = found + (i & ~(size_t)3);
        const bool full = i % 4 == i / 16 || (i % 4 == 3 && only(f.name, 'A') == 0);
        if (found[i] != (full ? 255 : 0))
            FAIL("%s as %#x: of %c OpenGL reads %02x%02x%02x%02x", f.name, f.gl_internal_format,
                 "RGBA"[i / 16], at[0], at[1], at[2], at[3]);
    }
}

static void packed_turns(gl_stage *s, uint32_t fallback)
{
#define TURN(name, number) packed_turn(s, number, fallback);
    CULV_FORMATS(TURN)
}

GL_CASE(images, 0, .smoke = true)
{
    for (int k = 0; k < KINDS; k++)
        for (int f = 0; f < FORMATS; f++)
            image_turn(s, &kinds[k], raw_gl_format_named(format_names[f]), 0);
    packed_turns(s, 0);
    printf("%d kinds in %d formats, each level both ways\n", (int)KINDS, (int)FORMATS);
}

/* Blocks of 4 x 4 texels, which CUDA writes and OpenGL reads, and the other way round. */
static void blocks_turn(gl_stage *s, GLenum format, size_t block_bytes)
{
    enum { SIDE = 64, ROWS = SIDE / 4 };
    PFNGLCOMPRESSEDTEXTURESUBIMAGE2DPROC write = NULL;
    PFNGLGETCOMPRESSEDTEXTUREIMAGEPROC read = NULL;
    void *address = raw_gl_get_proc("glCompressedTextureSubImage2D");
    memcpy(&write, &address, sizeof write);
    address = raw_gl_get_proc("glGetCompressedTextureImage");
    memcpy(&read, &address, sizeof read);
    REQUIRE(write != NULL && read != NULL);
    const size_t row = ROWS * block_bytes, size = ROWS * row;
    const culv_gl_image_create_desc d = image_desc(GL_TEXTURE_2D, format, SIDE, SIDE);
    NEW(OWN(culv_shared_image), image, culv_gl_image_create, s->attachment, &d);
    const crossing l = level_of(image, 0, row, ROWS, 1);
    for (size_t i = 0; i < size; i++)
        texels[i] = (uint8_t)(i * 7 + i / 251 + format);
    give_to_gl(s, &l);
    read(culv_gl_image_name(image), 0, (GLsizei)size, found);
    REQUIRE_EQ(s->gl.GetError(), 0);
    if (memcmp(texels, found, size) != 0)
        FAIL("format %#x: OpenGL reads other blocks", (unsigned)format);
    for (size_t i = 0; i < size; i++)
        texels[i] = (uint8_t)(i * 13 + i / 241 + format);
    write(culv_gl_image_name(image), 0, 0, 0, SIDE, SIDE, format, (GLsizei)size, texels);
    REQUIRE_EQ(s->gl.GetError(), 0);
    take_from_gl(s, &l);
    if (memcmp(texels, found, size) != 0)
        FAIL("format %#x: CUDA reads other blocks", (unsigned)format);
}

GL_CASE(images_of_blocks, 0, .title = "gl.images.blocks")
{
    blocks_turn(s, GL_COMPRESSED_RED_RGTC1, 8);
    blocks_turn(s, GL_COMPRESSED_RG_RGTC2, 16);
    blocks_turn(s, GL_COMPRESSED_RGBA_BPTC_UNORM, 16);
}

/* A context without memory objects, and one of nobody's GPU: the picture is right all the same. */
TEST(images_staged, .title = "gl.images.staged")
{
    gl_stage s;
    lying_gl.hides[0] = "GL_EXT_memory_object_fd";
    gl_stage_open(&s, CULV_FALLBACK_HOST);
    for (int k = 0; k < KINDS; k++)
        for (int f = 0; f < FORMATS; f++)
            image_turn(&s, &kinds[k], raw_gl_format_named(format_names[f]), CULV_FALLBACK_HOST);
    packed_turns(&s, CULV_FALLBACK_HOST);
    gl_stage_close(&s);
    lying_gl.uuid_xor = true;
    gl_stage_open(&s, CULV_FALLBACK_HOST);
    image_turn(&s, &kinds[0], raw_gl_format_named("GL_RGBA8"), CULV_FALLBACK_HOST);
    gl_stage_close(&s);
}

/* A texture in CUDA's memory. What CUDA sets everywhere OpenGL reads in every texel, whatever the
 * tiling, and what OpenGL clears it to CUDA finds as often as there are texels. */
CHUNK_CASE(bound_textures)
{
    enum { WIDTH = 253, HEIGHT = 127, TEXELS = WIDTH * HEIGHT, VALUE = 0x71c3a55a };
    static const raw_gl_kind kind = {"GL_TEXTURE_2D", GL_TEXTURE_2D, WIDTH, HEIGHT, 1, 1, false};
    static uint32_t seen[MIB2 / 4];
    gl_stage *s = &c->s;
    culv_gl_image_create_desc d = image_desc(0, GL_R32UI, WIDTH, HEIGHT);
    for (uint32_t round = 0; round < (c->honoured ? 2u : 1u); round++) {
        const uint64_t offset = round * (MIB2 / 2);
        GLuint name = 0;
        GL_OK(&s->gl, s->gl.CreateTextures(GL_TEXTURE_2D, 1, &name));
        LIB_OK(culv_gl_memory_bind(c->memory, name, offset, 0, &d));
        CU_OK_IN(s, s->cu->MemsetD32Async(c->at, VALUE + round, MIB2 / 4, s->stream));
        gl_stage_finish(s);
        const raw_gl_image raw = {&kind, raw_gl_format_named("GL_R32UI"), name};
        memset(seen, 0, sizeof seen);
        raw_gl_image_read(&s->gl, &raw, 0, seen);
        REQUIRE_ALL(seen, TEXELS, VALUE + round);
        const uint32_t other = ~(uint32_t)VALUE + round;
        GL_OK(&s->gl, s->gl.ClearTexImage(name, 0, GL_RED_INTEGER, GL_UNSIGNED_INT, &other));
        s->gl.Finish();
        gl_stage_download(s, seen, c->at, MIB2);
        size_t found_there = 0;
        for (size_t i = 0; i < MIB2 / 4; i++) {
            if (seen[i] == other) REQUIRE(4 * i >= offset);
            found_there += seen[i] == other;
        }
        REQUIRE(found_there >= TEXELS);
        BIND_INVALID(name, offset, 0, &d, VALUE); /* it has storage */
        s->gl.DeleteTextures(1, &name);
    }
    GLuint name = 0;
    GL_OK(&s->gl, s->gl.CreateTextures(GL_TEXTURE_2D, 1, &name));
    GLuint mutable_one = 0;
    s->gl.GenTextures(1, &mutable_one);
    s->gl.BindTexture(GL_TEXTURE_2D, mutable_one);
    s->gl.TexImage2D(GL_TEXTURE_2D, 0, GL_R32UI, 7, 3, 0, GL_RED_INTEGER, GL_UNSIGNED_INT, NULL);
    GL_OK(&s->gl, s->gl.BindTexture(GL_TEXTURE_2D, 0));
    BIND_INVALID(mutable_one, 0, 0, &d, VALUE, "has storage already");
    s->gl.DeleteTextures(1, &mutable_one);
    BIND_INVALID(4711, 0, 0, &d, VALUE);
    BIND_INVALID(name, MIB2, 0, &d, RANGE);
    if (!c->honoured)
        LIB_ERROR(culv_gl_memory_bind(c->memory, name, 65536, 0, &d), UNSUPPORTED, RANGE);
    d.width = d.height = 4096;
    BIND_INVALID(name, 0, 0, &d, RANGE);
    BIND_INVALID(name, 0, 4, &d, SIZE, "is a texture");
    s->gl.DeleteTextures(1, &name);
}

/* The words are those of who asked for a GL object. */
static void require_no_vulkan(void)
{
    static const char *const foreign[] = {"CreateInfo", "culv_vk_", "Vulkan"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        if (strstr(culv_last_error_message(), foreign[i]) != NULL)
            FAIL("'%s' in: %s", foreign[i], culv_last_error_message());
}

GL_CASE(images_refused, 0, .title = "gl.images.refused")
{
    culv_shared_image *image = NULL;
    culv_gl_image_create_desc d = image_desc(GL_TEXTURE_2D, GL_RGBA8, 8, 8);
#define ROW(change, ...)                                                                           \
    SPOILT(d, change,                                                                              \
           LIB_REFUSES(image, culv_gl_image_create(s->attachment, &d, &image), __VA_ARGS__);       \
           require_no_vulkan())
#define DESC "culv_gl_image_create_desc."
    ROW(d.target = GL_TEXTURE_RECTANGLE, UNSUPPORTED, USAGE, "use GL_TEXTURE_2D");
    ROW(d.target = GL_TEXTURE_2D_MULTISAMPLE, UNSUPPORTED, USAGE, "glBlitNamedFramebuffer");
    ROW(d.target = GL_RENDERBUFFER, UNSUPPORTED, USAGE, "GL_TEXTURE_2D");
    ROW((d.target = GL_TEXTURE_BUFFER, d.height = 1), UNSUPPORTED, USAGE, "glTextureBuffer");
    ROW(d.target = GL_ARRAY_BUFFER, INVALID, VALUE, "no target");
    ROW(d.internal_format = GL_RGBA, UNSUPPORTED, FORMAT, "sized formats");
    ROW(d.internal_format = 0, INVALID, FORMAT, "internal_format is 0; say a sized format");
    ROW(d.internal_format = GL_RGB8, UNSUPPORTED, FORMAT, "GL_RGBA8 for GL_RGB8");
    ROW(d.internal_format = GL_RGBA4, UNSUPPORTED, FORMAT,
        "NVIDIA's driver keeps it as 8 bits a channel");
    ROW((d.width = 61, d.height = 35, d.mip_levels = 12), INVALID, EXTENT, DESC "mip_levels is 12");
    ROW(d.width = 1000003, INVALID, EXTENT, DESC "width x height x depth is 1000003 x 8 x 1");
    ROW((d.target = GL_TEXTURE_2D_ARRAY, d.array_layers = 100003), INVALID, EXTENT,
        DESC "array_layers is 100003");
    ROW(d.width = 0, INVALID, EXTENT, "width");
    ROW(d.depth = 2, INVALID, EXTENT, "depth");
    ROW(d.array_layers = 2, INVALID, EXTENT, "no layers");
    ROW((d.target = GL_TEXTURE_CUBE_MAP, d.height = 9), INVALID, EXTENT, "square");
    ROW((d.target = GL_TEXTURE_1D, d.height = 2), INVALID, EXTENT, "1D texture");
#undef DESC
#undef ROW
    culv_gl_buffer_create_desc b = culv_gl_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    LIB_REFUSES(buffer, culv_gl_buffer_create(s->attachment, &b, &buffer), INVALID, SIZE);
    b.size = UINT64_C(1) << 50;
    LIB_REFUSES(buffer, culv_gl_buffer_create(s->attachment, &b, &buffer), INVALID, SIZE,
                "culv_gl_buffer_create_desc.size");
}
