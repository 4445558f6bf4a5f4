/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_data.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sys.h"
#include "tools/xac/trace_list.h"

static int add(struct trace_data *data, const struct trace_stretch *stretch)
{
        struct trace_stretch *list = trace_list_room(data->list, data->count, sizeof(*list));

        if (!list)
                return -ENOMEM;
        data->list = list;
        list[data->count++] = *stretch;
        return 0;
}

int trace_data_find(struct trace_data *data, int fd, uint64_t byte_len)
{
        struct trace_stretch stretch = { 0 };
        int err = 0;

        *data = (struct trace_data){ .has_holes = true };
        while (!err && stretch.end < byte_len) {
                err = sys_find_data(fd, stretch.end, &stretch.begin, &stretch.end);
                if (!err)
                        err = add(data, &stretch);
        }
        if (err && err != -ENXIO)
                trace_data_free(data);
        return err == -ENXIO || err == -EINVAL ? 0 : err; /* EINVAL: a file system that knows no holes */
}

bool trace_data_next(struct trace_data *data, uint64_t begin, uint64_t end, struct trace_stretch *stretch)
{
        const struct trace_stretch *there;

        *stretch = (struct trace_stretch){ begin, end };
        if (!data->has_holes)
                return begin < end;
        while (data->at < data->count && data->list[data->at].end <= begin)
                data->at++;
        if (data->at == data->count)
                return false;
        there = &data->list[data->at];
        if (there->begin > begin)
                stretch->begin = there->begin;
        if (there->end < end)
                stretch->end = there->end;
        return stretch->begin < stretch->end;
}

void trace_data_free(struct trace_data *data)
{
        free(data->list);
        *data = (struct trace_data){ 0 };
}
