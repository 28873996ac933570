// Everything that must be compiled for any machine: the standard headers and the types that all instruction sets
// share. A file under cpp/isa/ includes it before its target pragma, so that no function of the standard library, of
// which the linker keeps one copy, is compiled for a machine that this one may not be.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <span>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "rankfill/isa.hpp"
#include "rankfill/philox.hpp"
#include "rankfill/row_order.hpp"
#include "rankfill/table.hpp"
