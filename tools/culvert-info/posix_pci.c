/* SPDX-License-Identifier: MIT */
/* culvert-info: what stands between GPUs on the bus: IOMMUs, which can break copies between GPUs
 * without an error, and the bridges of PCI Express. */
#include "info.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Entries of a directory; -1: there is none. */
static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;
    if (dir == NULL) return -1;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

void iommu_read(struct system_info *out)
{
    out->iommu_units = count_entries("/sys/class/iommu");
    out->iommu_groups = count_entries("/sys/kernel/iommu_groups");
}

void pci_read(const char *bus_id, struct pci_info *out)
{
    char device[64], path[512], group[512];
    size_t length = strlen(bus_id);
    memset(out, 0, sizeof *out);
    out->iommu_group = -1;
    if (length == 0 || length >= sizeof device || strchr(bus_id, '/') != NULL) return;
    for (size_t i = 0; i <= length; i++)
        device[i] = (char)tolower((unsigned char)bus_id[i]);
    text_set(path, sizeof path, "/sys/bus/pci/devices/%s", device);
    char *real = realpath(path, NULL);
    const char *rest = real != NULL ? strstr(real, "/pci") : NULL;
    while (rest != NULL && *rest == '/') { /* "/pci0000:00/0000:00:01.0/0000:01:00.0" */
        size_t part = strcspn(++rest, "/");
        text_add(out->path, sizeof out->path, "%s%.*s", out->path[0] != '\0' ? " > " : "",
                 (int)part, rest);
        rest += part;
    }
    free(real);
    text_set(path, sizeof path, "/sys/bus/pci/devices/%s/iommu_group", device);
    ssize_t size = readlink(path, group, sizeof group - 1);
    if (size <= 0) return;
    group[size] = '\0';
    const char *number = strrchr(group, '/');
    if (number != NULL) out->iommu_group = atoi(number + 1);
}
