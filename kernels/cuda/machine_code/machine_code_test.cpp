// The machine code of the CUDA plugin: no stack, no spills, no local memory, no calls, and accesses
// of 16 bytes to x. The planted functions (planted.cu) show that each check can fail. What is
// missing of NVIDIA's tools skips the tests that need it, in words.
#include "kernels/cuda/machine_code/machine_code.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace ropewalk::cuda {
namespace {

struct Built {
  std::string plugin, resources;
};
const Built ours{ROPEWALK_CUDA_PLUGIN, ROPEWALK_CUDA_RESOURCES};
const Built planted{ROPEWALK_PLANTED_PLUGIN, ROPEWALK_PLANTED_RESOURCES};

std::vector<Resources> resources_of(const Built& built) {
  std::ifstream in(built.resources);
  std::stringstream text;
  text << in.rdbuf();
  return resources_in(text.str());
}

std::vector<Instructions> instructions_of(const Built& built) {
  // cuobjdump starts nvdisasm, which it finds on PATH.
  const std::string line = "PATH=\"" ROPEWALK_NVDISASM_FOLDER ":$PATH\" '" ROPEWALK_CUOBJDUMP
                           "' -sass '" +
                           built.plugin + "' 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  std::string text;
  std::array<char, 65536> buffer{};
  for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), got);
  const int status = pclose(pipe);
  EXPECT_EQ(status, 0) << line << "\n" << text.substr(0, 1000);
  return instructions_in(text);
}

// Every function that the launcher can choose, for each architecture.
std::set<std::string> expected_functions() {
  std::set<std::string> names;
  for (const char* architecture : {"sm_80", "sm_90"})
    for (const char* path : {"cuda_%_wide", "cuda_%_general", "cuda_phase_%_wide",
                             "cuda_phase_%_general", "cuda_naive_%_general"})
      for (const char* type : {"f32", "f16", "bf16"})
        for (const char* pairing : {"half_split", "interleaved"})
          for (const char* index : {"i32", "i64"}) {
            std::string name(path);
            name.replace(name.find('%'), 1, std::string(type) + "_" + pairing);
            names.insert(std::string(architecture) + " rope_" + name + "_" + index);
          }
  return names;
}

template <class Function>
std::set<std::string> names_of(const std::vector<Function>& functions) {
  std::set<std::string> names;
  for (const Function& f : functions) names.insert(f.architecture + " " + f.name);
  return names;
}

template <class Function>
std::map<std::string, std::string> faults_of(const std::vector<Function>& functions) {
  std::map<std::string, std::string> faults;
  for (const Function& f : functions)
    if (const std::string fault = fault_of(f); !fault.empty())
      faults[f.architecture + " " + f.name] = fault;
  return faults;
}

/// The faults of the planted functions on both architectures must be these and no others.
void expect_faults(std::map<std::string, std::string> found,
                   const std::map<std::string, std::string>& expected) {
  for (const auto& [name, fault] : expected)
    for (const char* architecture : {"sm_80", "sm_90"}) {
      const auto at = found.find(architecture + (" planted_" + name));
      if (at == found.end()) {
        ADD_FAILURE() << name << " on " << architecture << ": nothing was found wrong";
        continue;
      }
      EXPECT_EQ(at->second.substr(0, fault.size()), fault) << name << " on " << architecture;
      found.erase(at);
    }
  for (const auto& [name, fault] : found) ADD_FAILURE() << name << " " << fault;
}

class MachineCode : public testing::Test {
 protected:
  void SetUp() override {
    if (ours.plugin.empty()) GTEST_SKIP() << "this build has no CUDA plugin (no nvcc)";
  }
  static bool no_tools() { return std::string(ROPEWALK_CUOBJDUMP).empty(); }
};
#define SKIP_WITHOUT_TOOLS() \
  if (no_tools()) GTEST_SKIP() << "no cuobjdump and nvdisasm here (ROPEWALK_CUOBJDUMP, README)"

TEST_F(MachineCode, HasNoStackAndNoSpills) {
  const auto functions = resources_of(ours);
  EXPECT_EQ(names_of(functions), expected_functions());
  for (const auto& [name, fault] : faults_of(functions)) ADD_FAILURE() << name << " " << fault;
}

TEST_F(MachineCode, AccessesXBySixteenBytesAndCallsNothing) {
  SKIP_WITHOUT_TOOLS();
  const auto functions = instructions_of(ours);
  EXPECT_EQ(names_of(functions), expected_functions());
  for (const auto& [name, fault] : faults_of(functions)) ADD_FAILURE() << name << " " << fault;
  std::map<std::string, Resources> resources;
  for (const Resources& r : resources_of(ours)) resources[r.architecture + " " + r.name] = r;
  std::printf("%-5s  %-48s %9s %5s %5s  %-11s %-11s %8s %5s %5s  %s\n", "", "function", "registers",
              "stack", "spill", "loads of x", "stores of x", "constant", "local", "calls",
              "instructions");
  for (const Instructions& f : functions) {
    const Resources& r = resources[f.architecture + " " + f.name];
    const auto widths = [](std::int64_t wide, std::int64_t narrow) {
      return std::to_string(wide) + " of 16" +
             (narrow > 0 ? ", " + std::to_string(narrow) + " less" : "");
    };
    std::printf("%-5s  %-48s %9ld %5ld %5ld  %-11s %-11s %8ld %5ld %5ld  %ld\n",
                f.architecture.c_str(), f.name.c_str(), r.registers, r.stack_bytes, r.spill_bytes,
                widths(f.wide_loads, f.narrow_loads).c_str(),
                widths(f.wide_stores, f.narrow_stores).c_str(), f.constant_loads, f.local, f.calls,
                f.count);
  }
}

TEST_F(MachineCode, PlantedStackAndSpillsAreFound) {
  const auto functions = resources_of(planted);
  EXPECT_EQ(functions.size(), 18u);
  expect_faults(faults_of(functions),
                {{"array_general_i32", "has a stack of "}, {"spill_general_i32", "spills "}});
}

TEST_F(MachineCode, PlantedInstructionsAreFound) {
  SKIP_WITHOUT_TOOLS();
  const auto functions = instructions_of(planted);
  EXPECT_EQ(functions.size(), 18u);
  expect_faults(faults_of(functions),
                {{"array_general_i32", "accesses local memory"},
                 {"spill_general_i32", "accesses local memory"},
                 {"call_general_i32", "calls a function"},
                 {"generic_general_i32", "accesses memory by a generic address"},
                 {"narrow_load_wide_i32", "loads x by less than 16 bytes"},
                 {"narrow_store_wide_i32", "stores x by less than 16 bytes"},
                 {"no_load_wide_i32", "does not load and store x"}});
}

// ---- the words of the tools, where there is no tool

TEST(MachineCodeText, OfPtxasIsRead) {
  const auto found = resources_in(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a_wide_i32' for 'sm_90'\n"
      "ptxas info    : Function properties for a_wide_i32\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 63 registers, used 0 barriers, 376 bytes cmem[0]\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].architecture + " " + found[0].name, "sm_90 a_wide_i32");
  EXPECT_EQ(found[0].registers, 63);
  EXPECT_EQ(found[0].stack_bytes, 8);
  EXPECT_EQ(found[0].spill_bytes, 16);
  EXPECT_EQ(fault_of(found[0]), "spills 16 bytes");
  EXPECT_EQ(fault_of(Resources{"sm_90", "a", 10, 8, 0}), "has a stack of 8 bytes");
  EXPECT_EQ(fault_of(Resources{"sm_90", "a", 10, 0, 0}), "");
  EXPECT_NE(fault_of(Resources{"sm_90", "a", 0, 0, 0}), "");
  EXPECT_TRUE(resources_in("").empty());
}

TEST(MachineCodeText, OfCuobjdumpIsRead) {
  const auto found = instructions_in(
      "\tcode for sm_80\n\t\tFunction : a_wide_i64\n\t.headerflags\t@\"EF_CUDA\"\n"
      "        /*0000*/                   MOV R1, c[0x0][0x28] ;    /* 0x00000a0000017a02 */\n"
      "                                                             /* 0x000fe40000000f00 */\n"
      "        /*0010*/              @!P2 LDG.E.CONSTANT R3, [R4.64] ;  /* 0x1 */\n"
      "        /*0020*/                   LDG.E.128 R4, [R2.64] ;       /* 0x1 */\n"
      "        /*0030*/               @P0 STG.E.128 [R2.64], R4 ;       /* 0x1 */\n"
      "        /*0040*/                   LDC.64 R4, c[0x0][R52+0x180] ;\n"
      "\t\tFunction : b_wide_i64\n"
      "        /*0000*/                   LDG.E.64 R4, [R2.64] ;\n"
      "        /*0010*/                   STG.E.U16 [R2.64], R4 ;\n"
      "        /*0020*/               @P0 STL [R1], R4 ;\n"
      "        /*0030*/                   ST.E [R2.64], R4 ;\n"
      "        /*0040*/                   CALL.REL.NOINC 0x60 ;\n"
      "        /*0050*/               @P0 CALL.ABS.NOINC `(other) ;   /* 0x1 */\n"
      "        /*0060*/                   RET.REL.NODEC R20 `(b) ;\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].architecture + " " + found[0].name, "sm_80 a_wide_i64");
  EXPECT_EQ(found[0].count, 5);
  EXPECT_EQ(found[0].wide_loads, 1);
  EXPECT_EQ(found[0].constant_loads, 1);
  EXPECT_EQ(found[0].wide_stores, 1);
  EXPECT_EQ(fault_of(found[0]), "");
  EXPECT_EQ(found[1].narrow_loads, 1);
  EXPECT_EQ(found[1].narrow_stores, 1);
  EXPECT_EQ(found[1].local, 1);
  EXPECT_EQ(found[1].generic, 1);
  EXPECT_EQ(found[1].calls, 2) << "the jump by CALL.REL is none";
  EXPECT_EQ(fault_of(found[1]), "accesses local memory");
  EXPECT_NE(fault_of(Instructions{}), "");
  EXPECT_TRUE(instructions_in("").empty());
}

}  // namespace
}  // namespace ropewalk::cuda
