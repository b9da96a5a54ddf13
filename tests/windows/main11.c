/* SPDX-License-Identifier: MIT */
/* d3d11.exe [CASE...]: runs the cases of Direct3D 11, or those that are named, and says which
 * passed. The first that fails ends it. */
#include "cases11.h"
#include "end.h"

#include <string.h>

const GUID cases11_iid_fence = {
    0xaffde9d1, 0x1df7, 0x4bb7, {0x8a, 0x34, 0x0f, 0x46, 0x25, 0x1d, 0xab, 0x80}};
const GUID cases11_iid_device5 = {
    0x8ffde202, 0xa0e7, 0x45df, {0x9e, 0x01, 0xe8, 0x37, 0x80, 0x1b, 0x5e, 0xa0}};

ID3D11Fence *cases11_fence(const scene11 *s, uint64_t value, bool shared)
{
    ID3D11Device5 *device = NULL;
    ID3D11Fence *fence = NULL;
    HR_OK(ID3D11Device_QueryInterface(s->device, &cases11_iid_device5, (void **)&device));
    HR_OK(ID3D11Device5_CreateFence(device, value,
                                    shared ? D3D11_FENCE_FLAG_SHARED : D3D11_FENCE_FLAG_NONE,
                                    &cases11_iid_fence, (void **)&fence));
    ID3D11Device5_Release(device);
    return fence;
}

static bool asked(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    static const case11 *const tables[] = {cases_d3d11, cases_d3d11_errors, cases_d3d11_rig};
    unsigned passed = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const case11 *c = tables[i]; c->name != NULL; c++) {
            if (!asked(argc, argv, c->name)) continue;
            printf("== d3d11.%s\n", c->name);
            const ULONGLONG begin = GetTickCount64();
            c->run();
            printf("PASS d3d11.%s (%llu ms)\n", c->name, GetTickCount64() - begin);
            passed++;
        }
    printf("%u cases passed\n", passed);
    end_process(passed > 0 ? 0 : 1);
}
