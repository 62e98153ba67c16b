/* The progress line. */
#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_MS = 250 };

double progress_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_line(struct progress *p) {
    const double seconds = progress_seconds() - p->started;
    if (!p->what[0] || seconds < 2)
        return;
    fprintf(stderr, "\r\033[K%s: ", p->what);
    if (p->total)
        fprintf(stderr, "%" PRIu64 " of %" PRIu64 " CTAs (%.0f%%), ", p->done, p->total,
                100.0 * (double)p->done / (double)p->total);
    fprintf(stderr, "%.0f s", seconds);
    p->shown = true;
}

static void *tick(void *context) {
    struct progress *p = context;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += PERIOD_MS * 1000000L;
        end.tv_sec += end.tv_nsec / 1000000000L;
        end.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&p->wake, &p->lock, &end);
        print_line(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void progress_init(struct progress *p, bool quiet) {
    *p = (struct progress){0};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    if (!quiet && isatty(STDERR_FILENO))
        p->enabled = !pthread_create(&p->thread, NULL, tick, p);
}

void progress_start(struct progress *p, const char *format, ...) {
    va_list args;
    progress_clear(p);
    pthread_mutex_lock(&p->lock);
    va_start(args, format);
    vsnprintf(p->what, sizeof p->what, format, args);
    va_end(args);
    p->started = progress_seconds();
    p->done = p->total = 0;
    pthread_mutex_unlock(&p->lock);
}

void progress_ctas(void *context, uint64_t done, uint64_t total) {
    struct progress *p = context;
    pthread_mutex_lock(&p->lock);
    p->done = done;
    p->total = total;
    pthread_mutex_unlock(&p->lock);
}

void progress_clear(struct progress *p) {
    pthread_mutex_lock(&p->lock);
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
    p->what[0] = '\0';
    pthread_mutex_unlock(&p->lock);
}

void progress_end(struct progress *p) {
    progress_clear(p);
    if (p->enabled) {
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_signal(&p->wake);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
    }
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
}
