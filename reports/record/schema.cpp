// The schema of a results file, from the lists of fields.
#include <nlohmann/json.hpp>

#include "reports/record/field_limits.h"
#include "reports/record/fields.h"

namespace ropewalk::report {
namespace {

using Schema = nlohmann::ordered_json;

/// The words that a file may hold for E.
template <Worded E>
Schema words() {
  Schema out = Schema::array();
  for (const std::string_view word : words_of<E>) out.push_back(word);
  // Reports add other outcomes (record_words.h).
  if constexpr (std::same_as<E, Outcome>)
    out.erase(out.begin() + static_cast<int>(Outcome::implausible) + 1, out.end());
  return out;
}

Schema type_of(const FieldLimits&, const std::string*) {
  return {{"type", "string"}};
}
template <Worded E>
Schema type_of(const FieldLimits&, const E*) {
  return {{"type", "string"}, {"enum", words<E>()}};
}
Schema type_of(const FieldLimits&, const std::uint64_t*) {
  return {{"type", "integer"}, {"minimum", 0}};
}
template <std::signed_integral Integer>
Schema type_of(const FieldLimits& limits, const Integer*) {
  return {{"type", "integer"},
          {"minimum", static_cast<std::int64_t>(limits.least)},
          {"maximum", static_cast<std::int64_t>(limits.most)}};
}
Schema type_of(const FieldLimits& limits, const double*) {
  if (limits.may_be_not_finite) return {{"$ref", "#/$defs/double"}};
  return {{"type", "number"}, {"minimum", limits.least}, {"maximum", limits.most}};
}
template <class Element>
Schema type_of(const FieldLimits& limits, const std::vector<Element>*) {
  return {{"type", "array"}, {"items", type_of(limits, static_cast<const Element*>(nullptr))}};
}
Schema type_of(const FieldLimits&, const std::map<std::string, std::string>*) {
  return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
}

template <class Row>
void add(Schema& schema, const char* meaning) {
  const std::string kind(Row::kind);
  schema["oneOf"].push_back({{"$ref", "#/$defs/" + kind}});
  Schema& row = schema["$defs"][kind];
  row = {{"type", "object"}, {"description", meaning}, {"required", {"schema", "row"}}};
  Schema& fields = row["properties"];
  fields = {{"schema", {{"const", results_schema_version}}}, {"row", {{"const", kind}}}};
  for_each_field<Row>([&]<class Value>(const Field<Row, Value>& field) {
    if (!field.is_optional) row["required"].push_back(field.name);
    Schema& here = fields[field.name];
    here = type_of(limits_of(field.name), static_cast<const Value*>(nullptr));
    here["description"] = field.meaning;
    if (*field.unit != '\0') here["unit"] = field.unit;
  });
}

}  // namespace

std::string results_schema() {
  Schema schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "One line of results.jsonl of ropewalk"},
                   {"oneOf", Schema::array()}};
  schema["$defs"]["double"] = {
      {"description", "a number; one that is not finite is written as a string"},
      {"anyOf", {{{"type", "number"}}, {{"enum", {"inf", "-inf", "nan"}}}}}};
  add<RunRow>(schema,
              "The first row of a run: the command, the profile, the seed and the machine.");
  add<VerdictRow>(schema, "The verdict on one kernel, contract and property.");
  add<TimingRow>(schema, "The outcome of one contestant on one workload in one launch.");
  add<CurveRow>(schema, "One named curve of a chart.");
  add<KernelRow>(schema,
                 "One kernel that exists, as list --json prints it. No results file has it.");
  add<EndRow>(schema, "The last row: the run reached its end.");
  return schema.dump(1) + '\n';
}

}  // namespace ropewalk::report
