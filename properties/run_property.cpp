// The only file that includes RapidCheck. It makes integers (properties/generate.h) and shrinks
// them; positions by powers of two, data by a seed that is never shrunk. RapidCheck keeps static
// state: one thread.
#include "properties/run_property.h"

#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <chrono>
#include <exception>
#include <string>
#include <unordered_map>

#include "properties/generate.h"

namespace ropewalk {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int most_shrinks = 400, most_crashes = 40, most_hangs = 3;

// Counts what is run and keeps the worst; decides when shrinking has gone on long enough.
class Runner {
 public:
  Runner(Subject& subject, const Property& property, const RunLimits& limits)
      : subject_(subject), property_(property), limits_(limits) {}

  /// Whether the claim held on this case. A refusal holds, and is counted as not executed.
  bool holds(const Case& c) {
    const Finding f = property_.check(subject_, c);
    refused_ = !f.ran();
    if (failing()) return !shrunk_by(c, f);
    if (refused_) {
      if (run.executed == 0) run.worst = f;  // why nothing ran
      return true;
    }
    ++run.executed;
    run.values += f.compared;
    if (f.compared > 0 || f.kind != Finding::Kind::measured) ++run.compared;
    const bool nothing_compared = f.kind == Finding::Kind::measured && f.compared == 0;
    if (f.holds() || nothing_compared) {
      const bool first = run.executed == 1 || !run.worst.ran();
      if (first || f.margin > run.worst.margin) run.worst = f;
      return true;
    }
    run.worst = f;
    run.failing = c;
    shrink_until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(limits_.shrink_limit_s));
    hangs_ = f.kind == Finding::Kind::hang ? 1 : 0;
    return false;
  }

  bool failing() const { return run.failing.has_value(); }
  bool refused() const { return refused_; }
  bool tired() const {
    const bool crashed = run.worst.kind == Finding::Kind::crash;  // each costs a new process
    return !limits_.shrink || shrinks_ >= (crashed ? most_crashes : most_shrinks) ||
           hangs_ >= most_hangs || Clock::now() > shrink_until_;
  }

  PropertyRun run;

 private:
  // A smaller case that still fails replaces the one before.
  bool shrunk_by(const Case& c, const Finding& f) {
    ++shrinks_;
    if (f.kind == Finding::Kind::hang) ++hangs_;
    if (!f.ran() || f.holds() || (f.kind == Finding::Kind::measured && f.compared == 0))
      return false;
    run.worst = f;
    run.failing = c;
    return true;
  }

  Subject& subject_;
  const Property& property_;
  RunLimits limits_;
  bool refused_ = false;
  int shrinks_ = 0, hangs_ = 0;
  Clock::time_point shrink_until_;
};

Choices generate_choices() {
  Choices k{};
  visit_choices(k, [](const char* name, std::int64_t& field, std::int64_t largest) {
    // inRange is scaled by RapidCheck's size: fix it, so that the whole range is met from the
    // start.
    field = *rc::gen::resize(100, rc::gen::inRange<std::int64_t>(0, largest + 1)).as(name);
  });
  k.seed = *rc::gen::noShrink(rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>())).as("seed");
  return k;
}

void run_generated(Runner& runner, const Property& property, const Offer& offer,
                   const RunLimits& limits) {
  rc::detail::TestParams params;
  params.seed = limits.seed;
  params.maxSuccess = static_cast<int>(limits.cases);
  params.disableShrinking = !limits.shrink;
  rc::detail::TestListenerAdapter silent;
  std::exception_ptr error;
  const auto body = [&] {
    const Choices choices = generate_choices();
    if (error || (runner.failing() && runner.tired())) return;  // ends the shrinking
    bool held = true;
    try {
      held = runner.holds(generate_case(offer, property, choices));
    } catch (...) {
      error = std::current_exception();  // an error of the suite, not of the kernel
      return;
    }
    RC_PRE(!runner.refused());
    if (!held) RC_FAIL("does not hold");
  };
  // All five arguments: prints nothing and reads no RC_PARAMS.
  const rc::detail::TestMetadata metadata{std::string(property.name), std::string(property.name)};
  const auto result = rc::detail::checkTestable(
      body, metadata, params, silent, std::unordered_map<std::string, rc::detail::Reproduce>{});
  if (error) std::rethrow_exception(error);
  rc::detail::GaveUpResult gave_up;
  runner.run.gave_up = result.match(gave_up);
}

// Halves the token range of a failing fixed case as long as one half still fails.
void halve_tokens(Runner& runner) {
  while (!runner.tired() && runner.run.failing->tokens > 1) {
    const Case c = *runner.run.failing;
    const auto positions = positions_of(c);
    const std::int64_t middle = c.tokens / 2;
    const auto part = [&](std::int64_t from, std::int64_t count) {
      Case half = c;
      half.tokens = count;
      if (c.position_rule == PositionRule::consecutive) {
        half.position_from = positions[static_cast<std::size_t>(from)];
      } else {
        half.position_rule = PositionRule::list;
        half.positions.assign(positions.begin() + from, positions.begin() + from + count);
      }
      return half;
    };
    if (!runner.holds(part(0, middle))) continue;
    if (runner.holds(part(middle, c.tokens - middle))) return;  // it takes both
  }
}

}  // namespace

PropertyRun run_property(Subject& subject, const Property& property, const Offer& offer,
                         Profile profile, const RunLimits& limits) {
  Runner runner(subject, property, limits);
  if (property.applies != nullptr && !property.applies(offer)) {
    runner.run.worst.kind = Finding::Kind::unsupported;
    runner.run.worst.reason = "needs " + std::string(property.needs);
    return runner.run;
  }
  const std::vector<Case> fixed =
      property.fixed_cases == nullptr ? std::vector<Case>{} : property.fixed_cases(offer, profile);
  const bool generates = property.shape != nullptr;
  runner.run.planned = std::ssize(fixed) + (generates ? limits.cases : 0);
  for (const Case& c : fixed)
    if (!runner.holds(c)) {
      if (c.batch == 1) halve_tokens(runner);
      return runner.run;
    }
  if (generates) run_generated(runner, property, offer, limits);
  return runner.run;
}

}  // namespace ropewalk
