#!/bin/sh
# NCO has two averages, and one of them says that the mean of 30000, 30000 and six small numbers is -692.
# Version: nco 5.1.4-1+deb12u1, netcdf-bin 1:4.9.0-3+b1.
# Guess: ncap2's s.avg() is what ncwa -y avg says of the same variable: 7500.
# Behaviour: avg() of ncap2 sums in the variable's own type, and the sum of shorts wraps at 32767: -5536 / 8 is -692. A
#   mean of bytes is wrong above a sum of 127: 100 and 120 among small ones give -4. ncwa sums in double, and so is
#   right; a float variable is right in both. Write float(s).avg().
# Seen: shorts: ncwa 7500, ncap2 -692, of floats 7500; bytes: ncwa 28, ncap2 -4, of floats 27.5
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 nco=5.1.4-1+deb12u1 netcdf-bin=1:4.9.0-3+b1
cd "$work"
cat >in.cdl <<'CDL'
netcdf in {
dimensions: x = 8;
variables: short s(x); byte b(x);
data:
    s = 30000, 30000, 1, 2, 2, 2, -3, -4;
    b = 100, 120, 1, 2, 2, 2, -3, -4;
}
CDL
{ ncgen -o in.nc in.cdl && ncwa -O -y avg -a x in.nc ncwa.nc &&
    ncap2 -O -v -s 's=s.avg();b=b.avg();' in.nc ncap2.nc && ncap2 -O -v -s 's=float(s).avg();b=float(b).avg();' in.nc floats.nc; } \
    >log 2>&1 </dev/null || unknown "NCO"
value() { ncdump "$1.nc" | sed -n "s/^ $2 = \(.*[0-9]\)[.f]* ;/\1/p"; }
told() { echo "ncwa $(value ncwa "$1"), ncap2 $(value ncap2 "$1"), of floats $(value floats "$1")"; }
same "shorts: ncwa 7500, ncap2 -692, of floats 7500; bytes: ncwa 28, ncap2 -4, of floats 27.5" "shorts: $(told s); bytes: $(told b)"
