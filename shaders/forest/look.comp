#version 460
// SPDX-License-Identifier: MIT
// A clearing in the woods, in the morning: rays into the hierarchy, from each thing that is hit one
// to the sun, and one from somewhere in the mist before it.
#extension GL_GOOGLE_include_directive : require
#include "walk.glsl"

layout(local_size_x = 8, local_size_y = 8) in;

layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Picture {
    uint pixels[];
};

layout(push_constant) uniform Constants {
    uvec2 root, picture;
    uint width, height, samples;
};

const vec3 SUN = normalize(vec3(-0.30, 0.33, -0.90));
const vec3 SUN_COLOR = vec3(1.0, 0.78, 0.50) * 7.5;
const float MIST = 0.017; // how much light a meter of it takes

float noise(vec2 at)
{
    vec2 cell = floor(at), part = at - cell;
    part *= part * (3.0 - 2.0 * part);
    uvec2 c = uvec2(ivec2(cell) + 32768);
    vec4 corner;
    for (uint i = 0u; i < 4u; i++) {
        uint x = (c.x + (i & 1u)) * 0x9e3779b9u ^ (c.y + (i >> 1)) * 0x85ebca6bu;
        x = (x ^ x >> 15) * 0x2c1b3c6du;
        corner[i] = float((x ^ x >> 13) >> 16 & 0xffffu) / 65535.0;
    }
    return mix(mix(corner.x, corner.y, part.x), mix(corner.z, corner.w, part.x), part.y);
}

vec3 sky(vec3 to)
{
    float high = clamp(to.y, 0.0, 1.0), near = max(dot(to, SUN), 0.0);
    vec3 color = mix(vec3(1.00, 0.70, 0.40), vec3(0.30, 0.48, 0.78), pow(high, 0.55));
    color += vec3(1.0, 0.62, 0.28) * (0.7 * pow(near, 6.0) + 2.6 * pow(near, 60.0));
    return color + vec3(1.0, 0.85, 0.6) * 26.0 * smoothstep(0.9990, 0.9996, near);
}

float sunlit(vec3 at)
{
    float most = 90.0;
    return walk(root, at, SUN, true, most) == uvec2(0) ? 1.0 : 0.0;
}

vec3 ground_color(vec3 at)
{
    float fine = noise(7.0 * at.xz), broad = noise(0.7 * at.xz + 11.0), bits = noise(31.0 * at.xz);
    float middle = 1.2 * sin(0.21 * at.z) + 0.5 * sin(0.53 * at.z + 1.0);
    float path = 1.0 - smoothstep(0.9, 2.0, abs(at.x - middle) + 0.9 * (fine - 0.5));
    vec3 moss = mix(vec3(0.060, 0.085, 0.022), vec3(0.17, 0.10, 0.035), smoothstep(0.3, 0.8, broad));
    vec3 earth = vec3(0.23, 0.155, 0.09);
    return mix(moss, earth, path) * (0.55 + 0.55 * fine + 0.4 * bits);
}

vec3 shade(vec3 at, vec3 to, vec3 normal, vec3 color, float thin, float ambient)
{
    if (dot(normal, to) > 0.0) normal = -normal;
    float facing = dot(normal, SUN), lit = sunlit(at + 0.004 * normal * sign(facing));
    vec3 above = mix(vec3(0.20, 0.15, 0.08), vec3(0.62, 0.66, 0.74), 0.5 + 0.5 * normal.y);
    // A leaf lets through light that falls on its other side, and colors it.
    vec3 through = thin * color * (0.35 + color) * max(-facing, 0.0);
    vec3 gleam = vec3(0.05) * pow(max(dot(reflect(to, normal), SUN), 0.0), 24.0);
    return ambient * color * above +
           lit * SUN_COLOR * (color * max(facing, 0.0) * 0.45 + through + gleam * thin);
}

vec3 look(vec3 from, vec3 to, float chance)
{
    float t = to.y < -1e-4 ? min(-from.y / to.y, 300.0) : 300.0;
    bool ground = t < 300.0;
    uvec2 found = walk(root, from, to, false, t);
    vec3 at = from + t * to, color;
    if (found != uvec2(0)) {
        Particle p = particle_at(found);
        uint packed = p.color;
        vec3 own = vec3(packed & 255u, packed >> 8 & 255u, packed >> 16 & 255u) / 255.0;
        if (packed >> 24 == KIND_WOOD) {
            vec3 axis = p.axis, off = at - p.place.xyz;
            vec3 normal = normalize(off - axis * clamp(dot(off, axis) / dot(axis, axis), 0.0, 1.0));
            float bark = noise(vec2(9.0 * atan(normal.x, normal.z), 3.0 * at.y));
            color = shade(at, to, normal, own * (0.6 + 0.8 * bark), 0.0, 0.55);
        } else {
            vec3 along, aside;
            leaf_sides(p.axis, along, aside);
            float v = dot(at - p.place.xyz, aside) / p.place.w;
            float rib = 1.0 - 0.3 * exp(-400.0 * v * v); // in the middle
            color = shade(at, to, p.axis, own * rib, 1.0, 0.85);
        }
    } else if (ground) {
        color = shade(at, to, vec3(0, 1, 0), ground_color(at), 0.0, 0.6);
    } else {
        color = sky(to);
        t = 300.0;
    }
    // Mist, thinner above. What a ray of light takes out of it shines toward us most near the sun.
    float deep = min(t, 60.0), thick = MIST * exp(-0.05 * max(from.y + 0.5 * deep * to.y, 0.0));
    float clear = exp(-thick * (ground || found != uvec2(0) ? t : 60.0));
    float where = deep * chance, toward = dot(to, SUN);
    float scatter = 0.10 + 0.90 * pow(0.5 + 0.5 * toward, 8.0);
    vec3 haze = vec3(0.42, 0.33, 0.23) * 0.50 +
                SUN_COLOR * 0.20 * scatter * sunlit(from + where * to);
    return color * clear + haze * (1.0 - clear);
}

vec3 film(vec3 x) // K. Narkowicz's fit of ACES
{
    return clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
}

void main()
{
    uvec2 pixel = gl_GlobalInvocationID.xy;
    if (pixel.x >= width || pixel.y >= height) return;
    const vec3 from = vec3(0.35, 1.65, 9.5), aim = vec3(-0.9, 3.3, -8.0);
    vec3 ahead = normalize(aim - from), right = normalize(cross(ahead, vec3(0, 1, 0)));
    vec3 up = cross(right, ahead), sum = vec3(0);
    // J. Jimenez's interleaved gradient noise: neighbours differ, and so do a pixel's samples.
    float start = fract(52.9829189 * fract(dot(vec2(pixel), vec2(0.06711056, 0.00583715))));
    for (uint i = 0u; i < samples; i++) {
        // Samples are spread evenly over the pixel (R. Cranley and T. Patterson).
        vec2 spread = fract(vec2(0.7548777, 0.5698403) * float(i) + vec2(0.5));
        vec2 on = (vec2(pixel) + spread - 0.5 * vec2(width, height)) / float(height);
        vec3 to = normalize(ahead * 1.15 + right * on.x - up * on.y);
        sum += min(look(from, to, fract(start + 0.618034 * float(i))), vec3(9.0));
    }
    vec3 color = film(sum / float(samples) * 0.80);
    color = mix(12.92 * color, 1.055 * pow(color, vec3(1.0 / 2.4)) - 0.055,
                greaterThan(color, vec3(0.0031308)));
    uvec3 bytes = uvec3(255.0 * color + 0.5);
    Picture(picture).pixels[pixel.y * width + pixel.x] =
        bytes.r | bytes.g << 8 | bytes.b << 16 | 0xff000000u;
}
