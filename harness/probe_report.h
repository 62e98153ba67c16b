#ifndef SILTWIN_PROBE_REPORT_H
#define SILTWIN_PROBE_REPORT_H

#include "strbuf.h"
#include "trace.h"

/* Reports of the simulator name places of the text that was loaded. Probes put code in front of an
 * instruction on its own line, so the lines are those of the user's text and the columns are not.
 */

/* The column of the user's text for an instruction of the loaded text; `column` itself when the
 * module is not probed, or the instruction is not one of the user's. */
uint32_t probe_report_column(const struct trace_module *module, uint32_t line, uint32_t column);

/* Appends the report with the columns and the lines of the user's texts. */
void probe_report(const struct trace *trace, const char *report, struct strbuf *out);

#endif
