// A loop over independent tasks, shared out dynamically among threads.
//
// Plain std::thread rather than OpenMP: nothing to link or bundle, safe after fork, and clean under the
// thread sanitizer. Tasks must write to disjoint places; then the result does not depend on the threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace rankfill {

template <class Task>
void parallel_for(std::int64_t n_tasks, int threads, const Task& task) {
    if (threads > n_tasks) threads = static_cast<int>(n_tasks);
    if (threads <= 1) {
        for (std::int64_t i = 0; i < n_tasks; ++i) task(i);
        return;
    }
    std::atomic<std::int64_t> next{0};
    std::vector<std::exception_ptr> failures(threads);
    const auto work = [&](int worker) {
        try {
            for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n_tasks;) task(i);
        } catch (...) {
            failures[worker] = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> helpers;
        for (int worker = 1; worker < threads; ++worker) helpers.emplace_back(work, worker);
        work(0);
    }
    for (const auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace rankfill
