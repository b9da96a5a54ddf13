/* SPDX-License-Identifier: MIT */
/* What Microsoft's compiler links into each program and DLL, for clang-cl on Debian: the start of a
 * program (START), that of a DLL, and printf() and its like, which Microsoft's headers define in
 * each object as calls of one function of the UCRT. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#ifdef START

int main(int argc, char **argv);
int _configure_narrow_argv(int mode);

void mainCRTStartup(void)
{
    _configure_narrow_argv(1); /* unexpanded */
    exit(main(*__p___argc(), *__p___argv()));
}

#else

int _fltused = 0x9875; /* asked for by an object with floating-point numbers */

BOOL WINAPI _DllMainCRTStartup(HINSTANCE module, DWORD reason, void *reserved)
{
    (void)module, (void)reason, (void)reserved;
    return TRUE;
}

enum { STANDARD_SNPRINTF = 2 }; /* _CRT_INTERNAL_PRINTF_STANDARD_SNPRINTF_BEHAVIOR */

int vfprintf(FILE *file, const char *format, va_list args)
{
    return __stdio_common_vfprintf(0, file, format, NULL, args);
}

int vsnprintf(char *out, size_t size, const char *format, va_list args)
{
    return __stdio_common_vsprintf(STANDARD_SNPRINTF, out, size, format, NULL, args);
}

#    define CALL(function, ...)                                                                    \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        const int result = function(__VA_ARGS__, format, args);                                    \
        va_end(args);                                                                              \
        return result

int fprintf(FILE *file, const char *format, ...)
{
    CALL(vfprintf, file);
}

int printf(const char *format, ...)
{
    CALL(vfprintf, stdout);
}

int snprintf(char *out, size_t size, const char *format, ...)
{
    CALL(vsnprintf, out, size);
}

int sscanf(const char *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int result = __stdio_common_vsscanf(0, text, (size_t)-1, format, NULL, args);
    va_end(args);
    return result;
}

#endif
