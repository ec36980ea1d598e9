// Plugins that cannot be loaded give exit code 2 and one line that names the file and what to do.
// Plugins that misstate what they can do get a verdict that says so. harness/testing/plugin.cpp
// plants the faults.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tools/tests/shell.h"

namespace {

namespace fs = std::filesystem;

const fs::path right = ROPEWALK_TEST_PLUGIN, folder = right.parent_path();

// The one line that the command prints on standard error for `options`.
std::string refusal(const std::string& options) {
  const Result r = ropewalk("list " + options);
  expect_one_line(r, {});
  return r.err;
}

std::string refusal_of(const fs::path& plugin) {
  const std::string message = refusal("--plugin '" + plugin.string() + "'");
  EXPECT_TRUE(message.starts_with("ropewalk: plugin " + plugin.string() + ": ")) << message;
  return message;
}

using Refused = std::pair<std::string, std::string>;  // the fault, and a part of the one line

class Faults : public testing::TestWithParam<Refused> {};

TEST_P(Faults, GetsOneLineAndExitTwo) {
  const auto& [fault, part] = GetParam();
  setenv("TEST_PLUGIN_FAULT", fault.c_str(), 1);  // this process runs one test, or sets it anew
  const std::string message = refusal_of(right);
  unsetenv("TEST_PLUGIN_FAULT");
  EXPECT_TRUE(contains(message, part)) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    testing::Values(
        Refused{"list_null", "rope_kernels_v1 returned NULL"},
        Refused{"list_size", "rope_kernel_list.struct_size is 16, but it must be at least 24: set"},
        Refused{"list_abi", "was built for ABI 2, this is ABI 1: build it against"},
        Refused{"count_zero", "its list says 0 kernels: 1 to 4096 are taken"},
        Refused{"count_huge", "its list says 18446744073709551615 kernels: 1 to 4096 are taken"},
        Refused{"kernels_null", "its list of kernels is NULL"},
        Refused{"kernel_null", "a kernel pointer is NULL"},
        Refused{"kernel_size", "rope_kernel.struct_size is 96, but it must be at least 104: set"},
        Refused{"kernel_abi", "was built for ABI 2, this is ABI 1: build it against"},
        Refused{"name_null", "the kernel name NULL is not 1 to 63 of [a-z0-9_]"},
        Refused{"name_empty", "the kernel name '' is not 1 to 63 of [a-z0-9_]"},
        Refused{"name_capital", "the kernel name 'Test_right' is not 1 to 63 of [a-z0-9_]"},
        Refused{"name_space", "the kernel name 'test right' is not 1 to 63 of [a-z0-9_]"},
        Refused{"name_long", "_the_contract_and_refuse' is not 1 to 63 of [a-z0-9_]"},
        Refused{"name_ceiling", "name 'ceiling_update' is reserved for"},
        Refused{"name_of_the_tree", "a kernel named plain is there already, from the command"},
        Refused{"name_twice", "a kernel named test_refuses is there already, from "},
        Refused{"no_supports", "test_right: supports is NULL, but it is required"},
        Refused{"no_apply", "test_right: apply is NULL, but it is required"},
        Refused{"unknown_flags", "test_right: flags has bits that ABI 1 does not know: 1073741824"},
        Refused{"unknown_exceptions",
                "test_right: exceptions has bits that ABI 1 does not know: 16"},
        Refused{"reads_far_past", "test_right: reads_past is 4096, but 64 is the most"},
        Refused{"no_form", "test_right: flags has neither ROPE_IN_PLACE nor ROPE_OUT_OF_PLACE"},
        Refused{"unknown_contract", "test_right: angle_contract 3 is unknown"},
        Refused{"unknown_memory", "test_right: memory 7 is unknown"},
        Refused{"bound_large", "test_right: error_bound 17.000000 is not in [0, 16]"},
        Refused{"bound_negative", "test_right: error_bound -1.000000 is not in [0, 16]"},
        Refused{"bound_nan", "test_right: error_bound nan is not in [0, 16]"},
        Refused{"throw_in_entry", "no rope left"},
        Refused{"throw_number_in_entry", "threw something while it was loaded"},
        Refused{"abort_in_constructor", "SIGABRT in loading (its constructors"},
        Refused{"crash_in_constructor", "SIGSEGV in loading (its constructors"},
        Refused{"exit_in_constructor", "exited with code 3 in loading (its constructors"},
        Refused{"abort_in_entry", "SIGABRT in loading (its constructors and rope_kernels_v1"},
        Refused{"crash_in_entry", "SIGSEGV in loading (its constructors and rope_kernels_v1"},
        Refused{"exit_in_entry", "exited with code 3 in loading (its constructors"}),
    [](const auto& test) { return test.param.first; });

TEST(Files, ThatAreNoPlugins) {
  EXPECT_TRUE(contains(refusal_of("./not_there.so"), "cannot be read: No such file"));
  EXPECT_TRUE(contains(refusal_of(folder), "cannot be loaded as a shared library: "));
  const fs::path text = scratch() / "text.so", half = scratch() / "half.so", empty = "/dev/null";
  std::ofstream(text) << "This is no ELF file, it is longer than the header of one would have been";
  EXPECT_TRUE(contains(refusal_of(text), "cannot be loaded as a shared library: "));
  EXPECT_TRUE(contains(refusal_of(empty), "cannot be loaded as a shared library: "));
  fs::copy_file(right, half, fs::copy_options::overwrite_existing);
  constexpr int place_of_machine = 18;
  std::fstream(half, std::ios::in | std::ios::out | std::ios::binary).seekp(place_of_machine)
      << '\1';
  EXPECT_TRUE(contains(refusal_of(half), "as it is for another processor: build it for this one"));
  // The loader sees some cuts, and others are a SIGBUS in it. All cuts are before the end of what
  // it maps. A library is whole without the rest, which may be half of the file.
  for (const std::uintmax_t bytes : {100u, 1000u, 5000u, 10000u}) {
    fs::copy_file(right, half, fs::copy_options::overwrite_existing);
    fs::resize_file(half, bytes);
    refusal_of(half);
  }
}

TEST(Files, WithoutWhatTheLoaderNeeds) {
  EXPECT_TRUE(contains(refusal_of(folder / "test_plugin_no_entry.so"),
                       "exports no rope_kernels_v1: a plugin has that function"));
  EXPECT_TRUE(contains(refusal_of(folder / "test_plugin_undefined.so"),
                       "undefined symbol: nobody_defines_this"));
}

TEST(Names, AreUniqueAmongPlugins) {
  const fs::path copy = scratch() / "copy.so";
  fs::copy_file(right, copy, fs::copy_options::overwrite_existing);
  for (const fs::path& second : {right, copy}) {
    const std::string message =
        refusal("--plugin " + right.string() + " --plugin " + second.string());
    EXPECT_TRUE(contains(message, "plugin " + second.string() + ": a kernel named test_right is " +
                                      "there already, from " + right.string()))
        << message;
  }
}

TEST(Prefixes, LetTwoBuildsStandInOneRun) {
  const std::string both = " --plugin base=" + right.string() + " --plugin head=" + right.string();
  Result r =
      ropewalk("verify --profile smoke --cases 3 --property identity_at_zero --kernel base:" +
               std::string("test_right --kernel '*:test_illegal'") + both);
  r.out = unwrapped(r.out);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  for (const char* line :
       {"\nPASS  base:test_right ", "\nCRASH base:test_illegal (", "\nCRASH head:test_illegal ("})
    EXPECT_TRUE(contains("\n" + r.out, line)) << r.out;
  EXPECT_FALSE(contains(r.out, "head:test_right")) << r.out;
  const auto at = r.out.find("ropewalk replay 'kernel=head:test_illegal plugin=head=");
  ASSERT_NE(at, std::string::npos) << r.out;
  const Result again = ropewalk(r.out.substr(at + 9, r.out.find('\n', at) - at - 9));
  expect(again, 1, {"CRASH head:test_illegal ("});
}

TEST(Prefixes, AreTwoWordsWithOneFileEach) {
  const std::string it = right.string();
  for (const auto& [options, part] :
       {std::pair("--plugin base=" + it + " --plugin base=" + it, "two files have the prefix"),
        std::pair("--plugin 'b*=" + it + "'",
                  "'b*=' is not a known prefix: only base= and head= are"),
        std::pair(std::string("--plugin main=x.so"), "(./main=x.so is a file of this name)"),
        std::pair(std::string("--plugin head="), "'head=' names no file")})
    EXPECT_TRUE(contains(refusal(options), part)) << options;
  EXPECT_TRUE(refusal("--plugin head=./not_there.so").starts_with("ropewalk: plugin head=./not_"));
  const fs::path file = scratch() / "base=x.so";
  fs::copy_file(right, file, fs::copy_options::overwrite_existing);
  const std::string list = " list --quiet --kernel test_right --plugin ";
  for (const std::string& given :
       {file.string(), std::string("./base=x.so"), std::string("base=x.so")}) {
    const Result r = shell("cd " + scratch().string() + "; " + ROPEWALK_EXECUTABLE + list + given);
    EXPECT_TRUE(contains(r.out, "\n  test_right ")) << r.out << r.err;
  }
  const Result r = ropewalk("list --kernel nobody --plugin " + it);
  EXPECT_TRUE(contains(r.err, "no kernel matches 'nobody' (--plugin has test_")) << r.err;
  EXPECT_TRUE(contains(r.err, "; ropewalk list shows the others)")) << r.err;
}

// ---- kernels that load and then break what they declare

using Liar = std::array<std::string, 3>;  // the kernel, its verdict and the reason

class Liars : public testing::TestWithParam<Liar> {};

TEST_P(Liars, AreToldWhatTheyDeclared) {
  const auto& [kernel, verdict, because] = GetParam();
  Result r = ropewalk("verify --profile smoke --cases 5 --property norm --kernel " + kernel +
                      " --plugin " + right.string());
  r.out = unwrapped(r.out);
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  const std::string head = verdict + (verdict.size() == 4 ? "  " : " ");
  EXPECT_TRUE(contains("\n" + r.out, "\n" + head + kernel + " (")) << r.out;
  EXPECT_TRUE(contains(r.out, because)) << r.out;
  const auto at = r.out.find("ropewalk replay '");
  ASSERT_NE(at, std::string::npos) << r.out;
  const Result again = ropewalk(r.out.substr(at + 9, r.out.find('\n', at) - at - 9));
  expect(again, 1, {because});
}

INSTANTIATE_TEST_SUITE_P(
    All, Liars,
    testing::Values(Liar{"test_illegal", "CRASH",
                         "SIGILL in apply: does this machine lack the instruction? Then"},
                    Liar{"test_never_in_place", "FAIL",
                         "ROPE_IN_PLACE, yet supports refuses in place a problem that it accepts"},
                    Liar{"test_only_in_place", "FAIL",
                         "ROPE_OUT_OF_PLACE, yet supports refuses out of place a problem that"}),
    [](const auto& test) { return test.param[0]; });

// Calls that only fixed cases make: nothing is rotated, and a table of one row has an odd stride.
TEST(SeldomWrong, IsFoundByFixedCases) {
  const auto judged = [](const char* kernel, const char* property) {
    return ropewalk(std::string("verify --profile smoke --cases 5 --property ") + property +
                    " --kernel " + kernel + " --plugin " + right.string());
  };
  const Result rests = judged("test_rests", "untouched_dims"),
               trusts = judged("test_trusts_stride", "strides");
  expect(rests, 1, {"rotate=0"});
  expect(trusts, 1, {"table_row_stride="});
  // Control: each is right where the other is wrong.
  const auto replayed = [](const std::string& words) {
    return ropewalk("replay '" + words + " plugin=" + right.string() + "'");
  };
  const Result copies = replayed("kernel=test_trusts_stride property=untouched_dims q.rotate=0"),
               one_row = replayed(
                   "kernel=test_rests property=strides rows_by=token positions=5 "
                   "table_row_stride=0");
  EXPECT_EQ(copies.code, 0) << copies.out << copies.err;
  EXPECT_EQ(one_row.code, 0) << one_row.out << one_row.err;
}

// ---- what a verdict rests on

const std::string one = " --kernel test_right --plugin " + right.string();
const std::string zero = "verify --profile smoke --cases 3 --property identity_at_zero" + one;
const std::string pass = "PASS  test_right half_split f32 table";

// What lies behind its struct is not read.
TEST(JudgedOn, AKernelOfAnOlderHeaderKeepsItsVerdict) {
  const Result r = ropewalk(zero, "TEST_PLUGIN_FAULT=older_header ");
  EXPECT_TRUE(contains(r.out, pass + ": 1 property, ")) << r.out << r.err;
}

TEST(JudgedOn, AKernelOfTheHostLauncherIsNamedSo) {
  for (const bool on_host : {true, false}) {
    setenv("TEST_PLUGIN_FAULT", on_host ? "host_launcher" : "", 1);
    const std::string list = on_one_line(ropewalk("list --features --quiet" + one).out),
                      text = ropewalk(zero).out,
                      rows = ropewalk("list --json" + one).out + ropewalk(zero + " --json").out;
    unsetenv("TEST_PLUGIN_FAULT");
    EXPECT_EQ(contains(list, "angles: table; judged by the host launcher; plugin "), on_host);
    EXPECT_EQ(contains(text, pass + " (host launcher): 1 property, "), on_host);
    EXPECT_EQ(contains(text, "(half_split f64 table, host launcher): identity_at_zero"), on_host);
    EXPECT_EQ(contains(text, "2 of these claims are of CUDA kernels, checked on the CPU "),
              on_host);
    EXPECT_EQ(contains(text, pass + ": 1 property, "), !on_host);
    for (const std::string& out : {list, text, rows})
      EXPECT_EQ(contains(out, "host launcher"), on_host) << out;
    EXPECT_EQ(contains(rows, "\"judged_on\":\"native\""), !on_host) << rows;
  }
}

// The cell is skipped in a line, no case of f64 is made beside another type, and the other cells
// are judged.
TEST(Declared, AnF32AngleKernelThatAcceptsF64IsSkippedThere) {
  for (const bool f32_angle : {true, false}) {
    setenv("TEST_PLUGIN_FAULT", f32_angle ? "f32_angle" : "", 1);
    const Result r = ropewalk("verify --profile smoke --cases 3 --property tensors_apart" + one);
    unsetenv("TEST_PLUGIN_FAULT");
    EXPECT_EQ(r.code, 1) << "it is wrong in other types" << r.err;
    EXPECT_TRUE(contains(r.out, "test_right interleaved f16")) << r.out;
    EXPECT_EQ(contains(on_one_line(r.out),
                       "SKIPPED test_right (f32_angle): agreement: f64 data is not judged "
                       "under the f32_angle contract, but supports accepts it"),
              f32_angle)
        << r.out;
  }
}

// A declared error_bound that is larger than f32 needs stands beside every PASS, and a smaller one
// does not. Neither changes the exit code.
TEST(Declared, ABoundBeyondTheTypeIsNoPlainPass) {
  const std::string words = "declared 16 u of f32 = 9.5e-07, derived 5 u";
  for (const bool beyond : {true, false}) {
    setenv("TEST_PLUGIN_FAULT", beyond ? "bound_16" : "bound_5", 1);
    const Result text = ropewalk(zero), list = ropewalk("list --features" + one),
                 rows = ropewalk(zero + " --json"), kernels = ropewalk("list --json" + one),
                 again = ropewalk("replay 'kernel=test_right plugin=" + right.string() +
                                  " property=identity_at_zero positions=0'");
    unsetenv("TEST_PLUGIN_FAULT");
    for (const Result& r : {list, kernels, again}) EXPECT_EQ(r.code, 0) << r.err;
    for (const Result& r : {text, rows}) EXPECT_EQ(r.code, 1) << "it is wrong in other types";
    EXPECT_EQ(contains(text.out, pass + " (" + words + "): 1 prop"), beyond);
    EXPECT_EQ(contains(text.out, pass + ": 1 property, "), !beyond);
    EXPECT_EQ(contains(text.out, "2 of these claims hold to an error that the kernel "), beyond);
    EXPECT_EQ(contains(on_one_line(again.out), "_right (half_split f32 table, " + words + "): "),
              beyond);
    EXPECT_EQ(contains(on_one_line(again.out), "PASS test_right (half_split f32 table): "),
              !beyond);
    EXPECT_EQ(contains(rows.out, "\"declared\":\"" + words + "\""), beyond);
    EXPECT_EQ(contains(rows.out, "\"declared\":\"\""), !beyond);
    EXPECT_EQ(contains(on_one_line(list.out), "; " + words), beyond);
    EXPECT_TRUE(contains(list.out, beyond ? "declared error 16 u" : "declared error 5 u"));
    EXPECT_TRUE(contains(kernels.out, beyond ? "\"error_bound\":16" : "\"error_bound\":5"));
  }
}

}  // namespace
