/* SPDX-License-Identifier: MIT */
/* culvert-info: laying text out for people: wrapped lines, columns, and colours where a terminal
 * shows them. */
#ifndef CULVERT_INFO_TEXT_H_
#define CULVERT_INFO_TEXT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_GOOD, STYLE_BAD, STYLE_DIM };

struct page {
    FILE *out;
    size_t width;
    bool terminal;
    bool colour;
};

struct page page_open(FILE *out);
/* The first line: one line for `head -1` and logs, wrapped on a terminal alone. */
void page_verdict(const struct page *page, enum style style, const char *text);
/* An empty line and a bold one. */
void page_heading(const struct page *page, const char *text);
/* Text from column `indent` on, wrapped there; the cursor is at `column` already. Ends the line. */
void page_wrap(const struct page *page, size_t column, size_t indent, enum style style,
               const char *text);
/* "  label           text", wrapped. */
void page_row(const struct page *page, const char *label, const char *text);
/* "    label                            yes  remark", the remark wrapped. */
void page_answer(const struct page *page, const char *label, const char *answer, enum style style,
                 const char *remark);

#endif
