/* SPDX-License-Identifier: MIT */
/* CUDA's half of the sweep: array copies, surface and texture kernels over every level, layer and
 * plane. */
#include "sweep.h"

static char said[MAX_REASON];

static const char *library_said(const char *call)
{
    snprintf(said, sizeof said, "%s: %s", call, culv_last_error_message());
    return said;
}

/* A kernel's fault stays with the context: it is told by every call from then on. The context is
 * current. */
static const char *driver_said(sweep *s, const char *call, CUresult r)
{
    s->lost = s->w.cu->StreamSynchronize(s->stream) != CUDA_SUCCESS;
    snprintf(said, sizeof said, "%s answers %s", call, raw_cuda_result_name(r));
    return said;
}

/* Levels of the image, or its planes, one after another; stops at the first that says something. */
typedef const char *(*visit_fn)(sweep *s, const sweep_image *i, uint32_t plane, uint32_t level,
                                void *context);

static const char *visit(sweep *s, const sweep_image *i, visit_fn fn, void *context)
{
    const char *text = NULL;
    for (uint32_t plane = 0; plane < i->plane_count && text == NULL; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels && text == NULL; level++)
            text = fn(s, i, plane, level, context);
    return text;
}

/* Arrays --------------------------------------------------------------------------------------- */

typedef struct host_bytes {
    const unsigned char *from;
    unsigned char *to;
} host_bytes;

static const char *copy_level(sweep *s, const sweep_image *i, uint32_t plane, uint32_t level,
                              void *context)
{
    const host_bytes *b = context;
    const raw_cuda *cu = s->w.cu;
    uint32_t width, height, slices;
    CUarray array = NULL;
    culv_result result = culv_image_get_array(i->cuda, level, plane, &array);
    if (result != CULV_OK) return library_said("culv_image_get_array");
    sweep_image_blocks(i, plane, level, &width, &height, &slices);
    size_t row = (size_t)width * i->planes[plane].format.bytes_per_block,
           at = i->bytes_at[plane][level];
    CUDA_MEMCPY3D c = {.WidthInBytes = row, .Height = height, .Depth = slices};
    if (b->from != NULL) {
        c.srcMemoryType = CU_MEMORYTYPE_HOST;
        c.srcHost = b->from + at;
        c.srcPitch = row;
        c.srcHeight = height;
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = array;
    } else {
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = array;
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = b->to + at;
        c.dstPitch = row;
        c.dstHeight = height;
    }
    CUcontext before = lib_enter(&s->w);
    CUresult r = cu->Memcpy3DAsync(&c, s->stream);
    const char *text = r != CUDA_SUCCESS ? driver_said(s, "cuMemcpy3DAsync", r) : NULL;
    lib_leave(&s->w, before);
    return text;
}

const char *sweep_array_write(sweep *s, const sweep_image *i, const unsigned char *bytes)
{
    host_bytes b = {.from = bytes};
    return visit(s, i, copy_level, &b);
}

const char *sweep_array_read(sweep *s, const sweep_image *i, unsigned char *bytes)
{
    host_bytes b = {.to = bytes};
    memset(bytes, 0xa5, i->bytes);
    return visit(s, i, copy_level, &b);
}

/* Kernels -------------------------------------------------------------------------------------- */

static const char *launch(sweep *s, CUfunction kernel, uint32_t threads, void **params)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    CUresult r = cu->LaunchKernel(kernel, (threads + 127) / 128, 1, 1, 128, 1, 1, 0, s->stream,
                                  params, NULL);
    const char *text = r != CUDA_SUCCESS ? driver_said(s, "cuLaunchKernel", r) : NULL;
    lib_leave(&s->w, before);
    return text;
}

/* To or from s->device, where the kernels work, in their stream: cuMemcpyHtoD may return before the
 * bytes are there, and the stream waits for no other one. Pageable memory is read before the call
 * returns. */
static void to_device(sweep *s, const unsigned char *bytes, size_t size)
{
    LIB_CU_OK(&s->w, s->w.cu->MemcpyHtoDAsync(s->device, bytes, size, s->stream));
}

/* Waits. */
static const char *from_device(sweep *s, unsigned char *bytes, size_t size)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    CUresult r = cu->MemcpyDtoHAsync(bytes, s->device, size, s->stream);
    if (r == CUDA_SUCCESS) r = cu->StreamSynchronize(s->stream);
    const char *text = r != CUDA_SUCCESS ? driver_said(s, "the kernel's stream", r) : NULL;
    lib_leave(&s->w, before);
    return text;
}

/* What the kernels call the type; the table's names are all there. */
static int type_of(const culv_format_info *f)
{
    static const char *const names[] = {
#define NAME(name, type) #name,
        SWEEP_TYPES(NAME)
#undef NAME
    };
    for (int k = 0; k < SWEEP_NUM_TYPES; k++)
        if (strcmp(names[k], f->kernel_type) == 0) return k;
    FAIL("%s has kernel_type \"%s\", which the sweep's kernels have not", f->name, f->kernel_type);
}

static const char *surface_level(sweep *s, const sweep_image *i, uint32_t plane, uint32_t level,
                                 void *context)
{
    const CUfunction *kernel = context;
    uint32_t width, height, slices;
    CUsurfObject surface = 0;
    culv_result result = culv_image_get_surface(i->cuda, level, plane, &surface);
    if (result != CULV_OK) return library_said("culv_image_get_surface");
    sweep_image_blocks(i, plane, level, &width, &height, &slices);
    int dimension = i->what.dimension, type = type_of(&i->planes[plane].format);
    int w = (int)width, h = (int)height, d = (int)slices;
    CUdeviceptr texels = s->device + i->bytes_at[plane][level];
    void *params[] = {&surface, &dimension, &type, &w, &h, &d, &texels};
    return launch(s, *kernel, width * height * slices, params);
}

const char *sweep_surface_write(sweep *s, const sweep_image *i, const unsigned char *bytes)
{
    to_device(s, bytes, i->bytes);
    return visit(s, i, surface_level, &s->store);
}

const char *sweep_surface_read(sweep *s, const sweep_image *i, unsigned char *bytes)
{
    memset(bytes, 0xa5, i->bytes);
    to_device(s, bytes, i->bytes);
    const char *text = visit(s, i, surface_level, &s->load);
    return text != NULL ? text : from_device(s, bytes, i->bytes);
}

static const char *texture_level(sweep *s, const sweep_image *i, uint32_t plane, uint32_t level,
                                 void *context)
{
    const culv_texture_read *read = context;
    uint32_t width, height, slices;
    CUtexObject texture = 0;
    culv_texture_desc d = culv_texture_desc_init();
    d.read = *read;
    d.plane = plane;
    if (culv_image_get_texture(i->cuda, &d, &texture) != CULV_OK)
        return library_said("culv_image_get_texture");
    const reading r = sweep_reading(&i->planes[plane].format, i->what.texels, *read);
    sweep_image_extent(i, plane, level, &width, &height, &slices);
    int dimension = i->what.dimension, number = r.number, channels = (int)r.channels;
    int w = (int)width, h = (int)height, depth = (int)slices, which = (int)level;
    CUdeviceptr values = s->device + i->texels_at[plane][level] * 16;
    void *params[] = {&texture, &dimension, &number, &channels, &which, &w, &h, &depth, &values};
    return launch(s, s->sample, width * height * slices, params);
}

const char *sweep_texture_read(sweep *s, const sweep_image *i, culv_texture_read read,
                               unsigned char *values)
{
    memset(values, 0xa5, i->texels * 16);
    to_device(s, values, i->texels * 16);
    const char *text = visit(s, i, texture_level, &read);
    return text != NULL ? text : from_device(s, values, i->texels * 16);
}
