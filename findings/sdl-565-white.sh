#!/bin/sh
# SDL widens white of RGB565 to another color than white of BGR565.
# Version: libsdl2-dev 2.26.5+dfsg-1, gcc 4:12.2.0-3.
# Guess: SDL_ConvertSurfaceFormat() of a white RGB565 surface to ARGB8888 is white, as SDL_GetRGB() of the same pixel says.
# Behaviour: the green of RGB565 is only shifted up: white becomes ff fe ff, and green 00 fe 00. From BGR565 and ARGB1555 white is white,
#   and SDL_GetRGB() answers 255 in all three. Compare such pictures by SDL_GetRGB(), or convert from BGR565.
# Seen: RGB565 ffff: converted fffeff, asked ffffff
#   BGR565 ffff: converted ffffff, asked ffffff
#   ARGB1555 ffff: converted ffffff, asked ffffff
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 libsdl2-dev=2.26.5+dfsg-1
compile seen -lSDL2 <<'C'
#include <SDL2/SDL.h>
#include <stdio.h>
static void white(Uint32 format)
{
    SDL_Surface *small = SDL_CreateRGBSurfaceWithFormat(0, 1, 1, 16, format);
    SDL_FillRect(small, NULL, SDL_MapRGB(small->format, 255, 255, 255));
    SDL_Surface *wide = SDL_ConvertSurfaceFormat(small, SDL_PIXELFORMAT_ARGB8888, 0);
    Uint8 r, g, b;
    SDL_GetRGB(*(Uint16 *)small->pixels, small->format, &r, &g, &b);
    printf("%s %04x: converted %06x, asked %02x%02x%02x\n", SDL_GetPixelFormatName(format) + 16, *(Uint16 *)small->pixels,
           *(Uint32 *)wide->pixels & 0xffffff, r, g, b);
    SDL_FreeSurface(wide), SDL_FreeSurface(small);
}
int main(void)
{
    white(SDL_PIXELFORMAT_RGB565), white(SDL_PIXELFORMAT_BGR565), white(SDL_PIXELFORMAT_ARGB1555);
    return 0;
}
C
same "RGB565 ffff: converted fffeff, asked ffffff
BGR565 ffff: converted ffffff, asked ffffff
ARGB1555 ffff: converted ffffff, asked ffffff" \
    "$("$work/seen")"
