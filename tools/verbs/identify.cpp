// Which rotation leads from one tensor to another: python/ropewalk/identify.py says.
#include <fmt/format.h>

#include "base/printable.h"
#include "tools/verbs/providers.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {

// Exit codes: 0 if one rotation explains all, and is the config's; else 1.
int run(const IdentifyOptions& options) {
  int code = 1;
  run_python(options.file, "from ropewalk.identify import main; main(*sys.argv[1:])",
             {options.file, options.config, options.json ? "json" : ""},
             [&](const std::string& key, const std::string& text) {
               if (key == "line") fmt::print("{}\n", printable(text));
               if (key == "end") code = text == "0" ? 0 : 1;
             });
  return code;
}

}  // namespace ropewalk::tools
