/* SPDX-License-Identifier: MIT */
/* The cases of the format sweep: a family of formats in one dimension, and in arrays of it. */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

/* The rows of the format table, the families they are swept in, and names. */

const char *const sweep_dimension_names[SWEEP_NUM_DIMENSIONS] = {
#define NAME(id, name) [id] = name,
    SWEEP_DIMENSIONS(NAME)
#undef NAME
};

const char *const sweep_way_names[NUM_WAYS] = {"array", "surface", "texture"};

static const uint32_t numbers[] = {
#define NUMBER(name, number) number,
    CULV_FORMATS(NUMBER)
#undef NUMBER
};

/* The next row of the table after `number`, which is 0 at first; false: there is none. */
static bool sweep_next_row(uint32_t *number, culv_format_info *out)
{
    size_t i = 0, count = sizeof numbers / sizeof numbers[0];
    while (*number != 0 && i < count && numbers[i] != *number)
        i++;
    if (*number != 0) i++;
    if (i >= count) return false;
    *number = numbers[i];
    *out = culv_format_info_init();
    LIB_OK(culv_format_get_info((culv_format)*number, out));
    return true;
}

/* The family's name, as main.c has it; NULL of a kind that no family has. */
static const char *sweep_family_of(const culv_format_info *format)
{
    switch (format->kind) {
    case CULV_TEXEL_KIND_UINT:
    case CULV_TEXEL_KIND_SINT:
    case CULV_TEXEL_KIND_USCALED:
    case CULV_TEXEL_KIND_SSCALED: return "integers";
    case CULV_TEXEL_KIND_FLOAT: return "floats";
    case CULV_TEXEL_KIND_UNORM:
    case CULV_TEXEL_KIND_SNORM:
    case CULV_TEXEL_KIND_SRGB: return "normalized";
    case CULV_TEXEL_KIND_PACKED:
    case CULV_TEXEL_KIND_PADDED:
    case CULV_TEXEL_KIND_SPLIT: return "packed";
    case CULV_TEXEL_KIND_DEPTH:
    case CULV_TEXEL_KIND_STENCIL: return "depth";
    case CULV_TEXEL_KIND_BLOCKS: return "blocks";
    case CULV_TEXEL_KIND_PLANES:
    case CULV_TEXEL_KIND_SUBSAMPLED: return "planes";
    default: return NULL;
    }
}

static bool sweep_representative(const culv_format_info *format)
{
    switch (format->format) {
    case CULV_FORMAT_R8G8B8A8_UNORM:
    case CULV_FORMAT_R16G16_SFLOAT:
    case CULV_FORMAT_R32G32B32A32_UINT:
    case CULV_FORMAT_A2B10G10R10_UNORM_PACK32:
    case CULV_FORMAT_D32_SFLOAT:
    case CULV_FORMAT_BC7_UNORM_BLOCK:
    case CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM: return true;
    default: return false;
    }
}

bool sweep_name_has(const culv_format_info *format, const char *text)
{
    return strstr(format->name, text) != NULL;
}

/* The sweep's stage: a device in both APIs, a semaphore each way, kernels, memory for texels and
 * values. */

static void open_world(lib_world *w)
{
    CUuuid uuid;
    memset(w, 0, sizeof *w);
    w->cu = lib_driver();
    CUresult r = w->cu->DeviceGetUuid(&uuid, 0);
    REQUIRE_EQ(r, CUDA_SUCCESS);
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = w->cu->software,
                                          .with_formats = true});
    lib_open_culvert(w);
}

static void sweep_open(sweep *s)
{
    memset(s, 0, sizeof *s);
    open_world(&s->w);
    const raw_cuda *cu = s->w.cu;
    raw_vk *vk = &s->w.vk;
    CUcontext before = lib_enter(&s->w);
    s->surfaces = raw_cuda_load(cu, "formats_surface");
    s->textures = raw_cuda_load(cu, "formats_texture");
    s->store = raw_cuda_function(cu, s->surfaces, "sweep_store");
    s->load = raw_cuda_function(cu, s->surfaces, "sweep_load");
    s->sample = raw_cuda_function(cu, s->textures, "sweep_sample");
    CU_OK(cu->MemAlloc(&s->device, (size_t)SWEEP_TEXELS * 16));
    lib_leave(&s->w, before);
    s->stream = lib_stream(&s->w);
    lib_turns_open(&s->w, &s->turns);
    raw_vk_buffer_create(vk, SWEEP_BYTES, RAW_VK_HOST, &s->written);
    raw_vk_buffer_create(vk, SWEEP_BYTES, RAW_VK_HOST, &s->read);
    raw_vk_buffer_create(vk, (VkDeviceSize)SWEEP_TEXELS * 16, RAW_VK_HOST, &s->fetched);
    s->expected = malloc((size_t)SWEEP_TEXELS * 16);
    s->found = malloc((size_t)SWEEP_TEXELS * 16);
    REQUIRE(s->expected != NULL && s->found != NULL);
    sweep_open_fetch(s);
    sweep_report_machine(s);
}

static void sweep_close(sweep *s)
{
    const raw_cuda *cu = s->w.cu;
    raw_vk *vk = &s->w.vk;
    lib_finish(&s->w, s->stream);
    raw_vk_idle(vk);
    sweep_close_fetch(s);
    free(s->expected);
    free(s->found);
    raw_vk_buffer_destroy(vk, &s->written);
    raw_vk_buffer_destroy(vk, &s->read);
    raw_vk_buffer_destroy(vk, &s->fetched);
    lib_turns_close(&s->w, &s->turns);
    CUcontext before = lib_enter(&s->w);
    CU_OK(cu->MemFree(s->device));
    CU_OK(cu->ModuleUnload(s->surfaces));
    CU_OK(cu->ModuleUnload(s->textures));
    lib_leave(&s->w, before);
    lib_stream_destroy(&s->w, s->stream);
    lib_close_culvert(&s->w);
    raw_vk_close(vk);
    raw_cuda_require_empty(cu);
}

void sweep_cuda_end(sweep *s)
{
    lib_turns_cuda_end(&s->turns, s->stream);
    lib_finish(&s->w, s->stream);
}

/* The results file of the format sweep: a line of JSON for each row of the table, each answer and
 * the machine. A line is written by one write(), so that processes may share the file. */

typedef struct line {
    char text[4096];
    size_t length;
} line;

void answer_set(answer *a, outcome what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    a->outcome = what;
    vsnprintf(a->reason, sizeof a->reason, format, args);
    va_end(args);
}

static void put(line *l, const char *text)
{
    size_t length = strlen(text);
    REQUIRE(l->length + length + 2 < sizeof l->text);
    memcpy(l->text + l->length, text, length + 1);
    l->length += length;
}

static void put_key(line *l, const char *key)
{
    put(l, l->length == 0 ? "{\"" : ", \"");
    put(l, key);
    put(l, "\": ");
}

static void put_string(line *l, const char *key, const char *value)
{
    put_key(l, key);
    put(l, "\"");
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0'; c++) {
        char escaped[8];
        if (*c == '"' || *c == '\\')
            snprintf(escaped, sizeof escaped, "\\%c", *c);
        else if (*c < 0x20)
            snprintf(escaped, sizeof escaped, "\\u%04x", *c);
        else
            snprintf(escaped, sizeof escaped, "%c", *c);
        put(l, escaped);
    }
    put(l, "\"");
}

static void put_number(line *l, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put_key(l, key);
    put(l, text);
}

static void end(line *l)
{
    char joined[TEST_PATH_MAX];
    const char *path = test_option("jsonl", NULL), *dir = test_option("results", NULL);
    if (path == NULL && dir == NULL) return;
    if (path == NULL) {
        snprintf(joined, sizeof joined, "%s/formats.jsonl", dir);
        path = joined;
    }
    put(l, "}\n");
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) FAIL("%s: %s", path, strerror(errno));
    ssize_t written = write(fd, l->text, l->length);
    close(fd);
    REQUIRE(written == (ssize_t)l->length);
}

static void sweep_report(const cell *what, way by, const answer *a)
{
    static const char *const names[] = {"none", "right", "wrong", "skipped", "refused"};
    line l = {.length = 0};
    put_string(&l, "format", what->format->name);
    put_string(&l, "dimension", sweep_dimension_names[what->dimension]);
    put_string(&l, "form", what->texels == CULV_TEXELS_NORMALIZED ? "normalized" : "stored");
    put_string(&l, "origin", what->origin == ORIGIN_CALLERS ? "caller's" : "culvert's");
    put_string(&l, "way", sweep_way_names[by]);
    put_string(&l, "result", names[a->outcome]);
    if (a->outcome != OUTCOME_RIGHT) put_string(&l, "reason", a->reason);
    end(&l);
}

void sweep_report_machine(sweep *s)
{
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    culv_device_caps caps = culv_device_caps_init();
    line l = {.length = 0};
    char text[320], date[16];
    time_t now = time(NULL);
    struct tm day;
    REQUIRE(gmtime_r(&now, &day) != NULL && strftime(date, sizeof date, "%Y-%m-%d", &day) > 0);
    vkGetPhysicalDeviceProperties2(s->w.vk.physical, &properties);
    LIB_OK(culv_device_get_caps(s->w.device, &caps));
    put_string(&l, "machine", properties.properties.deviceName);
    put_number(&l, "software", s->w.cu->software ? 1 : 0);
    put_string(&l, "cuda_device", caps.name);
    snprintf(text, sizeof text, "%d.%d", s->w.cu->driver_version / 1000,
             s->w.cu->driver_version % 1000 / 10);
    put_string(&l, "cuda", text);
    snprintf(text, sizeof text, "%s", driver.driverInfo);
    put_string(&l, "vulkan_driver", text);
    put_string(&l, "date", date);
    end(&l);
}

static void sweep_report_row(const culv_format_info *f)
{
    line l = {.length = 0};
    put_string(&l, "row", f->name);
    put_number(&l, "mapped", f->mapped);
    put_string(&l, "why", f->reason_text);
    put_number(&l, "vk", f->vk_format);
    put_number(&l, "dxgi", f->dxgi_format);
    put_number(&l, "gl", f->gl_internal_format);
    put_number(&l, "cuda", f->cuda_array_format);
    put_number(&l, "channels", f->channels);
    put_number(&l, "cuda_normalized", f->normalized_array_format);
    put_number(&l, "normalized_channels", f->normalized_channels);
    put_number(&l, "bytes", f->bytes_per_block);
    put_number(&l, "block_width", f->block_width);
    put_number(&l, "block_height", f->block_height);
    put_number(&l, "planes", f->planes);
    put_number(&l, "kind", (uint64_t)f->kind);
    put_string(&l, "order", f->channel_order);
    put_string(&l, "kernel_type", f->kernel_type);
    put_number(&l, "cuda_version", f->cuda_version);
    put_number(&l, "normalized_cuda_version", f->normalized_cuda_version);
    end(&l);
}

/* What a texture read of a texel returns, by the definition of the format: the reference that the
 * sweep compares CUDA's texture objects with. Independent of the library, of CUDA and of Vulkan;
 * blocks have none here, and are compared with what Vulkan's sampler returns. */

/* The channels of an array format: their bytes and how they are read. */
typedef enum element { UNSIGNED, SIGNED, FLOATING, UNORM, SNORM, UNORM_1010102, UNKNOWN } element;

static element element_of(uint32_t array_format, uint32_t *bytes)
{
    *bytes = 1;
    switch (array_format) {
    case CU_AD_FORMAT_UNSIGNED_INT32: *bytes = 4; return UNSIGNED;
    case CU_AD_FORMAT_UNSIGNED_INT16: *bytes = 2; return UNSIGNED;
    case CU_AD_FORMAT_UNSIGNED_INT8: return UNSIGNED;
    case CU_AD_FORMAT_SIGNED_INT32: *bytes = 4; return SIGNED;
    case CU_AD_FORMAT_SIGNED_INT16: *bytes = 2; return SIGNED;
    case CU_AD_FORMAT_SIGNED_INT8: return SIGNED;
    case CU_AD_FORMAT_FLOAT: *bytes = 4; return FLOATING;
    case CU_AD_FORMAT_HALF: *bytes = 2; return FLOATING;
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4: *bytes = 2; return UNORM;
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4: return UNORM;
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4: *bytes = 2; return SNORM;
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4: return SNORM;
    case CU_AD_FORMAT_UNORM_INT_101010_2: *bytes = 4; return UNORM_1010102;
    default: return UNKNOWN;
    }
}

/* As which element a read returns the channels: what the format means, where that was asked for. */
static element read_as(const culv_format_info *f, culv_texels texels, culv_texture_read read,
                       uint32_t *bytes)
{
    bool normalized = texels == CULV_TEXELS_NORMALIZED;
    element e = element_of(normalized ? f->normalized_array_format : f->cuda_array_format, bytes);
    if (normalized || read != CULV_TEXTURE_READ_AS_GRAPHICS) return e;
    switch (f->kind) {
    case CULV_TEXEL_KIND_UNORM:
    case CULV_TEXEL_KIND_SRGB: return UNORM;
    case CULV_TEXEL_KIND_SNORM: return SNORM;
    case CULV_TEXEL_KIND_DEPTH: return e == UNSIGNED ? UNORM : e;
    default: return e;
    }
}

reading sweep_reading(const culv_format_info *f, culv_texels texels, culv_texture_read read)
{
    uint32_t bytes;
    reading r = {.channels =
                     texels == CULV_TEXELS_NORMALIZED ? f->normalized_channels : f->channels};
    if (f->kind == CULV_TEXEL_KIND_BLOCKS) return r; /* SWEEP_FLOAT is 0 */
    switch (read_as(f, texels, read, &bytes)) {
    case UNSIGNED: r.number = SWEEP_UINT; break;
    case SIGNED: r.number = SWEEP_SINT; break;
    case UNKNOWN: r.channels = 0; break;
    default: r.number = SWEEP_FLOAT; break;
    }
    return r;
}

static uint32_t bits_of(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t half(uint32_t bits)
{
    int exponent = (int)(bits >> 10 & 0x1f), fraction = (int)(bits & 0x3ff);
    uint32_t sign = (bits & 0x8000) << 16;
    if (exponent == 31) return sign | 0x7f800000 | (uint32_t)fraction << 13;
    if (exponent == 0) return sign | bits_of(ldexp(fraction, -24));
    return sign | bits_of(ldexp(1024 + fraction, exponent - 25));
}

static double to_linear(double coded)
{
    return coded <= 0.04045 ? coded / 12.92 : pow((coded + 0.055) / 1.055, 2.4);
}

static double to_srgb(double linear)
{
    return linear <= 0.0031308 ? linear * 12.92 : 1.055 * pow(linear, 1 / 2.4) - 0.055;
}

static bool coded(const culv_format_info *f, culv_texture_read read, uint32_t channel)
{
    return f->kind == CULV_TEXEL_KIND_SRGB && read == CULV_TEXTURE_READ_AS_GRAPHICS &&
           f->channel_order[channel] != 'A';
}

static double largest(element e, uint32_t bytes, uint32_t channel)
{
    if (e == UNORM_1010102) return channel < 3 ? 1023 : 3;
    return bytes == 1 ? (e == SNORM ? 127 : 255) : (e == SNORM ? 32767 : 65535);
}

static uint32_t decode_channel(const culv_format_info *f, element e, culv_texture_read read,
                               uint32_t bytes, uint32_t channel, uint32_t raw)
{
    int32_t as_signed = bytes == 1 ? (int8_t)raw : bytes == 2 ? (int16_t)raw : (int32_t)raw;
    double most = largest(e, bytes, channel);
    switch (e) {
    case UNORM: return bits_of(coded(f, read, channel) ? to_linear(raw / most) : raw / most);
    case SNORM: return bits_of(as_signed < -most ? -1.0 : as_signed / most);
    case FLOATING: return bytes == 2 ? half(raw) : raw;
    case SIGNED: return (uint32_t)as_signed;
    default: return raw;
    }
}

static void sweep_decode(const culv_format_info *f, culv_texels texels, culv_texture_read read,
                         const unsigned char *block, uint32_t values[4])
{
    uint32_t bytes, count = sweep_reading(f, texels, read).channels;
    element e = read_as(f, texels, read, &bytes);
    if (e == UNORM_1010102) {
        uint32_t word;
        memcpy(&word, block, sizeof word);
        for (uint32_t c = 0; c < 4; c++)
            values[c] = bits_of((word >> 10 * c & (c < 3 ? 1023u : 3u)) / largest(e, bytes, c));
        return;
    }
    for (uint32_t c = 0; c < count; c++) {
        uint32_t raw = 0;
        for (uint32_t b = 0; b < bytes; b++)
            raw |= (uint32_t)block[c * bytes + b] << 8 * b;
        values[c] = decode_channel(f, e, read, bytes, c, raw);
    }
}

/* A denormalized float may be read as zero. */
static bool same_float(uint32_t found, uint32_t wanted)
{
    float a = float_of(found), b = float_of(wanted);
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (found == wanted) return true;
    return fpclassify(b) == FP_SUBNORMAL && a == 0;
}

/* Whether a value is the one that is wanted: to the bit, but for what hardware may round. */
static bool sweep_value_right(const culv_format_info *f, culv_texels texels, culv_texture_read read,
                              uint32_t channel, uint32_t found, uint32_t wanted)
{
    uint32_t bytes;
    if (found == wanted) return true;
    double a = float_of(found), b = float_of(wanted);
    if (f->kind == CULV_TEXEL_KIND_BLOCKS) {
        /* Decoders may round what they interpolate. */
        if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
        return fabs(a - b) <= 0.004 + fabs(b) / 512;
    }
    element e = read_as(f, texels, read, &bytes);
    if (e == FLOATING) return same_float(found, wanted);
    if (e == UNSIGNED || e == SIGNED) return false;
    /* A normalized value is right when it is nearer to this integer's than to the next one's. */
    if (coded(f, read, channel)) return fabs(to_srgb(a) - to_srgb(b)) < 0.5 / 255;
    return fabs(a - b) < 0.25 / largest(e, bytes, channel);
}

/* One image of the sweep, by all ways: three turns of Vulkan's and two of CUDA's.
 *
 *   Vulkan: the first release.          CUDA: arrays are written (1).
 *   Vulkan: reads (1); writes (2), and what its shaders read of that is kept.
 *   CUDA: arrays and surfaces are read, textures compared (2); surfaces are written (3).
 *   Vulkan: reads (3).
 * */

static void wrong(answer *a, const char *direction, const char *text)
{
    if (a->outcome == OUTCOME_RIGHT) answer_set(a, OUTCOME_WRONG, "%s: %s", direction, text);
}

/* Holds texels against the pattern of this seed, padding between levels apart. */
static void compare_bytes(sweep *s, const sweep_image *i, uint32_t seed, const unsigned char *found,
                          const char *direction, answer *a)
{
    size_t bad = 0, first = 0, all = 0;
    sweep_pattern(i, seed, s->expected);
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++) {
            uint32_t width, height, slices;
            sweep_image_blocks(i, plane, level, &width, &height, &slices);
            size_t size = (size_t)width * height * slices * i->planes[plane].format.bytes_per_block;
            size_t at = i->bytes_at[plane][level];
            all += size;
            if (memcmp(found + at, s->expected + at, size) == 0) continue;
            for (size_t k = at; k < at + size; k++)
                if (found[k] != s->expected[k] && bad++ == 0) first = k;
        }
    if (bad == 0 || a->outcome != OUTCOME_RIGHT) return;
    char where[160];
    sweep_image_where(i, first, where, sizeof where);
    answer_set(a, OUTCOME_WRONG,
               "%s: %zu of %zu bytes are wrong, the first in %s: 0x%02x, not 0x%02x", direction,
               bad, all, where, (unsigned)found[first], (unsigned)s->expected[first]);
}

/* Vulkan's turns ------------------------------------------------------------------------------- */

static void first_release(sweep *s, const sweep_image *i)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    sweep_record_hand_over(commands, i, true, CULV_VK_USE_ANY, true);
    lib_turns_submit(&s->w, &s->turns, commands, 0);
}

static void read_and_write(sweep *s, const sweep_image *i, uint32_t seed)
{
    VkImageView view = VK_NULL_HANDLE;
    bool fetch = sweep_can_fetch(i);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    sweep_pattern(i, seed, s->written.mapped);
    sweep_record_hand_over(commands, i, false, CULV_VK_USE_TRANSFER_SRC, false);
    sweep_record_copy_out(commands, i, s->read.buffer);
    sweep_record_between(commands, i, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                         VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    sweep_record_copy_in(commands, i, s->written.buffer);
    if (fetch) {
        sweep_record_between(commands, i, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                             VK_IMAGE_LAYOUT_GENERAL);
        view = sweep_record_fetch(s, commands, i);
    }
    sweep_record_hand_over(commands, i, true, fetch ? CULV_VK_USE_ANY : CULV_VK_USE_TRANSFER_DST,
                           false);
    lib_turns_submit(&s->w, &s->turns, commands, 0);
    vkDestroyImageView(s->w.vk.device, view, NULL);
}

static void read_last(sweep *s, const sweep_image *i)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    sweep_record_hand_over(commands, i, false, CULV_VK_USE_TRANSFER_SRC, false);
    sweep_record_copy_out(commands, i, s->read.buffer);
    lib_turns_submit(&s->w, &s->turns, commands, 0);
}

/* Textures ------------------------------------------------------------------------------------- */

static uint32_t word(const unsigned char *values, size_t texel, uint32_t channel)
{
    uint32_t value;
    memcpy(&value, values + texel * 16 + (size_t)channel * 4, sizeof value);
    return value;
}

/* Where a shader has what CUDA stores as this channel; 4: nowhere. */
static uint32_t shaders_channel(const culv_format_info *f, uint32_t channel)
{
    switch (f->channel_order[channel]) {
    case 'R':
    case 'D':
    case 'S': return 0;
    case 'G': return 1;
    case 'B': return 2;
    case 'A': return 3;
    default: return 4;
    }
}

/* Kinds whose texture reads mean what a shader's do; of the others CUDA returns the stored
 * integers. */
static bool reads_as_shaders(const sweep_image *i)
{
    switch (i->what.format->kind) {
    case CULV_TEXEL_KIND_UINT:
    case CULV_TEXEL_KIND_SINT:
    case CULV_TEXEL_KIND_FLOAT:
    case CULV_TEXEL_KIND_UNORM:
    case CULV_TEXEL_KIND_SNORM:
    case CULV_TEXEL_KIND_SRGB:
    case CULV_TEXEL_KIND_DEPTH:
    case CULV_TEXEL_KIND_STENCIL:
    case CULV_TEXEL_KIND_BLOCKS: return true;
    case CULV_TEXEL_KIND_PACKED: return i->what.texels == CULV_TEXELS_NORMALIZED;
    default: return false;
    }
}

typedef struct value_check {
    sweep *s;
    const sweep_image *image;
    culv_texture_read read;
    size_t bad, all;
    char first[MAX_REASON / 2];
} value_check;

static void check_value(value_check *v, uint32_t plane, size_t block, size_t texel,
                        uint32_t channel, uint32_t wanted, const char *by)
{
    const sweep_image *i = v->image;
    uint32_t found = word(v->s->found, texel, channel);
    v->all++;
    if (sweep_value_right(&i->planes[plane].format, i->what.texels, v->read, channel, found,
                          wanted))
        return;
    if (v->bad++ > 0) return;
    char where[160];
    sweep_image_where(i, block, where, sizeof where);
    snprintf(v->first, sizeof v->first, "%s, channel %u: 0x%08x, %s 0x%08x", where,
             (unsigned)channel, (unsigned)found, by, (unsigned)wanted);
}

/* One texel, against the definition and against what Vulkan's shaders read. */
static void check_texel(value_check *v, uint32_t plane, size_t block, size_t texel)
{
    const sweep_image *i = v->image;
    const culv_format_info *f = &i->planes[plane].format;
    uint32_t wanted[4] = {0}, count = sweep_reading(f, i->what.texels, v->read).channels;
    bool shaders =
        sweep_can_fetch(i) && v->read == CULV_TEXTURE_READ_AS_GRAPHICS && reads_as_shaders(i);
    bool defined = f->kind != CULV_TEXEL_KIND_BLOCKS;
    if (defined) sweep_decode(f, i->what.texels, v->read, v->s->expected + block, wanted);
    for (uint32_t c = 0; c < count; c++) {
        if (defined) check_value(v, plane, block, texel, c, wanted[c], "by definition");
        uint32_t shown = shaders ? shaders_channel(f, c) : 4;
        if (shown < 4)
            check_value(v, plane, block, texel, c, word(v->s->fetched.mapped, texel, shown),
                        "in Vulkan");
    }
}

static void check_level(value_check *v, uint32_t plane, uint32_t level)
{
    const sweep_image *i = v->image;
    const culv_format_info *f = &i->planes[plane].format;
    uint32_t width, height, slices, blocks_across, blocks_down;
    size_t texel = i->texels_at[plane][level];
    sweep_image_blocks(i, plane, level, &blocks_across, &blocks_down, &slices);
    sweep_image_extent(i, plane, level, &width, &height, &slices);
    for (uint32_t z = 0; z < slices; z++)
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++, texel++) {
                size_t block = ((size_t)z * blocks_down + y / f->block_height) * blocks_across +
                               x / f->block_width;
                check_texel(v, plane, i->bytes_at[plane][level] + block * f->bytes_per_block,
                            texel);
            }
}

static void compare_texture(sweep *s, const sweep_image *i, uint32_t seed, culv_texture_read read,
                            answer *a)
{
    value_check v = {.s = s, .image = i, .read = read};
    const char *name = read == CULV_TEXTURE_READ_STORED ? "read as stored" : "read as graphics do";
    const char *text = sweep_texture_read(s, i, read, s->found);
    if (text != NULL) {
        wrong(a, name, text);
        return;
    }
    sweep_pattern(i, seed, s->expected);
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++)
            check_level(&v, plane, level);
    if (v.bad > 0 && a->outcome == OUTCOME_RIGHT)
        answer_set(a, OUTCOME_WRONG, "%s: %zu of %zu values are wrong, the first in %s", name,
                   v.bad, v.all, v.first);
}

/* What there is nothing to compare with, or that the twin leaves out. */
static bool texture_left_out(const sweep *s, const sweep_image *i, answer *a)
{
    const culv_format_info *f = i->what.format;
    if (f->kind == CULV_TEXEL_KIND_SUBSAMPLED)
        answer_set(a, OUTCOME_SKIPPED, "cuda.h does not say what textures return of 4:2:2 pairs");
    else if (f->kind == CULV_TEXEL_KIND_BLOCKS && s->w.cu->software)
        answer_set(a, OUTCOME_SKIPPED, "the software twin decodes no compressed blocks");
    else if (f->kind == CULV_TEXEL_KIND_BLOCKS && !sweep_can_fetch(i))
        answer_set(a, OUTCOME_SKIPPED,
                   "Vulkan samples no such images, so there is nothing to compare with");
    else
        return false;
    return true;
}

static void textures(sweep *s, const sweep_image *i, uint32_t seed, answer *a)
{
    if (texture_left_out(s, i, a)) return;
    compare_texture(s, i, seed, CULV_TEXTURE_READ_AS_GRAPHICS, a);
    if (!s->lost && i->what.texels == CULV_TEXELS_STORED &&
        i->what.format->kind != CULV_TEXEL_KIND_BLOCKS)
        compare_texture(s, i, seed, CULV_TEXTURE_READ_STORED, a);
}

/* All together --------------------------------------------------------------------------------- */

static bool has_surfaces(const sweep_image *i)
{
    return i->planes[0].format.surfaces != 0;
}

static void turns(sweep *s, const sweep_image *i, uint32_t seed, answer answers[NUM_WAYS])
{
    answer *array = &answers[WAY_ARRAY], *surface = &answers[WAY_SURFACE];
    const char *text;
    first_release(s, i);
    lib_turns_cuda_begin(&s->turns, s->stream);
    sweep_pattern(i, seed, s->expected);
    if ((text = sweep_array_write(s, i, s->expected)) != NULL) wrong(array, "CUDA to Vulkan", text);
    sweep_cuda_end(s);

    read_and_write(s, i, seed + 1);
    compare_bytes(s, i, seed, s->read.mapped, "CUDA to Vulkan", array);

    lib_turns_cuda_begin(&s->turns, s->stream);
    if ((text = sweep_array_read(s, i, s->found)) != NULL) wrong(array, "Vulkan to CUDA", text);
    lib_finish(&s->w, s->stream);
    compare_bytes(s, i, seed + 1, s->found, "Vulkan to CUDA", array);
    if (has_surfaces(i)) {
        if ((text = sweep_surface_read(s, i, s->found)) != NULL)
            wrong(surface, "Vulkan to CUDA", text);
        compare_bytes(s, i, seed + 1, s->found, "Vulkan to CUDA", surface);
    }
    if (!s->lost) textures(s, i, seed + 1, &answers[WAY_TEXTURE]);
    if (s->lost) return;
    if (has_surfaces(i)) {
        sweep_pattern(i, seed + 2, s->expected);
        if ((text = sweep_surface_write(s, i, s->expected)) != NULL)
            wrong(surface, "CUDA to Vulkan", text);
    }
    sweep_cuda_end(s);
    if (!has_surfaces(i)) return;
    read_last(s, i);
    compare_bytes(s, i, seed + 2, s->read.mapped, "CUDA to Vulkan", surface);
}

static void sweep_cell(sweep *s, const cell *what, answer answers[NUM_WAYS])
{
    static uint32_t seed;
    sweep_image i;
    memset(answers, 0, sizeof answers[0] * NUM_WAYS);
    answer planned = sweep_image_plan(s, what, &i);
    if (planned.outcome == OUTCOME_RIGHT) {
        planned = sweep_image_create(s, &i);
        for (int by = 0; by < NUM_WAYS; by++)
            answers[by].outcome = OUTCOME_RIGHT;
        if (!has_surfaces(&i)) answers[WAY_SURFACE].outcome = OUTCOME_NONE;
        if (planned.outcome == OUTCOME_RIGHT) turns(s, &i, seed += 3, answers);
        if (!s->lost) sweep_image_destroy(s, &i);
        if (planned.outcome == OUTCOME_RIGHT) return;
    }
    for (int by = 0; by < NUM_WAYS; by++)
        if (by != WAY_SURFACE || what->format->surfaces != 0 || what->format->planes > 1)
            answers[by] = planned;
}

/* Cases ---------------------------------------------------------------------------------------- */

#define BIT(dimension) (1u << (dimension))

static void print(const cell *what, const char *by, const answer *a)
{
    printf("%s %s, %s, %s, %s image, by %s: %s\n",
           a->outcome == OUTCOME_WRONG     ? "WRONG"
           : a->outcome == OUTCOME_SKIPPED ? "skipped"
                                           : "refused",
           what->format->name, sweep_dimension_names[what->dimension],
           what->texels == CULV_TEXELS_NORMALIZED ? "normalized" : "stored",
           what->origin == ORIGIN_CALLERS ? "the caller's" : "Culvert's", by, a->reason);
}

/* Counts and reports; what is no success is printed, once where it is the same of all ways. */
static void count(sweep *s, const cell *what, const answer answers[NUM_WAYS])
{
    const answer *printed = NULL;
    for (int by = 0; by < NUM_WAYS; by++) {
        const answer *a = &answers[by];
        if (a->outcome == OUTCOME_NONE) continue;
        s->counts[a->outcome]++;
        sweep_report(what, (way)by, a);
        if (a->outcome == OUTCOME_RIGHT) continue;
        if (printed == NULL || strcmp(printed->reason, a->reason) != 0)
            print(what, sweep_way_names[by], a);
        printed = a;
        bool worse = a->outcome == OUTCOME_WRONG && s->counts[OUTCOME_WRONG] == 1;
        if (s->first_reason[0] == '\0' || worse)
            snprintf(s->first_reason, sizeof s->first_reason, "%.64s, %s: %.300s",
                     what->format->name, sweep_way_names[by], a->reason);
    }
}

/* Images of both origins in the STORED form, and in the NORMALIZED one where there is such. */
static void sweep_format(sweep *s, const culv_format_info *format, int dimension)
{
    static const struct {
        origin origin;
        culv_texels texels;
    } kinds[] = {{ORIGIN_CULVERTS, CULV_TEXELS_STORED},
                 {ORIGIN_CALLERS, CULV_TEXELS_STORED},
                 {ORIGIN_CALLERS, CULV_TEXELS_NORMALIZED}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        answer answers[NUM_WAYS];
        const cell what = {.format = format,
                           .dimension = dimension,
                           .texels = kinds[k].texels,
                           .origin = kinds[k].origin};
        if (what.texels == CULV_TEXELS_NORMALIZED && format->normalized_array_format == 0) continue;
        sweep_cell(s, &what, answers);
        count(s, &what, answers);
        if (s->lost) FAIL("a kernel faulted, so the rest was not tried: %s", s->first_reason);
    }
}

/* The family in these dimensions, a bit each. */
static void sweep_family(const char *family, unsigned dimensions)
{
    static sweep s;
    culv_format_info format;
    const char *reduced = test_option("reduced", NULL);
    const char *only = test_option("format", NULL);
    unsigned formats = 0;
    sweep_open(&s);
    for (uint32_t number = 0; sweep_next_row(&number, &format);) {
        const char *its = sweep_family_of(&format);
        if (!format.mapped || its == NULL || strcmp(its, family) != 0) continue;
        if (only != NULL && strcmp(only, format.name) != 0) continue;
        unsigned wanted = dimensions;
        if (reduced != NULL && !sweep_representative(&format))
            wanted &= strcmp(reduced, "most") == 0 ? 0 : BIT(SWEEP_2D);
        for (int dimension = 0; dimension < SWEEP_NUM_DIMENSIONS; dimension++)
            if (wanted & BIT(dimension)) sweep_format(&s, &format, dimension);
        formats += wanted != 0;
    }
    sweep_close(&s);
    MEASURED("answers", "%s: %u formats, %u right, %u wrong, %u skipped, %u refused",
             test_case_name(), formats, s.counts[OUTCOME_RIGHT], s.counts[OUTCOME_WRONG],
             s.counts[OUTCOME_SKIPPED], s.counts[OUTCOME_REFUSED]);
    if (s.counts[OUTCOME_WRONG] > 0)
        FAIL("%u wrong, the first: %s", s.counts[OUTCOME_WRONG], s.first_reason);
    if (s.counts[OUTCOME_RIGHT] > 0) return;
    if (formats == 0) SKIP("none of these formats is in the reduced sweep of these dimensions");
    SKIP("none of the %u formats is possible here; the first: %s", formats, s.first_reason);
}

/* The table itself, for the report, and that none of its rows is left out of the sweep. */
TEST(rows)
{
    culv_format_info format;
    unsigned mapped = 0, all = 0;
    for (uint32_t number = 0; sweep_next_row(&number, &format); all++) {
        sweep_report_row(&format);
        mapped += format.mapped != 0;
        if ((sweep_family_of(&format) != NULL) != (format.mapped != 0))
            FAIL("%s has kind %d, which no family of the sweep has", format.name, (int)format.kind);
    }
    MEASURED("rows", "%u of %u are mapped", mapped, all);
    REQUIRE(mapped > 0);
}

/* Arrays go with what they are of. Y'CbCr is all in one, since little of it is possible. */
#define PARTS(X, family)                                                                           \
    X(family, 1d, BIT(SWEEP_1D) | BIT(SWEEP_1D_ARRAY))                                             \
    X(family, 2d, BIT(SWEEP_2D) | BIT(SWEEP_2D_ARRAY))                                             \
    X(family, 3d, BIT(SWEEP_3D))                                                                   \
    X(family, cube, BIT(SWEEP_CUBE) | BIT(SWEEP_CUBE_ARRAY))
#define ALL_PARTS(X)                                                                               \
    PARTS(X, integers)                                                                             \
    PARTS(X, floats)                                                                               \
    PARTS(X, normalized)                                                                           \
    PARTS(X, packed)                                                                               \
    PARTS(X, depth)                                                                                \
    PARTS(X, blocks)                                                                               \
    X(planes, all, BIT(SWEEP_NUM_DIMENSIONS) - 1)

#define CASE(family, part, dimensions)                                                             \
    TEST_AS(family##_##part, sweep_family(#family, dimensions), .title = #family "." #part,        \
            .time_limit = 240)
ALL_PARTS(CASE)
