# How driller is compiled: warnings, hardening, sanitizers. Everything hangs on
# the interface target driller_flags, which each target of the project links.

option(DRILLER_TESTS "Build the unit tests" ON)
option(DRILLER_EXAMPLES "Build the server that the examples and the end-to-end tests use" ON)
option(DRILLER_BENCH "Build what the benchmark suite needs beside driller" ON)
option(DRILLER_WERROR "Treat warnings as errors" OFF)
option(DRILLER_COVERAGE "Count executed lines and branches" OFF)
option(DRILLER_WEATHER "Let tests make socket calls fail (src/net/weather.h)" OFF)
set(DRILLER_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")

add_library(driller_flags INTERFACE)
target_compile_definitions(driller_flags INTERFACE _GNU_SOURCE)
target_compile_options(driller_flags INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
    -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla
    -fno-strict-aliasing -fstack-protector-strong)
if(DRILLER_WERROR)
    target_compile_options(driller_flags INTERFACE -Werror)
endif()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported()
target_link_options(driller_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)

if(DRILLER_SANITIZE)
    target_compile_options(driller_flags INTERFACE
        -fsanitize=${DRILLER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(driller_flags INTERFACE -fsanitize=${DRILLER_SANITIZE})
    if(CMAKE_C_COMPILER_ID MATCHES "Clang" AND DRILLER_SANITIZE MATCHES "undefined")
        # It has the end of an empty slice, NULL + 0, for an error, which C++ and C2y allow.
        target_compile_options(driller_flags INTERFACE -fno-sanitize=pointer-overflow)
    endif()
elseif(CMAKE_BUILD_TYPE MATCHES "Rel")
    target_compile_options(driller_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
# driller itself is optimised as a whole; its many test programs are linked from the same objects
# without that, which would cost minutes (driller_test_flags).
add_library(driller_test_flags INTERFACE)
target_link_libraries(driller_test_flags INTERFACE driller_flags)
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_compile_options(driller_flags INTERFACE -ffat-lto-objects)
    target_link_options(driller_test_flags INTERFACE -fno-lto)
endif()

if(DRILLER_WEATHER)
    target_compile_definitions(driller_flags INTERFACE DRILLER_WEATHER)
endif()
if(DRILLER_COVERAGE)
    target_compile_options(driller_flags INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(driller_flags INTERFACE --coverage -fprofile-update=atomic)
endif()
