/* SPDX-License-Identifier: MIT */
/* ripple's kernels: the damped wave equation over a basin with stones, foam, and the frame's
 * hand-over to the renderer.
 *
 * h_tt = div(c^2 grad h) - d h_t, second order in time and space, nine-point Laplacian (Patra and
 * Karttunen 2006: its error is isotropic, so rings stay round). Lengths are in cells, c^2 comes in
 * units of cells per step, squared; stable below 0.75. A cell with c^2 = 0 is solid: no flux
 * through its faces, so waves are reflected. Each thread writes only its own cell: results do not
 * depend on the order of threads.
 *
 * The rows from `first` to before `last` are those of this launch, of a grid of `height`. With
 * several GPUs each has a band of rows, and one more of each neighbour's to read. */
#include "culvert_kernel.h"

/* What flows in through the face to a neighbour: nothing from a solid one. */
#define RIPPLE_FLUX(n) (speed2[n] > 0.0f ? 0.5f * (c2 + speed2[n]) * (current[n] - h) : 0.0f)

/* One step in place: `previous` holds h(t - 1) and becomes h(t + 1). Column 0 is the wave maker: a
 * paddle. */
CULV_KERNEL void ripple_step(CULV_GRID float *previous, const float *current, const float *speed2,
                             int width, int height, int first, int last, float keep, float paddle)
{
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int y = first + (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= last) return;
    int i = y * width + x;
    float c2 = speed2[i];
    if (!(c2 > 0.0f)) return;
    if (x == 0) {
        previous[i] = paddle;
        return;
    }
    /* The basin's walls mirror too: a neighbour outside is the cell at the edge. */
    int left = -1, right = x < width - 1 ? 1 : 0;
    int up = y > 0 ? -width : 0, down = y < height - 1 ? width : 0;
    float h = current[i];
    float sides = RIPPLE_FLUX(i + left) + RIPPLE_FLUX(i + right) + RIPPLE_FLUX(i + up) +
                  RIPPLE_FLUX(i + down);
    float corners = RIPPLE_FLUX(i + up + left) + RIPPLE_FLUX(i + up + right) +
                    RIPPLE_FLUX(i + down + left) + RIPPLE_FLUX(i + down + right);
    float laplacian = (2.0f / 3.0f) * sides + (1.0f / 6.0f) * corners;
    previous[i] = h + keep * (h - previous[i]) + laplacian;
}

/* A drop falls in: a hollow with a rim around it that displaces no water in all, (1 - 5 s)(1 - s)^3
 * with s the squared distance over the squared radius. The grid covers the drop's square, from (x0,
 * y0). */
CULV_KERNEL void ripple_drop(CULV_GRID float *previous, float *current, const float *speed2,
                             int width, int height, int first, int last, int x0, int y0,
                             float center_x, float center_y, float radius, float amplitude)
{
    int x = x0 + (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int y = y0 + (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x < 0 || y < 0 || x >= width || y >= height || y < first - 1 || y > last) return;
    float dx = ((float)x - center_x) / radius, dy = ((float)y - center_y) / radius;
    float s = dx * dx + dy * dy;
    int i = y * width + x;
    if (s >= 1.0f || !(speed2[i] > 0.0f)) return;
    float rest = 1.0f - s;
    float change = amplitude * (1.0f - 5.0f * s) * (rest * rest * rest);
    /* A neighbour's row of h(t - 1) is not read, and may be written by the neighbour now. */
    if (y >= first && y < last) previous[i] += change;
    current[i] += change;
}

/* A neighbour's height as a slope sees it: a solid one mirrors the cell itself. */
#define RIPPLE_SEEN(n) (speed2[n] > 0.0f ? heights[n] : h)

/* Foam, 0 to 1: steep waves make it, and any motion in the shallows, where it is washed up against
 * stones. It fades by `keep`. Speeds are heights for a cell's length of travel, as slopes are. */
CULV_KERNEL void ripple_foam(CULV_GRID float *foam, const float *heights, const float *previous,
                             const float *speed2, const float *bottom, int width, int height,
                             int first, int last, float cells_per_unit, float steps_per_unit,
                             float keep)
{
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int y = first + (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= last) return;
    int i = y * width + x;
    float h = heights[i];
    float west = RIPPLE_SEEN(x > 0 ? i - 1 : i), east = RIPPLE_SEEN(x < width - 1 ? i + 1 : i);
    float north = RIPPLE_SEEN(y > 0 ? i - width : i),
          south = RIPPLE_SEEN(y < height - 1 ? i + width : i);
    float slope_x = 0.5f * cells_per_unit * (east - west);
    float slope_z = 0.5f * cells_per_unit * (south - north);
    float steep = slope_x * slope_x + slope_z * slope_z;
    float speed = steps_per_unit * (h - previous[i]);
    float shallow = __saturatef(1.0f + 9.0f * bottom[i]);
    float made =
        __saturatef(2.4f * (steep - 0.13f)) + shallow * __saturatef(5.0f * (steep + speed * speed));
    float kept = keep * foam[i];
    foam[i] = __saturatef(made > kept ? made : kept);
}

/* The water's own color, brighter in the shallows and where a crest is thin enough for light to
 * come through, and foam in alpha. */
static __device__ __forceinline__ uchar4 ripple_texel(float height, float bottom, float foam)
{
    float shallow = __saturatef(1.0f + 1.9f * bottom);
    float crest = __saturatef(24.0f * height);
    float red = 0.02f + 0.14f * shallow + 0.05f * crest;
    float green = 0.30f + 0.32f * shallow + 0.26f * crest;
    float blue = 0.46f + 0.10f * shallow + 0.18f * crest;
    return make_uchar4((unsigned char)(255.0f * red + 0.5f), (unsigned char)(255.0f * green + 0.5f),
                       (unsigned char)(255.0f * __saturatef(blue) + 0.5f),
                       (unsigned char)(255.0f * foam + 0.5f));
}

/* Into the image that the renderer samples. */
CULV_KERNEL void ripple_tint(CULV_GRID cudaSurfaceObject_t tint, const float *heights,
                             const float *bottom, const float *foam, int width, int height)
{
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= height) return;
    int i = y * width + x;
    uchar4 texel = ripple_texel(heights[i], bottom[i], foam[i]);
    surf2Dwrite(texel, tint, x * (int)sizeof texel, y); /* x in bytes */
}

/* Into memory that the renderer copies to its image: another GPU cannot write that. */
CULV_KERNEL void ripple_tint_rows(CULV_GRID uchar4 *tint, const float *heights, const float *bottom,
                                  const float *foam, int width, int first, int last)
{
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int y = first + (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= last) return;
    int i = y * width + x;
    tint[i] = ripple_texel(heights[i], bottom[i], foam[i]);
}

/* Writes what the renderer pulls, one float4 a cell, straight into the buffer that it shares:
 * height, the normal's x and z (y follows: the normal points up), and the bottom's elevation. */
CULV_KERNEL void ripple_publish(CULV_GRID float4 *cells, const float *heights, const float *speed2,
                                const float *bottom, int width, int height, int first, int last,
                                float cells_per_unit)
{
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int y = first + (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= last) return;
    int i = y * width + x;
    float h = heights[i];
    float west = RIPPLE_SEEN(x > 0 ? i - 1 : i), east = RIPPLE_SEEN(x < width - 1 ? i + 1 : i);
    float north = RIPPLE_SEEN(y > 0 ? i - width : i),
          south = RIPPLE_SEEN(y < height - 1 ? i + width : i);
    float slope_x = 0.5f * cells_per_unit * (east - west);
    float slope_z = 0.5f * cells_per_unit * (south - north);
    float length = sqrtf(slope_x * slope_x + slope_z * slope_z + 1.0f);
    cells[i] = make_float4(h, -slope_x / length, -slope_z / length, bottom[i]);
}

CULV_KERNELS(ripple_step, ripple_drop, ripple_foam, ripple_tint, ripple_tint_rows, ripple_publish)
