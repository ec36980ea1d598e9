// The verbs as --help shows them, in the order of VerbOptions (options.h).
#pragma once

namespace ropewalk::tools {

struct VerbWords {
  const char* name;
  const char* group;
  const char* summary;
  const char* examples;  ///< lines, each indented by two spaces
};

inline constexpr const char *every_day = "Every day", *helpers = "Helpers",
                            *of_suite = "The suite itself";

inline constexpr VerbWords verb_words[] = {
    {"verify", every_day, "judge whether kernels are right",
     "  ropewalk verify ./my_kernel.so\n  ropewalk verify my_rope.py::my_rope --fail-fast\n"
     "  ropewalk verify 'avx*' --profile standard\n  ropewalk verify\n"
     "  ropewalk verify ./my_kernel.so --property norm --property decay\n"
     "  ropewalk verify ./my_kernel.so --shape q=32,k=8,d=128\n"
     "  ropewalk verify --exhaustive --kernel phase --out certificate\n"
     "  ropewalk verify --exhaustive --kernel phase --positions 0:65535 --shard 1/4 --out part1\n"
     "  mpirun -n 4 ropewalk verify --exhaustive --kernel phase --shard auto/4 --out parts"},
    {"bench", every_day, "verify kernels and time those that pass, in paired rounds",
     "  ropewalk bench ./my_kernel.so\n  ropewalk bench --profile smoke\n  ropewalk bench "
     "--workload 'llama*' --baseline avx2\n"
     "  ropewalk bench --config Meta-Llama-3-8B/config.json --workload '*/decode-*'\n"
     "  ropewalk bench --shape q=32,k=8,d=128,rd=64,theta=500000\n"
     "  ropewalk bench --shape q=16,d=256,tokens=512,pairing=interleaved,in_place=no\n"
     "  ropewalk bench --launches 5 --rounds 40 --out night\n"
     "  ropewalk bench -- --benchmark_filter=decode --benchmark_repetitions=20"},
    {"run", every_day, "verify, bench and report in one go",
     "  ropewalk run\n  ropewalk run --profile smoke --out build/report\n"
     "  ropewalk run ./my_kernel.so"},
    {"report", every_day,
     "make report.html, report.md, results.csv and junit.xml from a results file",
     "  ropewalk report ropewalk-out/results.jsonl\n"
     "  ropewalk report results.jsonl --out somewhere --export answers.md"},
    {"compare", every_day,
     "two builds in one run, or two runs on one machine class: what became slower or broken",
     "  ropewalk bench --plugin base=before.so --plugin head=after.so --out out\n"
     "  ropewalk compare out/results.jsonl\n"
     "  ropewalk compare before/results.jsonl after/results.jsonl\n"
     "  ropewalk compare before.jsonl after.jsonl --max-regression 10 --markdown comment.md"},
    {"config", helpers,
     "the shape and frequencies that a model's config.json describes, and how two differ",
     "  ropewalk config Meta-Llama-3-8B/config.json --pairs\n"
     "  ropewalk config old/config.json new/config.json\n"
     "  ropewalk config config.json --inv-freq inv_freq.txt"},
    {"identify", helpers, "which rotation turned x into y? Reads tensors from any framework",
     "  ropewalk identify dump.safetensors\n"
     "  ropewalk identify dump.safetensors --config config.json"},
    {"diff", helpers, "compare two kernels bit for bit, and show where they first differ",
     "  ropewalk diff plain avx512\n  ropewalk diff ./old.so::mine ./new.so::mine --max-ulp 1\n"
     "  ropewalk diff trainer.py::rope server.py::rope --config config.json --svg apart.svg\n"
     "  ropewalk diff trainer.safetensors server.safetensors"},
    {"vectors", helpers,
     "write test inputs to run on other hardware; verify then checks the outputs",
     "  ropewalk vectors -o questions.safetensors\n"
     "  ropewalk verify answers.safetensors"},
    {"list", helpers, "kernels, properties and workloads, and what each kernel offers",
     "  ropewalk list\n  ropewalk list --plugin ./my_kernel.so\n  ropewalk list --cpu-features ''"},
    {"replay", helpers, "run one case again, from the line that a failure printed",
     "  ropewalk replay 'kernel=plain property=agreement positions=70001 q.heads=1'"},
    {"doctor", helpers,
     "what about this machine makes measurements worse, and what to do about each",
     "  ropewalk doctor\n  ropewalk doctor --quiet\n  ropewalk doctor --json --profile full"},
    {"include-dir", helpers, "print the folder with the headers that a kernel in C or C++ includes",
     "  g++ -std=c++20 -O3 -ffp-contract=off -shared -fPIC -I\"$(ropewalk include-dir)\" "
     "my_kernel.cpp -o my_kernel.so"},
    {"mutants", of_suite, "judge the suite itself: does it find every planted error?",
     "  ropewalk mutants\n  ropewalk mutants --kernel '*wrong_way*' --property decay\n"
     "  ropewalk mutants --profile standard --first-kill --strength 3"},
    {"merge", of_suite, "join the shards of verify --exhaustive to one certificate",
     "  ropewalk merge part1/results.jsonl part2/results.jsonl --out certificate\n"
     "  ropewalk merge --missing parts --out certificate"},
    {"encodings", of_suite,
     "RoPE beside nine other encodings of positions: which laws hold, with counterexamples",
     "  ropewalk encodings\n  ropewalk encodings rope alibi\n  ropewalk encodings --curves "
     "docs/curves"},
};

}  // namespace ropewalk::tools
