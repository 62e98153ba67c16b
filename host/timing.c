/* Times of launches by events of the driver. A simulated driver models no time: its events carry
 * the host's clock, and whoever prints such a number says so. */
#include "timing.h"

#include <stdlib.h>

enum { REPEATS_MAX = 10000 };

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct timing timing_summarize(double *times_ms, size_t count) {
    qsort(times_ms, count, sizeof *times_ms, by_value);
    double middle = times_ms[count / 2];
    if (count % 2 == 0)
        middle = 0.5 * (middle + times_ms[count / 2 - 1]);
    double quartiles =
        times_ms[(3 * count) / 4 < count ? (3 * count) / 4 : count - 1] - times_ms[count / 4];
    return (struct timing){.median_ms = middle,
                           .min_ms = times_ms[0],
                           .max_ms = times_ms[count - 1],
                           .spread = middle > 0 ? quartiles / middle : 0,
                           .repeats = count};
}

/* One start between two events of `stream`. */
struct measurement {
    const struct driver *driver;
    CUevent events[2];
    CUstream stream;
};

static bool measure_one(const struct measurement *m, const struct timing_calls *calls, size_t index,
                        double *time_ms, struct host_error *error) {
    const struct driver *driver = m->driver;
    float elapsed = 0;
    if (!RESULT_CHECK(error, driver, cuEventRecord, (m->events[0], m->stream)) ||
        !calls->start(calls->context, index, error) ||
        !RESULT_CHECK(error, driver, cuEventRecord, (m->events[1], m->stream)) ||
        !RESULT_CHECK(error, driver, cuEventSynchronize, (m->events[1])) ||
        !RESULT_CHECK(error, driver, cuEventElapsedTime, (&elapsed, m->events[0], m->events[1])))
        return false;
    *time_ms = (double)elapsed;
    return true;
}

static bool repeat_on(const struct driver *driver, CUstream stream,
                      const struct timing_calls *calls, struct timing *timing,
                      struct host_error *error) {
    if (calls->repeats < 1 || calls->repeats > REPEATS_MAX) {
        result_message(error, "%zu repeats: 1 to %d are possible", calls->repeats, REPEATS_MAX);
        return false;
    }
    double *times_ms = calloc(calls->repeats, sizeof *times_ms);
    struct measurement m = {.driver = driver, .stream = stream};
    bool good = times_ms != NULL;
    if (!good)
        result_message(error, "out of memory");
    for (int i = 0; i < 2 && good; i++)
        good = RESULT_CHECK(error, driver, cuEventCreate, (&m.events[i], CU_EVENT_DEFAULT));
    for (size_t i = 0; i < calls->warmups && good; i++)
        good = calls->start(calls->context, i, error);
    for (size_t i = 0; i < calls->repeats && good; i++)
        good = measure_one(&m, calls, calls->warmups + i, &times_ms[i], error);
    if (good)
        *timing = timing_summarize(times_ms, calls->repeats);
    for (int i = 0; i < 2; i++)
        if (m.events[i])
            driver->cuEventDestroy(m.events[i]);
    free(times_ms);
    return good;
}

bool timing_repeat(const struct driver *driver, const struct timing_calls *calls,
                   struct timing *timing, struct host_error *error) {
    return repeat_on(driver, NULL, calls, timing, error);
}

struct one_launch {
    const struct driver *driver;
    const struct launch_desc *launch;
};

static bool start_launch(void *context, size_t index, struct host_error *error) {
    const struct one_launch *one = context;
    (void)index;
    return launch_kernel(one->driver, one->launch, error) == CUDA_SUCCESS;
}

bool timing_measure(const struct driver *driver, const struct timing_desc *desc,
                    struct timing *timing, struct host_error *error) {
    struct one_launch one = {driver, desc->launch};
    return repeat_on(driver, desc->launch ? desc->launch->stream : NULL,
                     &(struct timing_calls){start_launch, &one, desc->warmups, desc->repeats},
                     timing, error);
}
