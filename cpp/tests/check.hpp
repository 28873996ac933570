// A test framework of twenty lines: the kernels must not need anything else to be tested.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

struct TestCase {
    const char* name;
    std::function<void()> body;
};

std::vector<TestCase>& test_cases();
inline int failures = 0;

struct Register_ {
    Register_(const char* name, std::function<void()> body) { test_cases().push_back({name, std::move(body)}); }
};

#define TEST(name)                                       \
    static void name();                                  \
    static const Register_ register_##name(#name, name); \
    static void name()

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            ++failures;                                                         \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                       \
    } while (0)
