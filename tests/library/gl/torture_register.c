/* SPDX-License-Identifier: MIT */
/* Torture of OpenGL's objects: those that are registered, and those that Culvert makes with a
 * VkDevice of its own. */
#include "raw_gl_image.h"
#include "torture.h"

#include <culvert/gl.h>

static raw_gl context;
static GLuint buffer;
static raw_gl_image image;

static void begin(void)
{
    raw_gl_open(&context, torture.w.cu->software, 0, RAW_GL_CORE);
    context.CreateBuffers(1, &buffer);
    context.NamedBufferData(buffer, 4096, NULL, GL_DYNAMIC_DRAW);
    REQUIRE(raw_gl_image_make(&context, &raw_gl_kinds[0], raw_gl_format_named("GL_RGBA8"), &image));
}

static void end(void)
{
    raw_gl_image_delete(&context, &image);
    context.DeleteBuffers(1, &buffer);
    raw_gl_close(&context);
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_gl *gl = NULL;
    culv_registration *r[2] = {POISON(culv_registration), POISON(culv_registration)};
    culv_registration *readback = POISON(culv_registration);
    culv_gl_readback_desc d = culv_gl_readback_desc_init();
    culv_gl_desc how = culv_gl_desc_init();
    CUsurfObject surface = 0;
    CUarray array = NULL;
    d.width = d.height = 16;
    how.get_proc_address = raw_gl_get_proc;
    CUstream stream = torture_open();
    TRY_AGAIN(culv_gl_attach(w->device, &how, &gl), gl == NULL);
    TRY_AGAIN(culv_gl_register_buffer(gl, buffer, NULL, &r[0]), r[0] == POISON(culv_registration));
    TRY_AGAIN(culv_gl_register_image(gl, image.name, GL_TEXTURE_2D, NULL, &r[1]),
              r[1] == POISON(culv_registration));
    TRY_AGAIN(culv_gl_readback_create(gl, &d, &readback), readback == POISON(culv_registration));
    for (int turn = 0; turn < 2; turn++) {
        TRY_AGAIN(culv_registration_map(r, 2, stream), !culv_registration_is_mapped(r[0]) &&
                                                           !culv_registration_is_mapped(r[1]) &&
                                                           culv_registration_pointer(r[0]) == 0);
        REQUIRE(culv_registration_pointer(r[0]) != 0);
        TRY_AGAIN(culv_image_get_surface(culv_registration_image(r[1]), 0, 0, &surface), true);
        TRY_AGAIN(culv_registration_get_array(r[1], 0, 1, &array), true);
        LIB_CU_OK(w, w->cu->MemsetD32Async(culv_registration_pointer(r[0]), 7, 1024, stream));
        TRY_AGAIN(culv_registration_unmap(r, 2, stream),
                  culv_registration_is_mapped(r[0]) && culv_registration_is_mapped(r[1]));
    }
    uint32_t words[1024];
    raw_gl_read_buffer(&context, buffer, words, sizeof words);
    for (int i = 0; i < 1024; i++)
        REQUIRE_EQ(words[i], 7);
    TRY_AGAIN(culv_registration_map(r, 2, stream), true);
    TRY_AGAIN(culv_registration_destroy(&r[1]), r[1] != NULL); /* mapped */
    TRY_AGAIN(culv_registration_destroy(&r[0]), r[0] != NULL);
    TRY_AGAIN(culv_registration_destroy(&readback), readback != NULL);
    REQUIRE(r[0] == NULL && r[1] == NULL && readback == NULL);
    DO(culv_gl_detach(&gl));
    torture_close(stream);
}

static const torture_path path = {.any_driver = true,
                                  .unvalidated = true,
                                  .begin = begin,
                                  .run = run,
                                  .end = end,
                                  .least = {8, 0, 6}};
TORTURE_CASES("register", path)

static void made_begin(void)
{
    raw_gl_open(&context, torture.w.cu->software, 0, RAW_GL_CORE);
}

static void made_end(void)
{
    raw_gl_close(&context);
}

static void made_run(void)
{
    lib_world *w = &torture.w;
    culv_gl *gl = NULL;
    culv_shared_buffer *shared = POISON(culv_shared_buffer);
    culv_shared_image *picture = POISON(culv_shared_image);
    culv_shared_semaphore *turn = POISON(culv_shared_semaphore);
    culv_gl_desc how = culv_gl_desc_init();
    culv_gl_buffer_create_desc bd = culv_gl_buffer_create_desc_init();
    culv_gl_image_create_desc id = culv_gl_image_create_desc_init();
    uint32_t words[1024];
    how.get_proc_address = raw_gl_get_proc;
    bd.size = sizeof words;
    id.internal_format = GL_RGBA8;
    id.width = id.height = 16;
    CUstream stream = torture_open();
    TRY_AGAIN(culv_gl_attach(w->device, &how, &gl), gl == NULL);
    TRY_AGAIN(culv_gl_buffer_create(gl, &bd, &shared), shared == POISON(culv_shared_buffer));
    TRY_AGAIN(culv_gl_image_create(gl, &id, &picture), picture == POISON(culv_shared_image));
    TRY_AGAIN(culv_gl_semaphore_create(gl, NULL, &turn), turn == POISON(culv_shared_semaphore));
    LIB_CU_OK(w, w->cu->MemsetD32Async(culv_buffer_pointer(culv_shared_buffer_cuda(shared)), 7,
                                       1024, stream));
    lib_finish(w, stream);
    raw_gl_read_buffer(&context, culv_gl_buffer_name(shared), words, sizeof words);
    for (int i = 0; i < 1024; i++)
        REQUIRE_EQ(words[i], 7);
    DO(culv_shared_semaphore_destroy(&turn, NULL));
    DO(culv_shared_image_destroy(&picture, NULL));
    DO(culv_shared_buffer_destroy(&shared, NULL));
    DO(culv_gl_detach(&gl));
    torture_close(stream);
}

static const torture_path made = {.any_driver = true,
                                  .unvalidated = true,
                                  .begin = made_begin,
                                  .run = made_run,
                                  .end = made_end,
                                  .least = {8, 6, 6}};
TORTURE_CASES("gl_made", made)
