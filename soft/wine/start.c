/* SPDX-License-Identifier: MIT */
/* culvert-rig.exe PROGRAM [ARGUMENT...]: starts the program with culvert-rig.dll in it. The library
 * is in the folder above this program's. scripts/wine-run calls it. Its status is the program's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

static int fail(const char *what)
{
    fprintf(stderr, "culvert-rig: %s: error %lu\n", what, GetLastError());
    return 125;
}

/* What follows the name of this program, as it was given. */
static wchar_t *rest_of(wchar_t *line)
{
    const wchar_t end = *line == L'"' ? L'"' : L' ';
    if (end == L'"') line++;
    while (*line != L'\0' && *line != end)
        line++;
    if (*line != L'\0') line++;
    while (*line == L' ')
        line++;
    return line;
}

/* A thread of the program's loads the library and ends. */
static int load_into(HANDLE process, const wchar_t *library)
{
    const size_t size = (wcslen(library) + 1) * sizeof *library;
    const FARPROC load = GetProcAddress(GetModuleHandleA("kernel32.dll"), "LoadLibraryW");
    LPTHREAD_START_ROUTINE start;
    DWORD loaded = 0;
    memcpy(&start, &load, sizeof start);
    void *path = VirtualAllocEx(process, NULL, size, MEM_COMMIT, PAGE_READWRITE);
    if (path == NULL || !WriteProcessMemory(process, path, library, size, NULL))
        return fail("writing into the program");
    const HANDLE thread = CreateRemoteThread(process, NULL, 0, start, path, 0, NULL);
    if (thread == NULL) return fail("CreateRemoteThread");
    WaitForSingleObject(thread, INFINITE);
    GetExitCodeThread(thread, &loaded);
    CloseHandle(thread);
    if (loaded != 0) return 0;
    fprintf(stderr, "culvert-rig: the program cannot load %ls\n", library);
    return 125;
}

int main(void)
{
    static wchar_t library[MAX_PATH];
    STARTUPINFOW info = {.cb = sizeof info};
    PROCESS_INFORMATION made;
    DWORD status = 125;
    wchar_t *line = rest_of(GetCommandLineW());
    if (*line == L'\0') {
        fprintf(stderr, "usage: culvert-rig.exe PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    GetModuleFileNameW(NULL, library, MAX_PATH - 32);
    wchar_t *last = wcsrchr(library, L'\\');
    wcscpy(last != NULL ? last + 1 : library, L"..\\culvert-rig.dll");
    if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &info, &made))
        return fail("the program does not start");
    const int result = load_into(made.hProcess, library);
    if (result != 0) {
        TerminateProcess(made.hProcess, 125);
        return result;
    }
    ResumeThread(made.hThread);
    WaitForSingleObject(made.hProcess, INFINITE);
    GetExitCodeProcess(made.hProcess, &status);
    return (int)status;
}
