/* SPDX-License-Identifier: MIT */
/* The kernels of culv_image_prepare_write(), as PTX that the driver compiles. */
#include "core/staging.h"

enum { CULVI_FIELD_GEOMETRIES = 3, CULVI_FIELD_CHUNKS = 5 };

/* One kernel for each way to walk through a surface and each size of what a thread carries. */
struct culvi_fields {
    CUmodule modules[CULVI_FIELD_GEOMETRIES];
    /* NULL until they are loaded */
    _Atomic(CUfunction) functions[CULVI_FIELD_GEOMETRIES][CULVI_FIELD_CHUNKS];
};

/* How sust (PTX ISA, "Surface Instructions") is told a place. x counts bytes. */
static const struct {
    const char *name, *place;
} geometries[CULVI_FIELD_GEOMETRIES] = {
    {"2d", "x, y"}, {"a2d", "z, x, y, y"}, {"3d", "x, y, z, z"}};

/* What a thread carries, the widest first. Unformatted stores take any of them, whatever the size
 * of a texel is: read back on an H200 (580.159.04), texels and chunks of 1 to 16 bytes. */
static const struct {
    uint32_t bytes;
    const char *registers, *load, *store, *values;
} chunks[CULVI_FIELD_CHUNKS] = {{16, "b32", "v4.u32", "v4.b32", "a, b, c, d"},
                                {8, "b32", "v2.u32", "v2.b32", "a, b"},
                                {4, "b32", "u32", "b32", "a"},
                                {2, "b16", "u16", "b16", "a"},
                                {1, "b16", "u8", "b8", "a"}};

/* Squares follow the texels' order in memory: 1,900 to 2,290 GB/s on an H200, 1,400 by 32 x 8. */
enum { BLOCK = 16, MOST_SLICES = 65535, ROOM = 8192 /* for the PTX of one geometry */ };

static void add_kernel(culvi_text *text, size_t geometry, size_t chunk)
{
    culvi_text_add(text,
                   ".visible .entry write%" PRIu32 "(.param .u64 surface, .param .u64 from,\n"
                   ".param .u64 pitch, .param .u64 slice, .param .u32 width, .param .u32 height)\n"
                   "{\n"
                   ".reg .pred p, q;\n"
                   ".reg .%s a, b, c, d;\n"
                   ".reg .b32 x, y, z, n, w, h;\n"
                   ".reg .b64 s, at, row;\n"
                   "mov.u32 x, %%ctaid.x;\n"
                   "mov.u32 n, %%ntid.x;\n"
                   "mov.u32 z, %%tid.x;\n"
                   "mad.lo.u32 x, x, n, z;\n"
                   "mov.u32 y, %%ctaid.y;\n"
                   "mov.u32 n, %%ntid.y;\n"
                   "mov.u32 z, %%tid.y;\n"
                   "mad.lo.u32 y, y, n, z;\n"
                   "ld.param.u32 w, [width];\n"
                   "ld.param.u32 h, [height];\n"
                   "setp.ge.u32 p, x, w;\n"
                   "setp.ge.u32 q, y, h;\n"
                   "or.pred p, p, q;\n"
                   "@p ret;\n",
                   chunks[chunk].bytes, chunks[chunk].registers);
    culvi_text_add(text,
                   "mov.u32 z, %%ctaid.z;\n"
                   "mul.lo.u32 x, x, %" PRIu32 ";\n"
                   "ld.param.u64 at, [from];\n"
                   "ld.param.u64 s, [pitch];\n"
                   "cvt.u64.u32 row, y;\n"
                   "mad.lo.u64 at, row, s, at;\n"
                   "ld.param.u64 s, [slice];\n"
                   "cvt.u64.u32 row, z;\n"
                   "mad.lo.u64 at, row, s, at;\n"
                   "cvt.u64.u32 row, x;\n"
                   "add.u64 at, at, row;\n"
                   "ld.param.u64 s, [surface];\n"
                   "ld.%s {%s}, [at];\n"
                   "sust.b.%s.%s.zero [s, {%s}], {%s};\n"
                   "ret;\n"
                   "}\n",
                   chunks[chunk].bytes, chunks[chunk].load, chunks[chunk].values,
                   geometries[geometry].name, chunks[chunk].store, geometries[geometry].place,
                   chunks[chunk].values);
}

/* How its surfaces are walked through; CULVI_FIELD_GEOMETRIES: not by these kernels. */
static size_t geometry_of(const culv_image *image)
{
    const culv_image_desc *d = &image->desc;
    if (image->staging != NULL || !image->surfaces || d->type == CULV_IMAGE_1D ||
        (image->row->planes == 1 && !image->row->surfaces))
        return CULVI_FIELD_GEOMETRIES;
    if (d->type == CULV_IMAGE_3D) return 2;
    return d->type == CULV_IMAGE_CUBE || d->array_layers > 1 ? 1 : 0;
}

/* By the device's end. */
static void free_fields(culv_device *device)
{
    culvi_fields *fields = atomic_load(&device->fields);
    culvi_scope scope;
    if (culvi_enter_quietly(device, &scope) == CUDA_SUCCESS) {
        for (size_t i = 0; i < CULVI_FIELD_GEOMETRIES; i++)
            if (fields->modules[i] != NULL)
                (void)CULVI_RELEASE(device, cuModuleUnload, (fields->modules[i]));
        culvi_leave(device, &scope);
    }
    culvi_free(fields);
}

/* `text` has room for the PTX. What failed goes to *call. In the device's context; the caller holds
 * the lock. */
static CUresult load(culv_device *device, culvi_fields *fields, size_t geometry, culvi_text *text,
                     const char **call)
{
    CUfunction made[CULVI_FIELD_CHUNKS];
    CUmodule module;
    culvi_text_add(text, ".version 6.0\n.target sm_60\n.address_size 64\n");
    for (size_t i = 0; i < CULVI_FIELD_CHUNKS; i++)
        add_kernel(text, geometry, i);
    CUresult r = CULVI_CU_AS(*call, device, cuModuleLoadData, (&module, text->data));
    if (r != CUDA_SUCCESS) return r;
    *call = "cuModuleGetFunction";
    for (size_t i = 0; r == CUDA_SUCCESS && i < CULVI_FIELD_CHUNKS; i++) {
        CULVI_TEXT(entry, 16);
        culvi_text_add(&entry, "write%" PRIu32, chunks[i].bytes);
        r = CULVI_CU(device, cuModuleGetFunction, (&made[i], module, entry.data));
    }
    if (r != CUDA_SUCCESS) {
        (void)CULVI_RELEASE(device, cuModuleUnload, (module));
        return r;
    }
    fields->modules[geometry] = module;
    for (size_t i = 0; i < CULVI_FIELD_CHUNKS; i++)
        atomic_store_explicit(&fields->functions[geometry][i], made[i], memory_order_release);
    return CUDA_SUCCESS;
}

/* In the device's context; the caller holds the lock. */
static culv_result prepare(culv_device *device, culv_image *image, size_t geometry)
{
    const char *call = NULL;
    CUresult r = CUDA_SUCCESS;
    culvi_fields *fields = atomic_load(&device->fields);
    if (fields == NULL) {
        fields = culvi_alloc(sizeof *fields);
        if (fields == NULL) return culvi_fail_host_memory(&device->voice, image->label);
        device->free_fields = free_fields;
        atomic_store_explicit(&device->fields, fields, memory_order_release);
    }
    if (fields->modules[geometry] == NULL) {
        culvi_text text = {.data = culvi_alloc(ROOM), .size = ROOM};
        if (text.data == NULL) return culvi_fail_host_memory(&device->voice, image->label);
        r = load(device, fields, geometry, &text, &call);
        culvi_free(text.data);
    }
    if (r == CUDA_ERROR_OUT_OF_MEMORY || culvi_cuda_answers(r))
        CULVI_CU_CHECK(device, image->label, r, call, CULV_REASON_DRIVER_REFUSED,
                       "the kernels of culv_image_write() were not loaded");
    if (r != CUDA_SUCCESS) {
        culvi_log(&device->voice, CULV_LOG_INFO,
                  "the driver does not compile PTX (%s: error %d), so culv_image_write() copies by "
                  "cuMemcpy3DAsync",
                  call, (int)r);
        return CULV_OK;
    }
    culv_result result = CULV_OK;
    for (uint32_t i = 0; result == CULV_OK && i < image->slots; i++) {
        CUsurfObject surface;
        result = culvi_image_get_surface(image, i, &surface);
    }
    return result;
}

culv_result culv_image_prepare_write(culv_image *image)
{
    CULVI_REQUIRE_IN(NULL, __func__, image);
    culv_device *device = image->memory->device;
    const size_t geometry = geometry_of(image);
    culv_result result = image->staging == NULL ? culvi_image_check_arrays(image) : CULV_OK;
    if (result != CULV_OK || geometry == CULVI_FIELD_GEOMETRIES) return result;
    culvi_mutex_lock(&device->lock);
    CULVI_INSIDE(result, device, image->label, prepare(device, image, geometry));
    culvi_mutex_unlock(&device->lock);
    return result;
}

bool culvi_field_write(culv_image *image, const culv_image_field *field, const culvi_part *part,
                       CUstream stream, CUresult *result)
{
    culv_device *device = image->memory->device;
    culvi_fields *fields = atomic_load_explicit(&device->fields, memory_order_acquire);
    const size_t geometry = geometry_of(image);
    const uint32_t slot = culvi_image_slot(image, part->level, part->plane);
    const uint32_t slices = culvi_part_slices(part);
    const uint64_t bits = field->pointer | field->row_pitch | field->slice_pitch | part->row_bytes;
    size_t chunk = 0;
    if (fields == NULL || geometry == CULVI_FIELD_GEOMETRIES || slices > MOST_SLICES ||
        part->row_bytes > INT32_MAX)
        return false;
    CUsurfObject surface = atomic_load_explicit(&image->levels[slot].surface, memory_order_acquire);
    while (bits % chunks[chunk].bytes != 0)
        chunk++; /* the last one has one byte */
    CUfunction function =
        atomic_load_explicit(&fields->functions[geometry][chunk], memory_order_acquire);
    if (surface == 0 || function == NULL) return false;
    uint32_t width = (uint32_t)part->row_bytes / chunks[chunk].bytes, height = part->rows;
    uint64_t from = field->pointer, pitch = field->row_pitch, slice = field->slice_pitch;
    void *params[] = {&surface, &from, &pitch, &slice, &width, &height};
    *result =
        device->cuda->cuLaunchKernel(function, (width - 1) / BLOCK + 1, (height - 1) / BLOCK + 1,
                                     slices, BLOCK, BLOCK, 1, 0, stream, params, NULL);
    return true;
}
