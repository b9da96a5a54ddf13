// What shaders do with images of as many dimensions as DIMENSIONS says: sampled, read, read and written.
// SPDX-License-Identifier: MIT
#define GLUE(a, b)   a##b
#define TYPE(a, b)   GLUE(a, b)
#define KIND(prefix) TYPE(TYPE(prefix, DIMENSIONS), D)
#if DIMENSIONS == 1
#    define TEXEL 0
#elif DIMENSIONS == 2
#    define TEXEL ivec2(0)
#else
#    define TEXEL ivec3(0)
#endif

layout(local_size_x = 1) in;
layout(binding = 0) uniform KIND(sampler) sampled;
layout(binding = 1, r32f) uniform readonly KIND(image) source;
layout(binding = 2, r32f) uniform KIND(image) target;

void main()
{
    imageStore(target, TEXEL, imageLoad(target, TEXEL) + imageLoad(source, TEXEL) + texelFetch(sampled, TEXEL, 0));
}
