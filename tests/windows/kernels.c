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

typedef CUresult(CUDAAPI *load_data_fn)(CUmodule *module, const void *image);

static load_data_fn find_load_data(const stage *s)
{
    void *address = NULL;
    load_data_fn load_data;
    CU_OK(s->cu->GetProcAddress("cuModuleLoadData", &address, 2000, CU_GET_PROC_ADDRESS_DEFAULT,
                                NULL));
    memcpy(&load_data, &address, sizeof address);
    return load_data;
}

static unsigned char *read_file(const char *relative, size_t *size)
{
    char path[TEST_PATH_MAX];
    FILE *file = fopen(test_path(path, relative), "rb");
    REQUIRE(file != NULL);
    REQUIRE(fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = test_memory(*size);
    REQUIRE(fread(data, 1, *size, file) == *size);
    fclose(file);
    return data;
}

/* The call is not told how long an image is: it ends where its headers say. Two of the same bytes
 * are two modules, and a file of each is there for as long as it is loaded. */
TEST(from_memory)
{
    stage s = stage_open("wrong_kernels");
    size_t size = 0;
    unsigned char *image = read_file("share/culvert/block_kernels.soft.so", &size);
    const unsigned before = kept_files();
    CUmodule modules[2];
    const load_data_fn load_data = find_load_data(&s);
    for (unsigned i = 0; i < 2; i++)
        CU_OK(load_data(&modules[i], image));
    REQUIRE_EQ(kept_files(), before + 2);
    for (unsigned i = 0; i < 2; i++) {
        stage other = s;
        other.module = modules[i];
        static int out[256];
        int n = 200;
        CUdeviceptr to = stage_buffer(&other, NULL, sizeof out);
        void *params[] = {&to, &n};
        stage_run(&other, "block_leave", (stage_shape){{1}, {256}, 0}, params);
        stage_read(&other, to, out, sizeof out);
        REQUIRE_EQ(out[0], 20100);
        CU_OK(s.cu->ModuleUnload(modules[i]));
    }
    REQUIRE_EQ(kept_files(), before);
    stage_close(&s);
}
