// The worker is a real process that runs real kernels, correct ones and ones that misbehave.
#include "harness/worker/worker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "harness/judge/judge.h"
#include "harness/process/time_limits.h"
#include "harness/testing/worker_fixture.h"

namespace ropewalk::harness {
namespace {

TEST_F(WorkerTest, ListsInTreeKernelsAndThoseOfPlugins) {
  const std::vector<KernelFacts> kernels = worker.kernels();
  EXPECT_EQ(worker.starts(), 1);
  std::vector<std::string> own;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].index, i);
    if (kernels[i].plugin.empty()) own.push_back(kernels[i].name);
  }
  EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
  EXPECT_TRUE(std::find(own.begin(), own.end(), "plain") != own.end());
  EXPECT_EQ(kernels.size() - own.size(), 23u);

  const KernelFacts right = facts("test_right");
  EXPECT_EQ(right.plugin, plugin);
  EXPECT_EQ(right.summary, "the plain loop");
  EXPECT_EQ(right.source, "");
  EXPECT_EQ(right.cannot_run, "");
  EXPECT_EQ(right.flags, std::uint32_t{ROPE_IN_PLACE | ROPE_OUT_OF_PLACE});
  EXPECT_EQ(facts("test_needs_avx1024").cannot_run, "this machine has no avx1024");
  EXPECT_EQ(worker.starts(), 1) << "asking again starts nothing";
}

TEST_F(WorkerTest, RightKernelsReturnTheRotation) {
  for (const char* kernel : {"plain", "test_right"})
    for (const char* line :
         {"rotary_dim=8 q.head_dim=8", "tokens=3 rotary_dim=8 q.heads=2 q.head_dim=11 q.offset=2",
          "tokens=2 q.in_place=1 q.heads=2", "tokens=2000 rotary_dim=64 q.heads=8 q.head_dim=64",
          "batch=2 tokens=2 q.out=29,13,5 q.heads=2 q.out_at=3"}) {
      const Problem problem = make_problem(case_from_text(line), oracle);
      Subject subject{worker, oracle, facts(kernel)};
      const Execution e = execute(subject, problem);
      ASSERT_EQ(e.result.kind, Kind::ok) << e.result.text;
      EXPECT_EQ(e.stray_write, "");
      EXPECT_EQ(e.unwritten, "");
      const Finding f = compare_with_truth(subject, problem, e);
      EXPECT_TRUE(f.holds()) << line << ": " << f.margin << " " << f.where;
    }
  EXPECT_EQ(worker.starts(), 1);
}

TEST_F(WorkerTest, AnswersManyQuestionsAsItDoesEachAlone) {
  Subject subject{worker, oracle, facts("test_by_tokens")};
  struct Asked {
    std::size_t of;
    CallResult answer;
    std::vector<std::string> refusals;
  };
  const auto ask = [&](const std::vector<int>& tokens, const char* more = "") {
    std::vector<Problem> problems;
    for (const int each : tokens)
      problems.push_back(make_question(case_from_text(fmt::format("tokens={}{}", each, more))));
    Asked out{};
    out.answer = ask_supports(subject, problems, out.of, out.refusals);
    const CallResult alone = ask_supports(subject, problems[out.of]);
    EXPECT_EQ(out.answer.kind, alone.kind);
    EXPECT_EQ(out.answer.text, alone.text);
    return out;
  };
  std::vector<int> many(100, 3);  // more than a message holds
  many.insert(many.end(), {2, 4, 5, 6});
  const Asked accepted = ask(many);
  EXPECT_EQ(accepted.of, 102u);
  EXPECT_EQ(accepted.answer.kind, Kind::ok);
  for (const char* word : {"odd", "even"})
    EXPECT_EQ(std::ranges::count(accepted.refusals, word) > 0, true) << word;
  EXPECT_EQ(ask({1, 2, 3, 4}).answer.kind, Kind::unsupported);
  EXPECT_EQ(worker.starts(), 1);
  const Asked crashed = ask({2, 2, 6, 5});
  EXPECT_EQ(crashed.of, 2u);
  EXPECT_EQ(crashed.answer.kind, Kind::crash);
  subject.facts = facts("test_never_in_place");  // which its flags promise
  const Asked broken = ask({1, 2}, " q.in_place=1");
  EXPECT_EQ(broken.of, 0u);
  EXPECT_EQ(broken.answer.kind, Kind::failed);
  EXPECT_NE(broken.answer.text.find("(not in this form)"), std::string::npos) << broken.answer.text;
}

TEST_F(WorkerTest, KeepsStatesApart) {
  Subject subject{worker, oracle, facts("phase")};
  Execution e;
  const auto made = [&](const Problem& problem, std::uint32_t steps, std::uint32_t state) {
    Outputs outputs;
    perform(subject, problem, {steps, 0, true, state}, e, outputs);
    EXPECT_EQ(e.result.kind, Kind::ok) << e.result.text;
    return outputs;
  };
  const auto exact = [&](const char* line) {
    return make_problem(case_from_text(std::string("contract=exact ") + line), oracle);
  };
  const Problem a = exact("rotary_dim=8 q.head_dim=8"), b = exact("rotary_dim=4 q.head_dim=4");
  made(a, protocol::step_supports | protocol::step_prepare, 1);
  made(b, protocol::step_supports | protocol::step_prepare, 3);
  const Outputs once = made(a, protocol::step_apply, 1);
  made(b, protocol::step_apply | protocol::step_release, 3);
  EXPECT_EQ(made(a, protocol::step_apply | protocol::step_release, 1).written, once.written);

  Outputs none;
  perform(subject, a, {protocol::step_prepare, 0, true, protocol::most_states}, e, none);
  EXPECT_EQ(e.result.kind, Kind::failed);
  EXPECT_EQ(e.result.text, "no such state");
}

TEST_F(WorkerTest, RepeatsCalls) {
  const std::string line = "tokens=3 positions=1,2,4 rotary_dim=8 q.head_dim=8";
  const Problem problem = make_problem(case_from_text(line), oracle);
  Subject subject{worker, oracle, facts("plain")};
  Execution e;
  Outputs none;
  for (const std::uint32_t state : {0u, 1u}) {
    constexpr std::uint32_t steps = protocol::step_supports | protocol::step_prepare;
    perform(subject, problem, {steps, 0, true, state}, e, none);
    ASSERT_EQ(e.result.kind, Kind::ok) << e.result.text;
  }
  const CallResult alone = perform_again(subject, {{&problem}}, 50, false);
  EXPECT_EQ(alone.kind, Kind::ok) << alone.text;
  EXPECT_GT(alone.repeated, 0u);
  EXPECT_LE(alone.repeated, 50u);
  for (const bool shared : {false, true})
    for (const std::uint32_t last : {0u, 1u}) {
      const PreparedState first{&problem}, second{&problem, last};
      EXPECT_EQ(perform_again(subject, {first, first, second, second}, 5, shared).kind, Kind::ok);
    }
  const CallResult nowhere = perform_again(subject, {{&problem}, {&problem, 32}}, 5, false);
  EXPECT_EQ(nowhere.text, "no such state");
}

TEST_F(WorkerTest, ReportsRefusalsFailuresAndExceptions) {
  EXPECT_EQ(text_of("test_refuses", Kind::unsupported), "only on Sundays");
  EXPECT_EQ(text_of("test_answers_7", Kind::failed), "supports answered 7");
  EXPECT_EQ(text_of("test_fails", Kind::failed), "apply answered 2");
  EXPECT_EQ(text_of("test_throws", Kind::failed), "an exception left the kernel: out of rope");
  EXPECT_EQ(text_of("test_wants_2_gib", Kind::skipped),
            "workspace of 2147483648 bytes is above 1 GiB");
  EXPECT_EQ(run("test_right").result.kind, Kind::ok);
  EXPECT_EQ(worker.starts(), 1) << "the worker outlives all of these";
}

TEST_F(WorkerTest, SeesWhatIsNotWritten) {
  const Execution e = run("test_does_nothing");
  EXPECT_EQ(e.result.kind, Kind::ok);
  EXPECT_EQ(e.unwritten_elements, 2 * 8);
  EXPECT_EQ(e.unwritten, "q.out, element 0");
}

TEST_F(WorkerTest, SeesStrayWrites) {
  // A buffer that ends at a forbidden page has room in front: the write is found afterwards.
  const Execution e = run("test_writes_before");
  EXPECT_NE(e.stray_write.find("wrote outside its rows: q.out, element -1 "), std::string::npos)
      << e.stray_write;
  // A buffer that begins at a forbidden page has none: the write is a fault.
  EXPECT_EQ(e.result.kind, Kind::crash);
  EXPECT_EQ(e.result.text,
            "SIGSEGV in apply: write before q.out, byte offset -4 (it has 32 bytes)");
}

TEST_F(WorkerTest, NamesTheBufferOfAFault) {
  EXPECT_EQ(text_of("test_reads_past", Kind::crash),
            "SIGSEGV in apply: read past the end of q.in, byte offset 32 (it has 32 bytes)");
  EXPECT_EQ(text_of("test_writes_input", Kind::crash),
            "SIGSEGV in apply: write in read-only q.in, byte offset 4 (it has 32 bytes)");
  // No other buffer lies that far away, though the buffers of earlier calls are still mapped.
  for (const char* size : {"2", "8", "64", "256"})
    EXPECT_EQ(
        run("test_reads_far_past", fmt::format("rotary_dim=2 q.head_dim={}", size)).result.text,
        fmt::format("SIGSEGV in apply: read past the end of q.in, byte offset 8388608 (it has "
                    "{} bytes)",
                    4 * std::stoi(size)));
  EXPECT_EQ(text_of("test_exits", Kind::crash), "exited with code 7 in apply");
  EXPECT_EQ(worker.starts(), 7);
  EXPECT_EQ(run("plain").result.kind, Kind::ok);
  EXPECT_EQ(worker.starts(), 8) << "one for each crash and one more";
}

TEST_F(WorkerTest, AnotherKernelFindsItsBuffersMapped) {
  const Problem problem = make_problem(case_from_text("rotary_dim=8 q.head_dim=8"), oracle);
  for (const char* kernel : {"test_right", "test_unmaps_output", "test_right"}) {
    Subject subject{worker, oracle, facts(kernel)};
    const Execution e = execute_once(subject, problem, true);
    EXPECT_EQ(e.result.kind, Kind::ok) << kernel << ": " << e.result.text;
  }
  EXPECT_EQ(worker.starts(), 1);
}

// ^Z and fg stop parent and worker together, so neither had the time that passed meanwhile.
TEST_F(WorkerTest, OneThatIsStoppedIsLateUnlessItsParentIsStoppedToo) {
  if (!has_proc()) GTEST_SKIP() << "no /proc here";
  if (slowness() > 5) GTEST_SKIP() << "the limit is minutes here";
  const pid_t parent = fork();
  if (parent == 0) {
    Worker own(options({plugin}));
    Subject subject{own, oracle, facts("test_stops")};
    const Case c = case_from_text("rotary_dim=8 q.head_dim=8");
    _exit(execute(subject, make_problem(c, oracle)).result.kind == Kind::ok ? 0 : 1);
  }
  const auto stopped_worker = [&]() -> pid_t {
    for (const pid_t worker_there : workers_of(parent))
      if (const auto stat = process_stat(worker_there); stat && stat->state == 'T')
        return worker_there;
    return 0;
  };
  for (int tries = 0; tries < 1000 && stopped_worker() == 0; ++tries) usleep(10'000);
  const pid_t worker_of_parent = stopped_worker();
  ASSERT_NE(worker_of_parent, 0);
  usleep(300'000);  // until it waits for this call alone
  kill(parent, SIGSTOP);
  EXPECT_EQ(text_of("test_stops", Kind::hang),  // this takes as long as the other call has
            "no answer from apply in time: it was stopped by SIGSTOP");
  EXPECT_EQ(run("plain").result.kind, Kind::ok);
  kill(parent, SIGCONT);
  int status = -1;
  for (int wait = 0; wait < 1000 && waitpid(parent, &status, WNOHANG) == 0; ++wait) {
    usleep(50'000);
    kill(worker_of_parent, SIGCONT);  // it stops at every call
  }
  if (status == -1) kill(parent, SIGKILL);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// An emulator is given more time (tools/tests/emulated_test.cpp), but an ordinary processor is not.
TEST(TimeLimits, AreOfTheDataAndTheMachine) {
  protocol::CallDescriptor call{};
  EXPECT_GE(slowness(), 1);
  EXPECT_EQ(apply_limit_s(call), slowness());
  call.count = 3;
  call.operands[0] = {Operand::in, 0, 0, {0, 25'000'000, 0, 0, 0}};
  call.operands[1] = {Operand::out, 1, 0, {0, 25'000'000, 0, 0, 0}};
  EXPECT_DOUBLE_EQ(apply_limit_s(call), 10 * slowness());
  call.operands[2] = {Operand::in, 2, 0, {0, std::uint64_t{1} << 40U, 0, 0, 0}};
  EXPECT_DOUBLE_EQ(apply_limit_s(call), 20 * slowness());
  for (const auto& [part_s, limit_s] :
       {std::pair{0.001, 7.0}, {0.5, 32.0}, {100.0, 200 * slowness()}})
    EXPECT_DOUBLE_EQ(scaled_limit_s(7, part_s, 16), limit_s);
}

// 40 tokens take 1.6 s of processor time, where 1 s is the usual limit. Two take 0.08 s.
TEST_F(WorkerTest, ASlowKernelIsNoHang) {
  const std::string line = "tokens=40 rotary_dim=8 q.head_dim=8";
  EXPECT_EQ(run("test_slow", line).result.kind, Kind::ok);
  const CallResult hang = run("test_hangs_late", line).result;
  EXPECT_EQ(hang.kind, Kind::hang);
  EXPECT_TRUE(hang.text.ends_with(" s of processor time)")) << hang.text;
}

// A process that waits for a processor is not a hang.
TEST(TimeLimits, TellWhoCouldRunFromWhoWaits) {
  if (!has_proc()) GTEST_SKIP() << "no /proc here";
  EXPECT_TRUE(is_runnable(getpid()));
  const pid_t sleeper = fork();
  if (sleeper == 0) {
    pause();
    _exit(0);
  }
  for (int tries = 0; tries < 500 && is_runnable(sleeper); ++tries) usleep(10'000);
  EXPECT_FALSE(is_runnable(sleeper));
  kill(sleeper, SIGKILL);
  waitpid(sleeper, nullptr, 0);
  EXPECT_FALSE(is_runnable(sleeper)) << "there is no such process any more";
}

TEST_F(WorkerTest, WorkerKilledFromOutsideIsReplaced) {
  if (!has_proc()) GTEST_SKIP() << "no /proc here";
  for (const bool keeper : {true, false}) {
    EXPECT_EQ(run("plain").result.kind, Kind::ok);
    ASSERT_EQ(children().size(), 1u);
    const std::vector<pid_t> there = keeper ? children() : workers_of(getpid());
    ASSERT_EQ(there.size(), 1u);
    kill_quietly(there[0]);
    const CallResult lost = run("plain").result;
    EXPECT_EQ(lost.kind, Kind::crash);
    EXPECT_NE(lost.text.find("SIGKILL"), std::string::npos) << lost.text;
    EXPECT_EQ(run("plain").result.kind, Kind::ok);
  }
  EXPECT_EQ(worker.starts(), 3);
}

}  // namespace
}  // namespace ropewalk::harness
