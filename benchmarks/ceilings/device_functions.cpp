#include "benchmarks/ceilings/device_functions.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

namespace ropewalk::bench {
namespace {

// A function that loads its parameters into registers of their names.
std::string entry(std::string_view name, std::initializer_list<std::string_view> parameters,
                  std::string_view body) {
  std::string list, loads;
  for (const std::string_view parameter : parameters) {
    list += fmt::format("{}.param .u64 in_{}", list.empty() ? "" : ", ", parameter);
    loads += fmt::format("  .reg .b64 {0};\n  ld.param.u64 {0}, [in_{0}];\n", parameter);
  }
  return fmt::format(".visible .entry {}({})\n.reqntid {}\n{{\n{}{}  ret;\n}}\n", name, list,
                     device_block, loads, body);
}

// The vectors of a thread lie a block apart, so neighbours access neighbours. All are loaded before
// the first is stored. Only in the last block each vector is compared with the end.
std::string vector_loop(const DeviceLoop& loop, bool is_update) {
  const char* const from = is_update ? "x" : "from";
  const char* const to = is_update ? "x" : "to";
  const char* const way = loop.streams ? ".cs" : "";
  std::string body = fmt::format(R"(  .reg .pred whole, p<{0}>;
  .reg .b64 a<{0}>, b<{0}>, at, tid, left;
  .reg .b32 block, thread;
  mov.u32 block, %ctaid.x;
  mov.u32 thread, %tid.x;
  cvt.u64.u32 tid, thread;
  mul.wide.u32 at, block, {1};
  sub.u64 left, vectors, at;
  setp.ge.s64 whole, left, {1};
  sub.u64 left, left, tid;
  add.u64 at, at, tid;
  shl.b64 at, at, 4;
)",
                                 loop.vectors, device_block * static_cast<unsigned>(loop.vectors));
  for (const char* const buffer : {"x", "to", "from"})
    if (is_update == (*buffer == 'x')) body += fmt::format("  add.u64 {0}, {0}, at;\n", buffer);
  body += "  @whole bra all;\n";
  for (const bool is_whole : {false, true}) {
    std::string first, loads, stores;
    for (int k = 0; k < loop.vectors; ++k) {
      const auto offset = static_cast<unsigned>(k) * device_block;
      const std::string if_there = is_whole ? "" : fmt::format("@p{} ", k);
      if (!is_whole) first += fmt::format("  setp.gt.s64 p{}, left, {};\n", k, offset);
      loads += fmt::format("  {0}ld.global{1}.v2.u64 {{a{2}, b{2}}}, [{3}+{4}];\n", if_there, way,
                           k, from, offset * device_vector_bytes);
      if (is_update)
        stores += fmt::format("  xor.b64 a{0}, a{0}, bits;\n  xor.b64 b{0}, b{0}, bits;\n", k);
      stores += fmt::format("  {0}st.global{1}.v2.u64 [{3}+{4}], {{a{2}, b{2}}};\n", if_there, way,
                            k, to, offset * device_vector_bytes);
    }
    body.append(first).append(loads).append(stores).append(is_whole ? "" : "  ret;\nall:\n");
  }
  return is_update ? entry(loop.name, {"x", "vectors", "bits"}, body)
                   : entry(loop.name, {"to", "from", "vectors"}, body);
}

// What is stored depends on the tables, so no compiler drops their loads: x is turned over where
// all bits of cos and sin are set, which are NaNs.
constexpr std::string_view floor_copy = R"(  .reg .pred is_behind, is_set;
  .reg .b64 at, end, x0, x1, c0, c1, s0, s1, position;
  .reg .b32 block, thread, i, count, row, v;
  mov.u32 block, %ctaid.x;
  mov.u32 thread, %tid.x;
  mul.wide.u32 at, block, 256;
  cvt.u64.u32 end, thread;
  add.u64 at, at, end;
  mul.lo.u64 end, row_vectors, rows;
  setp.ge.u64 is_behind, at, end;
  @is_behind ret;
  cvt.u32.u64 i, at;
  shl.b64 at, at, 4;
  add.u64 x, x, at;
  ld.global.v2.u64 {x0, x1}, [x];
  cvt.u32.u64 count, row_vectors;
  div.u32 row, i, count;
  mul.lo.u32 v, row, count;
  sub.u32 v, i, v;
  mad.wide.u32 positions, row, 8, positions;
  ld.global.u64 position, [positions];
  cvt.u32.u64 count, table_vectors;
  rem.u32 v, v, count;
  cvt.u64.u32 at, v;
  mad.lo.u64 at, position, table_vectors, at;
  shl.b64 at, at, 4;
  add.u64 cos, cos, at;
  add.u64 sin, sin, at;
  ld.global.v2.u64 {c0, c1}, [cos];
  ld.global.v2.u64 {s0, s1}, [sin];
  and.b64 c0, c0, c1;
  and.b64 s0, s0, s1;
  and.b64 c0, c0, s0;
  setp.eq.s64 is_set, c0, -1;
  @is_set not.b64 x0, x0;
  st.global.v2.u64 [x], {x0, x1};
)";

std::string all_functions() {
  std::string text =
      ".version 7.4\n.target sm_75\n.address_size 64\n" + entry("floor", {}, "") +
      entry("floor_copy", {"x", "row_vectors", "rows", "positions", "cos", "sin", "table_vectors"},
            floor_copy);
  for (const DeviceLoop& loop : device_update_loops()) text += vector_loop(loop, true);
  for (const DeviceLoop& loop : device_copy_loops()) text += vector_loop(loop, false);
  return text;
}

std::vector<DeviceLoop> loops(const char* name) {
  std::vector<DeviceLoop> all;
  for (const int vectors : {1, 2, 4, 8})
    for (const bool streams : {false, true})
      all.push_back(
          {fmt::format("{}_{}{}", name, vectors, streams ? "_streaming" : ""), vectors, streams});
  return all;
}

}  // namespace

const std::string& device_functions_text() {
  static const std::string text = all_functions();
  return text;
}

std::vector<DeviceLoop> device_update_loops() {
  return loops("update");
}
std::vector<DeviceLoop> device_copy_loops() {
  return loops("copy");
}

}  // namespace ropewalk::bench
