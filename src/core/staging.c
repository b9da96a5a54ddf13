/* SPDX-License-Identifier: MIT */
/* Fallbacks: the paths, the memory in between, and the copies. */
#include "core/staging.h"

const char *culv_sharing_name(culv_sharing path)
{
    switch (path) {
    case CULV_SHARING_SHARED: return "SHARED";
    case CULV_SHARING_PEER: return "PEER";
    case CULV_SHARING_HOST: return "HOST";
    case CULV_SHARING_DIRECT: return "DIRECT";
    case CULV_SHARING_FORCE32: break;
    }
    return "unknown";
}

static culv_sharing path_of(const culvi_staging *staging)
{
    return staging != NULL ? staging->path : CULV_SHARING_SHARED;
}

culv_sharing culv_buffer_sharing(const culv_buffer *buffer)
{
    if (buffer == NULL) return CULV_SHARING_SHARED;
    return buffer->staging == NULL && buffer->memory->way != CULVI_MEMORY_IMPORTED
               ? CULV_SHARING_DIRECT
               : path_of(buffer->staging);
}

CULVI_GETTER(culv_sharing, culv_image_sharing, culv_image, path_of(self->staging),
             CULV_SHARING_SHARED)

/* Staging -------------------------------------------------------------------------------------- */

culv_result culvi_staging_register(culv_device *device, culvi_staging *staging, const char *label)
{
    CULVI_CU_INSIDE(r, device, label, cuMemHostRegister, (staging->host, (size_t)staging->size, 0));
    staging->registered = r == CUDA_SUCCESS;
    if (r == CUDA_ERROR_OUT_OF_MEMORY || culvi_cuda_answers(r))
        CULVI_CU_CHECK(device, label, r, "cuMemHostRegister", CULV_REASON_DRIVER_REFUSED,
                       "%" PRIu64 " bytes of host memory could not be pinned", staging->size);
    else
        culvi_log(
            &device->voice, CULV_LOG_WARNING,
            "'%s': CUDA does not pin the graphics API's memory (error %d): copies take a detour inside the driver and block the calling thread; with host pages they would not (in Vulkan enable VK_EXT_external_memory_host)",
            label != NULL ? label : "", (int)r);
    CULVI_LOCKED(&device->lock, staging->counted = true; device->counts.allocations++);
    return CULV_OK;
}

/* What lies behind the copies. False: the driver refused for now. In the device's context. */
static bool release_far_side(culv_device *device, culvi_staging *staging, bool last_try)
{
    if (staging->registered) {
        if (!CULVI_RELEASED(device, last_try, cuMemHostUnregister, (staging->host))) return false;
        staging->registered = false;
    }
    if (staging->counted) device->counts.allocations--;
    if (staging->peer_buffer != NULL) culvi_buffer_release_or_defer(staging->peer_buffer, NULL);
    if (staging->peer_image != NULL) culvi_image_release_or_defer(staging->peer_image, NULL);
    if (staging->native.release != NULL) staging->native.release(&staging->native);
    culvi_free(staging->block);
    culvi_free(staging);
    return true;
}

void culvi_staging_discard(culv_device *device, culvi_staging *staging)
{
    culvi_scope scope;
    if (staging == NULL) return;
    culv_buffer *buffer = staging->peer_buffer;
    culv_image *image = staging->peer_image;
    staging->peer_buffer = NULL;
    staging->peer_image = NULL;
    culvi_mutex_lock(&device->lock);
    const bool entered = culvi_enter_to_end(device, &scope);
    /* Nothing has used it: a refusal is not worth keeping it. */
    if (!release_far_side(device, staging, false)) (void)release_far_side(device, staging, true);
    if (entered) culvi_leave(device, &scope);
    culvi_mutex_unlock(&device->lock);
    /* The lock is not held here: the other GPU's driver may wait for that one's work. */
    if (buffer != NULL) culvi_buffer_release_or_defer(buffer, NULL);
    if (image != NULL) culvi_image_release_or_defer(image, NULL);
}

/* Waits for the copies. CUDA's memory goes with that, unless tensors have it, too. */
static bool end_copies(culv_device *device, culv_memory *memory, bool last_try)
{
    if (memory->buffers > 1)
        return culvi_wait_for_all(device, "copies of buffer", memory->label, memory->size);
    if (!CULVI_RELEASED(device, last_try, cuMemFree, (memory->base))) return false;
    memory->base = 0;
    device->counts.allocations--;
    return true;
}

bool culvi_staging_release(culv_device *device, culv_memory *memory, culvi_staging **staging,
                           bool last_try)
{
    if (memory->base != 0 && !end_copies(device, memory, last_try)) {
        if (!last_try) return false;
        culvi_log(&device->voice, CULV_LOG_WARNING,
                  "'%s': the driver does not wait for its copies: what they use stays allocated",
                  memory->label);
        *staging = NULL; /* a copy may still write there */
        return true;
    }
    if (!release_far_side(device, *staging, last_try)) return false;
    *staging = NULL;
    return true;
}

/* Copies --------------------------------------------------------------------------------------- */

typedef struct copy {
    culv_device *device;
    const char *label;
    CUstream stream;
    bool push;
    const char *call; /* the driver's, of the last copy */
} copy;

static CUresult copy_bytes(copy *c, const culvi_staging *staging, CUdeviceptr own, uint64_t size)
{
    const culvi_cuda *cuda = c->device->cuda;
    if (staging->path == CULV_SHARING_HOST) {
        c->call = c->push ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync";
        return c->push ? cuda->cuMemcpyDtoHAsync(staging->host, own, (size_t)size, c->stream)
                       : cuda->cuMemcpyHtoDAsync(own, staging->host, (size_t)size, c->stream);
    }
    const culv_buffer *peer = staging->peer_buffer;
    CUcontext theirs = peer->memory->device->context;
    c->call = "cuMemcpyPeerAsync";
    return c->push ? cuda->cuMemcpyPeerAsync(peer->pointer, theirs, own, c->device->context,
                                             (size_t)size, c->stream)
                   : cuda->cuMemcpyPeerAsync(own, c->device->context, peer->pointer, theirs,
                                             (size_t)size, c->stream);
}

static CUarray array_of(const culv_image *image, const culvi_part *part)
{
    return atomic_load_explicit(&image->levels[part->slot].array, memory_order_relaxed);
}

static CUresult copy_part_to_host(copy *c, const culv_image *image, const culvi_part *part)
{
    void *host = (char *)image->staging->host + part->offset;
    CUDA_MEMCPY3D d = {.WidthInBytes = (size_t)part->row_bytes,
                       .Height = part->rows,
                       .Depth = culvi_part_slices(part)};
    c->call = "cuMemcpy3DAsync";
    d.srcMemoryType = c->push ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    d.dstMemoryType = c->push ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    if (c->push) {
        d.srcArray = array_of(image, part);
        d.dstHost = host;
        d.dstPitch = (size_t)part->row_bytes;
        d.dstHeight = part->rows;
    } else {
        d.dstArray = array_of(image, part);
        d.srcHost = host;
        d.srcPitch = (size_t)part->row_bytes;
        d.srcHeight = part->rows;
    }
    return c->device->cuda->cuMemcpy3DAsync(&d, c->stream);
}

static CUresult copy_part_to_peer(copy *c, const culv_image *image, const culvi_part *part)
{
    const culv_image *peer = image->staging->peer_image;
    const culv_image *from = c->push ? image : peer, *to = c->push ? peer : image;
    CUDA_MEMCPY3D_PEER d = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                            .srcArray = array_of(from, part),
                            .srcContext = from->memory->device->context,
                            .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                            .dstArray = array_of(to, part),
                            .dstContext = to->memory->device->context,
                            .WidthInBytes = (size_t)part->row_bytes,
                            .Height = part->rows,
                            .Depth = culvi_part_slices(part)};
    c->call = "cuMemcpy3DPeerAsync";
    return c->device->cuda->cuMemcpy3DPeerAsync(&d, c->stream);
}

static CUresult copy_image(copy *c, const culv_image *image)
{
    const culvi_staging *staging = image->staging;
    CUresult r = CUDA_SUCCESS;
    if (staging->linear) return copy_bytes(c, staging, image->memory->base, staging->size);
    for (uint32_t i = 0; r == CUDA_SUCCESS && i < staging->num_parts; i++)
        r = staging->path == CULV_SHARING_HOST ? copy_part_to_host(c, image, &staging->parts[i])
                                               : copy_part_to_peer(c, image, &staging->parts[i]);
    return r;
}

/* One of the two objects; without a staging nothing is to be copied. */
static culv_result run(const culvi_staging *staging, const culv_memory *memory, const char *label,
                       culv_copy way, CUstream stream, const culv_buffer *buffer,
                       const culv_image *image, const char *call)
{
    bool pushed;
    culv_result result = culvi_check_copy(way, call);
    if (result != CULV_OK || staging == NULL) return result;
    copy c = {.device = memory->device,
              .label = label,
              .stream = stream,
              .push = way == CULV_COPY_UPLOAD};
    CULVI_TRY(culvi_enter_any_stream(c.device, label, stream, NULL, &pushed));
    CUresult r = buffer != NULL ? copy_bytes(&c, staging, buffer->pointer, buffer->size)
                                : copy_image(&c, image);
    culvi_leave_frame(c.device, pushed);
    if (r == CUDA_SUCCESS) return CULV_OK;
    /* Its address may have become another context's stream. */
    CULVI_TRY(culvi_recheck_stream(c.device, label, stream, r));
    char name[40];
    culvi_stream_name(stream, name);
    return culvi_fail_cuda(c.device, label, r, c.call, CULV_REASON_DRIVER_REFUSED,
                           "%s could not %s", name,
                           c.push ? "push towards the graphics API" : "pull from the graphics API");
}

culv_result culvi_check_copy(culv_copy way, const char *call)
{
    if (way == CULV_COPY_UPLOAD || way == CULV_COPY_DOWNLOAD) return CULV_OK;
    return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "%s: copy is %d; it must be CULV_COPY_UPLOAD or CULV_COPY_DOWNLOAD", call,
                      (int)way);
}

culv_result culv_buffer_copy(culv_buffer *buffer, culv_copy way, CUstream stream)
{
    CULVI_REQUIRE(NULL, buffer);
    return run(buffer->staging, buffer->memory, buffer->label, way, stream, buffer, NULL, __func__);
}

culv_result culv_image_copy(culv_image *image, culv_copy way, CUstream stream)
{
    CULVI_REQUIRE(NULL, image);
    return run(image->staging, image->memory, image->label, way, stream, NULL, image, __func__);
}

/* A linear field ------------------------------------------------------------------------------- */

/* How the field lies, with packed pitches spelled out. */
static culv_result check_field(const culv_image *image, culv_image_field *f, const culvi_part *part)
{
    const culvi_voice *voice = &image->memory->device->voice;
    if (f->row_pitch == 0) f->row_pitch = part->row_bytes;
    CULVI_REFUSE_IF(f->row_pitch < part->row_bytes || f->row_pitch > SIZE_MAX / 2, voice,
                    image->label, CULV_REASON_VALUE,
                    "culv_image_field.row_pitch is %" PRIu64 "; a row of level %" PRIu32
                    " has %" PRIu64 " bytes",
                    f->row_pitch, f->level, part->row_bytes);
    if (f->slice_pitch == 0) f->slice_pitch = f->row_pitch * part->rows;
    CULVI_REFUSE_IF(
        f->slice_pitch % f->row_pitch != 0 || f->slice_pitch / f->row_pitch < part->rows, voice,
        image->label, CULV_REASON_VALUE,
        "culv_image_field.slice_pitch is %" PRIu64 "; it is a multiple of row_pitch (%" PRIu64
        ") and covers the %" PRIu32 " rows of a slice or layer",
        f->slice_pitch, f->row_pitch, part->rows);
    /* With a srcHeight of more than 1, the layers behind the first one of a 1D array came out wrong
     * on NVIDIA's driver (580). */
    if (part->rows == 1) f->row_pitch = f->slice_pitch;
    return CULV_OK;
}

static CUresult copy_field_to_peer(copy *c, const culv_image_field *f, const culvi_part *part,
                                   const culv_image *peer)
{
    const CUDA_MEMCPY3D_PEER d = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                  .srcDevice = f->pointer,
                                  .srcPitch = (size_t)f->row_pitch,
                                  .srcHeight = (size_t)(f->slice_pitch / f->row_pitch),
                                  .srcContext = c->device->context,
                                  .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                  .dstArray = array_of(peer, part),
                                  .dstContext = peer->memory->device->context,
                                  .WidthInBytes = (size_t)part->row_bytes,
                                  .Height = part->rows,
                                  .Depth = culvi_part_slices(part)};
    c->call = "cuMemcpy3DPeerAsync";
    return c->device->cuda->cuMemcpy3DPeerAsync(&d, c->stream);
}

/* Into the image's own array, or into the host's memory. */
static CUresult copy_field(copy *c, const culv_image_field *f, const culvi_part *part,
                           const culv_image *image)
{
    CUDA_MEMCPY3D d = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                       .srcDevice = f->pointer,
                       .srcPitch = (size_t)f->row_pitch,
                       .srcHeight = (size_t)(f->slice_pitch / f->row_pitch),
                       .WidthInBytes = (size_t)part->row_bytes,
                       .Height = part->rows,
                       .Depth = culvi_part_slices(part)};
    const culvi_staging *staging = image->staging;
    if (staging == NULL) {
        d.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        d.dstArray = array_of(image, part);
    } else {
        uint32_t i = 0;
        while (staging->parts[i].level != part->level || staging->parts[i].plane != part->plane)
            i++;
        d.dstMemoryType = CU_MEMORYTYPE_HOST;
        d.dstHost = (char *)staging->host + staging->parts[i].offset;
        d.dstPitch = d.WidthInBytes;
        d.dstHeight = d.Height;
    }
    c->call = "cuMemcpy3DAsync";
    return c->device->cuda->cuMemcpy3DAsync(&d, c->stream);
}

culv_result culv_image_write(culv_image *image, const culv_image_field *field, CUstream stream)
{
    culvi_part part;
    CUarray array = NULL;
    bool pushed;
    CULVI_TRY(culvi_image_check_call(image, 0, 1, "level", field, "culv_image_write"));
    const culvi_voice *voice = &image->memory->device->voice;
    CULVI_READ(voice, culv_image_field, f, field);
    CULVI_REFUSE_IF(f.pointer == 0, voice, image->label, CULV_REASON_NULL_ARGUMENT,
                    "culv_image_write: culv_image_field.pointer is 0");
    CULVI_TRY(culvi_image_check_call(image, f.level, image->desc.mip_levels, "level", field,
                                     "culv_image_write"));
    CULVI_TRY(culvi_image_check_call(image, f.plane, culvi_image_planes(image), "plane", field,
                                     "culv_image_write"));
    culvi_part_describe(image, f.level, f.plane, &part);
    culv_result result = check_field(image, &f, &part);
    const culvi_staging *staging = image->staging;
    if (result == CULV_OK && staging == NULL)
        result = culv_image_get_array(image, f.level, f.plane, &array);
    if (result != CULV_OK) return result;
    copy c = {.device = image->memory->device, .label = image->label, .stream = stream};
    CULVI_TRY(culvi_enter_any_stream(c.device, c.label, stream, NULL, &pushed));
    CUresult r = CUDA_SUCCESS;
    c.call = "cuLaunchKernel";
    if (staging != NULL && staging->path == CULV_SHARING_PEER)
        r = copy_field_to_peer(&c, &f, &part, staging->peer_image);
    else if (!culvi_field_write(image, &f, &part, stream, &r))
        r = copy_field(&c, &f, &part, image);
    culvi_leave_frame(c.device, pushed);
    if (r == CUDA_SUCCESS) return CULV_OK;
    CULVI_TRY(culvi_recheck_stream(c.device, c.label, stream, r));
    return culvi_fail_cuda(c.device, c.label, r, c.call, CULV_REASON_DRIVER_REFUSED,
                           "%" PRIu32 " x %" PRIu32
                           " texels at %#llx could not be copied into the image",
                           part.width, part.height, (unsigned long long)f.pointer);
}
