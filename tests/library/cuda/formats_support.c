/* SPDX-License-Identifier: MIT */
/* Whether a driver has an array format: known of the oldest, asked once of each other. */
#define TEST_GROUP "support."
#include "formats.h"

#include <dlfcn.h>

/* Driver calls that Culvert makes in `call`, where the driver counts them. */
#define CALLS(w, call) (calls_of(w, 0), (call), calls_of(w, 1))

static uint64_t calls_of(const lib_world *w, int ended)
{
    static uint64_t before;
    culv_soft_counts counts = {.struct_size = sizeof counts};
    w->cu->SoftCounts(&counts);
    if (ended) return counts.calls - before;
    before = counts.calls;
    return 0;
}

static uint64_t arrays_of(const lib_world *w)
{
    culv_soft_counts counts = {.struct_size = sizeof counts};
    w->cu->SoftCounts(&counts);
    return counts.arrays;
}

static void need_twin(const lib_world *w)
{
    if (!w->cu->software) SKIP("only the twin counts calls and makes them fail");
}

/* What this driver has, both forms of every mapped format. Those that every driver from 525 on has
 * must be there; of the video formats the answer is printed. */
LIB_CASE(every_format, .smoke = true)
{
    culv_device_caps caps = lib_caps(w->device);
    unsigned asked = 0, lacking = 0;
    for (size_t i = 0; i < format_count; i++) {
        culv_format_info f = format_info(format_names[i].format);
        for (int form = 0; form < 2; form++) {
            uint32_t array = form ? f.normalized_array_format : f.cuda_array_format;
            uint32_t version = form ? f.normalized_cuda_version : f.cuda_version;
            culv_result result = culv_check_format(w->device, f.format, (culv_texels)form);
            if (form == 0 && f.planes > 1) { /* whatever it is called in CUDA */
                REQUIRE_EQ(result, CULV_OK);
                continue;
            }
            if (array == 0) {
                REQUIRE_EQ(result, CULV_ERROR_UNSUPPORTED);
                if (strstr(culv_last_error_message(), f.name) == NULL)
                    FAIL("%s is not named", f.name);
                if (strstr(culv_last_error_message(), f.reason_text) == NULL)
                    FAIL("%s: no '%s'", f.name, f.reason_text);
                continue;
            }
            asked++;
            if (result != CULV_OK && result != CULV_ERROR_UNSUPPORTED)
                FAIL("%s: %s", f.name, culv_last_error_message());
            if (result != CULV_OK) {
                lacking++;
                MEASURED(f.name, "not an array of this driver: %s", culv_last_error_message());
            }
            if (version == 0 && result != CULV_OK) FAIL("%s is missing", f.name);
            /* The twin makes all arrays of its own age but one, of which an H200 has none
             * either. */
            if (w->cu->software && version <= caps.driver_version)
                REQUIRE_EQ(result, f.format == CULV_FORMAT_G8B8G8R8_422_UNORM
                                       ? CULV_ERROR_UNSUPPORTED
                                       : CULV_OK);
        }
    }
    MEASURED("formats.array_formats", "%u forms, %u of them missing", asked, lacking);
}

LIB_CASE(asked_once)
{
    static const struct {
        culv_format format;
        culv_texels texels;
    } newer[] = {{CULV_FORMAT_R8G8B8A8_UNORM, CULV_TEXELS_NORMALIZED},
                 {CULV_FORMAT_BC7_SRGB_BLOCK, CULV_TEXELS_STORED},
                 {CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16, CULV_TEXELS_STORED},
                 {CULV_FORMAT_A2B10G10R10_UNORM_PACK32, CULV_TEXELS_NORMALIZED}};
    need_twin(w);
    /* What every driver has is not asked at all. */
    REQUIRE_EQ(CALLS(w, LIB_OK(culv_check_format(w->device, CULV_FORMAT_R8G8B8A8_UNORM,
                                                 CULV_TEXELS_STORED))),
               0);
    REQUIRE_EQ(
        CALLS(w, LIB_OK(culv_check_format(w->device, CULV_FORMAT_D32_SFLOAT, CULV_TEXELS_STORED))),
        0);
    REQUIRE_EQ(CALLS(w, LIB_OK(culv_check_format(w->device, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM,
                                                 CULV_TEXELS_STORED))),
               0);
    for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++) {
        REQUIRE(CALLS(w, LIB_OK(culv_check_format(w->device, newer[i].format, newer[i].texels))) >
                0);
        REQUIRE_EQ(CALLS(w, LIB_OK(culv_check_format(w->device, newer[i].format, newer[i].texels))),
                   0);
        REQUIRE_EQ(arrays_of(w), i + 1); /* kept, not destroyed: that may wait */
    }
    /* Another format of the same array format. */
    REQUIRE_EQ(CALLS(w, LIB_OK(culv_check_format(w->device, CULV_FORMAT_B8G8R8A8_UNORM,
                                                 CULV_TEXELS_NORMALIZED))),
               0);
    lib_close_culvert(w);
    REQUIRE_EQ(arrays_of(w), 0);
}

/* A question does not wait for work that waits for the one who asks. */
LIB_CASE(asked_beside_waiting_work)
{
    VkSemaphore timeline = lib_case_timeline(w, 0);
    culv_semaphore *semaphore = lib_import_timeline(w, timeline);
    CUstream stream = lib_case_stream(w);
    LIB_OK(culv_semaphore_wait(semaphore, stream, 1));
    LIB_OK(culv_check_format(w->device, CULV_FORMAT_BC7_UNORM_BLOCK, CULV_TEXELS_STORED));
    LIB_OK(culv_check_format(w->device, CULV_FORMAT_R16G16_SNORM, CULV_TEXELS_NORMALIZED));
    REQUIRE_EQ(lib_query(w, stream), CUDA_ERROR_NOT_READY);
    raw_vk_timeline_signal(&w->vk, timeline, 1);
    lib_finish(w, stream);
    culv_semaphore_destroy(&semaphore, NULL);
}

TEST(older_driver)
{
    void (*play_version)(int) = NULL;
    lib_world w = {0};
    lib_open_vulkan(&w);
    need_twin(&w);
    void *symbol = dlsym(w.cu->library, "culvSoftPlayVersion");
    REQUIRE(symbol != NULL);
    memcpy(&play_version, &symbol, sizeof symbol);
    play_version(12040);
    lib_open_culvert(&w);
    LIB_OK(culv_check_format(w.device, CULV_FORMAT_BC1_RGBA_UNORM_BLOCK, CULV_TEXELS_STORED));
    LIB_OK(culv_check_format(w.device, CULV_FORMAT_G8_B8R8_2PLANE_420_UNORM, CULV_TEXELS_STORED));
    for (int turn = 0; turn < 2; turn++) { /* asked, then remembered */
        LIB_OK(culv_check_format(w.device, CULV_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16,
                                 CULV_TEXELS_STORED)); /* its planes are older */
        LIB_ERROR(culv_check_format(w.device, CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16,
                                    CULV_TEXELS_STORED),
                  UNSUPPORTED, FORMAT, "12.4", "12.5");
        LIB_ERROR(culv_check_format(w.device, CULV_FORMAT_A2B10G10R10_UNORM_PACK32,
                                    CULV_TEXELS_NORMALIZED),
                  UNSUPPORTED, FORMAT, "12.8");
        LIB_OK(
            culv_check_format(w.device, CULV_FORMAT_A2B10G10R10_UNORM_PACK32, CULV_TEXELS_STORED));
        play_version(0); /* the answers are of the device, not asked again */
    }
    lib_close_culvert(&w);
    lib_open_culvert(&w); /* another device, asked anew */
    LIB_OK(culv_check_format(w.device, CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16,
                             CULV_TEXELS_STORED));
    lib_close(&w);
}

/* The n-th driver call of a question fails: an error, nothing left behind, and the next question is
 * asked again. Two answers mean that the driver has no such arrays, and are kept. */
LIB_VULKAN_CASE(failures)
{
    static const CUresult codes[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNKNOWN,
                                     CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_INVALID_VALUE,
                                     CUDA_ERROR_NOT_SUPPORTED};
    need_twin(w);
    for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++) {
        bool lacks = codes[c] == CUDA_ERROR_INVALID_VALUE || codes[c] == CUDA_ERROR_NOT_SUPPORTED;
        unsigned refusals = 0;
        for (uint64_t n = 1;; n++) {
            REQUIRE(n < 50);
            lib_open_culvert(w);
            w->cu->SoftFailAt(n, (int)codes[c]);
            culv_result result =
                culv_check_format(w->device, CULV_FORMAT_BC3_UNORM_BLOCK, CULV_TEXELS_STORED);
            const char *failed = w->cu->SoftFailedCall();
            bool hit = failed != NULL, create = hit && strncmp(failed, "cuArray3DCreate", 15) == 0;
            w->cu->SoftFailAt(0, 0);
            if (result != CULV_OK) refusals++;
            if (create && lacks) {
                REQUIRE_EQ(result, CULV_ERROR_UNSUPPORTED);
                LIB_ERROR(
                    culv_check_format(w->device, CULV_FORMAT_BC3_UNORM_BLOCK, CULV_TEXELS_STORED),
                    UNSUPPORTED, FORMAT);
            } else {
                if (create)
                    REQUIRE_EQ(result,
                               codes[c] == CUDA_ERROR_OUT_OF_MEMORY     ? CULV_ERROR_OUT_OF_MEMORY
                               : codes[c] == CUDA_ERROR_ILLEGAL_ADDRESS ? CULV_ERROR_ASYNC
                                                                        : CULV_ERROR_DRIVER);
                REQUIRE(result != CULV_ERROR_UNSUPPORTED);
                LIB_OK(
                    culv_check_format(w->device, CULV_FORMAT_BC3_UNORM_BLOCK, CULV_TEXELS_STORED));
            }
            lib_close_culvert(w);
            REQUIRE_EQ(arrays_of(w), 0);
            if (!hit) break;
        }
        printf("  %s: %u refusals\n", raw_cuda_result_name(codes[c]), refusals);
        REQUIRE(refusals > 0);
    }
}

/* A driver that has a video format for encoding and decoding alone has it. */
LIB_VULKAN_CASE(video)
{
    need_twin(w);
    for (uint64_t n = 1;; n++) {
        REQUIRE(n < 50);
        lib_open_culvert(w);
        w->cu->SoftFailAt(
            /* The n-th call; the first that makes an array is meant */
            n, CUDA_ERROR_INVALID_VALUE);
        culv_result result = culv_check_format(
            w->device, CULV_FORMAT_G10X6B10X6G10X6R10X6_422_UNORM_4PACK16, CULV_TEXELS_STORED);
        const char *failed = w->cu->SoftFailedCall();
        bool create = failed != NULL && strncmp(failed, "cuArray3DCreate", 15) == 0;
        w->cu->SoftFailAt(0, 0);
        lib_close_culvert(w);
        REQUIRE_EQ(arrays_of(w), 0);
        if (create) REQUIRE_EQ(result, CULV_OK);
        if (create) break;
    }
}

LIB_CASE(bad_arguments)
{
    LIB_INVALID(culv_check_format(w->device, CULV_FORMAT_R8_UNORM, (culv_texels)2), VALUE);
    LIB_INVALID(culv_check_format(w->device, CULV_FORMAT_R8_UNORM, (culv_texels)-1), VALUE);
    LIB_ERROR(culv_check_format(w->device, CULV_FORMAT_NONE, CULV_TEXELS_STORED), UNSUPPORTED,
              FORMAT);
    LIB_ERROR(culv_check_format(w->device, (culv_format)4711, CULV_TEXELS_STORED), UNSUPPORTED,
              FORMAT, "4711");
    LIB_ERROR(culv_check_format(w->device, CULV_FORMAT_R8G8B8_UNORM, CULV_TEXELS_STORED),
              UNSUPPORTED, FORMAT, "never 3");
    LIB_ERROR(culv_check_format(w->device, CULV_FORMAT_R8G8B8A8_SRGB, CULV_TEXELS_NORMALIZED),
              UNSUPPORTED, FORMAT, "CULV_TEXELS_STORED");
}
