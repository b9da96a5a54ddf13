/* SPDX-License-Identifier: MIT */
/* kernels.exe: the suite of tests/twin/kernels, whose kernels are DLLs here, and how the twin opens
 * those. */
#include "blocks.c"
#undef TEST_GROUP
#define TEST_GROUP "images."

#include <windows.h>

/* Files that the driver keeps for kernels from memory. */
static unsigned kept_files(void)
{
    char pattern[MAX_PATH + 16];
    WIN32_FIND_DATAA found;
    unsigned count = 0;
    const DWORD length = GetTempPathA(MAX_PATH, pattern);
    REQUIRE(length > 0 && length < MAX_PATH);
    strcat(pattern, "cuk*.tmp");
    const HANDLE search = FindFirstFileA(pattern, &found);
    if (search == INVALID_HANDLE_VALUE) return 0;
    do
        count++;
    while (FindNextFileA(search, &found));
    FindClose(search);
    return count;
}

/* The call is not told how long an image is: it ends where its headers say. Two of the same bytes
 * are two modules, and a file of each is there for as long as it is loaded. */
TEST(from_memory)
{
    stage s = stage_open("wrong_kernels");
    char path[TEST_PATH_MAX];
    FILE *file = fopen(test_path(path, "share/culvert/block_kernels.soft.so"), "rb");
    REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
    const size_t size = (size_t)ftell(file);
    unsigned char *image = test_memory(size);
    rewind(file);
    REQUIRE(fread(image, 1, size, file) == size && fclose(file) == 0);
    const unsigned before = kept_files();
    stage others[2] = {s, s};
    for (unsigned i = 0; i < 2; i++)
        CU_OK(s.cu->ModuleLoadDataEx(&others[i].module, image, 0, NULL, NULL));
    REQUIRE_EQ(kept_files(), before + 2);
    for (unsigned i = 0; i < 2; i++) {
        static int out[256];
        int n = 200;
        CUdeviceptr to = stage_buffer(&others[i], NULL, sizeof out);
        void *params[] = {&to, &n};
        stage_run(&others[i], "block_leave", (stage_shape){{1}, {256}, 0}, params);
        stage_read(&others[i], to, out, sizeof out);
        REQUIRE_EQ(out[0], 20100);
        CU_OK(s.cu->ModuleUnload(others[i].module));
    }
    REQUIRE_EQ(kept_files(), before);
    stage_close(&s);
}
