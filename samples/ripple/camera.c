/* SPDX-License-Identifier: MIT */
/* ripple's camera. */
#include "camera.h"

#include <math.h>
#include <string.h>

typedef struct vec3 {
    float x, y, z;
} vec3;

static vec3 minus(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static float dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static vec3 cross(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vec3 normalize(vec3 a)
{
    float length = sqrtf(dot(a, a));
    return (vec3){a.x / length, a.y / length, a.z / length};
}

/* Column-major: Vulkan's clip space (y down, depth 0 to 1) from a look-at view. */
static void look_at_projection(float m[16], vec3 eye, vec3 target, float half_fov_tangent,
                               float aspect)
{
    const float near = 0.1f, far = 40.0f;
    vec3 forward = normalize(minus(target, eye));
    vec3 right = normalize(cross(forward, (vec3){0, 1, 0}));
    vec3 up = cross(right, forward);
    float sx = 1.0f / (half_fov_tangent * aspect), sy = -1.0f / half_fov_tangent;
    float a = far / (far - near), b = -near * far / (far - near);
    float rows[4][4] = {{sx * right.x, sx * right.y, sx * right.z, -sx * dot(right, eye)},
                        {sy * up.x, sy * up.y, sy * up.z, -sy * dot(up, eye)},
                        {a * forward.x, a * forward.y, a * forward.z, -a * dot(forward, eye) + b},
                        {forward.x, forward.y, forward.z, -dot(forward, eye)}};
    for (int column = 0; column < 4; column++) {
        for (int row = 0; row < 4; row++)
            m[4 * column + row] = rows[row][column];
    }
}

void camera_look(const scene *basin, VkExtent2D extent, uint64_t moment, view_constants *out)
{
    memset(out, 0, sizeof *out);
    float seconds = (float)moment / 30.0f;
    float aspect = (float)extent.width / (float)extent.height;
    /* Far enough that a basin of any proportion fills the picture. */
    float reach =
        fmaxf(basin->half_x / (1.556f * fminf(aspect / 1.7778f, 1.0f)), basin->half_z / 1.037f);
    float angle = 0.16f - 0.10f * sinf(0.11f * seconds);
    const float elevation = 0.544f;
    float distance = 2.78f * reach;
    vec3 target = {0.03f, -0.10f, 0.075f * basin->half_z};
    vec3 eye = {distance * cosf(elevation) * sinf(angle), distance * sinf(elevation),
                distance * cosf(elevation) * cosf(angle)};
    look_at_projection(out->view_projection, eye, target, 0.318f, aspect);
    out->eye[0] = eye.x;
    out->eye[1] = eye.y;
    out->eye[2] = eye.z;
    out->eye[3] = seconds;
    out->half_extent[0] = basin->half_x;
    out->half_extent[1] = basin->half_z;
    out->half_extent[2] = basin->cell;
    out->half_extent[3] = aspect;
    out->grid[0] = (int32_t)basin->width;
    out->grid[1] = (int32_t)basin->height;
    out->picture[0] = (float)extent.width;
    out->picture[1] = (float)extent.height;
}
