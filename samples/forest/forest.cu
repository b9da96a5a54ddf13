/* SPDX-License-Identifier: MIT */
/* forest's kernels: trees that sway in the wind, and the hierarchy over all of their leaves and
 * wood, with raw pointers. Roots and divisions are rounded alike everywhere, and nothing else is
 * used but additions and multiplications: every device computes the same bits. */
#include "culvert_kernel.h"

#include "forest.h"

/* Numbers and vectors -------------------------------------------------------------------------- */

static __device__ uint32_t hash(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du; /* C. Wellons' lowbias32 */
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* From 0 to 1, for each thing and purpose. */
static __device__ float chance(uint32_t thing, uint32_t purpose)
{
    return (float)(hash(thing * 16u + purpose) >> 8) / 16777216.0f;
}

/* A sine, nearly, of so many turns. */
static __device__ float wave(float turns)
{
    float t = turns - floorf(turns + 0.5f);
    float y = 8.0f * t - 16.0f * t * fabsf(t);
    return 0.225f * (y * fabsf(y) - y) + y;
}

static __device__ float3 add(float3 a, float3 b, float much)
{
    return make_float3(a.x + much * b.x, a.y + much * b.y, a.z + much * b.z);
}

static __device__ float dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static __device__ float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static __device__ float3 unit(float3 a)
{
    float scale = 1.0f / sqrtf(dot(a, a));
    return make_float3(scale * a.x, scale * a.y, scale * a.z);
}

/* A direction; all are about as likely. */
static __device__ float3 anywhere(uint32_t thing, uint32_t purpose)
{
    float turn = chance(thing, purpose), rise = 2.0f * chance(thing, purpose + 1u) - 1.0f;
    float flat = sqrtf(1.0f - rise * rise);
    return make_float3(flat * wave(turn + 0.25f), rise, flat * wave(turn));
}

/* Trees ---------------------------------------------------------------------------------------- */

typedef struct tree {
    float3 foot;
    float height;
    uint32_t seed;
    int hue;
} tree;

/* They stand on a grid, each somewhere in its cell, on both sides of a path. */
static __device__ tree tree_of(int number)
{
    tree t;
    t.seed = hash((uint32_t)number + 77u);
    int column = number % FOREST_COLUMNS, row = number / FOREST_COLUMNS;
    float x = (float)column - 0.5f * (float)(FOREST_COLUMNS - 1);
    float jitter_x = chance(t.seed, 0u) - 0.5f, jitter_z = chance(t.seed, 1u) - 0.5f;
    x = 5.6f * x + 3.4f * jitter_x;
    x += x < 0.0f ? -1.1f : 1.1f;
    t.foot = make_float3(x, 0.0f, -6.4f * ((float)row + 0.55f * jitter_z));
    t.height = 8.0f + 4.5f * chance(t.seed, 2u);
    t.hue = (int)(5.0f * chance(t.seed, 3u));
    return t;
}

typedef struct branch {
    float3 from, along, aside; /* of length 1 */
    float length, radius;
    uint32_t seed;
} branch;

static __device__ branch trunk_of(const tree &t, float time)
{
    branch b;
    b.from = t.foot;
    b.seed = t.seed;
    float lean = 0.012f * wave(0.11f * time + chance(t.seed, 4u));
    b.along = unit(make_float3(lean + 0.12f * (chance(t.seed, 5u) - 0.5f), 1.0f,
                               0.12f * (chance(t.seed, 6u) - 0.5f)));
    b.aside = unit(cross(b.along, make_float3(wave(chance(t.seed, 7u)), 0.0f, 1.0f)));
    b.length = 0.24f * t.height;
    b.radius = 0.021f * t.height;
    return b;
}

/* One goes on nearly straight, two turn away. All are moved by the wind, thin ones more. */
static __device__ branch child_of(const branch &b, int which, int level, float time)
{
    branch c;
    c.seed = hash(b.seed * 3u + (uint32_t)which + 1u);
    float around = (float)which * 0.5f + 0.38f * (float)level + 0.3f * chance(c.seed, 0u);
    float tilt =
        which == 0 ? 0.025f + 0.02f * chance(c.seed, 1u) : 0.105f + 0.055f * chance(c.seed, 1u);
    float3 third = cross(b.along, b.aside);
    float flat = wave(tilt), on = wave(tilt + 0.25f);
    float3 to = make_float3(on * b.along.x, on * b.along.y, on * b.along.z);
    to = add(to, b.aside, flat * wave(around + 0.25f));
    to = add(to, third, flat * wave(around));
    float gust = wave(0.23f * time - 0.02f * b.from.x + 0.013f * b.from.z);
    float flutter = wave(0.9f * time + chance(c.seed, 2u));
    to.y += 0.1f;
    to.x += 0.006f * (float)(level + 1) * (1.0f + gust) + 0.005f * (float)level * flutter;
    c.along = unit(to);
    c.aside = unit(cross(c.along, third));
    c.from = add(b.from, b.along, b.length);
    c.length = b.length * (which == 0 ? 0.80f : 0.68f + 0.14f * chance(c.seed, 3u));
    c.radius = b.radius * (which == 0 ? 0.72f : 0.55f);
    return c;
}

/* Follows the digits of a path, of base 3, from the trunk. */
static __device__ branch branch_of(const tree &t, uint32_t path, int levels, float time)
{
    branch b = trunk_of(t, time);
    for (int level = 1; level <= levels; level++) {
        b = child_of(b, (int)(path % 3u), level, time);
        path /= 3u;
    }
    return b;
}

static __device__ uint32_t pack(float r, float g, float b, int kind)
{
    uint32_t red = (uint32_t)(255.0f * __saturatef(r) + 0.5f),
             green = (uint32_t)(255.0f * __saturatef(g) + 0.5f),
             blue = (uint32_t)(255.0f * __saturatef(b) + 0.5f);
    return red | green << 8 | blue << 16 | (uint32_t)kind << 24;
}

/* Autumn: linear light, before the shade within a crown. */
static __device__ uint32_t leaf_color(int hue, float vary, float light)
{
    const float red[5] = {0.80f, 0.86f, 0.62f, 0.90f, 0.34f},
                green[5] = {0.30f, 0.46f, 0.10f, 0.62f, 0.42f},
                blue[5] = {0.03f, 0.04f, 0.04f, 0.08f, 0.06f};
    float much = light * (0.72f + 0.5f * vary);
    return pack(much * red[hue], much * green[hue] * (0.8f + 0.4f * vary), much * blue[hue],
                KIND_LEAF);
}

static __device__ particle make(float3 at, float radius, float3 axis, uint32_t color)
{
    particle p = {at.x, at.y, at.z, radius, axis.x, axis.y, axis.z, color};
    return p;
}

static __device__ particle wood(int n, float time)
{
    const tree t = tree_of(n / FOREST_WOOD);
    int place = n % FOREST_WOOD, levels = 0, first = 0, row = 1;
    while (place >= first + row) {
        first += row;
        row *= 3;
        levels++;
    }
    branch b = branch_of(t, (uint32_t)(place - first), levels, time);
    bool birch = t.hue == 3;
    float much = 0.75f + 0.5f * chance(b.seed, 9u);
    uint32_t color = birch && levels < 3
                         ? pack(0.62f * much, 0.60f * much, 0.55f * much, KIND_WOOD)
                         : pack(0.13f * much, 0.085f * much, 0.06f * much, KIND_WOOD);
    return make(b.from, b.radius,
                make_float3(b.length * b.along.x, b.length * b.along.y, b.length * b.along.z),
                color);
}

static __device__ particle leaf(uint32_t id, float size, float time)
{
    const tree t = tree_of((int)(id % (uint32_t)FOREST_TREES));
    branch b = branch_of(t, hash(id), FOREST_LEVELS, time);
    float3 at = add(b.from, b.along, b.length * (0.2f + chance(id, 0u)));
    float spread = 0.05f * t.height * sqrtf(chance(id, 1u));
    at = add(at, anywhere(id, 2u), spread);
    float flutter = 0.35f * wave(1.3f * time + chance(id, 4u));
    float3 normal = anywhere(id, 5u);
    normal.y += 0.5f;
    normal.x += flutter;
    /* Light comes into a crown from above and from outside. */
    float3 middle = make_float3(t.foot.x, 0.62f * t.height, t.foot.z);
    float3 out = make_float3(at.x - middle.x, 0.8f * (at.y - middle.y), at.z - middle.z);
    float deep = sqrtf(dot(out, out)) / (0.34f * t.height) + 0.25f * out.y / t.height;
    float light = 0.35f + 0.65f * __saturatef(deep);
    return make(at, size * (0.7f + 0.6f * chance(id, 7u)), unit(normal),
                leaf_color(t.hue, chance(id, 8u), light));
}

/* On the ground, most of them under the trees, or on its way there. */
static __device__ particle fallen(uint32_t id, float size, float time)
{
    const tree t = tree_of((int)(id % (uint32_t)FOREST_TREES));
    bool falls = chance(id, 0u) < 0.06f;
    float reach = t.height * (0.1f + 0.55f * sqrtf(chance(id, 1u))), turn = chance(id, 2u);
    float3 at = make_float3(t.foot.x + reach * wave(turn + 0.25f), 0.012f + 0.03f * chance(id, 3u),
                            t.foot.z + reach * wave(turn));
    float3 normal = anywhere(id, 4u);
    normal.y = falls ? normal.y : fabsf(normal.y) + 1.2f;
    if (falls) {
        float way = chance(id, 6u) + 0.07f * time;
        way -= floorf(way);
        at.y = 0.75f * t.height * (1.0f - way);
        at.x += 1.5f * way + 0.4f * wave(4.0f * way + turn);
        at.z += 0.4f * wave(3.0f * way + chance(id, 7u));
        normal.x += wave(9.0f * way);
    }
    return make(at, size * (0.7f + 0.6f * chance(id, 8u)), unit(normal),
                leaf_color(t.hue, chance(id, 9u), falls ? 1.0f : 0.62f));
}

/* Where every leaf and piece of wood is at a time. */
CULV_KERNEL void forest_grow(CULV_GRID particle *particles, int count, float size, float time)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= count) return;
    const int pieces = FOREST_TREES * FOREST_WOOD;
    uint32_t id = (uint32_t)(n - pieces);
    particles[n] = n < pieces      ? wood(n, time)
                   : id % 8u == 7u ? fallen(id / 8u, size, time)
                                   : leaf(id, size, time);
}

/* The order along Morton's curve --------------------------------------------------------------- */

/* Two zeros before each of 10 bits. */
static __device__ uint32_t apart(uint32_t x)
{
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

static __device__ uint32_t cell(float x, float low, float scale)
{
    return (uint32_t)(1023.0f * __saturatef((x - low) * scale));
}

/* A place on the curve, and which particle is there: no two keys are equal. What fills up the list
 * to a power of two comes last. */
CULV_KERNEL void forest_keys(CULV_GRID unsigned long long *keys, const particle *particles,
                             int count, int room)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= room) return;
    uint64_t key = UINT64_MAX;
    if (n < count) {
        particle p = particles[n];
        if ((int)(p.color >> 24) == KIND_WOOD) { /* its middle */
            p.x += 0.5f * p.ax;
            p.y += 0.5f * p.ay;
            p.z += 0.5f * p.az;
        }
        uint32_t place = apart(cell(p.x, -48.0f, 1.0f / 96.0f)) |
                         apart(cell(p.y, -4.0f, 1.0f / 96.0f)) << 1 |
                         apart(cell(p.z, -84.0f, 1.0f / 96.0f)) << 2;
        key = (uint64_t)place << 32 | (uint32_t)n;
    }
    keys[n] = key;
}

/* A step of Batcher's bitonic sort; a thread compares two keys. */
CULV_KERNEL void forest_sort(CULV_GRID unsigned long long *keys, int pairs, int size, int stride)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= pairs) return;
    int a = n / stride * 2 * stride + n % stride, b = a + stride;
    unsigned long long low = keys[a], high = keys[b];
    bool up = (a & size) == 0;
    if ((low > high) != up) return;
    keys[a] = high;
    keys[b] = low;
}

/* Boxes ---------------------------------------------------------------------------------------- */

static __device__ box box_of(const particle &p)
{
    box b;
    float reach_x = p.radius, reach_y = p.radius, reach_z = p.radius;
    float to_x = p.x, to_y = p.y, to_z = p.z;
    if ((int)(p.color >> 24) == KIND_WOOD) {
        to_x += p.ax;
        to_y += p.ay;
        to_z += p.az;
    } else { /* a disc reaches less far along its normal */
        reach_x *= sqrtf(__saturatef(1.0f - p.ax * p.ax)) + 0.01f;
        reach_y *= sqrtf(__saturatef(1.0f - p.ay * p.ay)) + 0.01f;
        reach_z *= sqrtf(__saturatef(1.0f - p.az * p.az)) + 0.01f;
    }
    b.low[0] = fminf(p.x, to_x) - reach_x;
    b.low[1] = fminf(p.y, to_y) - reach_y;
    b.low[2] = fminf(p.z, to_z) - reach_z;
    b.high[0] = fmaxf(p.x, to_x) + reach_x;
    b.high[1] = fmaxf(p.y, to_y) + reach_y;
    b.high[2] = fmaxf(p.z, to_z) + reach_z;
    return b;
}

static __device__ box both(const box &a, const box &b)
{
    box c;
    for (int i = 0; i < 3; i++) {
        c.low[i] = fminf(a.low[i], b.low[i]);
        c.high[i] = fmaxf(a.high[i], b.high[i]);
    }
    return c;
}

static __device__ box nothing()
{
    box b;
    for (int i = 0; i < 3; i++) {
        b.low[i] = 1e30f;
        b.high[i] = -1e30f;
    }
    return b;
}

/* The particles' boxes, in the order of the keys, are the second half of a list. */
CULV_KERNEL void forest_boxes(CULV_GRID box *boxes, const unsigned long long *keys,
                              const particle *particles, int count, int room)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= room) return;
    boxes[room + n] = n < count ? box_of(particles[(uint32_t)keys[n]]) : nothing();
}

/* Before them in the list, row by row, is each around the two boxes at twice its place. */
CULV_KERNEL void forest_fold(CULV_GRID box *boxes, int first)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= first) return;
    boxes[first + n] = both(boxes[2 * (first + n)], boxes[2 * (first + n) + 1]);
}

/* Around the particles from `first` to `last`, by few of these boxes. */
static __device__ box around(const box *boxes, int room, int first, int last)
{
    box b = nothing();
    int low = room + first, high = room + last + 1;
    for (; low < high; low /= 2, high /= 2) {
        if (low % 2 == 1) b = both(b, boxes[low++]);
        if (high % 2 == 1) b = both(b, boxes[--high]);
    }
    return b;
}

/* The hierarchy -------------------------------------------------------------------------------- */

/* How many leading bits two keys share; -1 beyond the list. */
static __device__ int shared(const unsigned long long *keys, int count, int a, int b)
{
    if (b < 0 || b >= count) return -1;
    return __clzll((long long)(keys[a] ^ keys[b]));
}

static __device__ tree_link to_particle(const particle *p)
{
    return (tree_link)(uintptr_t)p | (tree_link)LINK_PARTICLE;
}

/* A thread makes a node: it finds which particles are below it, and where they part (T. Karras,
 * Maximizing Parallelism in the Construction of BVHs, Octrees, and k-d Trees, 2012). The pointers
 * are raw ones. */
CULV_KERNEL void forest_link(CULV_GRID node *nodes, const particle *particles,
                             const unsigned long long *keys, const box *boxes, int count, int room)
{
    int n = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (n >= count - 1) return;
    int way = shared(keys, count, n, n + 1) > shared(keys, count, n, n - 1) ? 1 : -1;
    int least = shared(keys, count, n, n - way), far = 2, length = 0, split = 0;
    while (shared(keys, count, n, n + far * way) > least)
        far *= 2;
    for (int step = far / 2; step > 0; step /= 2)
        if (shared(keys, count, n, n + (length + step) * way) > least) length += step;
    int end = n + length * way, common = shared(keys, count, n, end);
    for (int step = length; step > 1;) {
        step = (step + 1) / 2;
        if (shared(keys, count, n, n + (split + step) * way) > common) split += step;
    }
    int middle = n + split * way + (way < 0 ? -1 : 0);
    int first = n < end ? n : end, last = n < end ? end : n;
    box left = around(boxes, room, first, middle), right = around(boxes, room, middle + 1, last);
    node *to = &nodes[n];
    for (int i = 0; i < 3; i++) {
        to->low[0][i] = left.low[i];
        to->low[1][i] = right.low[i];
        to->high[0][i] = left.high[i];
        to->high[1][i] = right.high[i];
    }
    to->child[0] = first == middle ? to_particle(&particles[(uint32_t)keys[middle]])
                                   : (tree_link)(uintptr_t)&nodes[middle];
    to->child[1] = last == middle + 1 ? to_particle(&particles[(uint32_t)keys[middle + 1]])
                                      : (tree_link)(uintptr_t)&nodes[middle + 1];
}

CULV_KERNELS(forest_grow, forest_keys, forest_sort, forest_boxes, forest_fold, forest_link)
