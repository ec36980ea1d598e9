#include "properties/explain/check_case.h"

#include <new>
#include <string>

#include "harness/cases/fused.h"
#include "harness/judge/second_try.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding skipped(const std::string& reason) {
  Finding f;
  f.kind = Finding::Kind::skipped;
  f.reason = reason;
  return f;
}

}  // namespace

Finding check_case(const Property& property, Subject& subject, const Case& c) {
  if (!c.calls.empty() && property.add_calls == nullptr)
    throw BadCase("calls: the property " + std::string(property.name) + " has no sequences");
  if (property.without_norm && has_norm(c))
    throw BadCase("norm: the property " + std::string(property.name) +
                  " is about inputs as they are given, so it needs norm=0");
  try {
    try {
      return property.check(subject, c);
    } catch (const Killed&) {
      subject.worker.restart();
      return property.check(subject, c);
    }
  } catch (const NoMemory& e) {
    return skipped(e.what());
  } catch (const std::bad_alloc&) {
    return skipped("there is not enough memory for this case");
  }
}

}  // namespace ropewalk::properties
