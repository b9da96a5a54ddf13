/* SPDX-License-Identifier: MIT */
/* A GL context with the CUDA device that is the same GPU, attached. */
#ifndef CULVERT_TESTS_REGISTER_STAGE_H_
#define CULVERT_TESTS_REGISTER_STAGE_H_

#include "library.h"
#include "raw_cuda_image.h"
#include "raw_gl_image.h"

#include <culvert/gl.h>

typedef struct stage {
    raw_gl gl;
    lib_world w; /* its device; no Vulkan */
    culv_gl *attached;
    CUstream stream;
} stage;

void stage_open(stage *s, int profile);
void stage_open_with(stage *s, int profile, culv_gl_get_proc get_proc);
void stage_close(stage *s);
#define REGISTER_CASE(name, ...)                                                                   \
    TEST_ON_(stage, s, stage_open(s, TEST_FIRST(__VA_ARGS__)), stage_close(s), name,               \
             TEST_REST(__VA_ARGS__))

culv_registration *stage_register(const stage *s, GLuint buffer, culv_access access);
GLuint stage_buffer(const stage *s, size_t size, uint32_t seed);
/* Words of a buffer by lib_word(); read through OpenGL. */
void stage_require_words(const stage *s, GLuint buffer, size_t size, uint32_t seed);
/* All texels of a level of a mapped image, by Culvert's array of the level or those of its
 * layers. */
void stage_move_level(const stage *s, culv_registration *r, const raw_gl_image *image, int level,
                      uint8_t *texels, bool write, bool layers);

#endif
