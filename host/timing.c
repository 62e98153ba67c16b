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

static bool measure_one(const struct driver *driver, const struct launch_desc *launch,
                        const CUevent events[2], double *time_ms, struct host_error *error) {
    float elapsed = 0;
    if (!RESULT_CHECK(error, driver, cuEventRecord, (events[0], launch->stream)) ||
        launch_kernel(driver, launch, error) != CUDA_SUCCESS ||
        !RESULT_CHECK(error, driver, cuEventRecord, (events[1], launch->stream)) ||
        !RESULT_CHECK(error, driver, cuEventSynchronize, (events[1])) ||
        !RESULT_CHECK(error, driver, cuEventElapsedTime, (&elapsed, events[0], events[1])))
        return false;
    *time_ms = (double)elapsed;
    return true;
}

bool timing_measure(const struct driver *driver, const struct timing_desc *desc,
                    struct timing *timing, struct host_error *error) {
    if (desc->repeats < 1 || desc->repeats > REPEATS_MAX) {
        result_message(error, "%zu repeats: 1 to %d are possible", desc->repeats, REPEATS_MAX);
        return false;
    }
    double *times_ms = calloc(desc->repeats, sizeof *times_ms);
    CUevent events[2] = {0};
    bool good = times_ms != NULL;
    if (!good)
        result_message(error, "out of memory");
    for (int i = 0; i < 2 && good; i++)
        good = RESULT_CHECK(error, driver, cuEventCreate, (&events[i], CU_EVENT_DEFAULT));
    for (size_t i = 0; i < desc->warmups && good; i++)
        good = launch_kernel(driver, desc->launch, error) == CUDA_SUCCESS;
    for (size_t i = 0; i < desc->repeats && good; i++)
        good = measure_one(driver, desc->launch, events, &times_ms[i], error);
    if (good)
        *timing = timing_summarize(times_ms, desc->repeats);
    for (int i = 0; i < 2; i++)
        if (events[i])
            driver->cuEventDestroy(events[i]);
    free(times_ms);
    return good;
}
