/* SPDX-License-Identifier: MIT */
/* The start of programs that clang-cl builds on Debian. */
#include <stdlib.h>

int main(int argc, char **argv);
int _configure_narrow_argv(int mode);

void mainCRTStartup(void)
{
    _configure_narrow_argv(1); /* unexpanded */
    exit(main(*__p___argc(), *__p___argv()));
}
