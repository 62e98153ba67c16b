/* A loop over all processors: threads take the next index from a counter. */
#include "parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { MAX_THREADS = 64 };

struct loop {
    _Atomic uint64_t next;
    uint64_t count;
    void (*work)(void *context, uint64_t index);
    void *context;
};

static void *run(void *argument) {
    struct loop *loop = argument;
    for (;;) {
        const uint64_t index = atomic_fetch_add(&loop->next, 1);
        if (index >= loop->count)
            return NULL;
        loop->work(loop->context, index);
    }
}

void parallel_for(uint64_t count, void (*work)(void *context, uint64_t index), void *context) {
    struct loop loop = {.count = count, .work = work, .context = context};
    pthread_t threads[MAX_THREADS];
    cpu_set_t cpus;
    int wanted = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : CPU_COUNT(&cpus);
    if (wanted > MAX_THREADS)
        wanted = MAX_THREADS;
    int started = 0;
    while (started + 1 < wanted && (uint64_t)started + 1 < count &&
           !pthread_create(&threads[started], NULL, run, &loop))
        started++;
    run(&loop); /* this thread works too */
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
