#ifndef SILTWIN_DIFF_SPIN_H
#define SILTWIN_DIFF_SPIN_H

#include "record.h"
#include "stream.h"

/* Loops that do nothing but poll an mbarrier: how often they turn is time, which no two machines
 * share. Marks the places of `stream` that such a loop runs beside the poll itself, by the PTX that
 * the record holds; their events are not compared. */
void diff_spin_mark(const struct record *record, struct stream *stream);

#endif
