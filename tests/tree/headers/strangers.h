/* SPDX-License-Identifier: MIT */
/* Macros with lower-case or common names that headers of others bring, as they define them. Every
 * public header must compile behind them. */
#ifndef STRANGERS_H_
#define STRANGERS_H_

/* Qt's keywords (without QT_NO_KEYWORDS). */
#define signals public
#define slots
#define emit
#define foreach(variable, container) for (variable; container;)
#define forever                      for (;;)
/* Xlib's X.h and Xlib.h. */
#define Always      2
#define Bool        int
#define Complex     0
#define CursorShape 0
#define Expose      12
#define False       0
#define FocusIn     9
#define GrayScale   1
#define None        0L
#define Status      int
#define Success     0
#define True        1
#define Unsorted    0
/* windows.h and what it includes. */
#define CONST  const
#define DELETE 0x00010000L
#define DOMAIN 1
#define ERROR  0
#define FAR
#define IGNORE 0
#define IN
#define NO_ERROR 0L
#define OPTIONAL
#define OUT
#define STRICT 1
#define cdecl
#define far
#define hyper     long long
#define interface struct
#define near
#define pascal
#define small     char
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define min(a, b) (((a) < (b)) ? (a) : (b))
/* glibc and BSD. */
#define major(device) (device)
#define minor(device) (device)
#define unix          1
#define linux         1

#endif
