/* ripple: what all its shaders share: the cells that CUDA wrote, the view, light, sky and tone mapping.
 * SPDX-License-Identifier: MIT */

/* OpenGL compiles the same files. */
#ifdef VULKAN
#define RESOURCE(number) set = 0, binding = number
#define CONSTANTS push_constant
#define VERTEX_INDEX gl_VertexIndex
#else
#define RESOURCE(number) binding = number
#define CONSTANTS std140, binding = 0
#define VERTEX_INDEX gl_VertexID
#endif

/* One cell: height, the normal's x and z, the bottom's elevation (samples/ripple/ripple.cu). */
layout(RESOURCE(0), std430) readonly buffer Cells
{
    vec4 cells[];
};

layout(CONSTANTS) uniform View
{
    mat4 view_projection;
    vec4 eye;          /* w: seconds */
    vec4 half_extent;  /* x, z of the basin; a cell's side; the picture's aspect */
    ivec4 grid;        /* cells in x and z; vertices in a row of the mesh; cells from vertex to vertex */
    vec4 picture;      /* width and height in pixels */
}
view;

const vec3 sun_direction = normalize(vec3(-0.36, 0.47, -0.93));
const vec3 sun_color = vec3(1.00, 0.83, 0.60) * 3.6;
const vec3 zenith_color = vec3(0.13, 0.30, 0.66);
const vec3 horizon_color = vec3(0.80, 0.80, 0.82);
const float rim_height = 0.085;
const float rim_width = 0.19;
const int part_wall = 0, part_coping = 1, part_deck = 2; /* of the rim's mesh */

uint hash_bits(ivec2 p)
{
    uint h = uint(p.x) * 0x9e3779b9u ^ uint(p.y) * 0x85ebca6bu;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    return h ^ (h >> 13);
}

float hash(ivec2 p)
{
    return float(hash_bits(p) >> 8) / 16777216.0;
}

vec2 hash2(ivec2 p)
{
    uint h = hash_bits(p);
    return vec2(h >> 16, h & 0xffffu) / 65536.0;
}

float noise(vec2 p)
{
    ivec2 i = ivec2(floor(p));
    vec2 f = fract(p);
    f = f * f * (3.0 - 2.0 * f);
    float top = mix(hash(i), hash(i + ivec2(1, 0)), f.x);
    float bottom = mix(hash(i + ivec2(0, 1)), hash(i + ivec2(1, 1)), f.x);
    return mix(top, bottom, f.y);
}

vec2 cell_coordinates(vec2 xz)
{
    return (xz + view.half_extent.xy) / view.half_extent.z - 0.5;
}

vec4 nearest_cell(vec2 xz)
{
    ivec2 c = clamp(ivec2(round(cell_coordinates(xz))), ivec2(0), view.grid.xy - 1);
    return cells[c.y * view.grid.x + c.x];
}

vec4 smooth_cell(vec2 xz)
{
    vec2 p = clamp(cell_coordinates(xz), vec2(0.0), vec2(view.grid.xy - 1));
    ivec2 a = ivec2(p), b = min(a + 1, view.grid.xy - 1);
    vec2 f = p - vec2(a);
    vec4 top = mix(cells[a.y * view.grid.x + a.x], cells[a.y * view.grid.x + b.x], f.x);
    vec4 bottom = mix(cells[b.y * view.grid.x + a.x], cells[b.y * view.grid.x + b.x], f.x);
    return mix(top, bottom, f.y);
}

float bottom_at(vec2 xz)
{
    return nearest_cell(xz).w;
}

/* The mesh reaches to the walls: its outer vertices are moved from the cells' centres to the basin's edge. */
vec3 mesh_vertex(int index, out vec4 cell)
{
    ivec2 vertex = ivec2(index % view.grid.z, index / view.grid.z);
    ivec2 c = min(vertex * view.grid.w, view.grid.xy - 1);
    cell = cells[c.y * view.grid.x + c.x];
    vec2 xz = (vec2(c) + 0.5) * view.half_extent.z - view.half_extent.xy;
    if (vertex.x == 0) xz.x = -view.half_extent.x;
    if (vertex.y == 0) xz.y = -view.half_extent.y;
    if (c.x == view.grid.x - 1) xz.x = view.half_extent.x;
    if (c.y == view.grid.y - 1) xz.y = view.half_extent.y;
    return vec3(xz.x, 0.0, xz.y);
}

vec3 clear_sky(vec3 d)
{
    float height = max(d.y, 0.0);
    vec3 color = mix(zenith_color, horizon_color, exp(-3.2 * height));
    float toward = max(dot(d, sun_direction), 0.0);
    return color + sun_color * (0.07 * pow(toward, 6.0) + 0.14 * pow(toward, 48.0));
}

vec3 sky(vec3 d)
{
    vec3 color = clear_sky(d);
    vec2 p = d.xz / (max(d.y, 0.0) + 0.22) * 1.25 + vec2(3.1, 0.4) + 0.004 * view.eye.w;
    float cloud = 0.56 * noise(p) + 0.29 * noise(2.1 * p + 5.2) + 0.15 * noise(4.7 * p + 1.7);
    float cover = smoothstep(0.46, 0.74, cloud);
    vec3 lit = mix(vec3(0.62, 0.66, 0.74), vec3(1.30, 1.20, 1.08), smoothstep(0.85, 0.45, cloud));
    return mix(color, lit, 0.85 * cover * smoothstep(0.0, 0.16, d.y));
}

/* Light of the whole sky on a surface. */
vec3 ambient(vec3 n)
{
    return mix(vec3(0.16, 0.15, 0.14), vec3(0.42, 0.50, 0.62), 0.5 + 0.5 * n.y);
}

/* Filmic curve (Narkowicz 2015, a fit of ACES) and a slight vignette; sRGB is made by the attachment. */
vec4 finish(vec3 color, vec2 pixel)
{
    vec2 off = pixel / view.picture.xy - 0.5;
    color *= 1.0 - 0.62 * dot(off, off);
    color *= 0.92;
    color = (color * (2.51 * color + 0.03)) / (color * (2.43 * color + 0.59) + 0.14);
    return vec4(clamp(color, 0.0, 1.0), 1.0);
}
