/* SPDX-License-Identifier: MIT */
/* Samples: PNG files, by libpng's simplified reader and its row writer. */
#include "png_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "report.h"

static void PNGCBAPI on_error(png_structp png, png_const_charp message)
{
    report("%s: %s", (const char *)png_get_error_ptr(png), message);
    png_longjmp(png, 1);
}

static void PNGCBAPI on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* Apart from the function below because of setjmp: no local of this one changes after it. */
static bool write_rows(FILE *file, const char *path, uint32_t width, uint32_t height,
                       const uint8_t *pixels)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, (png_voidp)(uintptr_t)path,
                                              on_error, on_warning);
    if (!png) return false;
    png_infop info = png_create_info_struct(png);
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_init_io(png, file);
    png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(png, info);
    png_set_filler(png, 0, PNG_FILLER_AFTER);
    for (uint32_t y = 0; y < height; y++)
        png_write_row(png, pixels + (size_t)y * width * 4u);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
}

bool png_write_rgba(const char *path, uint32_t width, uint32_t height, const uint8_t *pixels)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        report("cannot write %s: %s", path, strerror(errno));
        return false;
    }
    bool written = write_rows(file, path, width, height, pixels);
    if (fclose(file) != 0 && written) {
        report("cannot write %s: %s", path, strerror(errno));
        written = false;
    }
    return written;
}

bool png_read_rgba(const char *path, uint32_t *width, uint32_t *height, uint8_t **pixels)
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
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
