/* SPDX-License-Identifier: MIT */
/* culvert-info: what Windows tells: display adapters, the driver's version, libraries, the console.
 * There is no IMEX and no file that names a device's place on the bus. */
#include "info.h"

#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

const struct words words = {
    .cuda = "nvcuda.dll",
    .vulkan = "vulkan-1.dll",
    .soft = "culvert-soft.dll",
    .get_loader = "install NVIDIA's driver, which brings the Vulkan loader",
    .get_nvidia = "install NVIDIA's driver anew: its Vulkan part is not registered",
    .get_driver = "install a Vulkan driver; NVIDIA's brings it along",
    .get_lavapipe = "install Mesa's lavapipe, which the software twin needs",
    .get_cuda = "install NVIDIA's driver anew: it brings nvcuda.dll",
};

/* A value of the registry that is a text; false where there is none. */
static bool read_text(HKEY key, const char *name, char *out, DWORD size)
{
    DWORD type = 0;
    memset(out, 0, size--);
    return RegQueryValueExA(key, name, NULL, &type, (BYTE *)out, &size) == ERROR_SUCCESS &&
           type == REG_SZ;
}

/* "32.0.15.8129": the last five digits are NVIDIA's own number, 581.29. */
static void release_of(const char *version, char *out, size_t size)
{
    char digits[64] = "";
    size_t count = 0;
    for (; *version != '\0' && count < sizeof digits - 1; version++)
        if (*version >= '0' && *version <= '9') digits[count++] = *version;
    if (count >= 5) text_set(out, size, "%.3s.%s", digits + count - 5, digits + count - 2);
}

/* The class of display adapters has a key for each one. */
void system_read(struct system_info *out)
{
    static const char display[] =
        "SYSTEM\\CurrentControlSet\\Control\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}";
    HKEY all;
    iommu_read(out);
    text_set(out->imex, sizeof out->imex, "Windows has no IMEX channels");
    if (RegOpenKeyExA(HKEY_LOCAL_MACHINE, display, 0, KEY_READ, &all) != ERROR_SUCCESS) {
        out->nvidia_gpus = -1;
        return;
    }
    for (DWORD i = 0;; i++) {
        char name[64], id[256], version[64];
        DWORD size = sizeof name;
        HKEY key;
        if (RegEnumKeyExA(all, i, name, &size, NULL, NULL, NULL, NULL) != ERROR_SUCCESS) break;
        if (RegOpenKeyExA(all, name, 0, KEY_READ, &key) != ERROR_SUCCESS) continue;
        if (read_text(key, "MatchingDeviceId", id, sizeof id) &&
            _strnicmp(id, "pci\\ven_10de", strlen("pci\\ven_10de")) == 0) {
            out->nvidia_gpus++;
            if (read_text(key, "DriverVersion", version, sizeof version))
                release_of(version, out->nvidia_kernel_version, sizeof out->nvidia_kernel_version);
        }
        RegCloseKey(key);
    }
    RegCloseKey(all);
}

void iommu_read(struct system_info *out)
{
    out->iommu_units = out->iommu_groups = -1;
}

void pci_read(const char *bus_id, struct pci_info *out)
{
    (void)bus_id;
    memset(out, 0, sizeof *out);
    out->iommu_group = -1;
}

/* Of the system directory alone, as Culvert loads drivers. */
void *library_open(const char *name, char *why, size_t size)
{
    const HMODULE library = LoadLibraryExA(name, NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (library == NULL)
        text_set(why, size, "%s does not load from the system directory: error %lu", name,
                 (unsigned long)GetLastError());
    return (void *)library;
}

void *library_loaded(const char *name)
{
    return (void *)GetModuleHandleA(name);
}

void *library_symbol(void *library, const char *name)
{
    const FARPROC found = GetProcAddress((HMODULE)library, name);
    void *address = NULL;
    memcpy(&address, &found, sizeof address);
    return address;
}

void library_path(void *library, char *out, size_t size)
{
    const DWORD length = GetModuleFileNameA((HMODULE)library, out, (DWORD)size);
    if (length == 0 || length >= size) out[0] = '\0';
}

/* The registry has it of the adapter: system_read(). */
void library_release(const char *path, char *out, size_t size)
{
    (void)path, (void)out, (void)size;
}

uint64_t clock_now(void)
{
    return GetTickCount64() * UINT64_C(1000000);
}

int terminal_columns(FILE *out, bool *colour)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    DWORD mode = 0;
    const HANDLE console = (HANDLE)_get_osfhandle(_fileno(out));
    if (!_isatty(_fileno(out)) || !GetConsoleMode(console, &mode)) return -1;
    *colour = SetConsoleMode(console, mode | 0x0004); /* ENABLE_VIRTUAL_TERMINAL_PROCESSING */
    if (!GetConsoleScreenBufferInfo(console, &info)) return 0;
    return info.srWindow.Right - info.srWindow.Left + 1;
}

void opengl_read(struct opengl_info *out)
{
    text_set(out->why, sizeof out->why, "OpenGL is not asked on Windows");
}
