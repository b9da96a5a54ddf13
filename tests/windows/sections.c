/* SPDX-License-Identifier: MIT */
/* Sections that stand for exported objects. */
#include "check.h"
#include "fake_cuda.h"

#include <windows.h>

void *section_make(const wchar_t *name)
{
    HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 4096, name);
    REQUIRE(section != NULL);
    uint32_t *word = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, sizeof *word);
    REQUIRE(word != NULL);
    *word = FAKE_SECTION;
    UnmapViewOfFile(word);
    return section;
}

bool section_lives(const wchar_t *name)
{
    HANDLE section = OpenFileMappingW(FILE_MAP_READ, FALSE, name);
    if (section != NULL) CloseHandle(section);
    return section != NULL;
}

bool handle_is_open(void *handle)
{
    DWORD flags = 0;
    return GetHandleInformation(handle, &flags) != 0;
}
