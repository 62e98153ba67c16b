/* Fault cases of the driver API: launches with wrong shapes, and calls with wrong arguments. */
#include <stdio.h>
#include <string.h>

#include "fault_case.h"

static unsigned pick_extent(struct conform_random *random, unsigned limit) {
    switch (conform_below(random, 10)) {
    case 0: return 0;
    case 1: return limit + 1 + conform_below(random, 3);
    case 2: return 0u - 1 - conform_below(random, 3);
    default: return 1 + conform_below(random, 4);
    }
}

static void pick_block(struct conform_random *random, struct fault_case *made) {
    static const unsigned limits[3] = {1024, 1024, 64};
    for (unsigned i = 0; i < 3; i++)
        made->block[i] = conform_below(random, 3) ? 1 + conform_below(random, i == 0 ? 64 : 4)
                                                  : pick_extent(random, limits[i]);
    switch (conform_below(random, 6)) {
    case 0: /* around 1024 threads */
        made->block[0] = 32 * (1 + conform_below(random, 32));
        made->block[1] = 1 + conform_below(random, 8);
        made->block[2] = 1 + conform_below(random, 8);
        break;
    case 1:
        made->block[0] = 1024 - conform_below(random, 2);
        made->block[1] = made->block[2] = 1;
        break;
    default: break;
    }
}

/* Directives of the kernel that a launch must suit. */
static void pick_directives(struct conform_random *random, struct fault_case *made, char *text,
                            size_t size) {
    unsigned x = 1 + conform_below(random, 64), y = 1 + conform_below(random, 4), ctas_y;
    text[0] = '\0';
    switch (conform_below(random, 6)) {
    case 0: snprintf(text, size, ".reqntid %u, %u, 1", x, y); break;
    case 1: snprintf(text, size, ".maxntid %u, %u, 1", x, y); break;
    case 2:
        ctas_y = 1 + conform_below(random, 3);
        snprintf(text, size, ".reqnctapercluster %u, %u, 1", 1 + conform_below(random, 4), ctas_y);
        break;
    case 3: snprintf(text, size, ".maxclusterrank %u", 1 + conform_below(random, 8)); break;
    default: return;
    }
    fault_say(made, " %s", text);
    if (conform_below(random, 2)) {
        made->block[0] = x;
        made->block[1] = y;
        made->block[2] = 1;
    }
}

/* Clusters of more than one CTA run on no simulator yet: a grid that they do not divide. */
static void refuse_clusters(struct fault_case *made) {
    unsigned written[3] = {1, 1, 1};
    const char *text = strstr(made->text, ".reqnctapercluster");
    if (text != NULL)
        sscanf(text, ".reqnctapercluster %u, %u, %u", &written[0], &written[1], &written[2]);
    for (unsigned i = 0; i < 3; i++) {
        if (written[i] > 1 && made->grid[i] % written[i] == 0 && made->grid[i] != 0)
            made->grid[i] = written[i] + 1;
        if (made->explicit_cluster && made->cluster[i] > 1 && made->grid[i] != 0 &&
            made->grid[i] % made->cluster[i] == 0)
            made->grid[i] = made->cluster[i] + 1;
    }
}

void fault_launch(struct conform_random *random, struct fault_case *made) {
    static const unsigned grid_limits[3] = {2147483647, 65535, 65535};
    char directives[80], room[64] = "";
    fault_say(made, "launch");
    pick_block(random, made);
    for (unsigned i = 0; i < 3; i++)
        made->grid[i] = conform_below(random, 3) ? 1 + conform_below(random, 8)
                                                 : pick_extent(random, grid_limits[i]);
    pick_directives(random, made, directives, sizeof directives);
    if (conform_below(random, 3) == 0) {
        made->explicit_cluster = true;
        for (unsigned i = 0; i < 3; i++)
            made->cluster[i] =
                conform_below(random, 3) ? 1 + conform_below(random, 2) : conform_below(random, 10);
    }
    if (conform_below(random, 3) == 0) {
        static const unsigned sizes[] = {48 * 1024, 232448, 227 * 1024 - 1024, 16};
        made->dynamic_smem_bytes = sizes[conform_below(random, 4)];
        made->dynamic_smem_bytes += conform_below(random, 5) - 2;
        bool large = conform_below(random, 4) == 0; /* more than 48 KiB of its own */
        snprintf(room, sizeof room, "  .shared .align 16 .b8 room[%u];\n",
                 large ? 49152 + 16 * conform_below(random, 11457)
                       : 16 * (1 + conform_below(random, 2048)));
    }
    if (conform_below(random, 3) == 0) {
        made->call = FAULT_SET_ATTRIBUTE;
        made->args[0] = (struct fault_arg){FAULT_VALUE, 8};
        made->args[1] = (struct fault_arg){
            FAULT_VALUE, conform_below(random, 2) ? made->dynamic_smem_bytes
                                                  : 200000 + conform_below(random, 40000)};
    }
    made->cooperative = conform_below(random, 8) == 0;
    refuse_clusters(made);
    fault_say(made, " grid %u,%u,%u block %u,%u,%u cluster %d:%u,%u,%u smem %u%s%s", made->grid[0],
              made->grid[1], made->grid[2], made->block[0], made->block[1], made->block[2],
              made->explicit_cluster, made->cluster[0], made->cluster[1], made->cluster[2],
              made->dynamic_smem_bytes, room[0] ? room + 10 : "",
              made->cooperative ? " cooperative" : "");
    struct fault_head head = {.directives = directives, .inside = room, .lanes = 1};
    fault_put_head(made, &head);
    if (room[0])
        strbuf_puts(&made->ptx, "  st.shared.u32 [room], %t;\n");
    fault_put_tail(made);
}

static uint64_t pick_pointer(struct conform_random *random, struct fault_arg *arg) {
    switch (conform_below(random, 6)) {
    case 0: *arg = (struct fault_arg){FAULT_VALUE, 0}; break;
    case 1: *arg = (struct fault_arg){FAULT_VALUE, 1 + conform_below(random, 1 << 20)}; break;
    case 2: *arg = (struct fault_arg){FAULT_VALUE, UINT64_C(1) << 52}; break;
    case 3: *arg = (struct fault_arg){FAULT_FREED, conform_below(random, 1 << 20)}; break;
    default: *arg = (struct fault_arg){FAULT_DATA, conform_below(random, FAULT_DATA_BYTES)}; break;
    }
    return arg->offset;
}

void fault_driver(struct conform_random *random, struct fault_case *made) {
    struct fault_head head = {.lanes = 1};
    struct fault_arg *args = made->args;
    made->call = (enum fault_call)(1 + conform_below(random, FAULT_EVENT_FLAGS));
    switch (made->call) {
    case FAULT_SET_ATTRIBUTE:
        args[0].offset = conform_below(random, 20);
        args[1].offset =
            conform_below(random, 3) ? conform_below(random, 5) : conform_below(random, 300000);
        if (conform_below(random, 6) == 0)
            args[1].offset = (uint64_t)-1 - conform_below(random, 3);
        break;
    case FAULT_MEM_ALLOC:
        args[0].offset = conform_below(random, 2) ? conform_below(random, 3)
                                                  : UINT64_C(1) << (38 + conform_below(random, 26));
        break;
    case FAULT_MEM_FREE:
        pick_pointer(random, &args[0]);
        args[0].offset += args[0].kind == FAULT_DATA; /* inside, not at its start */
        break;
    case FAULT_MEM_TO_HOST:
    case FAULT_MEM_TO_DEVICE:
    case FAULT_MEM_SET_32:
    case FAULT_MEM_SET_16:
        pick_pointer(random, &args[0]);
        args[1].offset = conform_below(random, 3) ? 1 + conform_below(random, 64) : 0;
        if (args[0].kind == FAULT_DATA && args[0].offset > FAULT_DATA_BYTES - 256)
            args[0].offset -= 256;
        break;
    case FAULT_GET_ATTRIBUTE: args[0].offset = conform_below(random, 24); break;
    case FAULT_DEV_ATTRIBUTE: args[0].offset = 148 + conform_below(random, 40); break;
    case FAULT_STREAM_FLAGS: args[0].offset = conform_below(random, 20); break;
    case FAULT_EVENT_FLAGS: /* without INTERPROCESS, 4, which the simulator has not */
        args[0].offset = conform_below(random, 20) & ~4u;
        break;
    default: break;
    }
    fault_say(made, "call %d of %d+0x%llx, 0x%llx", (int)made->call, (int)args[0].kind,
              (unsigned long long)args[0].offset, (unsigned long long)args[1].offset);
    fault_put_head(made, &head);
    fault_put_tail(made);
}
