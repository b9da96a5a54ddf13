// SPDX-License-Identifier: MIT
// Walks the hierarchy that forest.cu has built, by the pointers that are in it. samples/forest/forest.h
// has the same structures.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Particle {
    vec4 place; // and radius
    vec3 axis;
    uint color;
};

// The boxes around two children (low, low, high, high: 12 numbers), and pointers to them.
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Node {
    vec4 a, b, c;
    uvec2 left, right;
};

const uint KIND_WOOD = 1u;
const float FAR = 1e30;

Particle particle_at(uvec2 at)
{
    return Particle(uvec2(at.x & ~1u, at.y));
}

// The same everywhere on a leaf.
void leaf_sides(vec3 normal, out vec3 along, out vec3 aside)
{
    along = normalize(abs(normal.y) < 0.9 ? cross(normal, vec3(0, 1, 0))
                                          : cross(normal, vec3(1, 0, 0)));
    aside = cross(normal, along);
}

float hit_leaf(vec3 from, vec3 to, vec3 middle, float radius, vec3 normal)
{
    float slope = dot(to, normal);
    float t = dot(middle - from, normal) / slope;
    if (!(t > 0.0)) return FAR;
    vec3 off = (from + t * to - middle) / radius;
    if (dot(off, off) > 1.0) return FAR;
    vec3 along, aside;
    leaf_sides(normal, along, aside);
    float u = dot(off, along), v = dot(off, aside);
    return abs(v) < 0.72 * (1.0 - u * u) * (1.0 + 0.3 * u) ? t : FAR;
}

// A cylinder with round ends (I. Quilez).
float hit_wood(vec3 from, vec3 to, vec3 end, float radius, vec3 axis)
{
    vec3 away = from - end;
    float axis2 = dot(axis, axis), along = dot(axis, to), start = dot(axis, away);
    float a = axis2 - along * along, b = axis2 * dot(to, away) - start * along;
    float c = axis2 * dot(away, away) - start * start - radius * radius * axis2, h = b * b - a * c;
    if (h < 0.0) return FAR;
    float t = (-b - sqrt(h)) / a, y = start + t * along;
    if (y > 0.0 && y < axis2) return t > 0.0 ? t : FAR;
    vec3 cap = y <= 0.0 ? away : away - axis;
    b = dot(to, cap);
    h = b * b - dot(cap, cap) + radius * radius;
    t = -b - sqrt(max(h, 0.0));
    return h > 0.0 && t > 0.0 ? t : FAR;
}

float hit_particle(vec3 from, vec3 to, uvec2 at)
{
    Particle p = particle_at(at);
    vec4 place = p.place;
    return p.color >> 24 == KIND_WOOD ? hit_wood(from, to, place.xyz, place.w, p.axis)
                                      : hit_leaf(from, to, place.xyz, place.w, p.axis);
}

// Where a ray enters a box; FAR where it passes by, or comes to it only beyond `most`.
float hit_box(vec3 from, vec3 inverse, vec3 low, vec3 high, float most)
{
    vec3 a = (low - from) * inverse, b = (high - from) * inverse, near = min(a, b), far = max(a, b);
    float enters = max(max(near.x, near.y), max(near.z, 0.0));
    float leaves = min(min(far.x, far.y), min(far.z, most));
    return enters <= leaves ? enters : FAR;
}

// Follows the pointers from the root. The nearest particle before `most`, and where it is hit; with
// `any` the first that is found. (0, 0): there is none.
uvec2 walk(uvec2 root, vec3 from, vec3 to, bool any, inout float most)
{
    vec3 inverse = 1.0 / to;
    uvec2 waiting[64], found = uvec2(0), at = root;
    int depth = 0;
    for (;;) {
        if ((at.x & 1u) != 0u) {
            float t = hit_particle(from, to, at);
            if (t < most) {
                most = t;
                found = at;
                if (any) break;
            }
        } else {
            Node node = Node(at);
            vec4 a = node.a, b = node.b, c = node.c;
            uvec2 left = node.left, right = node.right;
            float l = hit_box(from, inverse, a.xyz, vec3(b.zw, c.x), most);
            float r = hit_box(from, inverse, vec3(a.w, b.xy), c.yzw, most);
            if (min(l, r) < FAR) {
                if (max(l, r) < FAR && depth < 64) waiting[depth++] = l < r ? right : left;
                at = l < r ? left : right;
                continue;
            }
        }
        if (depth == 0) break;
        at = waiting[--depth];
    }
    return found;
}
