// How some layers of a model rotate: window, base, frequency rule and scale. The semantics are
// those of transformers 5.23; where other releases read a file otherwise, it is refused or the
// config says what was taken.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/configs/config.h"
#include "benchmarks/workloads/workload_shape.h"
#include "harness/cases/axes.h"

namespace ropewalk::bench {
namespace {

Axes axes_of(const ConfigReader& in) {
  return in.type() == nullptr ? Axes::one : in.type()->axes;
}
/// How many axes the pairs of a vision tower are divided among; 0: it is none.
std::int64_t tower_axes(const ConfigReader& in) {
  const Axes kind = axes_of(in);
  return kind == Axes::thw ? 3 : kind >= Axes::hw ? 2 : 0;
}

constexpr const char* original_key = "original_max_position_embeddings";

/// The rotation of one place while it is read.
class RotationReader {
 public:
  RotationReader(ConfigReader& in, const RopePlace& place, const ConfigAnswers& answers,
                 Workload& w)
      : in_(in), place_(place), answers_(answers), w_(w) {}

  /// Returns the original context.
  std::int64_t read() {
    type_ = rope_type();
    rule_ = find_rule_of_config(type_);
    if (rule_ == nullptr)
      in_.fail(of_rope(in_.holds(of_rope("rope_type")) ? "rope_type" : "type"),
               fmt::format("{} is not known here; known: {}", text_of(type_), known_rope_types()));
    const std::string& model = in_.type_name();
    if (is("axial") != (tower_axes(in_) > 0))
      in_.fail(of_rope("rope_type"), fmt::format("{} does not take {}", model, type_));
    if ((model == "phi3" || model == "phi4_multimodal" || model == "phimoe") && !is("none") &&
        !is("longrope"))
      in_.fail(place_.object, fmt::format("{} takes longrope alone, not {}", model, type_));
    w_.scaling = rule_->name;
    read_window();
    read_theta();
    read_fixed_alpha();
    original_ = original_positions();
    for (const RuleParameter& each : find_frequency_rule(w_.scaling)->parameters) read_values(each);
    take_scale();
    say_factor_of_q();
    return original_;
  }

 private:
  std::string of_rope(std::string_view key) const {
    return fmt::format("{}.{}", place_.object, key);
  }
  bool nested() const { return place_.object.find('.') != std::string::npos; }
  bool is(std::string_view rule) const { return rule_->name == rule; }

  /// The file's word for the rule.
  std::string rope_type() {
    const std::string usual = tower_axes(in_) > 0 ? "axial" : "default";
    if (place_.object.empty()) return usual;
    const auto now = in_.word(of_rope("rope_type")), before = in_.word(of_rope("type"));
    const auto meant = [&](const std::string& word) -> std::string {
      const bool phi = in_.type_name() == "phi3" || in_.type_name() == "phi4_multimodal";
      if (phi && word == "yarn") return "longrope";
      return word == "mrope"     ? "default"
             : word == "default" ? usual
             : word == "su"      ? "longrope"
                                 : word;
    };
    if (now && before && meant(*now) != meant(*before))
      in_.fail(of_rope("type"), "differs from rope_type: leave one");
    if (!now && !before && place_.object == "rope_scaling" && !in_.holds(of_rope("mrope_section")))
      in_.fail(of_rope("rope_type"), "is missing");
    return meant(now ? *now : before.value_or(usual));
  }

  /// The part of a head that is rotated.
  void read_window() {
    const std::int64_t head_dim = w_.tensors[0].head_dim;
    if (const std::int64_t axes = tower_axes(in_); axes > 0) {
      w_.rotary_dim = head_dim / (2 * axes) * 2 * axes;
      return;
    }
    auto names = in_.keys_of("share");
    const std::string own = of_rope("partial_rotary_factor");
    if (nested() && (in_.holds(own) || !in_.reads_old_layers())) names = {own};
    if (!place_.object.empty() && names.front() != own) names.insert(names.begin(), own);
    if (w_.tensors[0].rotary_offset > 0) return;  // latent attention has set the window already
    const bool unread = in_.plain_rule_ignores_share();
    std::optional<double> share;
    if (!unread || !is("none")) {
      share = in_.one_of<double>(names, &ConfigReader::number);
      share_ = share.value_or(1);
      refuse_new_key(own, in_.keys_of("share"), share_, 1);
    }
    if (!(share_ > 0 && share_ <= 1))
      in_.fail(names.back(),
               fmt::format("is {}; the part of a head that is rotated must be above 0 "
                           "and at most 1",
                           share_));
    if (unread && share_ != 1 && !is("proportional"))
      in_.fail(names.back(),
               fmt::format("is {}, which {} cannot use with {}", share_, in_.type_name(), type_));
    // Truncated, as in the models' own code.
    const auto by_share = static_cast<std::int64_t>(static_cast<double>(head_dim) * share_);
    w_.rotary_dim = is("proportional") ? head_dim : by_share;
    const ModelType* type = in_.type();
    const std::string key = in_.keys_of("rotary_dim").front();
    if (type != nullptr && !type->facts.contains("rotary_dim") &&
        !type->names.contains("rotary_dim"))
      return;
    const auto said = in_.size(key);
    if (said && share_ != 1 && *said != by_share)
      in_.fail(key, fmt::format("is {}, but {} of {} is {}", *said, share_, head_dim, by_share));
    if (said) w_.rotary_dim = *said;
    if (!said && !share && type == nullptr)
      in_.assume(fmt::format("the whole head is rotated{}, since nothing says otherwise",
                             place_.layer.empty() ? "" : " in " + place_.layer));
  }

  /// Older releases read theta and the share beside rope_scaling alone.
  void refuse_new_key(const std::string& own, const std::vector<std::string>& beside, double taken,
                      double otherwise) {
    if (place_.object == "rope_scaling" && in_.holds(own) &&
        in_.one_of<double>(beside, &ConfigReader::number).value_or(otherwise) != taken)
      in_.fail(own, "is read by some releases and not by others: put it beside rope_scaling");
  }

  void read_theta() {
    if (place_.theta) {
      w_.rope_theta = *place_.theta;
      return;
    }
    auto keys = place_.theta_keys;
    if (!place_.object.empty() && in_.holds(of_rope("rope_theta")) && nested()) keys.clear();
    if (!place_.object.empty()) keys.push_back(of_rope("rope_theta"));
    if (in_.type_name() == "chatglm" && !answers_.theta &&
        in_.number("rope_ratio").value_or(1) != 1)
      in_.fail("rope_ratio",
               "stretches the base in some releases and positions in others: give --theta");
    const auto answer = place_.layer.empty() ? answers_.theta : std::nullopt;
    const auto theta = in_.answered(answer, "--theta", keys, &ConfigReader::number);
    if (!theta)
      in_.fail(
          keys.front(),
          "is missing, and what that means for this model_type is not known here: give --theta");
    w_.rope_theta = *theta;
    const std::string old = "attn_config.rope_theta";
    if (in_.type_name() == "dbrx" && !answer && in_.holds(old))
      in_.assume(fmt::format("{} {} as stated; some releases do not read it", old, *theta));
    const std::string own = of_rope("rope_theta");
    if (!answer) refuse_new_key(own, place_.theta_keys, *theta, 0);
    if (!answer && in_.type() != nullptr && in_.type()->rope.contains("rope_theta") &&
        in_.members(place_.object).empty() && in_.number(own) != theta)
      in_.fail(keys.front(), fmt::format("is {}, but {} takes {} with its own rope_parameters",
                                         *theta, in_.type_name(), *in_.number(own)));
  }

  /// Hunyuan calls a base that an alpha stretches once and for all "dynamic".
  void read_fixed_alpha() {
    if (!is("dynamic") || !in_.type_name().starts_with("hunyuan") || !in_.holds(of_rope("alpha")))
      return;
    const double alpha = *in_.number(of_rope("alpha")), d = static_cast<double>(w_.rotary_dim);
    if (!(alpha >= 1) || d < 4) in_.fail(of_rope("alpha"), "must be at least 1, for 4 dimensions");
    w_.rope_theta *= std::pow(alpha, d / (d - 2));
    w_.scaling = "none";
    in_.assume(fmt::format("rope_theta {}, stretched by alpha for every context", w_.rope_theta));
  }

  std::optional<std::int64_t> trained_positions() {
    return in_.one_of<std::int64_t>(in_.keys_of("positions"), &ConfigReader::positions);
  }

  /// Older releases read the length in one of its two places alone: of longrope beside the rope
  /// parameters, else among them. Newer ones read it among those of a kind of layers alone.
  void refuse_half_read(const std::vector<std::string>& keys, std::optional<std::int64_t> said) {
    if (!said || place_.object != "rope_scaling" || in_.type_name() == "phimoe") return;
    const bool within = in_.holds(keys.front()), beside = in_.holds(keys.back());
    const bool needs_within = !is("longrope") || !place_.layer.empty();
    const bool all = (within || !needs_within) && (beside || !is("longrope"));
    if (!all && said != trained_positions())
      in_.fail(
          keys[within ? 0 : 1],
          fmt::format("is read by some releases alone: others look for {}", keys[within ? 1 : 0]));
  }

  std::int64_t original_positions() {
    const auto& all = find_frequency_rule(w_.scaling)->parameters;
    const bool needed = std::ranges::any_of(
        all, [](const RuleParameter& each) { return each.config_key == original_key; });
    if (!needed) return trained_positions().value_or(0);
    std::vector<std::string> keys = {of_rope(original_key)};
    std::optional<std::int64_t> said;
    // A type with a value of its own reads it beside the rope parameters alone.
    const ModelType* type = in_.type();
    if (type != nullptr && type->facts.contains("original")) {
      said = in_.positions(in_.keys_of("original").front());
      if (const auto other = in_.positions(keys.front()); other && other != said)
        in_.fail(keys.front(),
                 fmt::format("is {}, but {} takes {}", *other, in_.type_name(), *said));
    } else if (!is("dynamic")) {
      if (!nested()) keys.push_back(in_.keys_of("original").front());
      said = in_.one_of<std::int64_t>(keys, &ConfigReader::positions);
      refuse_half_read(keys, said);
    }
    if (said) return *said;
    const auto trained = trained_positions();
    const std::string name = in_.keys_of("positions").front();
    if (!trained)
      in_.fail(is("dynamic") ? name : keys.front(),
               fmt::format("is missing{}, and {} needs it", is("dynamic") ? "" : ", as is " + name,
                           type_));
    if (!is("dynamic"))
      in_.assume(fmt::format("original context {}, since only {} is there", *trained, name));
    return *trained;
  }

  void read_values(const RuleParameter& each) {
    auto& values = w_.scaling_values;
    if (each.list) {
      const std::string key = of_rope(each.config_key);
      const auto list = in_.numbers(key);
      if (!list) in_.fail(key, fmt::format("is missing, and {} needs it", type_));
      if (static_cast<std::int64_t>(list->size()) * 2 != w_.rotary_dim)
        in_.fail(key, fmt::format("has {} numbers, but {} pairs are rotated", list->size(),
                                  w_.rotary_dim / 2));
      values.insert(values.end(), list->begin(), list->end());
    } else {
      values.push_back(each.key == "context"             ? context()
                       : each.config_key == original_key ? static_cast<double>(original_)
                       : each.key == "rotated_share"     ? share_
                       : each.key == "scaling_factor"    ? factor(each)
                       : each.key == "attention_factor"  ? attention_factor()
                       : each.key == "truncate"          ? truncate()
                       : each.key == "axes"              ? static_cast<double>(tower_axes(in_))
                       : each.key == "order"             ? axial_order()
                                                         : plain(each));
    }
  }

  double axial_order() const {
    return axes_of(in_) == Axes::w_h_in_turn ? 1 : axes_of(in_) == Axes::hw_dealt ? 2 : 0;
  }

  double context() {
    if (!answers_.context)
      in_.assume(fmt::format("a context within the original {} positions (--context says another)",
                             original_));
    return static_cast<double>(answers_.context.value_or(0));
  }

  /// The ratio of the contexts where a rule takes it for a missing factor.
  double factor(const RuleParameter& each) {
    const std::string key = of_rope("factor");
    const bool by_ratio = is("longrope") || (is("yarn") && in_.is_null(key));
    const auto trained = is("longrope") || is("yarn") ? trained_positions() : std::nullopt;
    const double ratio =
        static_cast<double>(trained.value_or(original_)) / static_cast<double>(original_);
    if (const auto said = in_.number(key)) {
      if (is("longrope") && place_.object == "rope_scaling" && *said != ratio &&
          in_.holds(original_key) && !in_.holds(of_rope("attention_factor")))
        in_.fail(key, fmt::format("is {}, and some releases take {}, the ratio of the contexts",
                                  *said, ratio));
      if (ratio > 1 && *said != ratio && (by_ratio || is("yarn")))
        in_.assume(fmt::format(
            "factor {} as stated; some releases took {}, the ratio of the contexts", *said, ratio));
      return *said;
    }
    if (!by_ratio) {
      if (!each.otherwise) in_.fail(key, fmt::format("is missing, and {} needs it", type_));
      return *each.otherwise;
    }
    const double taken = is("longrope") ? std::max(ratio, 1.0) : ratio;
    in_.assume(fmt::format("factor {}, the ratio of the contexts", taken));
    return taken;
  }

  /// 0: the rule computes it. Phi-3.5-MoE has one for either context.
  double attention_factor() {
    std::string key = of_rope("attention_factor");
    if (in_.type_name() == "phimoe") {
      const bool beyond = answers_.context.value_or(0) > original_;
      if (beyond) in_.fail(of_rope("long_factor"), "is read by some releases and not by others");
      key = of_rope("short_mscale");
      if (!in_.holds(key)) in_.fail(key, "is missing, and phimoe needs it");
    }
    const auto said = in_.number(key);
    if (said && *said <= 0) in_.fail(key, fmt::format("is {}; it must be above 0", *said));
    return said.value_or(0);
  }

  /// The code reads it beside the layers' own parameters.
  double truncate() {
    if (!place_.layer.empty() && !nested() && !in_.flag(of_rope("truncate")).value_or(true))
      in_.fail(of_rope("truncate"), "is false, which some releases read and others do not");
    const std::string outer = place_.object.substr(0, place_.object.find('.'));
    return in_.flag(outer + ".truncate").value_or(true) ? 1 : 0;
  }

  double plain(const RuleParameter& each) {
    const std::string key = of_rope(each.config_key);
    const auto said = each.count ? std::optional<double>(in_.size(key, std::int64_t(each.most)))
                                 : in_.number(key);
    if (said && (*said != 0 || !each.otherwise)) return *said;  // the code takes a 0 for none
    if (!each.otherwise) in_.fail(key, fmt::format("is missing, and {} needs it", type_));
    if (*each.otherwise != 0)
      in_.assume(fmt::format("{} {}, as {} takes it", each.key, *each.otherwise, type_));
    return *each.otherwise;
  }

  /// Ministral 3 and Mistral 4 multiply Q once more, after its rotation. A type that is not known
  /// may do so too.
  void say_factor_of_q() {
    const std::string key = "llama_4_scaling_beta";
    if (in_.type() != nullptr && !in_.type()->rope.contains(key)) return;
    const auto beta = in_.number(of_rope(key));
    const auto original = in_.positions(of_rope(original_key));
    if (beta && original && *beta != 0)
      in_.leave_out(
          fmt::format("{0} {1}: from position {2} on the model multiplies Q by "
                      "1 + {1} ln(1 + floor(position / {2})), which is not applied",
                      key, *beta, *original));
  }

  void take_scale() {
    take_rule_scale(w_);
    if (std::abs(harness::scale_of(w_)) != 1 && is_in_place(w_)) {
      set_in_place(w_, false);
      in_.assume(fmt::format("out of place: cos and sin have the factor {}", w_.attention_scale));
    }
    const auto fault = shape_fault(w_);
    if (!fault) return;
    std::string key = fault->key;
    for (const RuleParameter& each : rule_->parameters)
      if (each.key == key) key = of_rope(each.config_key);
    in_.fail(key, fault->what);
  }

  ConfigReader& in_;
  const RopePlace& place_;
  const ConfigAnswers& answers_;
  Workload& w_;
  std::string type_;  ///< the file's word for the rule
  const FrequencyRule* rule_ = nullptr;
  double share_ = 1;
  std::int64_t original_ = 0;
};

}  // namespace

std::int64_t read_rotation(ConfigReader& in, const RopePlace& place, const ConfigAnswers& answers,
                           Workload& w) {
  return RotationReader(in, place, answers, w).read();
}

void read_axes(ConfigReader& in, const RopePlace& place, Workload& w) {
  const Axes kind = axes_of(in);
  const auto pairs = static_cast<std::size_t>(w.rotary_dim / 2);
  std::vector<std::uint8_t> axes;
  if (const auto count = static_cast<std::size_t>(tower_axes(in)); count > 0) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::size_t axis = kind == Axes::w_h_in_turn ? i % count : i * count / pairs;
      const bool from_last = kind == Axes::w_h_in_turn || kind == Axes::wh;
      axes.push_back(static_cast<std::uint8_t>(from_last ? count - 1 - axis : axis));
    }
    return harness::take_axes(w, axes);
  }
  const std::string key =
      (place.object.empty() ? "rope_parameters" : place.object) + ".mrope_section";
  auto sections = in.numbers(key);
  if (!sections && kind != Axes::one && !in.type()->sections.empty()) {
    sections = in.type()->sections;
    in.assume(fmt::format("mrope_section {}, of the code of {}", fmt::join(*sections, ", "),
                          in.type_name()));
  }
  if (!sections) return;
  if (kind == Axes::one)
    in.leave_out("positions of pictures: of several axes (M-RoPE) all are equal, as in text");
  double sum = 0;
  for (const double each : *sections) sum += each >= 0 && each == std::floor(each) ? each : NAN;
  const bool stated = in.holds(key) || kind != Axes::interleaved;  // its code cuts what is too much
  if ((stated && !(sum == static_cast<double>(pairs))) ||
      (kind != Axes::one && sections->size() != 3))
    in.fail(key, fmt::format("{} does not add up to {} pairs in three sections",
                             fmt::join(*sections, ", "), pairs));
  if (kind == Axes::alternating && sections->at(0) != sections->at(1))
    in.fail(key, "the first two sections alternate, and are not equally long");
  for (std::size_t i = 0; kind != Axes::one && i < pairs; ++i) {
    const auto at = static_cast<double>(i);
    const auto third = static_cast<std::uint8_t>(i % 3);
    const double first = sections->at(0), second = first + sections->at(1);
    if (kind == Axes::chunked)
      axes.push_back(at < first ? 0 : at < second ? 1 : 2);
    else if (kind == Axes::interleaved)
      axes.push_back(at < 3 * sections->at(i % 3) ? third : 0);
    else
      axes.push_back(at < second ? static_cast<std::uint8_t>(1 + i % 2) : 0);
  }
  harness::take_axes(w, axes);
  if (kind != Axes::one) w.axes = 3;
}

}  // namespace ropewalk::bench
