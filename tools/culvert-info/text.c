/* SPDX-License-Identifier: MIT */
/* culvert-info: laying text out for people. */
#include "text.h"

#include "info.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 100,
    NARROWEST = 60,
    LABEL_COLUMN = 2,
    TEXT_COLUMN = 17,
    ANSWER_COLUMN = 42,
    REMARK_COLUMN = 47
};

struct page page_open(FILE *out)
{
    struct page page = {out, WIDTH, false, false};
    bool can_colour = false;
    const int columns = terminal_columns(out, &can_colour);
    if (columns < 0) return page;
    page.terminal = true;
    if (columns > 0 && columns < WIDTH)
        page.width = columns > NARROWEST ? (size_t)columns : NARROWEST;
    const char *no_colour = getenv("NO_COLOR"); /* https://no-color.org */
    page.colour = can_colour && (no_colour == NULL || no_colour[0] == '\0');
    return page;
}

static void begin_style(const struct page *page, enum style style)
{
    static const char *const codes[] = {"", "\033[1m", "\033[32m", "\033[33m", "\033[2m"};
    if (page->colour) fputs(codes[style], page->out);
}

static void end_style(const struct page *page, enum style style)
{
    if (page->colour && style != STYLE_PLAIN) fputs("\033[0m", page->out);
}

/* Names and variables come from outside: no control character of theirs reaches a terminal, nor a
 * byte that is one where it is not part of a character (0x80 to 0x9f). */
static void put_word(FILE *out, const char *word, size_t length)
{
    unsigned more = 0; /* bytes of this character that are to come */
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)word[i],
                            before = i > 0 ? (unsigned char)word[i - 1] : 0;
        const bool c1 = c >= 0x80 && c < 0xa0 && (more == 0 || before == 0xc2);
        fputc(c < 0x20 || c == 0x7f || c1 ? '?' : c, out);
        more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : c >= 0x80 && more > 0 ? more - 1 : 0;
    }
}

static void put_spaces(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

void page_wrap(const struct page *page, size_t column, size_t indent, enum style style,
               const char *text)
{
    bool line_start = true;
    if (column < indent) {
        put_spaces(page->out, indent - column);
        column = indent;
    }
    begin_style(page, style);
    for (const char *at = text; *at != '\0';) {
        size_t gap = strspn(at, " \n\t");
        size_t length = strcspn(at + gap, " \n\t");
        if (length == 0) break;
        if (!line_start && column + 1 + length > page->width) {
            fputc('\n', page->out);
            put_spaces(page->out, indent);
            column = indent;
            line_start = true;
        }
        if (!line_start) {
            fputc(' ', page->out);
            column++;
        }
        put_word(page->out, at + gap, length);
        column += length;
        line_start = false;
        at += gap + length;
    }
    end_style(page, style);
    fputc('\n', page->out);
}

void page_verdict(const struct page *page, enum style style, const char *text)
{
    struct page first = *page;
    if (!page->terminal) first.width = SIZE_MAX / 2;
    page_wrap(&first, 0, 0, style, text);
}

void page_heading(const struct page *page, const char *text)
{
    fputc('\n', page->out);
    page_wrap(page, 0, 0, STYLE_BOLD, text);
}

void page_row(const struct page *page, const char *label, const char *text)
{
    size_t column = LABEL_COLUMN + strlen(label);
    put_spaces(page->out, LABEL_COLUMN);
    fputs(label, page->out);
    if (column >= TEXT_COLUMN) { /* a long name keeps a line of its own */
        fputc('\n', page->out);
        column = 0;
    }
    page_wrap(page, column, TEXT_COLUMN, STYLE_PLAIN, text);
}

void page_answer(const struct page *page, const char *label, const char *answer, enum style style,
                 const char *remark)
{
    size_t column = 4 + strlen(label);
    put_spaces(page->out, 4);
    fputs(label, page->out);
    if (column < ANSWER_COLUMN) put_spaces(page->out, ANSWER_COLUMN - column);
    begin_style(page, style);
    fputs(answer, page->out);
    end_style(page, style);
    if (remark[0] == '\0')
        fputc('\n', page->out);
    else
        page_wrap(page, ANSWER_COLUMN + strlen(answer), REMARK_COLUMN, STYLE_PLAIN, remark);
}
