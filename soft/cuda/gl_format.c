/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: formats of OpenGL's images that cuGraphicsGLRegisterImage takes, as
 * cudaGL.h lists them, and what CUDA's arrays of them are. */
#include "gl.h"

enum {
    BYTE = 0x1400,
    UBYTE,
    SHORT,
    USHORT,
    INT,
    UINT,
    FLOAT,
    HALF = 0x140b,
    RED = 0x1903,
    ALPHA = 0x1906,
    RGBA = 0x1908,
    LUMINANCE,
    LUMINANCE_ALPHA,
    RG = 0x8227,
    RG_INTEGER = 0x8228,
    RED_INTEGER = 0x8d94,
    ALPHA_INTEGER = 0x8d97,
    RGBA_INTEGER = 0x8d99,
    LUMINANCE_INTEGER = 0x8d9c,
    LUMINANCE_ALPHA_INTEGER = 0x8d9d
};

#define UNORM8(internal, channels, get, set)                                                       \
    {                                                                                              \
        internal, CU_AD_FORMAT_UNSIGNED_INT8, channels, get, set, UBYTE                            \
    }
#define UNORM16(internal, channels, get, set)                                                      \
    {                                                                                              \
        internal, CU_AD_FORMAT_UNSIGNED_INT16, channels, get, set, USHORT                          \
    }
/* A row of each kind for a base format, by its numbers. */
#define FLOATS(half, full, channels, get, set)                                                     \
    {half, CU_AD_FORMAT_HALF, channels, get, set, HALF},                                           \
    {                                                                                              \
        full, CU_AD_FORMAT_FLOAT, channels, get, set, FLOAT                                        \
    }
#define INTEGERS(u8, u16, u32, s8, s16, s32, channels, get, set)                                   \
    {u8, CU_AD_FORMAT_UNSIGNED_INT8, channels, get, set, UBYTE},                                   \
        {u16, CU_AD_FORMAT_UNSIGNED_INT16, channels, get, set, USHORT},                            \
        {u32, CU_AD_FORMAT_UNSIGNED_INT32, channels, get, set, UINT},                              \
        {s8, CU_AD_FORMAT_SIGNED_INT8, channels, get, set, BYTE},                                  \
        {s16, CU_AD_FORMAT_SIGNED_INT16, channels, get, set, SHORT},                               \
    {                                                                                              \
        s32, CU_AD_FORMAT_SIGNED_INT32, channels, get, set, INT                                    \
    }

/* Luminance and intensity are read as red: glGetTextureImage puts them there. */
static const struct soft_gl_format formats[] = {
    UNORM8(0x1903, 1, RED, RED), /* without a size: GL_RED and so on */
    UNORM8(0x8227, 2, RG, RG),
    UNORM8(0x1908, 4, RGBA, RGBA),
    UNORM8(0x1909, 1, RED, RED),
    UNORM8(0x1906, 1, ALPHA, ALPHA),
    UNORM8(0x190a, 2, LUMINANCE_ALPHA, LUMINANCE_ALPHA),
    UNORM8(0x8049, 1, RED, RED),
    UNORM8(0x8229, 1, RED, RED), /* GL_R8, GL_R16, ... */
    UNORM16(0x822a, 1, RED, RED),
    UNORM8(0x822b, 2, RG, RG),
    UNORM16(0x822c, 2, RG, RG),
    UNORM8(0x8058, 4, RGBA, RGBA),
    UNORM16(0x805b, 4, RGBA, RGBA),
    UNORM8(0x8040, 1, RED, RED), /* GL_LUMINANCE8, ... */
    UNORM16(0x8042, 1, RED, RED),
    UNORM8(0x803c, 1, ALPHA, ALPHA),
    UNORM16(0x803e, 1, ALPHA, ALPHA),
    UNORM8(0x8045, 2, LUMINANCE_ALPHA, LUMINANCE_ALPHA),
    UNORM16(0x8048, 2, LUMINANCE_ALPHA, LUMINANCE_ALPHA),
    UNORM8(0x804b, 1, RED, RED),
    UNORM16(0x804d, 1, RED, RED),
    FLOATS(0x822d, 0x822e, 1, RED, RED),
    FLOATS(0x822f, 0x8230, 2, RG, RG),
    FLOATS(0x881a, 0x8814, 4, RGBA, RGBA),
    FLOATS(0x881c, 0x8816, 1, ALPHA, ALPHA),
    FLOATS(0x881d, 0x8817, 1, RED, RED),
    FLOATS(0x881e, 0x8818, 1, RED, RED),
    FLOATS(0x881f, 0x8819, 2, LUMINANCE_ALPHA, LUMINANCE_ALPHA),
    INTEGERS(0x8232, 0x8234, 0x8236, 0x8231, 0x8233, 0x8235, 1, RED_INTEGER, RED_INTEGER),
    INTEGERS(0x8238, 0x823a, 0x823c, 0x8237, 0x8239, 0x823b, 2, RG_INTEGER, RG_INTEGER),
    INTEGERS(0x8d7c, 0x8d76, 0x8d70, 0x8d8e, 0x8d88, 0x8d82, 4, RGBA_INTEGER, RGBA_INTEGER),
    INTEGERS(0x8d7e, 0x8d78, 0x8d72, 0x8d90, 0x8d8a, 0x8d84, 1, ALPHA_INTEGER, ALPHA_INTEGER),
    INTEGERS(0x8d7f, 0x8d79, 0x8d73, 0x8d91, 0x8d8b, 0x8d85, 1, RED_INTEGER, RED_INTEGER),
    INTEGERS(0x8d80, 0x8d7a, 0x8d74, 0x8d92, 0x8d8c, 0x8d86, 1, RED_INTEGER, LUMINANCE_INTEGER),
    INTEGERS(0x8d81, 0x8d7b, 0x8d75, 0x8d93, 0x8d8d, 0x8d87, 2, LUMINANCE_ALPHA_INTEGER,
             LUMINANCE_ALPHA_INTEGER),
};

const struct soft_gl_format *soft_gl_format(unsigned internal)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].internal == internal) return &formats[i];
    return NULL;
}
