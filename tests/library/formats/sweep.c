/* SPDX-License-Identifier: MIT */
/* The format sweep: every row of the format table in every dimension, all levels and layers,
 * written by CUDA and read by Vulkan and back, through arrays, surfaces and textures. The rows are
 * the library's own (culv_format_get_info), so a new one is swept without a change here. Each
 * answer becomes a line of a results file, from which scripts/report formats makes the table of
 * docs/formats.md. The cases are a family of formats in one dimension, and in arrays of it.
 *
 * Program options: --jsonl=FILE (default: formats.jsonl in --results=DIR), --reduced (2D for all
 * formats, all dimensions for a few), --reduced=most (those few alone), --format=NAME (that one
 * alone). */
#include "image_stage.h"
#include "library.h"
#include "raw_vulkan_image.h"
#include "sweep_kernels.h"

#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_PLANES = 3,
    MAX_REASON = 480,
    SWEEP_BYTES = 1 << 20, /* room for an image's texels, all levels, layers and planes */
    SWEEP_TEXELS = 1 << 16 /* the same, counted */
};

typedef enum outcome {
    OUTCOME_NONE,
    OUTCOME_RIGHT,
    OUTCOME_WRONG,
    OUTCOME_SKIPPED,
    OUTCOME_REFUSED
} outcome;

typedef struct answer {
    outcome outcome;
    char reason[MAX_REASON];
} answer;

/* Each must be right in both directions that it has. Textures are read only. */
typedef enum way { WAY_ARRAY, WAY_SURFACE, WAY_TEXTURE, NUM_WAYS } way;

typedef enum origin {
    ORIGIN_CULVERTS, /* culv_vk_image_create() */
    ORIGIN_CALLERS   /* the caller's own, culv_vk_memory_import() and culv_vk_image_map() */
} origin;

/* What one image is tried for. */
typedef struct cell {
    const culv_format_info *format;
    int dimension;
    culv_texels texels;
    origin origin;
} cell;

/* Shapes of the fetching shaders: a 1D or 2D array, of one layer or more, or 3D. */
enum { FETCH_1D, FETCH_2D, FETCH_3D, NUM_FETCHES };

typedef struct sweep {
    lib_world w;
    CUfunction store, load, sample; /* sweep_... */
    CUstream stream;
    lib_turns turns;
    /* host-visible: SWEEP_BYTES, SWEEP_BYTES, 16 bytes a texel */
    raw_vk_buffer written, read, fetched;
    CUdeviceptr device;              /* 16 bytes a texel */
    unsigned char *expected, *found; /* 16 bytes a texel */
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout pipeline_layout;
    VkDescriptorPool pool;
    VkSampler sampler;
    VkPipeline fetches[NUM_FETCHES][SWEEP_NUM_NUMBERS]; /* made when first used */
    bool lost; /* a kernel faulted: the context is of no use any more */
    unsigned counts[OUTCOME_REFUSED + 1];
    char first_reason[MAX_REASON]; /* of what was not right */
} sweep;

typedef struct sweep_image {
    cell what;
    VkImageCreateInfo info;
    VkExternalMemoryImageCreateInfo external; /* in info's chain, of the caller's */
    VkFormatFeatureFlags features;
    uint32_t plane_count;
    struct {
        culv_format_info format;
        uint32_t across, down; /* what the image's sides are divided by */
        VkImageAspectFlags aspect;
    } planes[MAX_PLANES];
    /* In a buffer: levels one after another, each slice after slice, row after row, without
     * padding. */
    size_t bytes_at[MAX_PLANES][MAX_LEVELS], bytes;
    size_t texels_at[MAX_PLANES][MAX_LEVELS], texels;
    VkImage image;
    culv_image *cuda;
    culv_shared_image *made;
    raw_vk_image caller;
    culv_memory *memory;
} sweep_image;

/* Rows ----------------------------------------------------------------------------------------- */

/* The rows of the format table, the families they are swept in, and names. */

static const char *const sweep_dimension_names[SWEEP_NUM_DIMENSIONS] = {
#define NAME(id, name) [id] = name,
    SWEEP_DIMENSIONS(NAME)
#undef NAME
};

static const char *const sweep_way_names[NUM_WAYS] = {"array", "surface", "texture"};

static const uint32_t row_numbers[] = {
#define NUMBER(name, number) number,
    CULV_FORMATS(NUMBER)
#undef NUMBER
};

/* The next row of the table after `number`, which is 0 at first; false: there is none. */
static bool sweep_next_row(uint32_t *number, culv_format_info *out)
{
    size_t i = 0, count = sizeof row_numbers / sizeof row_numbers[0];
    while (*number != 0 && i < count && row_numbers[i] != *number)
        i++;
    if (*number != 0) i++;
    if (i >= count) return false;
    *number = row_numbers[i];
    *out = culv_format_info_init();
    LIB_OK(culv_format_get_info((culv_format)*number, out));
    return true;
}

/* The family's name; NULL of a kind that no family has. */
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

static bool sweep_name_has(const culv_format_info *format, const char *text)
{
    return strstr(format->name, text) != NULL;
}

static TEST_PRINTF(2, 3) answer answered(outcome what, const char *format, ...)
{
    va_list args;
    answer a = {.outcome = what};
    va_start(args, format);
    vsnprintf(a.reason, sizeof a.reason, format, args);
    va_end(args);
    return a;
}

/* Text of others, as a string of JSON. */
static const char *quoted(const char *value, char out[1024])
{
    size_t length = 0;
    out[length++] = '"';
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0' && length < 1000; c++)
        length += (size_t)snprintf(out + length, 1024 - length,
                                   *c == '"' || *c == '\\' ? "\\%c"
                                   : *c < 0x20             ? "\\u%04x"
                                                           : "%c",
                                   *c);
    strcpy(out + length, "\"");
    return out;
}

/* A line of the results file: JSON, for each row of the table, each answer and the machine. It is
 * written by one write(), so that processes may share the file. */
static TEST_PRINTF(1, 2) void report(const char *format, ...)
{
    char joined[TEST_PATH_MAX], text[4096];
    const char *path = test_option("jsonl", NULL), *dir = test_option("results", NULL);
    va_list args;
    if (path == NULL && dir == NULL) return;
    snprintf(joined, sizeof joined, "%s/formats.jsonl", dir != NULL ? dir : "");
    if (path == NULL) path = joined;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    REQUIRE(length > 0 && length < (int)sizeof text);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) FAIL("%s: %s", path, strerror(errno));
    ssize_t written = write(fd, text, (size_t)length);
    close(fd);
    REQUIRE_EQ(written, length);
}

static void sweep_report(const cell *what, way by, const answer *a)
{
    static const char *const names[] = {"none", "right", "wrong", "skipped", "refused"};
    char reason[1024];
    const bool right = a->outcome == OUTCOME_RIGHT;
    report("{\"format\": \"%s\", \"dimension\": \"%s\", \"form\": \"%s\", \"origin\": \"%s\", "
           "\"way\": \"%s\", \"result\": \"%s\"%s%s}\n",
           what->format->name, sweep_dimension_names[what->dimension],
           what->texels == CULV_TEXELS_NORMALIZED ? "normalized" : "stored",
           what->origin == ORIGIN_CALLERS ? "caller's" : "culvert's", sweep_way_names[by],
           names[a->outcome],
           right ? "" : ", \"reason\": ", right ? "" : quoted(a->reason, reason));
}

static void sweep_report_machine(sweep *s)
{
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    char texts[3][1024], date[16];
    time_t now = time(NULL);
    struct tm day;
    REQUIRE(gmtime_r(&now, &day) != NULL && strftime(date, sizeof date, "%Y-%m-%d", &day) > 0);
    vkGetPhysicalDeviceProperties2(s->w.vk.physical, &properties);
    report("{\"machine\": %s, \"software\": %d, \"cuda_device\": %s, \"cuda\": \"%d.%d\", "
           "\"vulkan_driver\": %s, \"date\": \"%s\"}\n",
           quoted(properties.properties.deviceName, texts[0]), s->w.cu->software,
           quoted(lib_caps(s->w.device).name, texts[1]), s->w.cu->driver_version / 1000,
           s->w.cu->driver_version % 1000 / 10, quoted(driver.driverInfo, texts[2]), date);
}

static void sweep_report_row(const culv_format_info *f)
{
    char why[1024];
    report(
        "{\"row\": \"%s\", \"mapped\": %u, \"why\": %s, \"vk\": %u, \"dxgi\": %u, \"gl\": %u, "
        "\"cuda\": %u, \"channels\": %u, \"cuda_normalized\": %u, \"normalized_channels\": %u, "
        "\"bytes\": %u, \"block_width\": %u, \"block_height\": %u, \"planes\": %u, \"kind\": %d, "
        "\"order\": \"%s\", \"kernel_type\": \"%s\", \"cuda_version\": %u, "
        "\"normalized_cuda_version\": %u}\n",
        f->name, f->mapped, quoted(f->reason_text, why), f->vk_format, f->dxgi_format,
        f->gl_internal_format, f->cuda_array_format, f->channels, f->normalized_array_format,
        f->normalized_channels, f->bytes_per_block, f->block_width, f->block_height, f->planes,
        (int)f->kind, f->channel_order, f->kernel_type, f->cuda_version,
        f->normalized_cuda_version);
}

typedef struct reading {
    int number; /* SWEEP_FLOAT ... */
    uint32_t channels;
} reading;

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

/* What the values of a plane are; channels 0: not defined. */
static reading sweep_reading(const culv_format_info *f, culv_texels texels, culv_texture_read read)
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

/* Images: planned, asked for, made, and where their texels lie in a buffer. */

/* Culvert's images have odd sides, the caller's even ones: GPUs lay the two out in different
 * ways. */
typedef struct shape {
    uint32_t width, height, depth, layers;
} shape;

static const struct {
    VkImageType type;
    VkImageCreateFlags flags;
    shape odd, even;
} shapes[SWEEP_NUM_DIMENSIONS] = {
    [SWEEP_1D] = {VK_IMAGE_TYPE_1D, 0, {1021, 1, 1, 1}, {512, 1, 1, 1}},
    [SWEEP_2D] = {VK_IMAGE_TYPE_2D, 0, {131, 67, 1, 1}, {96, 160, 1, 1}},
    [SWEEP_3D] = {VK_IMAGE_TYPE_3D, 0, {37, 21, 11, 1}, {16, 64, 20, 1}},
    [SWEEP_CUBE] = {VK_IMAGE_TYPE_2D,
                    VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
                    {45, 45, 1, 6},
                    {64, 64, 1, 6}},
    [SWEEP_1D_ARRAY] = {VK_IMAGE_TYPE_1D, 0, {333, 1, 1, 5}, {128, 1, 1, 9}},
    [SWEEP_2D_ARRAY] = {VK_IMAGE_TYPE_2D, 0, {67, 35, 1, 5}, {64, 64, 1, 4}},
    [SWEEP_CUBE_ARRAY] = {VK_IMAGE_TYPE_2D,
                          VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT,
                          {21, 21, 1, 12},
                          {16, 16, 1, 24}},
};

static uint32_t level_side(uint32_t side, uint32_t level)
{
    return side >> level != 0 ? side >> level : 1;
}

/* Of a plane's level: texels; the depth is that, or all layers. */
static VkExtent3D sweep_image_extent(const sweep_image *i, uint32_t plane, uint32_t level)
{
    return (VkExtent3D){level_side(i->info.extent.width / i->planes[plane].across, level),
                        level_side(i->info.extent.height / i->planes[plane].down, level),
                        i->what.dimension == SWEEP_3D ? level_side(i->info.extent.depth, level)
                                                      : i->info.arrayLayers};
}

/* The same in blocks. */
static VkExtent3D sweep_image_blocks(const sweep_image *i, uint32_t plane, uint32_t level)
{
    const culv_format_info *f = &i->planes[plane].format;
    VkExtent3D e = sweep_image_extent(i, plane, level);
    e.width = (e.width + f->block_width - 1) / f->block_width;
    e.height = (e.height + f->block_height - 1) / f->block_height;
    return e;
}

static size_t count_of(VkExtent3D e)
{
    return (size_t)e.width * e.height * e.depth;
}

static size_t bytes_of(const sweep_image *i, uint32_t plane, uint32_t level)
{
    return count_of(sweep_image_blocks(i, plane, level)) * i->planes[plane].format.bytes_per_block;
}

static void lay_out(sweep_image *i)
{
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++) {
            i->bytes_at[plane][level] = i->bytes;
            i->texels_at[plane][level] = i->texels;
            i->bytes += bytes_of(i, plane, level);
            i->bytes = (i->bytes + 15) / 16 * 16; /* bufferOffset */
            i->texels += count_of(sweep_image_extent(i, plane, level));
        }
    REQUIRE(i->bytes <= SWEEP_BYTES && i->texels <= SWEEP_TEXELS);
}

/* For messages: which byte of the texels this is. */
static void sweep_image_where(const sweep_image *i, size_t byte, char *text, size_t size)
{
    uint32_t plane = 0, level = 0;
    for (uint32_t p = 0; p < i->plane_count; p++)
        for (uint32_t l = 0; l < i->info.mipLevels; l++)
            if (i->bytes_at[p][l] <= byte) plane = p, level = l;
    const VkExtent3D e = sweep_image_blocks(i, plane, level);
    size_t block = (byte - i->bytes_at[plane][level]) / i->planes[plane].format.bytes_per_block;
    size_t row = block / e.width;
    snprintf(text, size, "plane %u, level %u of %u, slice or layer %zu of %u, x %zu, y %zu",
             (unsigned)plane, (unsigned)level, (unsigned)i->info.mipLevels, row / e.height,
             (unsigned)e.depth, block % e.width, row % e.height);
}

/* Planning ------------------------------------------------------------------------------------- */

static void plan_planes(sweep_image *i, const culv_format_info *format)
{
    i->plane_count = format->planes;
    REQUIRE(format->planes >= 1 && format->planes <= MAX_PLANES);
    for (uint32_t plane = 0; plane < format->planes; plane++) {
        i->planes[plane].across = plane > 0 ? format->plane_width_divisor : 1;
        i->planes[plane].down = plane > 0 ? format->plane_height_divisor : 1;
        i->planes[plane].format = culv_format_info_init();
        LIB_OK(culv_format_get_info(format->plane_formats[plane], &i->planes[plane].format));
        i->planes[plane].aspect = format->planes > 1
                                      ? (VkImageAspectFlags)VK_IMAGE_ASPECT_PLANE_0_BIT << plane
                                      : format->aspects;
    }
}

static uint32_t whole_chain(const VkExtent3D *e)
{
    uint32_t levels = 1;
    while (e->width >> levels != 0 || e->height >> levels != 0 || e->depth >> levels != 0)
        levels++;
    return levels;
}

/* Formats that require a sampler Y'CbCr conversion (Vulkan's table of them) have 2D images of one
 * level and layer alone, and views that are sampled through a conversion alone. The two RGBA ones
 * are named by their packing. */
static bool is_video(const culv_format_info *f)
{
    return f->kind == CULV_TEXEL_KIND_PLANES || f->kind == CULV_TEXEL_KIND_SUBSAMPLED ||
           sweep_name_has(f, "_4PACK16");
}

/* Drivers lay out what is drawn into in ways of its own. */
static void plan_attachment(sweep_image *i)
{
    if ((i->features & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT) != 0)
        i->info.usage |= VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    if ((i->features & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT) != 0)
        i->info.usage |= VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT;
}

static void plan_info(sweep *s, sweep_image *i, const cell *what)
{
    const shape *its = what->origin == ORIGIN_CALLERS ? &shapes[what->dimension].even
                                                      : &shapes[what->dimension].odd;
    const culv_format_info *f = what->format;
    VkFormatProperties properties;
    vkGetPhysicalDeviceFormatProperties(s->w.vk.physical, (VkFormat)f->vk_format, &properties);
    i->features = properties.optimalTilingFeatures;
    i->info = (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                  .flags = shapes[what->dimension].flags,
                                  .imageType = shapes[what->dimension].type,
                                  .format = (VkFormat)f->vk_format,
                                  .extent = {its->width, its->height, its->depth},
                                  .arrayLayers = its->layers,
                                  .samples = VK_SAMPLE_COUNT_1_BIT,
                                  .tiling = VK_IMAGE_TILING_OPTIMAL,
                                  .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                                           VK_IMAGE_USAGE_TRANSFER_DST_BIT,
                                  .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
                                  .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED};
    if (f->planes > 1) i->info.flags |= VK_IMAGE_CREATE_DISJOINT_BIT;
    if (is_video(f)) {
        /* Odd sizes cannot be halved. One level: VUID-VkImageCreateInfo-format-06410. */
        i->info.extent.width = i->info.extent.width / 2 * 2;
        i->info.extent.height = i->info.extent.height / 2 * 2;
        i->info.mipLevels = 1;
    } else {
        i->info.mipLevels = whole_chain(&i->info.extent);
        /* Drivers lay layers out for a whole chain, or for the levels that there are. */
        if (what->origin == ORIGIN_CALLERS && i->info.mipLevels > 3) i->info.mipLevels -= 2;
    }
    if ((i->features & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT) != 0 &&
        !is_video(f)) /* VUID-VkImageViewCreateInfo-format-06415 */
        i->info.usage |= VK_IMAGE_USAGE_SAMPLED_BIT;
    if (what->origin != ORIGIN_CALLERS) return;
    if (what->dimension == SWEEP_2D || what->dimension == SWEEP_2D_ARRAY) plan_attachment(i);
    i->external = (VkExternalMemoryImageCreateInfo){
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    i->info.pNext = &i->external;
}

static bool is_disjoint(const sweep_image *i)
{
    return (i->info.flags & VK_IMAGE_CREATE_DISJOINT_BIT) != 0;
}

/* What Vulkan says; the chain of levels is cut to what it has. */
static answer ask_vulkan(sweep *s, sweep_image *i)
{
    const VkPhysicalDeviceExternalImageFormatInfo external = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkPhysicalDeviceImageFormatInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .pNext = &external,
        .format = i->info.format,
        .type = i->info.imageType,
        .tiling = i->info.tiling,
        .usage = i->info.usage,
        .flags = i->info.flags};
    VkExternalImageFormatProperties exported = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                           .pNext = &exported};
    VkResult r = vkGetPhysicalDeviceImageFormatProperties2(s->w.vk.physical, &info, &properties);
    const VkImageFormatProperties *limits = &properties.imageFormatProperties;
    if (r == VK_ERROR_FORMAT_NOT_SUPPORTED)
        return answered(OUTCOME_SKIPPED,
                        "Vulkan has no such images (VK_ERROR_FORMAT_NOT_SUPPORTED)");
    if (is_disjoint(i) && (i->features & VK_FORMAT_FEATURE_DISJOINT_BIT) == 0)
        return answered(
            OUTCOME_SKIPPED,
            "Vulkan has no such images whose planes are bound each by itself (DISJOINT)");
    VK_OK(r);
    if (i->info.mipLevels > limits->maxMipLevels) i->info.mipLevels = limits->maxMipLevels;
    if (!(exported.externalMemoryProperties.externalMemoryFeatures &
          VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT))
        return answered(OUTCOME_SKIPPED, "Vulkan exports no such images");
    if (i->info.arrayLayers > limits->maxArrayLayers)
        return answered(OUTCOME_SKIPPED, "Vulkan has no such images of more than %u layers",
                        (unsigned)limits->maxArrayLayers);
    if (i->info.extent.width > limits->maxExtent.width ||
        i->info.extent.height > limits->maxExtent.height ||
        i->info.extent.depth > limits->maxExtent.depth)
        return answered(OUTCOME_SKIPPED, "Vulkan has such images up to %u x %u x %u only",
                        (unsigned)limits->maxExtent.width, (unsigned)limits->maxExtent.height,
                        (unsigned)limits->maxExtent.depth);
    return (answer){.outcome = OUTCOME_RIGHT};
}

/* Describes the image, and answers whether this Vulkan, the gate and this CUDA driver have it:
 * RIGHT, or why not. */
static answer sweep_image_plan(sweep *s, const cell *what, sweep_image *out)
{
    const culv_format_info *f = what->format;
    memset(out, 0, sizeof *out);
    out->what = *what;
    if (is_video(f) && what->dimension != SWEEP_2D)
        /* VUID-VkImageCreateInfo-format-06412 and -06413 */
        return answered(
            OUTCOME_SKIPPED,
            "Vulkan has Y'CbCr formats as 2D images of one layer (arrays: with VK_EXT_ycbcr_image_arrays, which is not enabled here)");
    plan_planes(out, f);
    plan_info(s, out, what);
    const answer a = ask_vulkan(s, out);
    if (a.outcome != OUTCOME_RIGHT) return a;
    const culv_result r = culv_check_format(s->w.device, f->format, what->texels);
    if (r == CULV_ERROR_UNSUPPORTED)
        return answered(OUTCOME_SKIPPED, "%s", culv_last_error_message());
    LIB_OK(r);
    culv_vk_check_desc check = culv_vk_check_desc_init();
    culv_vk_sharing_info sharing = culv_vk_sharing_info_init();
    check.texels = what->texels;
    if (culv_vk_check_image(s->w.attachment, &out->info, &check, &sharing) != CULV_OK)
        return answered(OUTCOME_REFUSED, "%s", culv_last_error_message());
    REQUIRE_EQ(sharing.access, CULV_VK_ACCESS_ARRAY);
    lay_out(out);
    return a;
}

/* Making --------------------------------------------------------------------------------------- */

static culv_result create_culverts(sweep *s, sweep_image *i)
{
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &i->info;
    d.texels = i->what.texels;
    culv_result r = culv_vk_image_create(s->w.attachment, &d, &i->made);
    if (r != CULV_OK) return r;
    i->image = culv_vk_image_handle(i->made);
    i->cuda = culv_shared_image_cuda(i->made);
    return CULV_OK;
}

/* Somewhere in its memory, unless Vulkan or CUDA wants it dedicated. */
static culv_result create_callers(sweep *s, sweep_image *i)
{
    static const unsigned ways[] = {RAW_VK_EXPORT | RAW_VK_UNTOUCHED,
                                    RAW_VK_EXPORT | RAW_VK_UNTOUCHED | RAW_VK_DEDICATED};
    raw_vk_image_desc d = {.format = i->info.format,
                           .width = i->info.extent.width,
                           .height = i->info.extent.height,
                           .depth = i->info.extent.depth,
                           .levels = i->info.mipLevels,
                           .layers = i->info.arrayLayers,
                           .dimensions = (uint32_t)i->info.imageType + 1,
                           .create_flags = i->info.flags,
                           .usage = i->info.usage,
                           .min_offset = 70000,
                           .planes = i->plane_count,
                           .flags = ways[0]};
    if (i->what.format->dedicated || !raw_vk_image_supported(&s->w.vk, &d)) {
        d.flags = ways[1];
        d.min_offset = 0;
    }
    raw_vk_image_create(&s->w.vk, &d, &i->caller);
    i->image = i->caller.image;
    culv_vk_memory_desc md = culv_vk_memory_desc_init();
    md.memory = i->caller.memory;
    md.allocation_size = i->caller.allocation_size;
    md.dedicated = (d.flags & RAW_VK_DEDICATED) != 0;
    if (!is_disjoint(i)) md.image = i->caller.image;
    md.image_offset = i->caller.offset;
    culv_result r = culv_vk_memory_import(s->w.attachment, &md, &i->memory);
    if (r != CULV_OK) return r;
    culv_vk_image_desc id = culv_vk_image_desc_init();
    id.image = i->caller.image;
    id.create_info = &i->info;
    id.offset = is_disjoint(i) ? 0 : i->caller.offset;
    id.texels = i->what.texels;
    memcpy(id.plane_offsets, i->caller.plane_offsets, sizeof id.plane_offsets);
    return culv_vk_image_map(s->w.attachment, i->memory, &id, &i->cuda);
}

static answer sweep_image_create(sweep *s, sweep_image *i)
{
    const bool callers = i->what.origin == ORIGIN_CALLERS;
    if ((callers ? create_callers : create_culverts)(s, i) != CULV_OK)
        return answered(OUTCOME_WRONG, "the gate has it, but it could not be %s: %s",
                        callers ? "mapped" : "made", culv_last_error_message());
    REQUIRE_EQ(lib_image(i->cuda).format, i->what.format->format);
    return (answer){.outcome = OUTCOME_RIGHT};
}

static void sweep_image_destroy(sweep *s, sweep_image *i)
{
    lib_finish(&s->w, s->stream);
    if (i->made != NULL) culv_shared_image_destroy(&i->made, NULL);
    if (i->what.origin != ORIGIN_CALLERS) return;
    culv_image_unmap(&i->cuda, NULL);
    culv_memory_destroy(&i->memory);
    if (i->caller.image != VK_NULL_HANDLE) raw_vk_image_destroy(&s->w.vk, &i->caller);
}

/* What the sweep writes into images: bytes that differ by level, slice, place and seed, and among
 * them the values that are special of the format: 0, 1, the ends, infinities, NaNs, the
 * smallest. */

static uint32_t mix(uint32_t value)
{
    value ^= value >> 16;
    value *= 0x7feb352du;
    value ^= value >> 15;
    value *= 0x846ca68bu;
    return value ^ value >> 16;
}

/* Of a channel of one, two or four bytes, as many as fit; the rest of them are as any other. */
static bool special(const culv_format_info *f, uint32_t size, uint32_t which, uint32_t *value)
{
    static const uint32_t halves[] = {0, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e01, 0x0001, 0x7bff};
    static const uint32_t floats[] = {0,          0x80000000, 0x3f800000, 0x7f800000,
                                      0xff800000, 0x7fc00001, 0x00800000, 0x7f7fffff};
    static const uint32_t depths[] = {0,          0x3f800000, 0x3f000000, 0x00800000,
                                      0x3f7fffff, 0x3dcccccd, 0x3e800000, 0x3eaaaaab};
    const uint32_t top = size == 4 ? 0x80000000u : 1u << (8 * size - 1);
    const uint32_t integers[] = {0,       top | (top - 1),       top,     top - 1, 1,
                                 top + 1, (top | (top - 1)) - 1, top >> 1};
    if (which >= 8) return false;
    if (f->kind == CULV_TEXEL_KIND_DEPTH && size == 4)
        *value = depths[which];
    else if (f->cuda_array_format == CU_AD_FORMAT_HALF)
        *value = halves[which];
    else if (f->cuda_array_format == CU_AD_FORMAT_FLOAT)
        *value = floats[which];
    else
        *value = integers[which];
    return true;
}

/* Bits that the format leaves unused, which Vulkan's copies need not keep. */
static uint32_t unused(const culv_format_info *f, const culv_format_info *image)
{
    if (sweep_name_has(f, "10X6") || sweep_name_has(image, "10X6")) return 0x3f;
    if (sweep_name_has(f, "12X4") || sweep_name_has(image, "12X4")) return 0xf;
    return 0;
}

static uint32_t channel_size(const culv_format_info *f)
{
    if (f->kind == CULV_TEXEL_KIND_BLOCKS) return 4;
    if (f->kind == CULV_TEXEL_KIND_SUBSAMPLED) return f->bytes_per_block / 4;
    return f->bytes_per_block / f->channels;
}

static void put_block(const sweep_image *i, const culv_format_info *f, uint32_t hash,
                      uint32_t place, unsigned char *at)
{
    uint32_t size = channel_size(f), mask = unused(f, i->what.format);
    for (uint32_t c = 0; c * size < f->bytes_per_block; c++) {
        uint32_t value = mix(hash + c * 0x9e3779b9u);
        if (f->kind == CULV_TEXEL_KIND_DEPTH && size == 4) {
            float depth = (float)(value & 0xffffff) / (float)0x1000000;
            memcpy(&value, &depth, sizeof value);
        }
        if (f->kind != CULV_TEXEL_KIND_BLOCKS) (void)special(f, size, place + 3 * c, &value);
        value &= ~mask;
        if (size == 1) at[c] = (unsigned char)value;
        if (size == 2) memcpy(at + (size_t)2 * c, &(uint16_t){(uint16_t)value}, 2);
        if (size == 4) memcpy(at + (size_t)4 * c, &value, 4);
    }
}

static void put_level(const sweep_image *i, uint32_t plane, uint32_t level, uint32_t seed,
                      unsigned char *at)
{
    const culv_format_info *f = &i->planes[plane].format;
    const VkExtent3D e = sweep_image_blocks(i, plane, level);
    for (uint32_t z = 0; z < e.depth; z++)
        for (uint32_t y = 0; y < e.height; y++)
            for (uint32_t x = 0; x < e.width; x++, at += f->bytes_per_block) {
                uint32_t hash =
                    mix(seed + 31 * plane) ^ mix(level + 101) ^ mix(z + 1009) ^ mix(y * 65537 + x);
                /* The first texels of the first row, others in each slice, since a level may have
                 * one texel. */
                put_block(i, f, hash, y == 0 ? x + (z + level) % 8 : 8, at);
            }
}

static void sweep_pattern(const sweep_image *i, uint32_t seed, unsigned char *bytes)
{
    memset(bytes, 0, i->bytes);
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++)
            put_level(i, plane, level, seed, bytes + i->bytes_at[plane][level]);
}

/* Vulkan's half of the sweep: hand-overs with Culvert's barriers, copies of every level, layer and
 * plane. */

enum { MAX_REGIONS = MAX_PLANES * MAX_LEVELS };

static void sweep_record_hand_over(VkCommandBuffer commands, const sweep_image *i, hand_over to,
                                   culv_vk_use use, bool discard)
{
    culv_vk_image_transfer t = culv_vk_image_transfer_init();
    t.image = i->image;
    t.format = i->info.format;
    t.queue_family = 0;
    t.use = use;
    t.discard = discard ? VK_TRUE : VK_FALSE;
    record_barrier(commands, &t, to, false);
}

/* Of formats of several planes COLOR stands for all. */
static void sweep_record_between(VkCommandBuffer commands, const sweep_image *i, VkImageLayout from,
                                 VkImageLayout to)
{
    const VkImageMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
        .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
        .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = i->image,
        .subresourceRange = {i->what.format->aspects, 0, VK_REMAINING_MIP_LEVELS, 0,
                             VK_REMAINING_ARRAY_LAYERS}};
    const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &barrier};
    vkCmdPipelineBarrier2(commands, &info);
}

static uint32_t regions(const sweep_image *i, VkBufferImageCopy out[MAX_REGIONS])
{
    uint32_t count = 0;
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++) {
            VkExtent3D e = sweep_image_extent(i, plane, level);
            if (i->info.imageType != VK_IMAGE_TYPE_3D) e.depth = 1;
            out[count++] = (VkBufferImageCopy){
                .bufferOffset = i->bytes_at[plane][level],
                .imageSubresource = {i->planes[plane].aspect, level, 0, i->info.arrayLayers},
                .imageExtent = e};
        }
    return count;
}

static void sweep_record_copy_out(VkCommandBuffer commands, const sweep_image *i, VkBuffer buffer)
{
    VkBufferImageCopy list[MAX_REGIONS];
    uint32_t count = regions(i, list);
    vkCmdCopyImageToBuffer(commands, i->image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, count,
                           list);
    raw_vk_to_host(commands, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

static void sweep_record_copy_in(VkCommandBuffer commands, const sweep_image *i, VkBuffer buffer)
{
    VkBufferImageCopy list[MAX_REGIONS];
    uint32_t count = regions(i, list);
    vkCmdCopyBufferToImage(commands, buffer, i->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, count,
                           list);
}

/* What Vulkan's shaders read of an image: texelFetch() of every texel of every level. */

static bool sweep_can_fetch(const sweep_image *i)
{
    return (i->info.usage & VK_IMAGE_USAGE_SAMPLED_BIT) != 0;
}

static int sweep_fetched_number(const culv_format_info *format)
{
    if (sweep_name_has(format, "_UINT")) return SWEEP_UINT;
    if (sweep_name_has(format, "_SINT")) return SWEEP_SINT;
    return SWEEP_FLOAT;
}

static void sweep_open_fetch(sweep *s)
{
    VkDevice device = s->w.vk.device;
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                         .maxLod = VK_LOD_CLAMP_NONE};
    VK_OK(vkCreateSampler(device, &sampler, NULL, &s->sampler));
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 2,
        .pBindings = bindings};
    VK_OK(vkCreateDescriptorSetLayout(device, &set, NULL, &s->set_layout));
    const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 5 * sizeof(int32_t)};
    const VkPipelineLayoutCreateInfo layout = {.sType =
                                                   VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &s->set_layout,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &push};
    VK_OK(vkCreatePipelineLayout(device, &layout, NULL, &s->pipeline_layout));
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = 2,
                                             .pPoolSizes = sizes};
    VK_OK(vkCreateDescriptorPool(device, &pool, NULL, &s->pool));
}

static void sweep_close_fetch(sweep *s)
{
    VkDevice device = s->w.vk.device;
    for (int form = 0; form < NUM_FETCHES; form++)
        for (int number = 0; number < SWEEP_NUM_NUMBERS; number++)
            vkDestroyPipeline(device, s->fetches[form][number], NULL);
    vkDestroyDescriptorPool(device, s->pool, NULL);
    vkDestroyPipelineLayout(device, s->pipeline_layout, NULL);
    vkDestroyDescriptorSetLayout(device, s->set_layout, NULL);
    vkDestroySampler(device, s->sampler, NULL);
}

static VkPipeline pipeline(sweep *s, int form, int number)
{
    static const char *const forms[] = {"1d", "2d", "3d"}, *const numbers[] = {"float", "sint",
                                                                               "uint"};
    char name[96];
    VkPipeline *kept = &s->fetches[form][number];
    snprintf(name, sizeof name, "formats_fetch_%s_%s", forms[form], numbers[number]);
    if (*kept == VK_NULL_HANDLE)
        *kept = lib_compute_pipeline(s->w.vk.device, name, s->pipeline_layout);
    return *kept;
}

/* A shader can fetch from arrays of faces, never from a cube. */
static VkImageView make_view(sweep *s, const sweep_image *i)
{
    static const VkImageViewType types[] = {VK_IMAGE_VIEW_TYPE_1D_ARRAY,
                                            VK_IMAGE_VIEW_TYPE_2D_ARRAY, VK_IMAGE_VIEW_TYPE_3D};
    VkImageView view = VK_NULL_HANDLE;
    const VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                        .image = i->image,
                                        .viewType = types[i->info.imageType],
                                        .format = i->info.format,
                                        .subresourceRange = {i->what.format->aspects, 0,
                                                             i->info.mipLevels, 0,
                                                             i->info.arrayLayers}};
    VK_OK(vkCreateImageView(s->w.vk.device, &info, NULL, &view));
    return view;
}

static VkDescriptorSet bind(sweep *s, VkImageView view)
{
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = s->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &s->set_layout};
    VK_OK(vkResetDescriptorPool(s->w.vk.device, s->pool, 0));
    VK_OK(vkAllocateDescriptorSets(s->w.vk.device, &allocate, &set));
    const VkDescriptorImageInfo image = {s->sampler, view, VK_IMAGE_LAYOUT_GENERAL};
    const VkDescriptorBufferInfo values = {s->fetched.buffer, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSet writes[] = {
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = set,
         .dstBinding = 0,
         .descriptorCount = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
         .pImageInfo = &image},
        {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
         .dstSet = set,
         .dstBinding = 1,
         .descriptorCount = 1,
         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
         .pBufferInfo = &values},
    };
    vkUpdateDescriptorSets(s->w.vk.device, 2, writes, 0, NULL);
    return set;
}

/* Into s->fetched, every level; the image is in GENERAL layout. Returns the view, to be destroyed
 * after. */
static VkImageView sweep_record_fetch(sweep *s, VkCommandBuffer commands, const sweep_image *i)
{
    VkImageView view = make_view(s, i);
    VkDescriptorSet set = bind(s, view);
    VkPipeline made = pipeline(s, (int)i->info.imageType, sweep_fetched_number(i->what.format));
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, made);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline_layout, 0, 1,
                            &set, 0, NULL);
    for (uint32_t level = 0; level < i->info.mipLevels; level++) {
        const VkExtent3D e = sweep_image_extent(i, 0, level);
        const int32_t push[] = {(int32_t)e.width, (int32_t)e.height, (int32_t)e.depth,
                                (int32_t)level, (int32_t)i->texels_at[0][level]};
        vkCmdPushConstants(commands, s->pipeline_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           sizeof push, push);
        vkCmdDispatch(commands, ((uint32_t)count_of(e) + 63) / 64, 1, 1);
    }
    raw_vk_to_host(commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_WRITE_BIT);
    return view;
}

/* CUDA's half of the sweep: array copies, surface and texture kernels over every level, layer and
 * plane. */

static char said[MAX_REASON];

static const char *library_said(const char *call)
{
    snprintf(said, sizeof said, "%s: %s", call, culv_last_error_message());
    return said;
}

/* NULL of a success. A kernel's fault stays with the context: it is told by every call from then
 * on. */
static const char *driver_said(sweep *s, const char *call, CUresult r)
{
    if (r == CUDA_SUCCESS) return NULL;
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
    CUarray array = NULL;
    if (culv_image_get_array(i->cuda, level, plane, &array) != CULV_OK)
        return library_said("culv_image_get_array");
    const VkExtent3D e = sweep_image_blocks(i, plane, level);
    const size_t row = (size_t)e.width * i->planes[plane].format.bytes_per_block,
                 at = i->bytes_at[plane][level];
    const bool writes = b->from != NULL;
    const CUDA_MEMCPY3D c = {.WidthInBytes = row,
                             .Height = e.height,
                             .Depth = e.depth,
                             .srcMemoryType = writes ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY,
                             .srcHost = writes ? b->from + at : NULL,
                             .srcArray = writes ? NULL : array,
                             .srcPitch = row,
                             .srcHeight = e.height,
                             .dstMemoryType = writes ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST,
                             .dstHost = writes ? NULL : b->to + at,
                             .dstArray = writes ? array : NULL,
                             .dstPitch = row,
                             .dstHeight = e.height};
    return driver_said(s, "cuMemcpy3DAsync", s->w.cu->Memcpy3DAsync(&c, s->stream));
}

/* In CUDA's turn. NULL, or what the library or driver said. */
static const char *sweep_array_write(sweep *s, const sweep_image *i, const unsigned char *bytes)
{
    host_bytes b = {.from = bytes};
    return visit(s, i, copy_level, &b);
}

static const char *sweep_array_read(sweep *s, const sweep_image *i, unsigned char *bytes)
{
    host_bytes b = {.to = bytes};
    memset(bytes, 0xa5, i->bytes);
    return visit(s, i, copy_level, &b);
}

/* Kernels -------------------------------------------------------------------------------------- */

static const char *launch(sweep *s, CUfunction kernel, uint32_t threads, void **params)
{
    return driver_said(s, "cuLaunchKernel",
                       s->w.cu->LaunchKernel(kernel, (threads + 127) / 128, 1, 1, 128, 1, 1, 0,
                                             s->stream, params, NULL));
}

/* To or from s->device, where the kernels work, in their stream: cuMemcpyHtoD may return before the
 * bytes are there, and the stream waits for no other one. Pageable memory is read before the call
 * returns. */
static void to_device(sweep *s, const unsigned char *bytes, size_t size)
{
    CU_OK(s->w.cu->MemcpyHtoDAsync(s->device, bytes, size, s->stream));
}

/* Waits. */
static const char *from_device(sweep *s, unsigned char *bytes, size_t size)
{
    CUresult r = s->w.cu->MemcpyDtoHAsync(bytes, s->device, size, s->stream);
    if (r == CUDA_SUCCESS) r = s->w.cu->StreamSynchronize(s->stream);
    return driver_said(s, "the kernel's stream", r);
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
    CUsurfObject surface = 0;
    if (culv_image_get_surface(i->cuda, level, plane, &surface) != CULV_OK)
        return library_said("culv_image_get_surface");
    const VkExtent3D e = sweep_image_blocks(i, plane, level);
    int dimension = i->what.dimension, type = type_of(&i->planes[plane].format);
    int w = (int)e.width, h = (int)e.height, d = (int)e.depth;
    CUdeviceptr texels = s->device + i->bytes_at[plane][level];
    void *params[] = {&surface, &dimension, &type, &w, &h, &d, &texels};
    return launch(s, *kernel, (uint32_t)count_of(e), params);
}

static const char *sweep_surface_write(sweep *s, const sweep_image *i, const unsigned char *bytes)
{
    to_device(s, bytes, i->bytes);
    return visit(s, i, surface_level, &s->store);
}

static const char *sweep_surface_read(sweep *s, const sweep_image *i, unsigned char *bytes)
{
    memset(bytes, 0xa5, i->bytes);
    to_device(s, bytes, i->bytes);
    const char *text = visit(s, i, surface_level, &s->load);
    return text != NULL ? text : from_device(s, bytes, i->bytes);
}

/* The levels and layers of a texture; counts of 0: all. */
static bool in_range(const culv_texture_desc *d, uint32_t level)
{
    return level >= d->base_level &&
           (d->level_count == 0 || level - d->base_level < d->level_count);
}

static VkExtent3D range_extent(const sweep_image *i, uint32_t plane, uint32_t level,
                               const culv_texture_desc *d)
{
    VkExtent3D e = sweep_image_extent(i, plane, level);
    if (d->layer_count != 0 && i->what.dimension != SWEEP_3D) e.depth = d->layer_count;
    return e;
}

static const char *texture_level(sweep *s, const sweep_image *i, uint32_t plane, uint32_t level,
                                 void *context)
{
    culv_texture_desc d = *(const culv_texture_desc *)context;
    CUtexObject texture = 0;
    if (!in_range(&d, level)) return NULL;
    d.plane = plane;
    if (culv_image_get_texture(i->cuda, &d, &texture) != CULV_OK)
        return library_said("culv_image_get_texture");
    const reading r = sweep_reading(&i->planes[plane].format, i->what.texels, d.read);
    const VkExtent3D e = range_extent(i, plane, level, &d);
    int dimension = i->what.dimension, number = r.number, channels = (int)r.channels;
    int w = (int)e.width, h = (int)e.height, depth = (int)e.depth,
        which = (int)(level - d.base_level);
    CUdeviceptr values = s->device + i->texels_at[plane][level] * 16;
    void *params[] = {&texture, &dimension, &number, &channels, &which, &w, &h, &depth, &values};
    return launch(s, s->sample, (uint32_t)count_of(e), params);
}

/* Four words a texel into `values`. */
static const char *sweep_texture_read(sweep *s, const sweep_image *i, culv_texture_desc d,
                                      unsigned char *values)
{
    memset(values, 0xa5, i->texels * 16);
    to_device(s, values, i->texels * 16);
    const char *text = visit(s, i, texture_level, &d);
    return text != NULL ? text : from_device(s, values, i->texels * 16);
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
    (void)lib_enter(&s->w); /* where it stays */
    CUmodule surfaces = raw_cuda_module(cu, "formats_surface");
    s->store = raw_cuda_function(cu, surfaces, "sweep_store");
    s->load = raw_cuda_function(cu, surfaces, "sweep_load");
    s->sample = raw_cuda_function(cu, raw_cuda_module(cu, "formats_texture"), "sweep_sample");
    s->device = raw_cuda_memory(cu, (size_t)SWEEP_TEXELS * 16);
    s->stream = lib_case_stream(&s->w);
    s->written = lib_case_buffer(&s->w, SWEEP_BYTES, RAW_VK_HOST);
    s->read = lib_case_buffer(&s->w, SWEEP_BYTES, RAW_VK_HOST);
    s->fetched = lib_case_buffer(&s->w, (VkDeviceSize)SWEEP_TEXELS * 16, RAW_VK_HOST);
    s->expected = test_memory((size_t)SWEEP_TEXELS * 16);
    s->found = test_memory((size_t)SWEEP_TEXELS * 16);
    lib_turns_open(&s->w, &s->turns);
    sweep_open_fetch(s);
    sweep_report_machine(s);
}

static void sweep_close(sweep *s)
{
    lib_finish(&s->w, s->stream);
    raw_vk_idle(&s->w.vk);
    sweep_close_fetch(s);
    lib_turns_close(&s->w, &s->turns);
    test_settle();
    lib_leave(&s->w, NULL);
    lib_close_culvert(&s->w);
    raw_vk_close(&s->w.vk);
    raw_cuda_require_empty(s->w.cu);
}

static void sweep_cuda_end(sweep *s)
{
    lib_turns_cuda_end(&s->turns, s->stream);
    lib_finish(&s->w, s->stream);
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
    if (text != NULL && a->outcome == OUTCOME_RIGHT)
        *a = answered(OUTCOME_WRONG, "%s: %s", direction, text);
}

/* Holds texels against the pattern of this seed, padding between levels apart. */
static void compare_bytes(sweep *s, const sweep_image *i, uint32_t seed, const unsigned char *found,
                          const char *direction, answer *a)
{
    size_t bad = 0, first = 0, all = 0;
    sweep_pattern(i, seed, s->expected);
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++) {
            const size_t size = bytes_of(i, plane, level), at = i->bytes_at[plane][level];
            all += size;
            if (memcmp(found + at, s->expected + at, size) == 0) continue;
            for (size_t k = at; k < at + size; k++)
                if (found[k] != s->expected[k] && bad++ == 0) first = k;
        }
    if (bad == 0 || a->outcome != OUTCOME_RIGHT) return;
    char where[160];
    sweep_image_where(i, first, where, sizeof where);
    *a = answered(OUTCOME_WRONG,
                  "%s: %zu of %zu bytes are wrong, the first in %s: 0x%02x, not 0x%02x", direction,
                  bad, all, where, (unsigned)found[first], (unsigned)s->expected[first]);
}

/* Vulkan's turns ------------------------------------------------------------------------------- */

static void first_release(sweep *s, const sweep_image *i)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    sweep_record_hand_over(commands, i, TO_CUDA, CULV_VK_USE_ANY, true);
    lib_turns_submit(&s->w, &s->turns, commands, 0);
}

static void read_and_write(sweep *s, const sweep_image *i, uint32_t seed)
{
    VkImageView view = VK_NULL_HANDLE;
    bool fetch = sweep_can_fetch(i);
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    sweep_pattern(i, seed, s->written.mapped);
    sweep_record_hand_over(commands, i, TO_VULKAN, CULV_VK_USE_TRANSFER_SRC, false);
    sweep_record_copy_out(commands, i, s->read.buffer);
    sweep_record_between(commands, i, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                         VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    sweep_record_copy_in(commands, i, s->written.buffer);
    if (fetch) {
        sweep_record_between(commands, i, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                             VK_IMAGE_LAYOUT_GENERAL);
        view = sweep_record_fetch(s, commands, i);
    }
    sweep_record_hand_over(commands, i, TO_CUDA, fetch ? CULV_VK_USE_ANY : CULV_VK_USE_TRANSFER_DST,
                           false);
    lib_turns_submit(&s->w, &s->turns, commands, 0);
    vkDestroyImageView(s->w.vk.device, view, NULL);
}

static void read_last(sweep *s, const sweep_image *i)
{
    VkCommandBuffer commands = raw_vk_begin(&s->w.vk, 0);
    sweep_record_hand_over(commands, i, TO_VULKAN, CULV_VK_USE_TRANSFER_SRC, false);
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
    culv_texture_desc of;
    size_t bad, all;
    char first[MAX_REASON / 2];
} value_check;

static void check_value(value_check *v, uint32_t plane, size_t block, size_t texel,
                        uint32_t channel, uint32_t wanted, const char *by)
{
    const sweep_image *i = v->image;
    uint32_t found = word(v->s->found, texel, channel);
    v->all++;
    if (sweep_value_right(&i->planes[plane].format, i->what.texels, v->of.read, channel, found,
                          wanted))
        return;
    if (v->bad++ > 0) return;
    char where[160];
    sweep_image_where(i, block, where, sizeof where);
    snprintf(v->first, sizeof v->first, "%s, channel %u: 0x%08x, %s 0x%08x", where,
             (unsigned)channel, (unsigned)found, by, (unsigned)wanted);
}

/* One texel, against the definition and against what Vulkan's shaders read of the one at
 * `fetched`, of blocks as they are stored too. */
static void check_texel(value_check *v, uint32_t plane, size_t block, size_t texel, size_t fetched)
{
    const sweep_image *i = v->image;
    const culv_format_info *f = &i->planes[plane].format;
    uint32_t wanted[4] = {0}, count = sweep_reading(f, i->what.texels, v->of.read).channels;
    const bool defined = f->kind != CULV_TEXEL_KIND_BLOCKS;
    const bool stored = v->of.read == CULV_TEXTURE_READ_STORED;
    const bool shaders = sweep_can_fetch(i) && !(stored && defined) && reads_as_shaders(i);
    if (defined) sweep_decode(f, i->what.texels, v->of.read, v->s->expected + block, wanted);
    for (uint32_t c = 0; c < count; c++) {
        if (defined) check_value(v, plane, block, texel, c, wanted[c], "by definition");
        uint32_t shown = shaders ? shaders_channel(f, c) : 4;
        if (shown == 4) continue;
        uint32_t vulkans = word(v->s->fetched.mapped, fetched, shown);
        if (stored && shown < 3 && sweep_name_has(f, "_SRGB_"))
            vulkans = bits_of(to_srgb(float_of(vulkans)));
        check_value(v, plane, block, texel, c, vulkans, "in Vulkan");
    }
}

static void check_level(value_check *v, uint32_t plane, uint32_t level)
{
    const sweep_image *i = v->image;
    const culv_format_info *f = &i->planes[plane].format;
    size_t texel = i->texels_at[plane][level];
    const VkExtent3D blocks = sweep_image_blocks(i, plane, level);
    const VkExtent3D e = range_extent(i, plane, level, &v->of);
    const size_t before = (size_t)v->of.base_layer * e.width * e.height;
    for (uint32_t z = v->of.base_layer; z < v->of.base_layer + e.depth; z++)
        for (uint32_t y = 0; y < e.height; y++)
            for (uint32_t x = 0; x < e.width; x++, texel++) {
                size_t block = ((size_t)z * blocks.height + y / f->block_height) * blocks.width +
                               x / f->block_width;
                check_texel(v, plane, i->bytes_at[plane][level] + block * f->bytes_per_block, texel,
                            texel + before);
            }
}

static void compare_texture(sweep *s, const sweep_image *i, uint32_t seed, culv_texture_desc d,
                            answer *a)
{
    value_check v = {.s = s, .image = i, .of = d};
    char name[128];
    snprintf(name, sizeof name, "levels %u + %u, layers %u + %u (0: all), read as %s",
             (unsigned)d.base_level, (unsigned)d.level_count, (unsigned)d.base_layer,
             (unsigned)d.layer_count,
             d.read == CULV_TEXTURE_READ_STORED ? "stored" : "graphics do");
    const char *text = sweep_texture_read(s, i, d, s->found);
    wrong(a, name, text);
    if (text != NULL) return;
    sweep_pattern(i, seed, s->expected);
    for (uint32_t plane = 0; plane < i->plane_count; plane++)
        for (uint32_t level = 0; level < i->info.mipLevels; level++)
            if (in_range(&d, level)) check_level(&v, plane, level);
    if (v.bad > 0 && a->outcome == OUTCOME_RIGHT)
        *a = answered(OUTCOME_WRONG, "%s: %zu of %zu values are wrong, the first in %s", name,
                      v.bad, v.all, v.first);
}

/* Ranges of levels and layers, where CUDA has views: of blocks and normalized arrays none; of cubes
 * and 1D arrays all layers, and of the latter one level or those from 0 on. Of RGBA8 they are all
 * tried that begin or end at another end, of other formats one of a 2D array. */
static void ranges(sweep *s, const sweep_image *i, uint32_t seed, culv_texture_desc d, answer *a)
{
    const uint32_t levels = i->info.mipLevels, layers = i->info.arrayLayers;
    const bool all = i->what.format->format == CULV_FORMAT_R8G8B8A8_UNORM,
               lines = i->what.dimension == SWEEP_1D_ARRAY,
               whole = lines || i->info.flags != 0 || layers == 1;
    if (i->what.texels != CULV_TEXELS_STORED || i->plane_count > 1 ||
        i->what.format->kind == CULV_TEXEL_KIND_BLOCKS ||
        (!all && i->what.dimension != SWEEP_2D_ARRAY))
        return;
    for (uint32_t k = 0; k < 16 && !s->lost; k++) {
        const uint32_t first[] = {0, 1, levels / 2, levels - 1};
        d.base_level = first[k % 4];
        d.level_count = k & 4 ? 1 : levels - d.base_level;
        d.base_layer = k & 8 && !whole ? 1 : 0;
        d.layer_count = k & 8 && !whole ? (k & 1 ? 1 : layers - 2) : layers;
        if (d.base_level >= levels || (lines && d.base_level > 0 && d.level_count > 1)) continue;
        if (all || k == 9) compare_texture(s, i, seed, d, a);
    }
}

/* What there is nothing to compare with, or that the twin leaves out. */
static bool texture_left_out(const sweep *s, const sweep_image *i, answer *a)
{
    const culv_format_info *f = i->what.format;
    if (f->kind == CULV_TEXEL_KIND_SUBSAMPLED)
        *a = answered(OUTCOME_SKIPPED, "cuda.h does not say what textures return of 4:2:2 pairs");
    else if (f->kind == CULV_TEXEL_KIND_BLOCKS && s->w.cu->software) {
        /* It refuses wrong flags before. */
        culv_texture_desc d = culv_texture_desc_init();
        CUtexObject texture = 0;
        for (d.read = CULV_TEXTURE_READ_AS_GRAPHICS; d.read <= CULV_TEXTURE_READ_STORED; d.read++) {
            REQUIRE_EQ(culv_image_get_texture(i->cuda, &d, &texture), CULV_ERROR_DRIVER);
            REQUIRE_EQ(lib_last_error().native_code, CUDA_ERROR_NOT_SUPPORTED);
        }
        *a = answered(OUTCOME_SKIPPED, "the software twin decodes no compressed blocks");
    } else if (f->kind == CULV_TEXEL_KIND_BLOCKS && !sweep_can_fetch(i))
        *a = answered(OUTCOME_SKIPPED,
                      "Vulkan samples no such images, so there is nothing to compare with");
    else
        return false;
    return true;
}

static void textures(sweep *s, const sweep_image *i, uint32_t seed, answer *a)
{
    if (texture_left_out(s, i, a)) return;
    for (int read = CULV_TEXTURE_READ_AS_GRAPHICS; read <= CULV_TEXTURE_READ_STORED; read++) {
        culv_texture_desc d = culv_texture_desc_init();
        d.read = (culv_texture_read)read;
        if (s->lost || (d.read == CULV_TEXTURE_READ_STORED && i->what.texels != CULV_TEXELS_STORED))
            return;
        compare_texture(s, i, seed, d, a);
        ranges(s, i, seed, d, a);
    }
}

/* All together --------------------------------------------------------------------------------- */

static bool has_surfaces(const sweep_image *i)
{
    return i->planes[0].format.surfaces != 0;
}

static void turns(sweep *s, const sweep_image *i, uint32_t seed, answer answers[NUM_WAYS])
{
    answer *array = &answers[WAY_ARRAY], *surface = &answers[WAY_SURFACE];
    first_release(s, i);
    lib_turns_cuda_begin(&s->turns, s->stream);
    sweep_pattern(i, seed, s->expected);
    wrong(array, "CUDA to Vulkan", sweep_array_write(s, i, s->expected));
    sweep_cuda_end(s);

    read_and_write(s, i, seed + 1);
    compare_bytes(s, i, seed, s->read.mapped, "CUDA to Vulkan", array);

    lib_turns_cuda_begin(&s->turns, s->stream);
    wrong(array, "Vulkan to CUDA", sweep_array_read(s, i, s->found));
    lib_finish(&s->w, s->stream);
    compare_bytes(s, i, seed + 1, s->found, "Vulkan to CUDA", array);
    if (has_surfaces(i)) {
        wrong(surface, "Vulkan to CUDA", sweep_surface_read(s, i, s->found));
        compare_bytes(s, i, seed + 1, s->found, "Vulkan to CUDA", surface);
    }
    if (!s->lost) textures(s, i, seed + 1, &answers[WAY_TEXTURE]);
    if (s->lost) return;
    if (has_surfaces(i)) {
        sweep_pattern(i, seed + 2, s->expected);
        wrong(surface, "CUDA to Vulkan", sweep_surface_write(s, i, s->expected));
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
