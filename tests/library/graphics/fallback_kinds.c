/* SPDX-License-Identifier: MIT */
/* Fallbacks: what leads on to the next path, forms of texels, streams that are gone. */
#include "fallback_scene.h"

static void need_twin(scene *s)
{
    if (s->w.cu->SoftFailAt != NULL) return;
    scene_close(s);
    SKIP("only the twin fails on demand");
}

/* Whatever the driver refuses of the other GPU, HOST is next; and PEER alone says what it was. */
TEST(peer_refused)
{
    static scene s;
    unsigned hits = 0, fell = 0;
    scene_open_bare(&s, SCENE_PEER);
    need_twin(&s);
    culv_vk_detach(&s.w.attachment);
    for (uint64_t n = 1; n == hits + 1; n++) {
        culv_shared_buffer *buffer = NULL;
        culv_vk_device_desc d = lib_vk_desc(&s.w);
        d.get_instance_proc_addr = lib_lying_loader;
        d.fallback = CULV_FALLBACK_ANY;
        for (int alone = 0; alone < 2; alone++) {
            LIB_OK(culv_vk_attach(s.w.device, &d, &s.w.attachment));
            s.w.cu->SoftFailAt(n, CUDA_ERROR_UNKNOWN);
            culv_result result =
                scene_buffer(&s, 4096, alone ? CULV_FALLBACK_PEER : CULV_FALLBACK_ANY, &buffer);
            if (!alone) hits += s.w.cu->SoftFailedCall() != NULL;
            s.w.cu->SoftFailAt(0, 0);
            if (!alone) LIB_OK(result);
            if (!alone)
                fell += culv_buffer_sharing(culv_shared_buffer_cuda(buffer)) == CULV_SHARING_HOST;
            if (result == CULV_OK) culv_shared_buffer_destroy(&buffer, NULL);
            lib_settle(&s.w);
            culv_vk_detach(&s.w.attachment);
        }
    }
    REQUIRE(hits > 20);
    REQUIRE(fell > 5);
    scene_close(&s);
}

static culv_result make(const scene *s, VkFormat format, culv_texels texels,
                        culv_shared_image **out)
{
    const VkImageCreateInfo info = raw_vk_image_info(
        format, 32, 16, VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = &info;
    d.fallback = CULV_FALLBACK_ANY;
    d.texels = texels;
    d.label = "kind";
    return culv_vk_image_create(s->w.attachment, &d, out);
}

/* As memory of bytes they would not be what was asked for. */
TEST(normalized)
{
    static scene s;
    culv_shared_image *image = NULL;
    scene_open_bare(&s, SCENE_PAGES);
    LIB_REFUSES(image, make(&s, VK_FORMAT_R8G8B8A8_SRGB, CULV_TEXELS_NORMALIZED, &image),
                UNSUPPORTED, FORMAT, "CULV_TEXELS_STORED");
    LIB_REFUSES(image, make(&s, VK_FORMAT_D24_UNORM_S8_UINT, CULV_TEXELS_NORMALIZED, &image),
                UNSUPPORTED, FORMAT);
    LIB_OK(make(&s, VK_FORMAT_R8G8B8A8_UNORM, CULV_TEXELS_NORMALIZED, &image));
    CUarray array = NULL;
    LIB_OK(culv_image_get_array(culv_shared_image_cuda(image), 0, &array));
    culv_shared_image_destroy(&image, NULL);
    scene_close(&s);
}

/* The handle may be another context's stream by now: the error says so, not what the driver made of
 * it. */
static void stream_gone(scene_kind kind)
{
    static scene s;
    if (kind != SCENE_PEER) lib_with_option("--validation=off");
    scene_open(&s, kind);
    if (!s.w.cu->software) {
        scene_close(&s);
        SKIP("a destroyed stream's handle is undefined on NVIDIA's driver");
    }
    CUstream gone = lib_stream(&s.w);
    culv_semaphore *semaphore = culv_shared_semaphore_cuda(s.to_vulkan);
    LIB_OK(culv_semaphore_signal(semaphore, gone, 1));
    lib_finish(&s.w, gone);
    lib_stream_destroy(&s.w, gone);
    LIB_ERROR(culv_semaphore_signal(semaphore, gone, 2), DRIVER, STREAM_DEVICE,
              "was it destroyed?");
    LIB_ERROR(culv_semaphore_wait(culv_shared_semaphore_cuda(s.to_cuda), gone, 1), DRIVER,
              STREAM_DEVICE);
    LIB_OK(culv_semaphore_signal(semaphore, s.stream, 2));
    scene_close(&s);
}

TEST_AS(stream_gone_host, stream_gone(SCENE_PAGES), .title = "stream_gone.host", .own = true)
TEST_AS(stream_gone_peer, stream_gone(SCENE_PEER), .title = "stream_gone.peer", .own = true)
