/* Bulk async groups of one thread.
 *
 *   group number   ... committed-2   committed-1 | committed
 *                  <- wait_group counts these -> | open: copies issued now join it
 *
 * Copies of a group complete in any order, and groups do too; a wait asks for all that are older
 * than the newest N. PTX manual, "cp.async.bulk.commit_group", "cp.async.bulk.wait_group" and the
 * same of cp.async. Not modelled: nothing. */
#include "bulk_group.h"

static bool in_ring(const struct bulk_group *groups, uint64_t group) {
    return group + BULK_GROUP_RING > groups->committed;
}

uint64_t bulk_group_add(struct bulk_group *groups) {
    uint32_t slot = (uint32_t)(groups->committed % BULK_GROUP_RING);
    groups->unread[slot]++;
    groups->pending[slot]++;
    return groups->committed;
}

void bulk_group_read(struct bulk_group *groups, uint64_t group) {
    uint32_t *count =
        in_ring(groups, group) ? &groups->unread[group % BULK_GROUP_RING] : &groups->older_unread;
    *count -= 1;
}

void bulk_group_complete(struct bulk_group *groups, uint64_t group) {
    uint32_t *count =
        in_ring(groups, group) ? &groups->pending[group % BULK_GROUP_RING] : &groups->older_pending;
    *count -= 1;
}

void bulk_group_commit(struct bulk_group *groups) {
    groups->committed++;
    uint32_t slot = (uint32_t)(groups->committed % BULK_GROUP_RING);
    groups->older_unread += groups->unread[slot];
    groups->older_pending += groups->pending[slot];
    groups->unread[slot] = 0;
    groups->pending[slot] = 0;
}

bool bulk_group_waited(const struct bulk_group *groups, uint32_t count, bool reads_only) {
    const uint32_t *left = reads_only ? groups->unread : groups->pending;
    uint64_t newest = count < BULK_GROUP_RING - 1 ? count : BULK_GROUP_RING - 1;
    if ((reads_only ? groups->older_unread : groups->older_pending) != 0)
        return false;
    /* Committed groups in the ring: the open one takes a place. */
    for (uint64_t age = newest + 1; age < BULK_GROUP_RING && age <= groups->committed; age++) {
        if (left[(groups->committed - age) % BULK_GROUP_RING] != 0)
            return false;
    }
    return true;
}

bool bulk_group_all_complete(const struct bulk_group *groups) {
    return bulk_group_waited(groups, 0, false) &&
           groups->pending[groups->committed % BULK_GROUP_RING] == 0;
}
