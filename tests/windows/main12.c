/* SPDX-License-Identifier: MIT */
/* d3d12.exe [CASE...]: runs the cases of Direct3D 12, or those that are named, and says which
 * passed. The first that fails ends it. */
#include "cases12.h"
#include "end.h"

#include <string.h>

const GUID cases_iid_fence = {
    0x0a753dcf, 0xc4d8, 0x4b91, {0xad, 0xf6, 0xbe, 0x5a, 0x60, 0xd9, 0x5a, 0x76}};
const GUID cases_iid_heap = {
    0x6b3b2502, 0x6e51, 0x45b3, {0x90, 0xee, 0x98, 0x84, 0x26, 0x5e, 0x8d, 0xf3}};
const GUID cases_iid_resource = {
    0x696442be, 0xa72e, 0x4059, {0xbc, 0x79, 0x5b, 0x5c, 0x98, 0x04, 0x0f, 0xad}};

static bool asked(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    static const case12 *const tables[] = {cases_d3d12,      cases_d3d12_errors, cases_d3d12_images,
                                           cases_d3d12_ring, cases_d3d12_vmm,    cases_d3d12_cig,
                                           cases_d3d12_rig};
    unsigned passed = 0;
    char host[MAX_PATH] = "";
    setvbuf(stdout, NULL, _IONBF, 0);
    /* Before there is a device, beside this program. */
    GetModuleFileNameA(NULL, host, sizeof host - 32);
    char *last = strrchr(host, '\\');
    strcpy(last != NULL ? last + 1 : host, "host\\vulkan-1.dll");
    overlay_load_host(host);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const case12 *c = tables[i]; c->name != NULL; c++) {
            if (!asked(argc, argv, c->name)) continue;
            printf("== d3d12.%s\n", c->name);
            const ULONGLONG begin = GetTickCount64();
            c->run();
            printf("PASS d3d12.%s (%llu ms)\n", c->name, GetTickCount64() - begin);
            passed++;
        }
    printf("%u cases passed\n", passed);
    end_process(passed > 0 ? 0 : 1);
}
