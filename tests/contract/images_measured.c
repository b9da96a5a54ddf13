/* SPDX-License-Identifier: MIT */
/* Contract rows that report: LINEAR images, several mappings of one import, what destroying waits
 * for, what is left after a sticky error and after a reset, and what mapping costs. */
#define TEST_GROUP "images."
#include "images.h"

#include <unistd.h>

#define RESET_CHILD "CULVERT_TEST_IMAGE_RESET_CHILD" /* set for that child only */

/* LINEAR images map without an error on NVIDIA's driver, and are not what the array shows. */
PAIR_CASE(linear, .mark = TEST_BOTH,
          .reason =
              "mapped, and something else is shown: on the twin on purpose. The library refuses "
              "them")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    CUmipmappedArray mipmap = NULL;
    const raw_vk_image_desc desc = image_desc(format, 256, 128, 1, RAW_VK_LINEAR);
    if (!raw_vk_image_supported(&p->vk, &desc)) SKIP("no LINEAR image that can be exported");
    raw_vk_image vk = pair_vk_image(p, &desc);
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk);
    CUexternalMemory memory =
        raw_cuda_imported(p->cu, raw_vk_image_fd(&p->vk, &vk), vk.allocation_size, false);
    CUresult result = raw_cuda_map_image(p->cu, memory, 0, &array, 1, &mipmap);
    answer_call("mapping", result);
    if (result == CUDA_SUCCESS) {
        size_t wrong = count_wrong_bytes(p, format, &vk, mipmap, 0, 1);
        ANSWER("both ways", "%zu of %zu bytes wrong", wrong, 2 * raw_vk_image_bytes(&vk, 0));
        REQUIRE(wrong > 0);
        CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
    }
    CU_OK(result);
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
           image_wrong_bytes(found, expected, (size_t)256 * 128 * 4));
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

typedef struct pending_world {
    pair p;
    shared_image image;
    raw_vk_image spare;
    CUexternalMemory spare_memory;
    CUmipmappedArray spare_mipmap;
    CUarray level, array;
    CUsurfObject surface;
    CUtexObject texture;
    void *pages; /* of the host's */
} pending_world;

enum { PAGES_SIZE = 1 << 20 };

#define CALL(name, call)                                                                           \
    static CUresult name(pending_world *w)                                                         \
    {                                                                                              \
        return call;                                                                               \
    }

static CUresult map_spare(pending_world *w)
{
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(w->image.format, &w->spare);
    return raw_cuda_map_image(w->p.cu, w->spare_memory, 0, &array, 1, &w->spare_mipmap);
}

CALL(get_level, w->p.cu->MipmappedArrayGetLevel(&w->level, w->image.mipmap, 1))
CALL(create_surface, raw_cuda_surface(w->p.cu, w->level, &w->surface))
CALL(destroy_surface, w->p.cu->SurfObjectDestroy(w->surface))
CALL(destroy_spare, w->p.cu->MipmappedArrayDestroy(w->spare_mipmap))
CALL(create_texture, raw_cuda_texture(w->p.cu, w->level, NULL, &w->texture))
CALL(destroy_texture, w->p.cu->TexObjectDestroy(w->texture))

static CUresult create_array(pending_world *w)
{
    const CUDA_ARRAY3D_DESCRIPTOR desc = raw_cuda_array_desc(CU_AD_FORMAT_FLOAT, 1, 1024, 1024);
    return w->p.cu->Array3DCreate(&w->array, &desc);
}

CALL(destroy_array, w->p.cu->ArrayDestroy(w->array))
CALL(register_pages, w->p.cu->MemHostRegister(w->pages, PAGES_SIZE, CU_MEMHOSTREGISTER_DEVICEMAP))
CALL(unregister_pages, w->p.cu->MemHostUnregister(w->pages))

/* Whether each call waits for work on a stream that has nothing to do with it. */
TEST(calls_with_pending_work)
{
    static const struct {
        const char *name;
        CUresult (*run)(pending_world *w);
    } calls[] = {{"cuExternalMemoryGetMappedMipmappedArray", map_spare},
                 {"cuMipmappedArrayGetLevel", get_level},
                 {"cuSurfObjectCreate", create_surface},
                 {"cuSurfObjectDestroy", destroy_surface},
                 {"cuMipmappedArrayDestroy", destroy_spare},
                 {"cuTexObjectCreate", create_texture},
                 {"cuTexObjectDestroy", destroy_texture},
                 {"cuArray3DCreate", create_array},
                 {"cuArrayDestroy", destroy_array},
                 {"cuMemHostRegister", register_pages},
                 {"cuMemHostUnregister", unregister_pages}};
    static pending_world w; /* holds a pointer to itself */
    pair *p = &w.p;
    shared_timeline t;
    late_signal late;
    pair_open(p);
    shared_timeline_open(p, 0, &t);
    shared_image_open(p, &image_formats[IMAGE_RGBA8], 1024, 1024, 11, RAW_VK_DEDICATED, &w.image);
    const raw_vk_image_desc desc = image_desc(&image_formats[IMAGE_RGBA8], 1024, 1024, 1, 0);
    raw_vk_image_create(&p->vk, &desc, &w.spare);
    CU_OK(raw_cuda_import_memory(p->cu, raw_vk_image_fd(&p->vk, &w.spare), w.spare.allocation_size,
                                 false, &w.spare_memory));
    w.pages = aligned_alloc(65536, PAGES_SIZE);
    REQUIRE(w.pages != NULL);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        CU_OK(raw_cuda_wait(p->cu, t.cu, i + 1, p->stream));
        late_signal_start(&late, &p->vk, t.vk, i + 1);
        double start = test_now_us();
        CUresult result = calls[i].run(&w);
        double took = test_now_us() - start;
        answer_call(calls[i].name, result);
        MEASURED("image_call_with_pending_work", "%s beside a wait of %d us: after %.0f us",
                 calls[i].name, LATE_SIGNAL_US, took);
        late_signal_join(&late);
        REQUIRE(result == CUDA_SUCCESS);
        CU_OK(p->cu->StreamSynchronize(p->stream));
    }
    free(w.pages);
    CU_OK(p->cu->DestroyExternalMemory(w.spare_memory));
    raw_vk_image_destroy(&p->vk, &w.spare);
    shared_image_close(p, &w.image);
    shared_timeline_close(p, &t);
    pair_close(p);
}

static void report_sticky(const char *call, CUresult result)
{
    answer_call(call, result);
    MEASURED("images_after_sticky_error", "%s: then %zu fds", call, test_open_fds());
}

PAIR_CASE(after_a_sticky_error, .faults = true)
{
    shared_image image;
    CUsurfObject surface, none;
    CUmipmappedArray second = NULL;
    CUarray level = NULL;
    CUdeviceptr nowhere = 0x1000; /* no program has a mapping there */
    unsigned count = 64, seed = 0, word = 0;
    shared_image_open(p, &image_formats[IMAGE_RGBA8], 256, 128, 9, RAW_VK_DEDICATED, &image);
    CU_OK(raw_cuda_surface(p->cu, image_level(p, image.mipmap, 0), &surface));
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(image.format, &image.vk);
    CUmodule module = raw_cuda_load(p->cu, "pattern");
    void *args[] = {&nowhere, &count, &seed};
    CU_OK(p->cu->LaunchKernel(raw_cuda_function(p->cu, module, "pattern_write"), 1, 1, 1, 64, 1, 1,
                              0, p->stream, args, NULL));
    CU_IS(p->cu->StreamSynchronize(p->stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    report_sticky("cuMipmappedArrayGetLevel",
                  p->cu->MipmappedArrayGetLevel(&level, image.mipmap, 1));
    CUresult mapped = raw_cuda_map_image(p->cu, image.memory, 0, &array, 9, &second);
    report_sticky("cuExternalMemoryGetMappedMipmappedArray", mapped);
    CU_OK(mapped); /* of no use: it has no levels */
    CU_IS(p->cu->MipmappedArrayGetLevel(&level, second, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    if (level != NULL) report_sticky("cuSurfObjectCreate", raw_cuda_surface(p->cu, level, &none));
    if (level != NULL) report_sticky("cuMemcpy2D", raw_cuda_read_array(p->cu, level, &word, 4, 1));
    report_sticky("cuSurfObjectDestroy", p->cu->SurfObjectDestroy(surface));
    report_sticky("cuMipmappedArrayDestroy", p->cu->MipmappedArrayDestroy(image.mipmap));
    report_sticky("cuDestroyExternalMemory", p->cu->DestroyExternalMemory(image.memory));
    report_sticky("cuCtxSetCurrent(NULL)", p->cu->CtxSetCurrent(NULL));
    report_sticky("cuDevicePrimaryCtxRelease", p->cu->DevicePrimaryCtxRelease(p->device));
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
    CUresult(CUDAAPI * reset)(CUdevice device);
    void *address = NULL;
    pair_open(&p);
    CU_OK(p.cu->GetProcAddress("cuDevicePrimaryCtxReset", &address, 11000, 0, NULL));
    memcpy(&reset, &address, sizeof reset);
    shared_image_open(&p, &image_formats[IMAGE_RGBA8], 256, 128, 9, 0, &image);
    CU_OK(raw_cuda_surface(p.cu, image_level(&p, image.mipmap, 0), &surface));
    CU_OK(reset(p.device));
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

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

PAIR_CASE(costs, .mark = TEST_BOTH, .reason = "reported, never asserted")
{
    enum { TURNS = 21, STEPS = 6 };
    static const char *const steps[STEPS] = {"import",          "map",  "level", "surface",
                                             "surface destroy", "unmap"};
    static const uint32_t sizes[] = {256, 1024, 4096};
    const image_format *format = &image_formats[IMAGE_RGBA8];
    int turns = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int chain = 0; chain < 2; chain++) {
            double times[STEPS][TURNS];
            raw_vk_image vk;
            const uint32_t levels = chain ? image_full_chain(sizes[s], sizes[s]) : 1;
            const raw_vk_image_desc desc =
                image_desc(format, sizes[s], sizes[s], levels, RAW_VK_DEDICATED);
            raw_vk_image_create(&p->vk, &desc, &vk);
            const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &vk);
            for (int turn = 0; turn < TURNS; turn++, turns++) {
                CUexternalMemory memory;
                CUmipmappedArray mipmap;
                CUarray level;
                CUsurfObject surface;
                int fd = raw_vk_image_fd(&p->vk, &vk);
                double at[STEPS + 1];
                at[0] = test_now_us();
                CU_OK(raw_cuda_import_memory(p->cu, fd, vk.allocation_size, true, &memory));
                at[1] = test_now_us();
                CU_OK(raw_cuda_map_image(p->cu, memory, 0, &array, levels, &mipmap));
                at[2] = test_now_us();
                CU_OK(p->cu->MipmappedArrayGetLevel(&level, mipmap, levels - 1));
                at[3] = test_now_us();
                CU_OK(raw_cuda_surface(p->cu, level, &surface));
                at[4] = test_now_us();
                CU_OK(p->cu->SurfObjectDestroy(surface));
                at[5] = test_now_us();
                CU_OK(p->cu->MipmappedArrayDestroy(mipmap));
                at[6] = test_now_us();
                CU_OK(p->cu->DestroyExternalMemory(memory));
                for (int i = 0; i < STEPS; i++)
                    times[i][turn] = at[i + 1] - at[i];
            }
            for (int i = 0; i < STEPS; i++) {
                qsort(times[i], TURNS, sizeof times[i][0], by_time);
                MEASURED("image_cost", "%u x %u RGBA8, %u levels: %s %.1f us", sizes[s], sizes[s],
                         levels, steps[i], times[i][TURNS / 2]);
            }
            raw_vk_image_destroy(&p->vk, &vk);
        }
    ANSWER("mapped and given up", "%d times", turns);
}
