/* SPDX-License-Identifier: MIT */
/* ripple: a small bitmap font, printable ASCII. */
#ifndef RIPPLE_FONT_H_
#define RIPPLE_FONT_H_

#include <stdint.h>

#define FONT_FIRST_GLYPH  32u /* space */
#define FONT_NUM_GLYPHS   95u
#define FONT_GLYPH_WIDTH  5u
#define FONT_GLYPH_HEIGHT 9u /* two rows are below the line */

extern const uint8_t font_rows[FONT_NUM_GLYPHS][FONT_GLYPH_HEIGHT];

#endif
