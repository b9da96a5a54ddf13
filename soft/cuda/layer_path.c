/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: where the manifest of its Vulkan layer is. */
#include "soft.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t layer_lock = PTHREAD_MUTEX_INITIALIZER;
static char layer_directory[4096]; /* empty: not looked for yet, or not found */

/* With the lock held. */
static const char *find_layer(void)
{
    /* A build tree or a bundle has the manifest beside the library. An installation has it in
     * share/, and its lib/ may have a directory for each architecture. */
    static const char *const places[] = {"culvert/explicit_layer.d",
                                         "../share/vulkan/explicit_layer.d",
                                         "../../share/vulkan/explicit_layer.d"};
    if (layer_directory[0] != '\0') return layer_directory;
    Dl_info self;
    char own[4096];
    if (dladdr(&soft, &self) == 0 || self.dli_fname == NULL ||
        realpath(self.dli_fname, own) == NULL)
        return NULL;
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char manifest[4096 + 256], place[4096 + 128], clean[4096];
        snprintf(place, sizeof(place), "%s/%s", own, places[i]);
        snprintf(manifest, sizeof(manifest), "%s/VkLayer_culvert_soft.json", place);
        if (access(manifest, R_OK) != 0 || realpath(place, clean) == NULL) continue;
        snprintf(layer_directory, sizeof(layer_directory), "%s", clean);
        return layer_directory;
    }
    return NULL;
}

const char *culvSoftLayerPath(void)
{
    pthread_mutex_lock(&layer_lock);
    const char *found = find_layer();
    pthread_mutex_unlock(&layer_lock);
    return found;
}

static bool is_listed(const char *list, const char *directory)
{
    const size_t length = strlen(directory);
    for (const char *at = list; *at != '\0'; at += *at == ':') {
        const size_t entry = strcspn(at, ":");
        if (entry == length && memcmp(at, directory, length) == 0) return true;
        at += entry;
    }
    return false;
}

const char *culvSoftAddLayerPath(void)
{
    const char *result = NULL;
    pthread_mutex_lock(&layer_lock);
    const char *directory = find_layer();
    if (directory == NULL) goto unlock;
    /* The loader reads VK_ADD_LAYER_PATH only while VK_LAYER_PATH is not set. */
    const char *variable = "VK_LAYER_PATH";
    const char *before = secure_getenv(variable);
    if (before == NULL || before[0] == '\0') {
        variable = "VK_ADD_LAYER_PATH";
        before = secure_getenv(variable);
    }
    if (before == NULL) before = "";
    if (is_listed(before, directory)) {
        result = directory;
        goto unlock;
    }
    const size_t size = strlen(before) + strlen(directory) + 2;
    char *joined = malloc(size);
    if (joined == NULL) goto unlock;
    snprintf(joined, size, "%s%s%s", before, before[0] == '\0' ? "" : ":", directory);
    if (setenv(variable, joined, 1) == 0) result = directory;
    free(joined);
unlock:
    pthread_mutex_unlock(&layer_lock);
    return result;
}
