/* SPDX-License-Identifier: MIT */
/* What scene11.c and scene12.c have in common. Each includes it, with its D3D. */

culv_d3d_device *NATIVE(attach)(const native *s, culv_device *culvert)
{
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    culv_d3d_device *out = NULL;
    desc.device = (IUnknown *)s->device;
    OK(culv_d3d_attach(culvert, &desc, &out));
    return out;
}

void NATIVE(open)(native *s)
{
    NATIVE(open_device)(s);
    OK(culv_device_open_for_d3d((IUnknown *)s->device, NULL, &s->culvert));
    s->d3d = NATIVE(attach)(s, s->culvert);
    s->cu = CULV_CUDA(s->culvert);
    s->stream = scene_stream(s->culvert);
}

void NATIVE(close_culvert)(native *s)
{
    if (s->culvert != NULL) {
        scene_close_stream(s->culvert, s->stream);
        culv_d3d_detach(&s->d3d);
        REQUIRE(s->d3d == NULL);
        scene_close_device(&s->culvert);
    }
    REQUIRE(OVERLAY(references)() == 0);
}

bool NATIVE(reach)(native_fence *fence, uint64_t value, DWORD timeout_ms)
{
    const HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
    HR_OK(FENCE(SetEventOnCompletion)(fence, value, event));
    const bool reached = WaitForSingleObject(event, timeout_ms) == WAIT_OBJECT_0;
    CloseHandle(event);
    return reached;
}
