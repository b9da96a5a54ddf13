/* SPDX-License-Identifier: MIT */
/* What Culvert needs of OpenGL's headers, which a build need not have. tests/library/gl/gl.c
 * holds the numbers against glext.h where the machine has it. */
#ifndef CULVI_GL_NUMBERS_H_
#define CULVI_GL_NUMBERS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#    define CULVI_GLAPI __stdcall
#else
#    define CULVI_GLAPI
#endif

#define CULVI_GL_NUMBERS(X)                                                                        \
    X(NO_ERROR, 0)                                                                                 \
    X(INVALID_ENUM, 0x0500)                                                                        \
    X(INVALID_VALUE, 0x0501)                                                                       \
    X(INVALID_OPERATION, 0x0502)                                                                   \
    X(OUT_OF_MEMORY, 0x0505)                                                                       \
    X(INVALID_FRAMEBUFFER_OPERATION, 0x0506)                                                       \
    X(CONTEXT_LOST, 0x0507)                                                                        \
    X(VENDOR, 0x1F00)                                                                              \
    X(RENDERER, 0x1F01)                                                                            \
    X(VERSION, 0x1F02)                                                                             \
    X(EXTENSIONS_NAME, 0x1F03)                                                                     \
    X(NUM_EXTENSIONS, 0x821D)                                                                      \
    X(MAJOR_VERSION, 0x821B)                                                                       \
    X(MINOR_VERSION, 0x821C)                                                                       \
    X(TEXTURE_1D, 0x0DE0)                                                                          \
    X(TEXTURE_2D, 0x0DE1)                                                                          \
    X(TEXTURE_3D, 0x806F)                                                                          \
    X(TEXTURE_1D_ARRAY, 0x8C18)                                                                    \
    X(TEXTURE_2D_ARRAY, 0x8C1A)                                                                    \
    X(TEXTURE_RECTANGLE, 0x84F5)                                                                   \
    X(TEXTURE_CUBE_MAP, 0x8513)                                                                    \
    X(TEXTURE_CUBE_MAP_ARRAY, 0x9009)                                                              \
    X(TEXTURE_BUFFER, 0x8C2A)                                                                      \
    X(TEXTURE_2D_MULTISAMPLE, 0x9100)                                                              \
    X(TEXTURE_2D_MULTISAMPLE_ARRAY, 0x9102)                                                        \
    X(RENDERBUFFER, 0x8D41)                                                                        \
    X(TEXTURE_IMMUTABLE_FORMAT, 0x912F)                                                            \
    X(TEXTURE_IMMUTABLE_LEVELS, 0x82DF)                                                            \
    X(TEXTURE_TARGET, 0x1006)                                                                      \
    X(TEXTURE_MAX_LEVEL, 0x813D)                                                                   \
    X(TEXTURE_WIDTH, 0x1000)                                                                       \
    X(TEXTURE_HEIGHT, 0x1001)                                                                      \
    X(TEXTURE_DEPTH, 0x8071)                                                                       \
    X(TEXTURE_INTERNAL_FORMAT, 0x1003)                                                             \
    X(RENDERBUFFER_WIDTH, 0x8D42)                                                                  \
    X(RENDERBUFFER_HEIGHT, 0x8D43)                                                                 \
    X(RENDERBUFFER_INTERNAL_FORMAT, 0x8D44)                                                        \
    X(RENDERBUFFER_SAMPLES, 0x8CAB)                                                                \
    X(SAMPLES, 0x80A9)                                                                             \
    X(SCISSOR_TEST, 0x0C11)                                                                        \
    X(NEAREST, 0x2600)                                                                             \
    X(READ_FRAMEBUFFER, 0x8CA8)                                                                    \
    X(READ_FRAMEBUFFER_BINDING, 0x8CAA)                                                            \
    X(BUFFER_SIZE, 0x8764)                                                                         \
    X(BUFFER_IMMUTABLE_STORAGE, 0x821F)                                                            \
    X(PACK_ALIGNMENT, 0x0D05)                                                                      \
    X(PACK_ROW_LENGTH, 0x0D02)                                                                     \
    X(PACK_SKIP_ROWS, 0x0D03)                                                                      \
    X(PACK_SKIP_PIXELS, 0x0D04)                                                                    \
    X(PACK_SWAP_BYTES, 0x0D00)                                                                     \
    X(PACK_LSB_FIRST, 0x0D01)                                                                      \
    X(PACK_IMAGE_HEIGHT, 0x806C)                                                                   \
    X(PACK_SKIP_IMAGES, 0x806B)                                                                    \
    X(UNPACK_ALIGNMENT, 0x0CF5)                                                                    \
    X(UNPACK_ROW_LENGTH, 0x0CF2)                                                                   \
    X(UNPACK_SKIP_ROWS, 0x0CF3)                                                                    \
    X(UNPACK_SKIP_PIXELS, 0x0CF4)                                                                  \
    X(UNPACK_SWAP_BYTES, 0x0CF0)                                                                   \
    X(UNPACK_LSB_FIRST, 0x0CF1)                                                                    \
    X(UNPACK_IMAGE_HEIGHT, 0x806E)                                                                 \
    X(UNPACK_SKIP_IMAGES, 0x806D)                                                                  \
    X(PIXEL_PACK_BUFFER, 0x88EB)                                                                   \
    X(PIXEL_UNPACK_BUFFER, 0x88EC)                                                                 \
    X(PIXEL_PACK_BUFFER_BINDING, 0x88ED)                                                           \
    X(PIXEL_UNPACK_BUFFER_BINDING, 0x88EF)                                                         \
    X(SYNC_GPU_COMMANDS_COMPLETE, 0x9117)                                                          \
    X(ALREADY_SIGNALED, 0x911A)                                                                    \
    X(TIMEOUT_EXPIRED, 0x911B)                                                                     \
    X(CONDITION_SATISFIED, 0x911C)                                                                 \
    X(SYNC_FLUSH_COMMANDS_BIT, 0x00000001)                                                         \
    X(NUM_DEVICE_UUIDS_EXT, 0x9596)                                                                \
    X(DEVICE_UUID_EXT, 0x9597)                                                                     \
    X(DRIVER_UUID_EXT, 0x9598)                                                                     \
    X(DEVICE_LUID_EXT, 0x9599)                                                                     \
    X(DEVICE_NODE_MASK_EXT, 0x959A)                                                                \
    X(RGBA4, 0x8056)                                                                               \
    X(TEXTURE_TILING_EXT, 0x9580)                                                                  \
    X(DEDICATED_MEMORY_OBJECT_EXT, 0x9581)                                                         \
    X(OPTIMAL_TILING_EXT, 0x9584)                                                                  \
    X(LINEAR_TILING_EXT, 0x9585)                                                                   \
    X(LAYOUT_GENERAL_EXT, 0x958D)                                                                  \
    X(SEMAPHORE_TYPE_NV, 0x95B3)                                                                   \
    X(SEMAPHORE_TYPE_TIMELINE_NV, 0x95B5)                                                          \
    X(TIMELINE_SEMAPHORE_VALUE_NV, 0x9595)

enum {
#define CULVI_GL_NUMBER_(name, number) CULVI_GL_##name = (int)(number),
    CULVI_GL_NUMBERS(CULVI_GL_NUMBER_)
#undef CULVI_GL_NUMBER_
};

/* GLenum, GLuint and GLbitfield are uint32_t, GLint and GLsizei int32_t, GLboolean unsigned char,
 * GLintptr and GLsizeiptr ptrdiff_t. */
#endif
