/* SPDX-License-Identifier: MIT */
/* Objects given up: what the driver sees first, and beside a capture. */
#define TEST_GROUP "order."
#include "library.h"

/* The driver sees the unmapping before the import's release: counts in between. */
LIB_CASE(mapping_goes_before_import)
{
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    culv_memory *memory = lib_import(w, &vk);
    culv_buffer *buffer = NULL;
    LIB_OK(culv_buffer_map(memory, NULL, &buffer));
    culv_memory_destroy(&memory);
    REQUIRE_EQ(lib_counts(w).memories, 1); /* the buffer holds it */
    lib_require_driver_counts(w, 1, 1, 0);
    culv_buffer_unmap(&buffer, NULL);
    lib_settle(w);
    REQUIRE_EQ(lib_counts(w).memories, 0);
    lib_require_driver_counts(w, 0, 0, 0);
}

/* R8: a capture in global mode goes on, whatever is imported, mapped and given up meanwhile. */
LIB_CASE(capture_is_left_alone, .title = "capture.is_left_alone")
{
    const raw_cuda *cu = w->cu;
    if (cu->StreamBeginCapture == NULL || cu->StreamEndCapture == NULL || cu->GraphDestroy == NULL)
        SKIP("this driver does not capture streams");
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    VkSemaphore timeline = lib_case_timeline(w, 0);
    CUstream captured = lib_case_stream(w), other = lib_case_stream(w);
    CUgraph graph = NULL;
    CUcontext before = lib_enter(w);
    CU_OK(cu->StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    culv_memory *memory = lib_import(w, &vk);
    culv_buffer *one = NULL, *two = NULL, *three = NULL;
    LIB_OK(culv_buffer_map(memory, NULL, &one));
    LIB_OK(culv_buffer_map(memory, NULL, &two));
    LIB_OK(culv_buffer_map(memory, NULL, &three));
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    LIB_OK(culv_semaphore_signal(semaphore, other, 1));
    culv_buffer_unmap(&one, &other);
    culv_buffer_unmap(&two, &captured); /* its event must not become part of the graph */
    culv_buffer_unmap(&three, NULL);
    culv_semaphore_destroy(&semaphore, &other);
    culv_memory_destroy(&memory);
    (void)lib_counts(w);
    CU_OK(cu->StreamEndCapture(captured, &graph));
    REQUIRE(graph != NULL);
    CU_OK(cu->GraphDestroy(graph));
    lib_leave(w, before);
    lib_settle(w);
}
