#ifndef SILTWIN_BULK_GROUP_H
#define SILTWIN_BULK_GROUP_H

#include <stdbool.h>
#include <stdint.h>

/* Groups of one thread's asynchronous copies: the bulk groups of cp.async.bulk and the groups of
 * plain cp.async, which are counted apart (two structs). A zeroed struct is a thread that has
 * issued nothing. */
enum { BULK_GROUP_RING = 16 };

struct bulk_group {
    uint64_t committed; /* groups committed so far; also the number of the open one */
    /* Copies not yet complete, of group n at [n % BULK_GROUP_RING]; groups that have left the ring
     * are counted together. */
    uint32_t unread[BULK_GROUP_RING];  /* source still to be read */
    uint32_t pending[BULK_GROUP_RING]; /* writes still to be made */
    uint32_t older_unread, older_pending;
};

/* A copy joins the open group; returns the group's number, which its completion names. */
uint64_t bulk_group_add(struct bulk_group *groups);
/* That copy has read its source; and it has made its writes too. In this order, each once. */
void bulk_group_read(struct bulk_group *groups, uint64_t group);
void bulk_group_complete(struct bulk_group *groups, uint64_t group);

/* commit_group: closes the open group, which may be empty. */
void bulk_group_commit(struct bulk_group *groups);

/* wait_group: whether at most the `count` newest committed groups are still incomplete;
 * `reads_only` is .read, where a group counts as complete once its sources are read. Counts above
 * BULK_GROUP_RING - 1 wait as that one does, which is longer and so allowed. */
bool bulk_group_waited(const struct bulk_group *groups, uint32_t count, bool reads_only);
/* wait_all of cp.async: all copies, those of the open group too. */
bool bulk_group_all_complete(const struct bulk_group *groups);

#endif
