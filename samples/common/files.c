/* SPDX-License-Identifier: MIT */
/* Samples: paths and whole files. */
#include "files.h"
#include "console.h"

#include <errno.h>
#include <inttypes.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool program_path(char out[FILES_PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, FILES_PATH_MAX - 1);
    if (length <= 0) {
        report("cannot read /proc/self/exe: %s", strerror(errno));
        return false;
    }
    out[length] = '\0';
    return true;
}

bool files_share_path(char out[FILES_PATH_MAX], const char *name)
{
    char program[FILES_PATH_MAX];
    if (!program_path(program)) return false;
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    int written = snprintf(out, FILES_PATH_MAX, "%s/../share/culvert/%s", program, name);
    if (written < 0 || written >= FILES_PATH_MAX) {
        report("the path of this program is too long");
        return false;
    }
    return true;
}

bool files_make_parents(const char *path)
{
    char part[FILES_PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof part) {
        report("the path is too long: %s", path);
        return false;
    }
    memcpy(part, path, length + 1);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            report("cannot make the directory %s: %s", part, strerror(errno));
            return false;
        }
        *slash = '/';
    }
    return true;
}

bool files_read(const char *path, void **data, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        report("cannot open %s: %s", path, strerror(errno));
        return false;
    }
    char *buffer = NULL;
    long length = -1;
    if (fseek(file, 0, SEEK_END) == 0) length = ftell(file);
    if (length >= 0 && fseek(file, 0, SEEK_SET) == 0) buffer = malloc((size_t)length + 1);
    bool complete = buffer && fread(buffer, 1, (size_t)length, file) == (size_t)length;
    fclose(file);
    if (!complete) {
        report("cannot read %s", path);
        free(buffer);
        return false;
    }
    buffer[length] = '\0';
    *data = buffer;
    *size = (size_t)length;
    return true;
}

bool files_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        report("cannot write %s: %s", path, strerror(errno));
        return false;
    }
    bool written = fwrite(data, 1, size, file) == size;
    if (fclose(file) != 0) written = false;
    if (!written) report("cannot write %s: %s", path, strerror(errno));
    return written;
}

bool files_numbered(char out[FILES_PATH_MAX], const char *pattern, uint64_t number)
{
    int written;
    const char *percent = strchr(pattern, '%');
    if (!percent) {
        written = snprintf(out, FILES_PATH_MAX, "%s", pattern);
    } else {
        const char *p = percent + 1;
        int digits = 0;
        while (*p >= '0' && *p <= '9' && digits < 20)
            digits = digits * 10 + (*p++ - '0');
        if (*p != 'd' || strchr(p, '%') || digits >= 20) return false;
        written = snprintf(out, FILES_PATH_MAX, "%.*s%0*" PRIu64 "%s", (int)(percent - pattern),
                           pattern, digits, number, p + 1);
    }
    return written > 0 && written < FILES_PATH_MAX;
}

/* PNG files, by libpng's simplified functions. */

bool png_write_rgba(const char *path, uint32_t width, uint32_t height, const uint8_t *pixels)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_RGB};
    const size_t count = (size_t)width * height;
    uint8_t *rgb = malloc(3 * count);
    for (size_t i = 0; rgb && i < count; i++)
        memcpy(rgb + 3 * i, pixels + 4 * i, 3);
    bool written = rgb && png_image_write_to_file(&image, path, 0, rgb, 0, NULL);
    if (!written) report("cannot write %s: %s", path, rgb ? image.message : "out of memory");
    free(rgb);
    return written;
}

bool png_read_rgba(const char *path, uint32_t *width, uint32_t *height, uint8_t **pixels)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path)) {
        report("cannot read %s: %s", path, image.message);
        return false;
    }
    image.format = PNG_FORMAT_RGBA;
    uint8_t *data = malloc(PNG_IMAGE_SIZE(image));
    if (!data) {
        png_image_free(&image);
        report("cannot read %s: out of memory", path);
        return false;
    }
    if (!png_image_finish_read(&image, NULL, data, 0, NULL)) {
        report("cannot read %s: %s", path, image.message);
        free(data);
        return false;
    }
    *width = image.width;
    *height = image.height;
    *pixels = data;
    return true;
}
