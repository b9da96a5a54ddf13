/* ripple's overlay: a rectangle for each instance. SPDX-License-Identifier: MIT */
#version 450

/* samples/ripple/overlay.h, overlay_item */
struct Item {
    int x, y, width, height;
    uint color, glyph;
};

layout(set = 0, binding = 0, std430) readonly buffer Items
{
    Item items[];
};

layout(push_constant) uniform Picture
{
    vec2 size;
}
picture;

layout(location = 0) out vec2 place; /* 0 to 1 over the rectangle */
layout(location = 1) flat out uint glyph;
layout(location = 2) flat out vec4 tone;

vec3 linear(vec3 srgb)
{
    return mix(srgb / 12.92, pow((srgb + 0.055) / 1.055, vec3(2.4)), greaterThan(srgb, vec3(0.04045)));
}

void main()
{
    const vec2 corners[6] = vec2[](vec2(0, 0), vec2(1, 0), vec2(0, 1), vec2(0, 1), vec2(1, 0), vec2(1, 1));
    Item item = items[gl_InstanceIndex];
    place = corners[gl_VertexIndex];
    glyph = item.glyph;
    vec4 color = unpackUnorm4x8(item.color);
    tone = vec4(linear(color.rgb), color.a);
    vec2 pixel = vec2(item.x, item.y) + place * vec2(item.width, item.height);
    gl_Position = vec4(2.0 * pixel / picture.size - 1.0, 0.0, 1.0);
}
