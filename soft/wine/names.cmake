# Copies FROM to TO/culvert-soft.dll, and makes TO/nvcuda.dll, each of whose functions is forwarded there. nvcuda.dll also
# has culvSoftTwin, by which Culvert knows that it is not NVIDIA's.
# SPDX-License-Identifier: MIT
file(MAKE_DIRECTORY ${TO})
configure_file(${FROM} ${TO}/culvert-soft.dll COPYONLY)
execute_process(COMMAND ${OBJDUMP} -p ${FROM} OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[ \t]cu[A-Za-z0-9_]+|[ \t]culv[A-Za-z0-9_]+" names "${listing}")
list(TRANSFORM names STRIP)
list(REMOVE_DUPLICATES names)
set(def "LIBRARY \"nvcuda.dll\"\nEXPORTS\n  culvSoftTwin\n")
foreach(name IN LISTS names)
  if(name MATCHES "^cu[A-Z]|^culvSoft")
    string(APPEND def "  ${name} = \"culvert-soft\".${name}\n")
  endif()
endforeach()
file(WRITE ${WORK}/nvcuda.def "${def}")
file(WRITE ${WORK}/nvcuda_names.c "int culvSoftTwin(void);\nint culvSoftTwin(void) { return 1; }\n")
execute_process(COMMAND ${CC} -shared -o ${TO}/nvcuda.dll ${WORK}/nvcuda_names.c ${WORK}/nvcuda.def COMMAND_ERROR_IS_FATAL ANY)
