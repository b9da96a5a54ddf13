// SPDX-License-Identifier: MIT
// Surfaces for kernels on the software twin: the part of CUDA's surface functions that
// culvert_kernel.h gives a .cu source there. On NVIDIA devices these are the compiler's own.
//
//     CULV_KERNEL void paint(CULV_GRID cudaSurfaceObject_t image, int width, int height)
//     {
//         int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
//         if (x >= width || y >= height) return;
//         surf2Dwrite(make_uchar4(x, y, 0, 255), image, x * (int)sizeof(uchar4), y); // x in BYTES
//     }
//
// surf1D, surf2D, surf3D, surf1DLayered, surf2DLayered, surfCubemap and surfCubemapLayered, each as
// ...read (both forms) and ...write. The function must be that of the array's own kind: surf2Dread
// on a layered array faults. Bytes are stored as they are, whatever the array's format. x is a
// multiple of the type's size: where it is not, which CUDA leaves undefined, the kernel faults. Out
// of range in any direction, cudaBoundaryModeTrap (the default) faults too, Clamp takes the nearest
// element, Zero reads zeros and drops writes; a layer or face is treated as y is.
//
#ifndef CULVERT_TEXTURE_H_
#define CULVERT_TEXTURE_H_

#include "../shared/module_abi.h"

#include <surface_types.h>
#include <texture_types.h>

namespace culv_soft {

// A store to no page at all, which becomes the context's CUDA_ERROR_ILLEGAL_ADDRESS. Several
// threads of a kernel may come here at once: no race.
[[noreturn]] __attribute__((noinline, cold, no_sanitize("thread"))) inline void surface_fault()
{
    static volatile uintptr_t nowhere = 64; // the compiler cannot know
    *reinterpret_cast<volatile unsigned char *>(nowhere) = 0;
    __builtin_trap();
}

template <typename T> struct surface_type {
    static constexpr bool allowed = false;
};
#define CULV_SURFACE_TYPE_(type)                                                                   \
    template <> struct surface_type<type> {                                                        \
        static constexpr bool allowed = true;                                                      \
    };
#define CULV_SURFACE_TYPES_(base, vector)                                                          \
    CULV_SURFACE_TYPE_(base)                                                                       \
    CULV_SURFACE_TYPE_(vector##1)                                                                  \
    CULV_SURFACE_TYPE_(vector##2)
CULV_SURFACE_TYPE_(char)
CULV_SURFACE_TYPES_(signed char, char)
CULV_SURFACE_TYPE_(char4)
CULV_SURFACE_TYPES_(unsigned char, uchar)
CULV_SURFACE_TYPE_(uchar4)
CULV_SURFACE_TYPES_(short, short)
CULV_SURFACE_TYPE_(short4)
CULV_SURFACE_TYPES_(unsigned short, ushort)
CULV_SURFACE_TYPE_(ushort4)
CULV_SURFACE_TYPES_(int, int)
CULV_SURFACE_TYPE_(int4)
CULV_SURFACE_TYPES_(unsigned, uint)
CULV_SURFACE_TYPE_(uint4)
CULV_SURFACE_TYPES_(float, float)
CULV_SURFACE_TYPE_(float4)
CULV_SURFACE_TYPES_(long long, longlong)
CULV_SURFACE_TYPES_(unsigned long long, ulonglong)
#undef CULV_SURFACE_TYPES_
#undef CULV_SURFACE_TYPE_

// Where the element is; NULL where there is none and the mode says that this is no fault.
template <typename T, culv_soft_dimensions Dimensions>
static inline __attribute__((always_inline)) unsigned char *
surface_at(cudaSurfaceObject_t handle, int x, int y, int z, cudaSurfaceBoundaryMode mode)
{
    static_assert(surface_type<T>::allowed, "CUDA has no surface functions for this type");
    constexpr int size = static_cast<int>(sizeof(T));
    const culv_soft_surface *surface =
        reinterpret_cast<const culv_soft_surface *>(CULV_SOFT_ADDRESS(handle));
    if (__builtin_expect(surface == nullptr, 0)) surface_fault();
    constexpr bool has_y = Dimensions != CULV_SOFT_1D && Dimensions != CULV_SOFT_1D_LAYERED;
    constexpr bool has_z = Dimensions != CULV_SOFT_1D && Dimensions != CULV_SOFT_2D;
    const int last_x = static_cast<int>(surface->width_bytes) - size;
    const int last_y = static_cast<int>(surface->height) - 1,
              last_z = static_cast<int>(surface->depth) - 1;
    // A surface that is gone has another turn; one whose array is gone has no dimensions.
    bool faulty = surface->turn != handle >> CULV_SOFT_TURN_SHIFT ||
                  surface->dimensions != Dimensions || last_x < 0 || x % size != 0;
    if (mode == cudaBoundaryModeClamp) {
        x = x < 0 ? 0 : x > last_x ? last_x : x;
        if (has_y) y = y < 0 ? 0 : y > last_y ? last_y : y;
        if (has_z) z = z < 0 ? 0 : z > last_z ? last_z : z;
    } else if (x < 0 || x > last_x || (has_y && (y < 0 || y > last_y)) ||
               (has_z && (z < 0 || z > last_z))) {
        if (mode == cudaBoundaryModeZero && !faulty) return nullptr;
        faulty = true;
    }
    if (__builtin_expect(faulty, 0)) surface_fault();
    unsigned char *at = surface->start + static_cast<uint64_t>(x);
    if (has_y) at += static_cast<uint64_t>(y) * surface->pitch;
    if (has_z) at += static_cast<uint64_t>(z) * surface->slice;
    return at;
}

template <typename T>
static inline __attribute__((always_inline)) void surface_store(unsigned char *at, T value)
{
    if (at != nullptr) std::memcpy(at, &value, sizeof(value));
}

template <typename T>
static inline __attribute__((always_inline)) void surface_load(T *out, const unsigned char *at)
{
    if (at != nullptr)
        std::memcpy(out, at, sizeof(*out));
    else
        std::memset(out, 0, sizeof(*out));
}

} // namespace culv_soft

#define CULV_UNPACK_(...) __VA_ARGS__
// The three forms of one kind; `params` are its coordinates, `where` what surface_at takes for
// them.
#define CULV_SURFACE_FUNCTIONS_(name, dimensions, params, args, where)                             \
    template <typename T>                                                                          \
    static inline __attribute__((always_inline)) void name##write(                                 \
        T value, cudaSurfaceObject_t surface, CULV_UNPACK_ params,                                 \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                                       \
    {                                                                                              \
        culv_soft::surface_store(                                                                  \
            culv_soft::surface_at<T, dimensions>(surface, CULV_UNPACK_ where, mode), value);       \
    }                                                                                              \
    template <typename T>                                                                          \
    static inline __attribute__((always_inline)) void name##read(                                  \
        T *out, cudaSurfaceObject_t surface, CULV_UNPACK_ params,                                  \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                                       \
    {                                                                                              \
        culv_soft::surface_load(                                                                   \
            out, culv_soft::surface_at<T, dimensions>(surface, CULV_UNPACK_ where, mode));         \
    }                                                                                              \
    template <typename T>                                                                          \
    static inline __attribute__((always_inline))                                                   \
    T name##read(cudaSurfaceObject_t surface, CULV_UNPACK_ params,                                 \
                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                              \
    {                                                                                              \
        T value;                                                                                   \
        name##read(&value, surface, CULV_UNPACK_ args, mode);                                      \
        return value;                                                                              \
    }

CULV_SURFACE_FUNCTIONS_(surf1D, CULV_SOFT_1D, (int x), (x), (x, 0, 0))
CULV_SURFACE_FUNCTIONS_(surf2D, CULV_SOFT_2D, (int x, int y), (x, y), (x, y, 0))
CULV_SURFACE_FUNCTIONS_(surf3D, CULV_SOFT_3D, (int x, int y, int z), (x, y, z), (x, y, z))
CULV_SURFACE_FUNCTIONS_(surf1DLayered, CULV_SOFT_1D_LAYERED, (int x, int layer), (x, layer),
                        (x, 0, layer))
CULV_SURFACE_FUNCTIONS_(surf2DLayered, CULV_SOFT_2D_LAYERED, (int x, int y, int layer),
                        (x, y, layer), (x, y, layer))
CULV_SURFACE_FUNCTIONS_(surfCubemap, CULV_SOFT_CUBE, (int x, int y, int face), (x, y, face),
                        (x, y, face))
CULV_SURFACE_FUNCTIONS_(surfCubemapLayered, CULV_SOFT_CUBE_LAYERED, (int x, int y, int layerface),
                        (x, y, layerface), (x, y, layerface))
#undef CULV_SURFACE_FUNCTIONS_

// Textures for kernels on the software twin: the part of CUDA's texture functions that
// culvert_kernel.h gives a .cu source there. On NVIDIA devices these are the compiler's own.
//
//     CULV_KERNEL void sample(CULV_GRID cudaTextureObject_t image, float4 *out, int width,
//                             int height)
//     {
//         int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
//         if (x >= width || y >= height) return;
//         out[y * width + x] = tex2D<float4>(image, (x + 0.5f) / width, (y + 0.5f) / height);
//     }
//
// tex1D, tex2D, tex3D, tex1DLayered, tex2DLayered, texCubemap, texCubemapLayered, the ...Lod form
// of each, and tex1Dfetch; each in both of CUDA's forms (returned, and through a pointer). No
// gather, no gradients, no residency. What CUDA leaves undefined faults: a function of another kind
// than the array's, a type that does not go with what is stored (floats for what reads as floating
// point, integers of the same sign and at least as wide for the rest), more channels than there
// are.
//
// Filter weights are floats, where NVIDIA's have 8 bits behind the point: results differ by up to
// 1/256 of the difference of two texels, and a coordinate within 1/512 of a texel's border may read
// its neighbour there. A read without a level is of level 0 (plus bias, clamped), as in CUDA
// kernels, which have no derivatives. Anisotropy has no effect.
//

namespace culv_soft {

enum texture_base { TEXTURE_FLOAT, TEXTURE_SIGNED, TEXTURE_UNSIGNED };

template <typename T> struct texture_type {
    static constexpr int channels = 0;
};
#define CULV_TEXTURE_TYPE_(type, element, kind, count)                                             \
    template <> struct texture_type<type> {                                                        \
        using base = element;                                                                      \
        static constexpr texture_base number = kind;                                               \
        static constexpr int channels = count;                                                     \
    };
#define CULV_TEXTURE_TYPES_(element, vector, kind)                                                 \
    CULV_TEXTURE_TYPE_(element, element, kind, 1)                                                  \
    CULV_TEXTURE_TYPE_(vector##1, element, kind, 1)                                                \
    CULV_TEXTURE_TYPE_(vector##2, element, kind, 2)                                                \
    CULV_TEXTURE_TYPE_(vector##4, element, kind, 4)
CULV_TEXTURE_TYPE_(char, signed char, TEXTURE_SIGNED, 1)
CULV_TEXTURE_TYPES_(signed char, char, TEXTURE_SIGNED)
CULV_TEXTURE_TYPES_(unsigned char, uchar, TEXTURE_UNSIGNED)
CULV_TEXTURE_TYPES_(short, short, TEXTURE_SIGNED)
CULV_TEXTURE_TYPES_(unsigned short, ushort, TEXTURE_UNSIGNED)
CULV_TEXTURE_TYPES_(int, int, TEXTURE_SIGNED)
CULV_TEXTURE_TYPES_(unsigned, uint, TEXTURE_UNSIGNED)
CULV_TEXTURE_TYPES_(float, float, TEXTURE_FLOAT)
#undef CULV_TEXTURE_TYPES_
#undef CULV_TEXTURE_TYPE_

// Four channels: floats, or integers extended to 32 bits.
union texture_value {
    float f[4];
    uint32_t u[4];
    int32_t s[4];
};

struct texture_texel_kind {
    texture_base number;
    int bytes; // of a channel; the least that an integer type must have
};

static inline texture_texel_kind texture_kind_of(int texel)
{
    switch (texel) {
    case CULV_SOFT_UINT8: return {TEXTURE_UNSIGNED, 1};
    case CULV_SOFT_UINT16: return {TEXTURE_UNSIGNED, 2};
    case CULV_SOFT_UINT32: return {TEXTURE_UNSIGNED, 4};
    case CULV_SOFT_SINT8: return {TEXTURE_SIGNED, 1};
    case CULV_SOFT_SINT16: return {TEXTURE_SIGNED, 2};
    case CULV_SOFT_SINT32: return {TEXTURE_SIGNED, 4};
    default: return {TEXTURE_FLOAT, 4};
    }
}

template <typename T> static inline T texture_load(const unsigned char *at, int channel)
{
    T value;
    std::memcpy(&value, at + static_cast<size_t>(channel) * sizeof(T), sizeof(value));
    return value;
}

static inline float texture_half(uint16_t bits)
{
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16,
                   exponent = bits >> 10 & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 0) {
        const float small = static_cast<float>(fraction) * (1.0f / 16777216.0f); // 2^-24
        return sign != 0 ? -small : small;
    }
    const uint32_t word =
        sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
    float value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
}

static inline float texture_linear_of_srgb(float c)
{
    return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

// Both of -2^n and -2^n + 1 are -1.
static inline float texture_snorm(int value, int limit)
{
    return value < -limit ? -1.0f : static_cast<float>(value) / static_cast<float>(limit);
}

static inline texture_value texture_decode(const culv_soft_texture &texture,
                                           const unsigned char *at)
{
    texture_value value = {{0.0f, 0.0f, 0.0f, 0.0f}};
    if (texture.texel == CULV_SOFT_UNORM_101010_2) {
        const uint32_t word = texture_load<uint32_t>(at, 0); // red in the lowest bits
        value.f[0] = static_cast<float>(word & 0x3ffu) / 1023.0f;
        value.f[1] = static_cast<float>(word >> 10 & 0x3ffu) / 1023.0f;
        value.f[2] = static_cast<float>(word >> 20 & 0x3ffu) / 1023.0f;
        value.f[3] = static_cast<float>(word >> 30) / 3.0f;
        return value;
    }
    for (int c = 0; c < texture.channels; c++)
        switch (texture.texel) {
        case CULV_SOFT_UINT8: value.u[c] = at[c]; break;
        case CULV_SOFT_UINT16: value.u[c] = texture_load<uint16_t>(at, c); break;
        case CULV_SOFT_SINT8: value.s[c] = texture_load<int8_t>(at, c); break;
        case CULV_SOFT_SINT16: value.s[c] = texture_load<int16_t>(at, c); break;
        case CULV_SOFT_UNORM8: value.f[c] = static_cast<float>(at[c]) / 255.0f; break;
        case CULV_SOFT_UNORM16:
            value.f[c] = static_cast<float>(texture_load<uint16_t>(at, c)) / 65535.0f;
            break;
        case CULV_SOFT_SNORM8: value.f[c] = texture_snorm(texture_load<int8_t>(at, c), 127); break;
        case CULV_SOFT_SNORM16:
            value.f[c] = texture_snorm(texture_load<int16_t>(at, c), 32767);
            break;
        case CULV_SOFT_HALF: value.f[c] = texture_half(texture_load<uint16_t>(at, c)); break;
        case CULV_SOFT_SRGB8: {
            const float stored = static_cast<float>(at[c]) / 255.0f;
            value.f[c] = c == 3 ? stored : texture_linear_of_srgb(stored);
            break;
        }
        default: value.u[c] = texture_load<uint32_t>(at, c); break; // 32 bits, floats too
        }
    return value;
}

// Address modes, by CUDA's numbers.
enum { TEXTURE_WRAP, TEXTURE_CLAMP, TEXTURE_MIRROR, TEXTURE_BORDER };

// From a coordinate to texels, so that the integer part is small whatever came in; NaN reads the
// first texel.
static inline float texture_place(const culv_soft_texture &texture, int mode, float at,
                                  uint32_t extent)
{
    const float size = static_cast<float>(extent);
    if (texture.normalized) {
        if (mode == TEXTURE_WRAP) at -= floorf(at);
        if (mode == TEXTURE_MIRROR) at -= 2.0f * floorf(at * 0.5f);
        at *= size;
    }
    if (mode == TEXTURE_WRAP || mode == TEXTURE_MIRROR) {
        if (!(at >= 0.0f && at <= 2.0f * size)) at = 0.0f; // infinities
        return at;
    }
    if (!(at > -2.0f)) return at <= -2.0f ? -2.0f : 0.0f;
    return at < size + 2.0f ? at : size + 2.0f;
}

// The texel that stands for one at `index`; -1: the border.
static inline int texture_texel_at(int mode, int index, int extent)
{
    switch (mode) {
    case TEXTURE_WRAP: index %= extent; return index < 0 ? index + extent : index;
    case TEXTURE_MIRROR:
        index %= 2 * extent;
        if (index < 0) index += 2 * extent;
        return index < extent ? index : 2 * extent - 1 - index;
    case TEXTURE_BORDER: return index < 0 || index >= extent ? -1 : index;
    default: return index < 0 ? 0 : index >= extent ? extent - 1 : index;
    }
}

static inline texture_value texture_read(const culv_soft_texture &texture,
                                         const culv_soft_texture_level &level, int x, int y, int z)
{
    texture_value border;
    if (x >= 0 && y >= 0 && z >= 0)
        return texture_decode(texture, level.start + static_cast<uint64_t>(z) * level.slice +
                                           static_cast<uint64_t>(y) * level.pitch +
                                           static_cast<uint64_t>(x) * texture.texel_bytes);
    std::memcpy(border.f, texture.border, sizeof(border.f)); // zeros where integers are read
    return border;
}

// In a level: `count` directions are filtered, the third is a slice where there are less.
static inline texture_value texture_in_level(const culv_soft_texture &texture,
                                             const culv_soft_texture_level &level, int count,
                                             const float *at, int slice)
{
    const uint32_t extent[3] = {level.width, level.height, level.depth};
    float place[3];
    int low[3] = {0, 0, slice}, high[3] = {0, 0, slice};
    float weight[3] = {0.0f, 0.0f, 0.0f};
    for (int d = 0; d < count; d++) {
        const int size = static_cast<int>(extent[d]), mode = texture.address[d];
        place[d] = texture_place(texture, mode, at[d], extent[d]);
        if (texture.linear) place[d] -= 0.5f;
        const float whole = floorf(place[d]);
        weight[d] = place[d] - whole;
        low[d] = texture_texel_at(mode, static_cast<int>(whole), size);
        high[d] = texture_texel_at(mode, static_cast<int>(whole) + 1, size);
    }
    if (!texture.linear) return texture_read(texture, level, low[0], low[1], low[2]);
    texture_value sum = {{0.0f, 0.0f, 0.0f, 0.0f}};
    for (int corner = 0; corner < 1 << count; corner++) {
        int where[3] = {low[0], low[1], low[2]};
        float part = 1.0f;
        for (int d = 0; d < count; d++) {
            const bool upper = (corner >> d & 1) != 0;
            if (upper) where[d] = high[d];
            part *= upper ? weight[d] : 1.0f - weight[d];
        }
        if (part == 0.0f) continue; // an infinity beside the place has no part in it
        const texture_value value = texture_read(texture, level, where[0], where[1], where[2]);
        for (int c = 0; c < 4; c++)
            sum.f[c] += part * value.f[c];
    }
    return sum;
}

// A direction's face, and its place there in [-1, 1] (CUDA Programming Guide, "Cubemap Textures").
static inline int texture_face(const double direction[3], double *s, double *t)
{
    const double x = direction[0], y = direction[1], z = direction[2];
    const double ax = x < 0 ? -x : x, ay = y < 0 ? -y : y, az = z < 0 ? -z : z;
    if (ax > ay && ax > az) {
        *s = (x < 0 ? z : -z) / ax;
        *t = -y / ax;
        return x < 0 ? 1 : 0;
    }
    if (ay > az) {
        *s = x / ay;
        *t = (y < 0 ? -z : z) / ay;
        return y < 0 ? 3 : 2;
    }
    *s = az > 0 ? (z < 0 ? -x : x) / az : 0.0;
    *t = az > 0 ? -y / az : 0.0;
    return z < 0 ? 5 : 4;
}

// The texel beside a face's border, which is the nearest one of the next face.
static inline texture_value texture_beside_face(const culv_soft_texture &texture,
                                                const culv_soft_texture_level &level, int face,
                                                int x, int y, int first_slice)
{
    const int size = static_cast<int>(level.width);
    double s = (2.0 * x + 1.0) / size - 1.0, t = (2.0 * y + 1.0) / size - 1.0;
    const double directions[6][3] = {{1, -t, -s}, {-1, -t, s},  {s, 1, t},
                                     {s, -1, -t}, {s, -t, 1.0}, {-s, -t, -1.0}};
    if (x < 0 || y < 0 || x >= size || y >= size) face = texture_face(directions[face], &s, &t);
    x = static_cast<int>((s + 1.0) * 0.5 * size);
    y = static_cast<int>((t + 1.0) * 0.5 * size);
    x = x < 0 ? 0 : x < size ? x : size - 1;
    y = y < 0 ? 0 : y < size ? y : size - 1;
    return texture_read(texture, level, x, y, first_slice + face);
}

static inline texture_value texture_in_cube(const culv_soft_texture &texture,
                                            const culv_soft_texture_level &level, const float *at,
                                            int first_slice)
{
    const double direction[3] = {at[0], at[1], at[2]};
    double s = 0.0, t = 0.0;
    const int face = texture_face(direction, &s, &t);
    if (s != s || t != t) s = t = 0.0;
    const float place[2] = {static_cast<float>((s + 1.0) * 0.5),
                            static_cast<float>((t + 1.0) * 0.5)};
    if (!texture.seamless || !texture.linear)
        return texture_in_level(texture, level, 2, place, first_slice + face);
    const int size = static_cast<int>(level.width);
    const float x = place[0] * static_cast<float>(size) - 0.5f,
                y = place[1] * static_cast<float>(size) - 0.5f;
    const int left = static_cast<int>(floorf(x)), top = static_cast<int>(floorf(y));
    const float across = x - floorf(x), down = y - floorf(y);
    texture_value sum = {{0.0f, 0.0f, 0.0f, 0.0f}}, texels[4] = {sum, sum, sum, sum};
    int corner = -1; // of the cube, where three faces meet: there is no fourth texel
    for (int i = 0; i < 4; i++) {
        const int tx = left + i % 2, ty = top + i / 2;
        if ((tx < 0 || tx >= size) && (ty < 0 || ty >= size))
            corner = i;
        else
            texels[i] = texture_beside_face(texture, level, face, tx, ty, first_slice);
    }
    if (corner >= 0)
        for (int c = 0; c < 4; c++) {
            float others = 0.0f;
            for (int i = 0; i < 4; i++)
                if (i != corner) others += texels[i].f[c];
            texels[corner].f[c] = others / 3.0f;
        }
    for (int i = 0; i < 4; i++) {
        const float part =
            (i % 2 != 0 ? across : 1.0f - across) * (i / 2 != 0 ? down : 1.0f - down);
        if (part == 0.0f) continue;
        for (int c = 0; c < 4; c++)
            sum.f[c] += part * texels[i].f[c];
    }
    return sum;
}

static inline texture_value texture_at_level(const culv_soft_texture &texture, int which,
                                             const float *at, int layer)
{
    const culv_soft_texture_level &level = texture.levels[which];
    const bool cube =
        texture.dimensions == CULV_SOFT_CUBE || texture.dimensions == CULV_SOFT_CUBE_LAYERED;
    const int layers = static_cast<int>(cube ? level.depth / 6 : level.depth);
    layer = layer < 0 ? 0 : layer >= layers ? layers - 1 : layer;
    switch (texture.dimensions) {
    case CULV_SOFT_1D:
    case CULV_SOFT_1D_LAYERED: return texture_in_level(texture, level, 1, at, layer);
    case CULV_SOFT_2D:
    case CULV_SOFT_2D_LAYERED: return texture_in_level(texture, level, 2, at, layer);
    case CULV_SOFT_3D: return texture_in_level(texture, level, 3, at, 0);
    default: return texture_in_cube(texture, level, at, 6 * layer);
    }
}

struct texture_query {
    cudaTextureObject_t texture;
    culv_soft_dimensions dimensions;
    texture_base number;
    int bytes, channels; // of the type
    float at[3];
    int layer; // the element, of linear memory
    float level;
};

__attribute__((noinline)) inline texture_value texture_fetch(const texture_query &query)
{
    const culv_soft_texture *found =
        reinterpret_cast<const culv_soft_texture *>(CULV_SOFT_ADDRESS(query.texture));
    if (found == nullptr) surface_fault();
    const culv_soft_texture &texture = *found;
    // A texture that is gone has another turn; one whose array is gone has no dimensions.
    if (texture.turn != query.texture >> CULV_SOFT_TURN_SHIFT ||
        texture.dimensions != query.dimensions)
        surface_fault();
    const texture_texel_kind kind = texture_kind_of(texture.texel);
    if (kind.number != query.number || query.channels > texture.channels ||
        query.bytes < kind.bytes)
        surface_fault();
    if (query.dimensions == CULV_SOFT_LINEAR) {
        const culv_soft_texture_level &all = texture.levels[0];
        const bool inside = query.layer >= 0 && static_cast<uint32_t>(query.layer) < all.width;
        return inside ? texture_read(texture, all, query.layer, 0, 0)
                      : texture_value{{0.0f, 0.0f, 0.0f, 0.0f}};
    }
    float level = query.level + texture.bias;
    if (!(level >= texture.min_level)) level = texture.min_level;
    if (level > texture.max_level) level = texture.max_level;
    const float last = static_cast<float>(texture.num_levels - 1);
    level = level < 0.0f ? 0.0f : level > last ? last : level;
    if (!texture.mip_linear)
        return texture_at_level(texture, static_cast<int>(floorf(level + 0.5f)), query.at,
                                query.layer);
    const int first = static_cast<int>(level);
    const float part = level - static_cast<float>(first);
    texture_value value = texture_at_level(texture, first, query.at, query.layer);
    if (part == 0.0f) return value;
    const texture_value next = texture_at_level(texture, first + 1, query.at, query.layer);
    for (int c = 0; c < 4; c++)
        value.f[c] += part * (next.f[c] - value.f[c]);
    return value;
}

template <typename T, culv_soft_dimensions Dimensions>
static inline T texture_sample(cudaTextureObject_t texture, float x, float y, float z, int layer,
                               float level)
{
    using type = texture_type<T>;
    static_assert(type::channels > 0, "CUDA has no texture functions for this type");
    using base = typename type::base;
    const texture_query query = {
        texture,        Dimensions, type::number, static_cast<int>(sizeof(base)),
        type::channels, {x, y, z},  layer,        level};
    const texture_value value = texture_fetch(query);
    base channels[type::channels];
    for (int c = 0; c < type::channels; c++)
        if (type::number == TEXTURE_FLOAT)
            channels[c] = static_cast<base>(value.f[c]);
        else
            channels[c] = static_cast<base>(value.u[c]);
    T result;
    std::memcpy(&result, channels, sizeof(result));
    return result;
}

} // namespace culv_soft

// The forms of one kind, without and with a level; `where` is x, y, z and the layer.
#define CULV_TEXTURE_FORMS_(name, dimensions, params, args, where, level)                          \
    template <typename T> static inline T name(cudaTextureObject_t texture, CULV_UNPACK_ params)   \
    {                                                                                              \
        return culv_soft::texture_sample<T, dimensions>(texture, CULV_UNPACK_ where, level);       \
    }                                                                                              \
    template <typename T>                                                                          \
    static inline void name(T *out, cudaTextureObject_t texture, CULV_UNPACK_ params)              \
    {                                                                                              \
        *out = name<T>(texture, CULV_UNPACK_ args);                                                \
    }
#define CULV_TEXTURE_FUNCTIONS_(name, dimensions, params, args, where)                             \
    CULV_TEXTURE_FORMS_(name, dimensions, params, args, where, 0.0f)                               \
    CULV_TEXTURE_FORMS_(name##Lod, dimensions, (CULV_UNPACK_ params, float level),                 \
                        (CULV_UNPACK_ args, level), where, level)

CULV_TEXTURE_FUNCTIONS_(tex1D, CULV_SOFT_1D, (float x), (x), (x, 0.0f, 0.0f, 0))
CULV_TEXTURE_FUNCTIONS_(tex2D, CULV_SOFT_2D, (float x, float y), (x, y), (x, y, 0.0f, 0))
CULV_TEXTURE_FUNCTIONS_(tex3D, CULV_SOFT_3D, (float x, float y, float z), (x, y, z), (x, y, z, 0))
CULV_TEXTURE_FUNCTIONS_(tex1DLayered, CULV_SOFT_1D_LAYERED, (float x, int layer), (x, layer),
                        (x, 0.0f, 0.0f, layer))
CULV_TEXTURE_FUNCTIONS_(tex2DLayered, CULV_SOFT_2D_LAYERED, (float x, float y, int layer),
                        (x, y, layer), (x, y, 0.0f, layer))
CULV_TEXTURE_FUNCTIONS_(texCubemap, CULV_SOFT_CUBE, (float x, float y, float z), (x, y, z),
                        (x, y, z, 0))
CULV_TEXTURE_FUNCTIONS_(texCubemapLayered, CULV_SOFT_CUBE_LAYERED,
                        (float x, float y, float z, int layer), (x, y, z, layer), (x, y, z, layer))
CULV_TEXTURE_FORMS_(tex1Dfetch, CULV_SOFT_LINEAR, (int x), (x), (0.0f, 0.0f, 0.0f, x), 0.0f)
#undef CULV_TEXTURE_FUNCTIONS_
#undef CULV_TEXTURE_FORMS_

#endif
