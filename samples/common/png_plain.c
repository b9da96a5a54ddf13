/* SPDX-License-Identifier: MIT */
/* Samples: PNG files without a library, for systems that have no libpng to link. The rows are
 * stored as they are, so the files are large. */
#include "png_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define STORED_MAX 65535u /* bytes of a block of deflate that is not compressed */

static void put32(uint8_t out[4], uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* PNG specification, annex D. */
static uint32_t crc_of(uint32_t crc, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1u ? 0xedb88320u ^ crc >> 1 : crc >> 1;
    }
    return crc;
}

static bool write_chunk(FILE *file, const char type[5], const uint8_t *data, size_t size)
{
    uint8_t head[8], tail[4];
    put32(head, (uint32_t)size);
    memcpy(head + 4, type, 4);
    put32(tail, ~crc_of(crc_of(~0u, head + 4, 4), data, size));
    return fwrite(head, 1, 8, file) == 8 && fwrite(data, 1, size, file) == size &&
           fwrite(tail, 1, 4, file) == 4;
}

/* zlib's format (RFC 1950): a head, stored blocks, a checksum. Returns its size. */
static size_t store(uint8_t *out, const uint8_t *data, size_t size)
{
    uint8_t *at = out;
    uint32_t a = 1, b = 0;
    *at++ = 0x78;
    *at++ = 0x01;
    for (size_t done = 0; done < size;) {
        const size_t part = size - done < STORED_MAX ? size - done : STORED_MAX;
        *at++ = done + part == size;
        *at++ = (uint8_t)part;
        *at++ = (uint8_t)(part >> 8);
        *at++ = (uint8_t)~part;
        *at++ = (uint8_t)(~part >> 8);
        memcpy(at, data + done, part);
        at += part;
        done += part;
    }
    for (size_t i = 0; i < size; i++) {
        a = (a + data[i]) % 65521u;
        b = (b + a) % 65521u;
    }
    put32(at, b << 16 | a);
    return (size_t)(at + 4 - out);
}

/* Each row behind the number of its filter, 0: none. */
static void make_rows(uint8_t *out, uint32_t width, uint32_t height, const uint8_t *pixels,
                      bool blue_first)
{
    for (uint32_t y = 0; y < height; y++) {
        *out++ = 0;
        for (uint32_t x = 0; x < width; x++, pixels += 4) {
            *out++ = pixels[blue_first ? 2 : 0];
            *out++ = pixels[1];
            *out++ = pixels[blue_first ? 0 : 2];
        }
    }
}

static bool write_picture(FILE *file, uint32_t width, uint32_t height, const uint8_t *pixels,
                          bool blue_first)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const uint8_t intent[1] = {0};              /* perceptual */
    uint8_t head[13] = {0, 0, 0, 0, 0, 0, 0, 0, 8, 2}; /* 8 bits, RGB */
    const size_t size = ((size_t)width * 3 + 1) * height;
    uint8_t *rows = malloc(size), *stored = malloc(size + size / STORED_MAX * 5 + 16);
    bool fine = rows && stored;
    if (fine) {
        put32(head, width);
        put32(head + 4, height);
        make_rows(rows, width, height, pixels, blue_first);
        const size_t length = store(stored, rows, size);
        fine = fwrite(signature, 1, 8, file) == 8 && write_chunk(file, "IHDR", head, 13) &&
               write_chunk(file, "sRGB", intent, 1) && write_chunk(file, "IDAT", stored, length) &&
               write_chunk(file, "IEND", head, 0);
    }
    free(stored);
    free(rows);
    return fine;
}

static bool write_file(const char *path, uint32_t width, uint32_t height, const uint8_t *pixels,
                       bool blue_first)
{
    FILE *file = fopen(path, "wb");
    if (!file) {
        report("cannot write %s: %s", path, strerror(errno));
        return false;
    }
    bool written = write_picture(file, width, height, pixels, blue_first);
    if (fclose(file) != 0) written = false;
    if (!written) report("cannot write %s: %s", path, strerror(errno));
    return written;
}

bool png_write_rgba(const char *path, uint32_t width, uint32_t height, const uint8_t *pixels)
{
    return write_file(path, width, height, pixels, false);
}

bool png_write_bgra(const char *path, uint32_t width, uint32_t height, const uint8_t *pixels)
{
    return write_file(path, width, height, pixels, true);
}
