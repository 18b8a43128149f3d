#include "out/report.h"

#include "base/yamlscalar.h"
#include "out/style.h"

void report_record(struct buf *out, struct str name, uint64_t latency_ns, unsigned status)
{
    buf_add_str(out, STR("\n- name: "));
    yaml_scalar(out, name, true);
    buf_add_str(out, STR("\n  duration: "));
    style_decimal(out, latency_ns, 6, 1);
    buf_add_str(out, STR("\n  status: "));
    buf_add_u64(out, status);
    buf_add_char(out, '\n');
}
