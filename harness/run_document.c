/* The JSON document of a run, and the head of its record. */
#include "run_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "message.h"
#include "version.h"

void run_document_print(const struct run_document *document) {
    const struct trace_error *error = document->error;
    const struct run *run = document->run;
    json_t *json = json_pack("{s:s, s:s, s:i}", "schema", "siltwin.run/1", "trace",
                             document->input->main ? document->input->main->name : "",
                             "exit_status", document->exit_status);
    if (run) {
        json_object_set_new(json, "device", json_string(document->input->trace.device));
        json_object_set(json, "launches", run->launches);
        json_object_set(json, "expectations", run->expectations);
        json_object_set(json, "findings", run->findings);
    }
    if (error)
        json_object_set_new(json, "error",
                            json_pack("{s:o, s:s, s:i, s:i}", "text", message_json(error->text),
                                      "file", error->place.file ? error->place.file->name : "",
                                      "line", (int)error->place.line, "column",
                                      (int)error->place.column));
    if (document->record) {
        json_object_set_new(json, "record", json_string(document->record));
        json_object_set_new(json, "digest", json_sprintf("0x%016" PRIx64, document->digest));
    }
    message_document(json);
}

/* What the modules' compiler said, by module. */
static json_t *jit_logs(const struct run *run) {
    json_t *logs = json_object();
    for (uint32_t i = 0; run->memory.modules && i < run->trace->modules.count; i++)
        json_object_set_new(
            logs, run->trace->modules.items[i].name,
            json_string(run->memory.modules[i].log ? run->memory.modules[i].log : ""));
    return logs;
}

json_t *run_document_head(const struct run *run, const struct machine_options *options,
                          const char *policy) {
    char date[32];
    struct tm utc;
    const time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:o, s:o}", "siltwin",
                     SILTWIN_VERSION, "on", options->gpu ? "gpu" : "sim", "device_name",
                     run->machine->device.name, "driver_version", run->machine->driver.version,
                     "date", date, "policy", policy, "jobs", (int)options->run.jobs, "resident",
                     (int)options->run.resident, "jit_log", jit_logs(run), "addresses",
                     run_memory_addresses(&run->memory));
}
