/* ripple's overlay: filled rectangles, and glyphs of a bitmap font. SPDX-License-Identifier: MIT */
#version 450

/* samples/ripple/font.h: a row of a glyph in each element, the leftmost pixel in bit 4. */
layout(set = 0, binding = 1, std430) readonly buffer Font
{
    uint rows[];
};

const ivec2 glyph_size = ivec2(5, 9);

layout(location = 0) in vec2 place;
layout(location = 1) flat in uint glyph;
layout(location = 2) flat in vec4 tone;
layout(location = 0) out vec4 color;

void main()
{
    if (glyph != 0u) {
        ivec2 at = min(ivec2(place * vec2(glyph_size)), glyph_size - 1);
        uint row = rows[(glyph - 1u) * uint(glyph_size.y) + uint(at.y)];
        if ((row >> uint(glyph_size.x - 1 - at.x) & 1u) == 0u) discard;
    }
    color = tone;
}
