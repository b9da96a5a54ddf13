/* SPDX-License-Identifier: MIT */
/* The VkDevice that Culvert makes for OpenGL: each of its calls fails once. */
#define TEST_GROUP "gl."
#include "gl_stage.h"

/* Each Vulkan call of the exporter's own VkDevice fails once. */
GL_CASE(exporter_fails, 0, .time_limit = 300)
{
    lib_layer layer;
    unsigned failures = 0, n = 1;
    culv_shared_buffer *first = NULL;
    culv_gl_buffer_create_desc d = culv_gl_buffer_create_desc_init();
    d.size = 4096;
    LIB_OK(culv_gl_buffer_create(s->attachment, &d, &first)); /* loads the layer */
    if (!lib_layer_find(&layer)) {
        LIB_OK(culv_shared_buffer_destroy(&first, NULL));
        gl_stage_close(s);
        SKIP("only the twin's layer fails on demand");
    }
    for (;; n++) {
        culv_gl *gl = NULL;
        culv_shared_buffer *buffer = NULL;
        culv_shared_semaphore *semaphore = NULL;
        culv_soft_vk_counts before = {.struct_size = sizeof before}, after = before;
        culv_gl_desc g = gl_stage_desc(0);
        LIB_OK(culv_gl_attach(s->device, &g, &gl));
        size_t fds = test_open_fds();
        layer.counts(&before);
        layer.fail_at(n, -1 /* VK_ERROR_OUT_OF_HOST_MEMORY */);
        culv_result result = culv_gl_buffer_create(gl, &d, &buffer);
        if (result == CULV_OK) result = culv_gl_semaphore_create(gl, NULL, &semaphore);
        const char *failed = layer.failed_call();
        layer.fail_at(0, 0);
        if (result != CULV_OK) {
            failures++;
            REQUIRE(culv_last_error_message()[0] != '\0');
            LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
            LIB_OK(culv_gl_buffer_create(gl, &d, &buffer)); /* the next try succeeds */
        }
        LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
        LIB_OK(culv_shared_semaphore_destroy(&semaphore, NULL));
        culv_gl_detach(&gl);
        layer.counts(&after);
        REQUIRE_EQ(after.memories, before.memories);
        REQUIRE_EQ(after.buffers, before.buffers);
        REQUIRE_EQ(after.all_semaphores, before.all_semaphores);
        REQUIRE_EQ(test_open_fds(), fds);
        if (failed == NULL) break;
    }
    printf("%u calls, %u made a call of Culvert's fail\n", n - 1, failures);
    REQUIRE(failures > 3);
    LIB_OK(culv_shared_buffer_destroy(&first, NULL));
}
