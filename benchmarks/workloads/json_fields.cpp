// The only file of benchmarks that knows JSON. SAX, so that nothing is built of what nobody asks
// for, and no exception of the library is met.
#include "benchmarks/workloads/json_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

constexpr std::size_t levels_max = 32;  // what is nested deeper is no configuration
constexpr std::size_t levels_kept = 4;

class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  bool null() override { return put(JsonKind::null); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override {
    // Beyond 63 bits it is a size of nothing: a number that is no integer here.
    if (value > std::uint64_t{INT64_MAX}) return put(static_cast<double>(value));
    return put(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(value); }
  bool binary(binary_t&) override { return refuse("is no JSON"); }

  bool start_object(std::size_t) override { return open(JsonKind::object); }
  bool key(string_t& name) override {
    if (levels_.back().in_list) return true;
    Level& level = levels_.back();
    // A name with a dot would look like another place: it is left out, with all below it.
    level.kept = levels_.size() <= levels_kept && name.find('.') == std::string::npos;
    level.path = level.kept ? level.prefix + name : "";
    if (level.kept && fields.contains(level.path))
      return refuse("'" + shown(level.path) + "' stands twice");
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(JsonKind::list); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const auto seen = text_.substr(0, std::min(position, text_.size()));
    line_ = 1 + std::count(seen.begin(), seen.end(), '\n');
    // 1xx: it cannot be read; 4xx: a number that no double holds.
    return refuse(error.id / 100 == 4 ? "a number out of range" : "is no JSON");
  }

  [[noreturn]] void fail() const {
    if (line_ > 0) throw BadFile(file_, line_, fault_);
    throw BadFile(file_ + ": " + fault_);
  }

  JsonFields fields;

 private:
  struct Level {
    std::string prefix, path;  // of its members, and of the one being read
    bool in_list = false;      // a list, or below something that is left out
    bool kept = false;         // the member being read
  };

  bool refuse(const std::string& fault) {
    fault_ = fault;
    return false;
  }
  bool put(JsonValue value) {
    if (levels_.empty()) return refuse("is no JSON object");
    if (levels_.back().kept) fields.emplace(levels_.back().path, std::move(value));
    return true;
  }
  bool open(JsonKind kind) {
    if (levels_.size() == levels_max) return refuse("nested deeper than 32 levels");
    Level inner;
    if (levels_.empty()) {
      if (kind != JsonKind::object) return refuse("is no JSON object");
    } else {
      put(kind);
      inner.prefix = levels_.back().path + ".";
      inner.in_list = !levels_.back().kept || kind == JsonKind::list;
    }
    levels_.push_back(std::move(inner));
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Level> levels_;
  std::string fault_ = "is no JSON";
  std::int64_t line_ = 0;
};

}  // namespace

JsonFields parse_json_fields(std::string_view text, const std::string& file) {
  JsonReader reader(text, file);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) reader.fail();
  return std::move(reader.fields);
}

}  // namespace ropewalk::bench
