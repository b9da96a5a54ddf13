#!/bin/sh
# SDL_MapRGB() has no colors for 10 bits.
# Version: libsdl2-dev 2.26.5+dfsg-1, gcc 4:12.2.0-3.
# Guess: SDL_MapRGB() of white for ARGB2101010 sets all bits of red, green and blue, and SDL_GetRGB() of it is white again, as
#   with each other format.
# Behaviour: the shifts "8 bits less those of the format" go below zero: white, as well as middle gray, maps to black, and SDL_GetRGB()
#   answers 0 for true white. So SDL_FillRect() with SDL_MapRGB() draws black. Converting a surface to ARGB2101010 and back is right;
#   make colors so.
# Seen: white converted: ffffffff, back ffffffff, asked 0 0 0; mapped: c0000000, gray mapped: c0000000
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 gcc=4:12.2.0-3 libsdl2-dev=2.26.5+dfsg-1
compile seen -lSDL2 <<'C'
#include <SDL2/SDL.h>
#include <stdio.h>
int main(void)
{
    SDL_Surface *one = SDL_CreateRGBSurfaceWithFormat(0, 1, 1, 32, SDL_PIXELFORMAT_ARGB8888);
    *(Uint32 *)one->pixels = 0xffffffff;
    SDL_Surface *ten = SDL_ConvertSurfaceFormat(one, SDL_PIXELFORMAT_ARGB2101010, 0);
    SDL_Surface *back = SDL_ConvertSurfaceFormat(ten, SDL_PIXELFORMAT_ARGB8888, 0);
    Uint8 r, g, b;
    SDL_GetRGB(*(Uint32 *)ten->pixels, ten->format, &r, &g, &b);
    printf("white converted: %08x, back %08x, asked %d %d %d; mapped: %08x, gray mapped: %08x\n", *(Uint32 *)ten->pixels,
           *(Uint32 *)back->pixels, r, g, b, SDL_MapRGB(ten->format, 255, 255, 255), SDL_MapRGB(ten->format, 128, 128, 128));
    SDL_FreeSurface(back), SDL_FreeSurface(ten), SDL_FreeSurface(one);
    return 0;
}
C
same "white converted: ffffffff, back ffffffff, asked 0 0 0; mapped: c0000000, gray mapped: c0000000" \
    "$("$work/seen")"
