/* SPDX-License-Identifier: MIT */
/* What a texture read of a texel returns, by the definition of the format: the reference that the
 * sweep compares CUDA's texture objects with. Independent of the library, of CUDA and of Vulkan;
 * blocks have none here, and are compared with what Vulkan's sampler returns. */
#include "sweep.h"

#include <math.h>

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

void sweep_decode(const culv_format_info *f, culv_texels texels, culv_texture_read read,
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

bool sweep_value_right(const culv_format_info *f, culv_texels texels, culv_texture_read read,
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
