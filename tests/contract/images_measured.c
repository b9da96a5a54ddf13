/* SPDX-License-Identifier: MIT */
/* Contract rows that report: LINEAR images, several mappings of one import, what destroying waits
 * for, what is left after a sticky error and after a reset, and what mapping costs. */
#define TEST_GROUP "images."
#include "contract.h"

#include <unistd.h>

#define RESET_CHILD "CULVERT_TEST_IMAGE_RESET_CHILD" /* set for that child only */

/* LINEAR images map without an error on NVIDIA's driver, and are not what the array shows. */
PAIR_CASE(linear, .mark = TEST_BOTH,
          .reason = "mapped, and something else is shown, on the twin too: the library refuses it")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    CUmipmappedArray mipmap = NULL;
    const raw_vk_image_desc desc = image_desc(format, 256, 128, 1, RAW_VK_LINEAR);
    if (!raw_vk_image_supported(&p->vk, &desc)) SKIP("no LINEAR image that can be exported");
    raw_vk_image vk = pair_vk_image(p, &desc);
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk);
    CUexternalMemory memory = pair_image_memory(p, &vk, false);
    answer_ok("mapping", raw_cuda_map_image(p->cu, memory, 0, &array, 1, &mipmap));
    size_t wrong = count_wrong_bytes(p, format, &vk, mipmap, 0, 1);
    ANSWER("both ways", "%zu of %zu bytes wrong", wrong, 2 * raw_vk_image_bytes(&vk, 0));
    CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
}

PAIR_CASE(several_mappings, .mark = TEST_BOTH)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    for (int dedicated = 0; dedicated < 2; dedicated++) {
        const char *what = dedicated ? "dedicated" : "not dedicated";
        CUmipmappedArray second = NULL;
        CUdeviceptr pointer = 0;
        shared_image image = pair_image(p, format, 256, 128, 9, dedicated ? RAW_VK_DEDICATED : 0);
        const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &image.vk);
        CUresult result =
            raw_cuda_map_image(p->cu, image.memory, image.vk.offset, &array, 9, &second);
        answer_call(answer_key("second mapping, %s", what), result);
        if (result == CUDA_SUCCESS) {
            size_t wrong = count_wrong_bytes(p, format, &image.vk, second, 0, 2) +
                           count_wrong_bytes(p, format, &image.vk, image.mipmap, 8, 3);
            answer_bytes(answer_key("both mappings, %s", what), wrong);
            CU_OK(p->cu->MipmappedArrayDestroy(second));
            wrong = count_wrong_bytes(p, format, &image.vk, image.mipmap, 0, 4);
            answer_bytes(answer_key("the first without the second, %s", what), wrong);
        }
        /* A buffer over the same bytes: the image's own order of texels shows. */
        result = raw_cuda_map_buffer(p->cu, image.memory, 0, image.vk.size, &pointer);
        answer_call(answer_key("a buffer over it, %s", what), result);
        if (result == CUDA_SUCCESS) {
            const VkExtent3D extent = raw_vk_image_extent(&image.vk, 0);
            unsigned char *expected = image_pattern(format, extent, 5), found[256 * 4];
            CU_OK(raw_cuda_write_array(p->cu, image_level(p, image.mipmap, 0), expected, 256 * 4,
                                       128));
            CU_OK(p->cu->CtxSynchronize());
            cuda_read(p, pointer, found, sizeof found);
            ANSWER(answer_key("the buffer's first row, %s", what), "%s",
                   memcmp(found, expected, sizeof found) == 0 ? "the image's first row"
                                                              : "something else");
            CU_OK(p->cu->MemFree(pointer));
        }
    }
}

/* Nothing is required of NVIDIA's driver here, nor done with it afterwards. */
PAIR_CASE(memory_destroyed_first, .own = true)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    shared_image image;
    CUsurfObject surface = 0;
    shared_image_open(p, format, 256, 128, 1, RAW_VK_DEDICATED, &image);
    const CUarray level = image_level(p, image.mipmap, 0);
    unsigned char *expected = image_pattern(format, raw_vk_image_extent(&image.vk, 0), 6);
    unsigned char *found = test_memory(256 * 128 * 4);
    answer_call("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(image.memory));
    CUresult result = raw_cuda_surface(p->cu, level, &surface);
    answer_call("then cuSurfObjectCreate", result);
    if (result == CUDA_SUCCESS)
        answer_call("cuSurfObjectDestroy", p->cu->SurfObjectDestroy(surface));
    answer_call("then a copy to it", raw_cuda_write_array(p->cu, level, expected, 256 * 4, 128));
    answer_call("and its end", p->cu->CtxSynchronize());
    raw_vk_image_read(&p->vk, &image.vk, 0, found);
    ANSWER("what Vulkan reads", "%zu bytes wrong",
           bytes_wrong(found, expected, (size_t)256 * 128 * 4));
    answer_call("then cuMipmappedArrayDestroy", p->cu->MipmappedArrayDestroy(image.mipmap));
    raw_vk_image_destroy(&p->vk, &image.vk);
    if (!p->cu->software) test_pass();
}

/* A surface that outlives its mipmapped array: only given up, never used. */
PAIR_CASE(surface_destroyed_last, .own = true)
{
    shared_image image;
    CUsurfObject surface = 0;
    shared_image_open(p, &image_formats[IMAGE_RGBA8], 256, 128, 1, 0, &image);
    CU_OK(raw_cuda_surface(p->cu, image_level(p, image.mipmap, 0), &surface));
    shared_image_close(p, &image);
    answer_call("cuSurfObjectDestroy after its array", p->cu->SurfObjectDestroy(surface));
    if (!p->cu->software) test_pass();
}

enum { PAGES_SIZE = 1 << 20 };

/* Whether each call works beside work on a stream that has nothing to do with it. */
PAIR_CASE(calls_with_pending_work)
{
    const raw_cuda *cu = p->cu;
    const image_format *format = &image_formats[IMAGE_RGBA8];
    const raw_vk_image_desc desc = image_desc(format, 1024, 1024, 1, 0);
    const CUDA_ARRAY3D_DESCRIPTOR floats = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 1, 1024, 1024);
    CUmipmappedArray spare_mipmap;
    CUarray level, array;
    CUsurfObject surface;
    CUtexObject texture;
    void *pages = aligned_alloc(65536, PAGES_SIZE);
    uint64_t value = 0;
    late_signal late;
    REQUIRE(pages != NULL);
    shared_timeline t = pair_timeline(p, 0);
    shared_image image = pair_image(p, format, 1024, 1024, 11, RAW_VK_DEDICATED);
    raw_vk_image spare = pair_vk_image(p, &desc);
    CUexternalMemory memory = pair_image_memory(p, &spare, false);
    const CUDA_ARRAY3D_DESCRIPTOR of_spare = image_cuda_desc(format, &spare);
#define BESIDE_WORK(name, call)                                                                    \
    CU_OK(raw_cuda_wait(cu, t.cu, ++value, p->stream));                                            \
    late_signal_start(&late, &p->vk, t.vk, value);                                                 \
    answer_ok("cu" #name, call);                                                                   \
    late_signal_join(&late);                                                                       \
    CU_OK(cu->StreamSynchronize(p->stream))
    BESIDE_WORK(ExternalMemoryGetMappedMipmappedArray,
                raw_cuda_map_image(cu, memory, 0, &of_spare, 1, &spare_mipmap));
    BESIDE_WORK(MipmappedArrayGetLevel, cu->MipmappedArrayGetLevel(&level, image.mipmap, 1));
    BESIDE_WORK(SurfObjectCreate, raw_cuda_surface(cu, level, &surface));
    BESIDE_WORK(SurfObjectDestroy, cu->SurfObjectDestroy(surface));
    BESIDE_WORK(MipmappedArrayDestroy, cu->MipmappedArrayDestroy(spare_mipmap));
    BESIDE_WORK(TexObjectCreate, raw_cuda_texture(cu, level, NULL, &texture));
    BESIDE_WORK(TexObjectDestroy, cu->TexObjectDestroy(texture));
    BESIDE_WORK(Array3DCreate, cu->Array3DCreate(&array, &floats));
    BESIDE_WORK(ArrayDestroy, cu->ArrayDestroy(array));
    BESIDE_WORK(MemHostRegister,
                cu->MemHostRegister(pages, PAGES_SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
    BESIDE_WORK(MemHostUnregister, cu->MemHostUnregister(pages));
#undef BESIDE_WORK
    free(pages);
}

PAIR_CASE(after_a_sticky_error, .faults = true)
{
    shared_image image;
    CUsurfObject surface, none;
    CUmipmappedArray second = NULL;
    CUarray level = NULL;
    unsigned word = 0;
    shared_image_open(p, &image_formats[IMAGE_RGBA8], 256, 128, 9, RAW_VK_DEDICATED, &image);
    CU_OK(raw_cuda_surface(p->cu, image_level(p, image.mipmap, 0), &surface));
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(image.format, &image.vk);
    /* No program has a mapping there. */
    CU_IS(words_run(p, "pattern_write", 0x1000, 256, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    answer_call("cuMipmappedArrayGetLevel", p->cu->MipmappedArrayGetLevel(&level, image.mipmap, 1));
    CUresult mapped = raw_cuda_map_image(p->cu, image.memory, 0, &array, 9, &second);
    answer_call("cuExternalMemoryGetMappedMipmappedArray", mapped);
    CU_OK(mapped); /* of no use: it has no levels */
    CU_IS(p->cu->MipmappedArrayGetLevel(&level, second, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    if (level != NULL) answer_call("cuSurfObjectCreate", raw_cuda_surface(p->cu, level, &none));
    if (level != NULL) answer_call("cuMemcpy2D", raw_cuda_read_array(p->cu, level, &word, 4, 1));
    answer_call("cuSurfObjectDestroy", p->cu->SurfObjectDestroy(surface));
    answer_call("cuMipmappedArrayDestroy", p->cu->MipmappedArrayDestroy(image.mipmap));
    answer_call("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(image.memory));
    answer_call("cuCtxSetCurrent(NULL)", p->cu->CtxSetCurrent(NULL));
    answer_call("cuDevicePrimaryCtxRelease", p->cu->DevicePrimaryCtxRelease(p->device));
    raw_vk_image_destroy(&p->vk, &image.vk);
    if (p->cu->software) {
        raw_cuda_require_empty(p->cu);
        raw_vk_close(&p->vk);
    }
    test_pass(); /* NVIDIA's driver is not to be used any further in this process */
}

/* The handles of a context that was reset. NVIDIA's driver crashes on those of external memory
 * (measured), so this runs in a process of its own, whose end is the parent's measurement. */
TEST(reset_child, .faults = true)
{
    const char *what = getenv(RESET_CHILD);
    if (what == NULL) SKIP("only as a child");
    pair p;
    shared_image image;
    CUsurfObject surface;
    pair_open(&p);
    shared_image_open(&p, &image_formats[IMAGE_RGBA8], 256, 128, 9, 0, &image);
    CU_OK(raw_cuda_surface(p.cu, image_level(&p, image.mipmap, 0), &surface));
    CU_OK(p.cu->DevicePrimaryCtxReset(p.device));
    CUcontext context = raw_cuda_context(p.cu, p.device);
    REQUIRE(context != NULL);
    CUresult result = strcmp(what, "surface") == 0 ? p.cu->SurfObjectDestroy(surface)
                                                   : p.cu->MipmappedArrayDestroy(image.mipmap);
    /* The code was seen to change from run to run (INVALID_CONTEXT, CONTEXT_IS_DESTROYED). */
    MEASURED("image_after_reset", "destroying the %s: %s", what, raw_cuda_result_name(result));
    ANSWER(answer_key("destroying the %s", what), "%s",
           result == CUDA_SUCCESS ? "taken" : "refused");
    test_pass();
}

TEST(after_reset, .faults = true)
{
    static const char *const what[] = {"surface", "mipmapped array"};
    (void)raw_cuda_open(); /* whose answers these are */
    for (size_t i = 0; i < 2; i++) {
        REQUIRE(setenv(RESET_CHILD, what[i], 1) == 0);
        int status = test_run_child("images.reset_child");
        ANSWER(answer_key("the process of the %s", what[i]), "%s %d",
               status >= 128 ? "was killed by signal" : "ended with status",
               status >= 128 ? status - 128 : status);
    }
}
