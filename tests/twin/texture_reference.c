/* SPDX-License-Identifier: MIT */
/* See texture_reference.h. */
#include "texture_reference.h"

#include <math.h>
#include <string.h>

#define TOO_CLOSE 0.002

/* The index that stands for this one, -1 for the border's: one step at a time. */
static int address(CUaddress_mode mode, int index, int extent)
{
    switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP:
        while (index < 0)
            index += extent;
        while (index >= extent)
            index -= extent;
        return index;
    case CU_TR_ADDRESS_MODE_MIRROR:
        while (index < 0 || index >= extent)
            index = index < 0 ? -1 - index : 2 * extent - 1 - index;
        return index;
    case CU_TR_ADDRESS_MODE_BORDER: return index < 0 || index >= extent ? -1 : index;
    default: return index < 0 ? 0 : index >= extent ? extent - 1 : index;
    }
}

static void read_texel(const reference_image *image, const CUDA_TEXTURE_DESC *desc,
                       const int index[3], int slice, double out[4])
{
    const int extent[3] = {image->width, image->height, image->slices};
    int at[3] = {0, 0, slice};
    for (int d = 0; d < image->directions; d++)
        at[d] = address(desc->addressMode[d], index[d], extent[d]);
    for (int c = 0; c < 4; c++)
        out[c] =
            at[0] < 0 || at[1] < 0 || at[2] < 0
                ? (double)desc->borderColor[c]
                : (double)image->texels[((size_t)at[2] * (size_t)image->height + (size_t)at[1]) *
                                            (size_t)image->width +
                                        (size_t)at[0]][c];
}

static bool read_box(const reference_image *image, const CUDA_TEXTURE_DESC *desc,
                     const double where[3], int slice, double out[4])
{
    const int extent[3] = {image->width, image->height, image->slices};
    const bool linear = desc->filterMode == CU_TR_FILTER_MODE_LINEAR;
    const bool normalized = image->cube || (desc->flags & CU_TRSF_NORMALIZED_COORDINATES);
    double part[3];
    int first[3] = {0, 0, 0};
    for (int d = 0; d < image->directions; d++) {
        double at = normalized ? where[d] * extent[d] : where[d];
        if (linear) at -= 0.5;
        first[d] = (int)floor(at);
        part[d] = at - floor(at);
        if (!linear && (part[d] < TOO_CLOSE || part[d] > 1 - TOO_CLOSE)) return false;
    }
    if (!linear) {
        read_texel(image, desc, first, slice, out);
        return true;
    }
    memset(out, 0, 4 * sizeof out[0]);
    for (int corner = 0; corner < 1 << image->directions; corner++) {
        double weight = 1, texel[4];
        int index[3] = {first[0], first[1], first[2]};
        for (int d = 0; d < image->directions; d++) {
            weight *= corner >> d & 1 ? part[d] : 1 - part[d];
            index[d] += corner >> d & 1;
        }
        read_texel(image, desc, index, slice, texel);
        for (int c = 0; c < 4; c++)
            out[c] += weight * texel[c];
    }
    return true;
}

/* The guide's table of faces: the major axis, then s and t as (axis, sign). */
static const struct {
    int major, sign, s, s_sign, t, t_sign;
} faces[6] = {{0, 1, 2, -1, 1, -1}, {0, -1, 2, 1, 1, -1}, {1, 1, 0, 1, 2, 1},
              {1, -1, 0, 1, 2, -1}, {2, 1, 0, 1, 1, -1},  {2, -1, 0, -1, 1, -1}};

static void point_on_face(int face, double s, double t, double out[3])
{
    out[faces[face].major] = faces[face].sign;
    out[faces[face].s] = s * faces[face].s_sign;
    out[faces[face].t] = t * faces[face].t_sign;
}

/* Beyond a face's border: the texel of another face that is nearest in space. */
static void read_beside(const reference_image *image, int face, int x, int y, int first_slice,
                        double out[4])
{
    const int n = image->width;
    double want[3], best = 1e9;
    int best_face = 0, best_x = 0, best_y = 0;
    point_on_face(face, (2 * x + 1.0) / n - 1, (2 * y + 1.0) / n - 1, want);
    for (int f = 0; f < 6; f++)
        for (int j = 0; j < n && f != face; j++)
            for (int i = 0; i < n; i++) {
                double found[3], distance = 0;
                point_on_face(f, (2 * i + 1.0) / n - 1, (2 * j + 1.0) / n - 1, found);
                for (int d = 0; d < 3; d++)
                    distance += (found[d] - want[d]) * (found[d] - want[d]);
                if (distance >= best) continue;
                best = distance;
                best_face = f;
                best_x = i;
                best_y = j;
            }
    const float *texel =
        image->texels[((size_t)(first_slice + best_face) * (size_t)n + (size_t)best_y) * (size_t)n +
                      (size_t)best_x];
    for (int c = 0; c < 4; c++)
        out[c] = (double)texel[c];
}

static bool read_seamless(const reference_image *image, int face, double s, double t,
                          int first_slice, double out[4])
{
    const int n = image->width;
    const double x = (s + 1) / 2 * n - 0.5, y = (t + 1) / 2 * n - 0.5;
    const int left = (int)floor(x), top = (int)floor(y);
    double texels[4][4], others[4] = {0}, weights[4];
    int corner = -1;
    for (int i = 0; i < 4; i++) {
        const int tx = left + i % 2, ty = top + i / 2;
        const bool off_x = tx < 0 || tx >= n, off_y = ty < 0 || ty >= n;
        weights[i] = (i % 2 ? x - left : 1 - (x - left)) * (i / 2 ? y - top : 1 - (y - top));
        if (off_x && off_y) {
            corner = i;
            continue;
        }
        if (off_x || off_y)
            read_beside(image, face, tx, ty, first_slice, texels[i]);
        else
            for (int c = 0; c < 4; c++)
                texels[i][c] =
                    (double)image->texels[((size_t)(first_slice + face) * (size_t)n + (size_t)ty) *
                                              (size_t)n +
                                          (size_t)tx][c];
        for (int c = 0; c < 4; c++)
            others[c] += texels[i][c];
    }
    for (int c = 0; c < 4; c++) {
        if (corner >= 0) texels[corner][c] = others[c] / 3;
        out[c] = 0;
        for (int i = 0; i < 4; i++)
            out[c] += weights[i] * texels[i][c];
    }
    return true;
}

static bool read_cube(const reference_image *image, const CUDA_TEXTURE_DESC *desc, const place *p,
                      double out[4])
{
    const double direction[3] = {(double)p->x, (double)p->y, (double)p->z};
    int major = 0;
    for (int d = 1; d < 3; d++)
        if (fabs(direction[d]) > fabs(direction[major])) major = d;
    for (int d = 0; d < 3; d++) /* which face, can only be told away from the edges */
        if (d != major && fabs(direction[major]) - fabs(direction[d]) < TOO_CLOSE) return false;
    const int face = 2 * major + (direction[major] < 0);
    const double length = fabs(direction[major]);
    const double s = direction[faces[face].s] * faces[face].s_sign / length,
                 t = direction[faces[face].t] * faces[face].t_sign / length;
    if (desc->flags & CU_TRSF_SEAMLESS_CUBEMAP && desc->filterMode == CU_TR_FILTER_MODE_LINEAR)
        return read_seamless(image, face, s, t, 6 * p->layer, out);
    CUDA_TEXTURE_DESC on_face = *desc;
    if (desc->flags & CU_TRSF_SEAMLESS_CUBEMAP)
        on_face.addressMode[0] = on_face.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    return read_box(image, &on_face, (const double[3]){(s + 1) / 2, (t + 1) / 2, 0},
                    6 * p->layer + face, out);
}

bool reference_read(const reference_image *image, const CUDA_TEXTURE_DESC *desc, const place *p,
                    double out[4])
{
    if (image->cube) return read_cube(image, desc, p, out);
    return read_box(image, desc, (const double[3]){(double)p->x, (double)p->y, (double)p->z},
                    p->layer, out);
}
