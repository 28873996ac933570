#include "check.hpp"

std::vector<TestCase>& test_cases() {
    static std::vector<TestCase> cases;
    return cases;
}

int main() {
    int failed = 0;
    for (const TestCase& test : test_cases()) {
        const int before = failures;
        test.body();
        failed += failures > before;
        std::printf("%-50s %s\n", test.name, failures > before ? "FAILED" : "ok");
    }
    std::printf("%zu passed, %d failed\n", test_cases().size() - failed, failed);
    return failed || test_cases().empty();
}
