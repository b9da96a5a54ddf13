/* SPDX-License-Identifier: MIT */
/* samples/hello/hello_d3d12.c under Wine, with shared handles put in place first. It verifies its
 * picture itself. */
#include "end.h"
#include "overlay.h"

#include <stdio.h>

int hello_main(void);

int main(void)
{
    static const GUID iid_device = {
        0x189819f1, 0x1db6, 0x4b57, {0xbe, 0x54, 0x18, 0x21, 0x33, 0x9b, 0x85, 0xf7}};
    ID3D12Device *device = NULL;
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("== d3d12.hello\n");
    if (FAILED(D3D12CreateDevice(NULL, D3D_FEATURE_LEVEL_11_0, &iid_device, (void **)&device)))
        return 2;
    overlay_install(device);
    if (hello_main() != 0 || overlay_references() != 0) return 1;
    overlay12_clear();
    ID3D12Device_Release(device);
    printf("PASS d3d12.hello (its picture)\n");
    end_process(0);
}
