/* SPDX-License-Identifier: MIT */
/* Linked into sanitized programs: nothing is ever unloaded, so that leak reports can name every
 * frame. lavapipe leaves 128 bytes in a module that the Vulkan loader closes, which no suppression
 * could name otherwise. */
__attribute__((visibility("default"))) int dlclose(void *handle);

int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
