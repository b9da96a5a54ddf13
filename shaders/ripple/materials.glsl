/* ripple: what stones, the basin's floor and its rim are made of. SPDX-License-Identifier: MIT */

vec3 granite(vec3 p)
{
    /* Slanted planes, so that steep sides are not streaked. */
    vec2 q = p.xz + p.y * vec2(0.83, -0.71);
    float coarse = noise(q * 15.0), fine = noise(q * 95.0 + 7.3);
    float speck = noise(q * 240.0);
    vec3 color = mix(vec3(0.20, 0.19, 0.18), vec3(0.36, 0.33, 0.30), coarse);
    return color * (0.72 + 0.42 * fine) + 0.10 * smoothstep(0.72, 0.95, speck);
}

/* The same from afar, through water. */
vec3 drowned_stone(vec3 p)
{
    float coarse = noise((p.xz + p.y * vec2(0.83, -0.71)) * 15.0);
    return mix(vec3(0.16, 0.15, 0.14), vec3(0.27, 0.25, 0.23), coarse);
}

/* The basin's walls, under water. */
vec3 wall_stone(vec2 p)
{
    vec2 block = p * vec2(2.6, 5.0);
    block.x += 0.5 * floor(block.y);
    vec2 joint = 0.5 - abs(fract(block) - 0.5);
    float tone = hash(ivec2(floor(block)));
    float flat_part = smoothstep(0.01, 0.05, min(joint.x, joint.y));
    return vec3(0.36, 0.345, 0.32) * (0.72 + 0.35 * tone) * mix(0.55, 1.0, flat_part);
}

/* Pebbles on the floor: a cellular pattern; returns colour and how far the nearest gap is. */
vec3 pebbles(vec2 p)
{
    p *= 25.0;
    ivec2 base = ivec2(floor(p));
    float first = 9.0, second = 9.0;
    ivec2 owner = base;
    for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++) {
            ivec2 c = base + ivec2(i, j);
            vec2 to = vec2(c) + 0.5 + 0.72 * (hash2(c) - 0.5) - p;
            float d = dot(to, to);
            if (d < first) {
                second = first;
                first = d;
                owner = c;
            } else {
                second = min(second, d);
            }
        }
    }
    float gap = smoothstep(0.02, 0.26, sqrt(second) - sqrt(first));
    vec2 random = hash2(owner + 57);
    float tone = random.x, warm = random.y;
    vec3 color = mix(vec3(0.44, 0.46, 0.46), vec3(0.76, 0.65, 0.48), warm) * (0.50 + 0.54 * tone);
    return color * mix(0.52, 1.0, gap) * (1.06 - 0.45 * first);
}

vec3 slab(vec2 p, float along)
{
    float grain = 0.6 * noise(p * 26.0) + 0.4 * noise(p * 90.0);
    float joint = abs(fract(along) - 0.5);
    float tone = hash(ivec2(floor(along), 7));
    vec3 color = mix(vec3(0.27, 0.26, 0.25), vec3(0.36, 0.345, 0.32), tone) * (0.78 + 0.36 * grain);
    return color * mix(0.45, 1.0, smoothstep(0.004, 0.020, 0.5 - joint));
}

/* A wooden deck: planks along x. */
vec3 deck(vec2 p)
{
    float row = p.y * 7.0;
    ivec2 plank = ivec2(floor(row), 0);
    float across = abs(fract(row) - 0.5);
    float soft = fwidth(row);
    vec2 random = hash2(plank + 13);
    float along = p.x + 3.7 * random.x;
    float butt = abs(fract(along / 2.3) - 0.5);
    float grain = 0.6 * noise(vec2(along * 5.0, row * 9.0)) + 0.4 * noise(vec2(along * 17.0, row * 31.0));
    float tone = mix(random.y, hash(ivec2(floor(along / 2.3), plank.x)), 0.5);
    vec3 color = mix(vec3(0.115, 0.066, 0.038), vec3(0.215, 0.130, 0.078), tone) * (0.62 + 0.62 * grain);
    float gap = smoothstep(0.5, 0.465 - soft, across) * smoothstep(0.5, 0.497 - 0.25 * fwidth(along), butt);
    return color * mix(0.18, 1.0, gap);
}
