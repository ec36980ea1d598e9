#include <cstdio>
#include <cstring>
#include "harness/worker_main.h"
#include "properties/verify.h"
using namespace ropewalk;
int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "worker")) { WorkerArguments a; for (int i = 2; i + 1 < argc; i += 2) if (!strcmp(argv[i], "--plugin")) a.plugins.push_back(argv[i+1]); else a.cpu_features = argv[i+1];
    worker_main(a, [](auto&&...) { return 0; }); }
  if (argc > 2 && !strcmp(argv[1], "replay")) { Worker w{WorkerOptions{}}; Oracle o; auto r = replay(w, o, case_from_text(argv[2])); printf("%s margin %.17g %s %s\n", verdict_of(r.finding).c_str(), r.finding.margin, r.finding.where.c_str(), r.finding.diagnosis.c_str()); return 0; }
  WorkerOptions wo; for (int i = 1; i < argc; ++i) if (strstr(argv[i], ".so")) wo.plugins.push_back(argv[i]);
  Worker w{wo}; Oracle o; VerifyPlan plan; plan.profile = Profile::smoke; plan.seed = 42;
  if (argc > 1 && !strcmp(argv[1], "standard")) plan.profile = Profile::standard;
  std::vector<VerdictRow> rows;
  verify(w, o, plan, [&](const VerdictRow& r) { rows.push_back(r); printf("%-12s %-11s %-4s %-18s %-8s %.3f  %lld/%lld/%lld %lld  %.2fs %s | %s | %s\n", r.kernel.c_str(), r.pairing.c_str(), r.dtype.c_str(), r.property.c_str(), r.verdict.c_str(), r.margin, (long long)r.planned, (long long)r.executed, (long long)r.compared_cases, (long long)r.compared, r.seconds, r.reason.c_str(), r.where.c_str(), r.replay.c_str()); fflush(stdout);}, [](auto&) {});
  printf("exit %d\n", exit_code_of(rows));
}
