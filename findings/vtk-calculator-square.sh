#!/bin/sh
# exp(-s^2) of VTK's old parser of functions is exp(s^2).
# Version: python3-vtk9 9.1.0+really9.1.0+dfsg2-5+deb12u1, python3-numpy 1:1.24.2-1+deb12u1.
# Guess: vtkFunctionParser and vtkArrayCalculator know what a formula means: -s^2 is -(s^2), and 2^3^2 is 2^9, as on paper,
#   in Fortran and in Python. The calculator's two parsers differ in what functions they know.
# Behaviour: the old parser, which vtkFunctionParser is and the calculator has for FunctionParser, takes the minus first
#   and powers from the left: -2^2 is 4, exp(-2^2) is 54.6 instead of 0.018, 2^3^2 is 64. ExprTk's has -4, 0.018 and 512.
#   So a Gaussian of a saved script or an old state becomes a wall, and no error is raised. Write -(s^2).
# Seen: old -s^2 4, exp(-s^2) 54.6, s^3^2 64, -(s^2) -4; ExprTk -s^2 -4, exp(-s^2) 0.0183, s^3^2 512, -(s^2) -4
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
debian12 python3-vtk9=9.1.0+really9.1.0+dfsg2-5+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
cat >"$work/square.py" <<'PY'
import vtk

two = vtk.vtkDoubleArray()
two.SetName("s")
two.InsertNextValue(2)
picture = vtk.vtkImageData()
picture.SetDimensions(1, 1, 1)
picture.GetPointData().SetScalars(two)


def results(name, parser):
    calculator = vtk.vtkArrayCalculator()
    calculator.SetInputData(picture)
    calculator.AddScalarArrayName("s")
    calculator.SetFunctionParserType(parser)
    texts = []
    for formula in ("-s^2", "exp(-s^2)", "s^3^2", "-(s^2)"):
        calculator.SetFunction(formula)
        calculator.Update()
        texts.append(f"{formula} {calculator.GetOutput().GetPointData().GetArray('resultArray').GetValue(0):.3g}")
    return f"{name} {', '.join(texts)}"


kinds = vtk.vtkArrayCalculator
print(f"{results('old', kinds.FunctionParser)}; {results('ExprTk', kinds.ExprTkFunctionParser)}")
PY
same "old -s^2 4, exp(-s^2) 54.6, s^3^2 64, -(s^2) -4; ExprTk -s^2 -4, exp(-s^2) 0.0183, s^3^2 512, -(s^2) -4" "$(/usr/bin/python3 -W ignore "$work/square.py" 2>"$work/log")"
