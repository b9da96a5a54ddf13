/* SPDX-License-Identifier: MIT */
/* Compares two PNGs: png_compare A B [OUTLIERS MEAN]. OUTLIERS is the largest share of pixels, in
 * percent, that may have a channel off by more than 16 of 255; MEAN is the largest mean difference
 * of a channel, of 255. Single pixels at edges may differ freely: two rasterizers place samples
 * differently. Without tolerances it only measures. Exit status: 0 within, 1 not, 2 the comparison
 * could not be made. */
#include <stdio.h>
#include <stdlib.h>

#include "console.h"
#include "files.h"

#define OUTLIER 16

typedef struct difference {
    double mean;     /* of a channel, of 255 */
    double outliers; /* percent of the pixels */
    int worst;
} difference;

static difference measure(const uint8_t *a, const uint8_t *b, size_t pixels)
{
    difference d = {0.0, 0.0, 0};
    for (size_t i = 0; i < pixels; i++) {
        int worst = 0;
        for (size_t channel = 0; channel < 3; channel++) {
            int off = abs((int)a[4 * i + channel] - (int)b[4 * i + channel]);
            d.mean += off;
            worst = off > worst ? off : worst;
        }
        d.outliers += worst > OUTLIER;
        d.worst = worst > d.worst ? worst : d.worst;
    }
    d.mean /= 3.0 * (double)pixels;
    d.outliers *= 100.0 / (double)pixels;
    return d;
}

static int compare(char **argv, int num_tolerances)
{
    uint32_t width[2] = {0, 0}, height[2] = {0, 0};
    uint8_t *pixels[2] = {NULL, NULL};
    int status = 2;
    if (!png_read_rgba(argv[1], &width[0], &height[0], &pixels[0]) ||
        !png_read_rgba(argv[2], &width[1], &height[1], &pixels[1]))
        goto free_pixels;
    if (width[0] != width[1] || height[0] != height[1]) {
        report("%s is %ux%u, %s is %ux%u", argv[1], width[0], height[0], argv[2], width[1],
               height[1]);
        status = 1;
        goto free_pixels;
    }
    difference d = measure(pixels[0], pixels[1], (size_t)width[0] * height[0]);
    printf("mean difference %.4f of 255; %.4f %% of the pixels off by more than %d; worst %d\n",
           d.mean, d.outliers, OUTLIER, d.worst);
    status = num_tolerances && (d.outliers > atof(argv[3]) || d.mean > atof(argv[4]));
free_pixels:
    free(pixels[0]);
    free(pixels[1]);
    return status;
}

int main(int argc, char **argv)
{
    report_set_program("png_compare");
    if (argc != 3 && argc != 5) {
        report("usage: png_compare A.png B.png [OUTLIERS_PERCENT MEAN]");
        return 2;
    }
    return compare(argv, argc - 3);
}
