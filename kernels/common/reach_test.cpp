// The vector kernels give the same bits however far their data lies: head by head, and with stores
// past the caches, which large calls alone would reach.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "kernels/api/cpu_features.h"
#include "kernels/common/vector_kernel.h"

namespace ropewalk {
namespace {

constexpr std::int64_t tokens = 5, heads = 3, head_dim = 320, most_bytes = 8;

// A call out of place, of one tensor that is rotated and one that is copied.
class Call {
 public:
  Call(const rope_kernel& kernel, Dtype dtype, std::int32_t pairing, std::int64_t rotary_dim,
       std::int64_t offset, bool is_normed)
      : kernel_(kernel),
        in_(static_cast<std::size_t>(2 * row())),
        out_(static_cast<std::size_t>(2 * row() + 128)) {
    const bool own = kernel.angle_contract != ROPE_CONTRACT_TABLE;
    p_.struct_size = sizeof p_;
    p_.abi_version = ROPE_ABI_VERSION;
    p_.pairing = pairing;
    p_.angle_source = own ? ROPE_ANGLES_INV_FREQ : ROPE_ANGLES_TABLE;
    p_.table_dtype = in_contract(data_type(dtype).computed_in);
    p_.position_dtype = ROPE_I32;
    p_.batch = 1;
    p_.tokens = tokens;
    p_.rotary_dim = rotary_dim;
    p_.position_token_stride = 1;
    p_.max_position = tokens;
    p_.table_rows = own ? 0 : tokens + 1;
    p_.table_row_stride = rotary_dim / 2;
    p_.inv_freq = inv_freq_;
    p_.tensor_count = 2;
    std::mt19937 random(1);
    std::uniform_real_distribution<float> number(0.5F, 1);
    for (double& f : inv_freq_) f = number(random);
    for (std::int64_t t = 0; t < tokens; ++t) positions_[t] = static_cast<std::int32_t>(tokens - t);
    fill(in_.data(), dtype, random);
    fill(table_, data_type(dtype).computed_in, random);
    for (int i = 0; i < 2; ++i) {
      rope_tensor& t = p_.tensor[i];
      t.heads = heads;
      t.head_dim = head_dim;
      t.rotary_offset = i == 0 ? offset : 0;
      t.rotate = i == 0 ? 1 : 0;
      t.in_dtype = t.out_dtype = in_contract(dtype);
      t.in_head_stride = t.out_head_stride = head_dim;
      t.in_token_stride = t.out_token_stride = heads * head_dim;
      o_.tensor[i].in = in_.data() + i * row();
      o_.tensor[i].cos = o_.tensor[i].sin = own ? nullptr : table_;
    }
    o_.positions = positions_;
    o_.workspace = workspace_;
    if (!is_normed) return;
    norm_.weight_dtype = in_contract(dtype);
    weight_.weight[1] = in_.data();  // the other tensor has none
    p_.next = &norm_.ext;
    o_.next = &weight_.ext;
  }

  /// Whether the kernel takes it.
  bool is_offered() const { return kernel_.supports(&p_, nullptr) == ROPE_OK; }

  /// The outputs, if they begin so many bytes behind a line.
  std::vector<std::byte> run(Reach reach, std::int64_t behind) {
    std::fill(out_.begin(), out_.end(), std::byte{0xff});
    const auto address = reinterpret_cast<std::uintptr_t>(out_.data());
    std::byte* const from = out_.data() + (64 - address % 64) % 64 + behind;
    for (int i = 0; i < 2; ++i) o_.tensor[i].out = from + i * row();
    void* state = nullptr;
    EXPECT_EQ(kernel_.prepare(&p_, &state), ROPE_OK);
    static_cast<VectorState*>(state)->set_reach(reach);
    EXPECT_EQ(kernel_.apply(&p_, &o_, state), ROPE_OK);
    kernel_.release(state);
    return {from, from + 2 * row() - 64};
  }

 private:
  static std::int64_t row() { return tokens * heads * head_dim * most_bytes; }
  template <class Real>
  static void fill_with(void* to, std::int64_t bytes, std::mt19937& random) {
    std::uniform_real_distribution<float> number(-1, 1);
    for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(Real)); ++i)
      static_cast<Real*>(to)[i] = Real(number(random));
  }
  void fill(void* to, Dtype dtype, std::mt19937& random) const {
    const auto bytes = to == table_ ? static_cast<std::int64_t>(sizeof table_) : 2 * row();
    with_floating_type(
        dtype, [&]<class Real>(std::type_identity<Real>) { fill_with<Real>(to, bytes, random); });
  }

  const rope_kernel& kernel_;
  rope_problem p_{};
  rope_operands o_{};
  double inv_freq_[head_dim / 2];
  std::int32_t positions_[tokens];
  double table_[(tokens + 1) * head_dim / 2];
  alignas(64) double workspace_[3 * head_dim];
  rope_norm norm_{{ROPE_EXT_NORM, sizeof norm_, nullptr}, 0x1p-20, 3, 0, 0, 0};
  rope_norm_operands weight_{{ROPE_EXT_NORM, sizeof weight_, nullptr}, {}};
  std::vector<std::byte> in_, out_;
};

struct Shape {
  std::int64_t rotary_dim, offset, behind;
};

TEST(Reach, GivesTheSameBits) {
  int compared = 0;
  for (const rope_kernel* kernel : registered_kernels()) {
    if (!missing_cpu_feature(kernel->cpu_features).empty()) continue;
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16})
      for (const std::int32_t pairing : {ROPE_HALF_SPLIT, ROPE_INTERLEAVED})
        for (const Shape& s :
             {Shape{128, 0, 0}, Shape{64, 32, 0}, Shape{128, 0, 8}, Shape{64, 8, 0},
              Shape{90, 6, 0}, Shape{2, 126, 0}, Shape{320, 0, 0}, Shape{262, 0, 0}})
          for (const bool is_normed : {false, true}) {
            Call call(*kernel, dtype, pairing, s.rotary_dim, s.offset, is_normed);
            if (!call.is_offered()) continue;
            const auto near = call.run(Reach::near, s.behind);
            EXPECT_EQ(call.run(Reach::far, s.behind), near) << kernel->name;
            EXPECT_EQ(call.run(Reach::past, s.behind), near) << kernel->name;
            EXPECT_EQ(call.run(Reach::past, 0), near) << kernel->name << " elsewhere";
            ++compared;
          }
  }
  if (compared == 0) GTEST_SKIP() << "no vector kernel runs here";
  EXPECT_EQ(compared % 32, 0) << "2 pairings, 8 shapes, with a norm and without";
}

TEST(Reach, FollowsWhatIsWritten) {
  rope_problem p{};
  p.batch = 1;
  p.tensor_count = 1;
  p.tensor[0].heads = 1;
  p.tensor[0].head_dim = 1024;
  p.tensor[0].out_dtype = ROPE_F32;
  p.tokens = 1;
  EXPECT_EQ(reach_of(p), Reach::near);
  p.tokens = 512;
  EXPECT_EQ(reach_of(p), Reach::far);
  p.tokens = std::int64_t{1} << 40;
  EXPECT_EQ(reach_of(p), Reach::past);
  p.tensor[0].in_place = 1;
  EXPECT_EQ(reach_of(p), Reach::far);
  p.tensor[1] = p.tensor[0];
  p.tensor[1].in_place = 0;
  p.tensor_count = 2;
  EXPECT_EQ(reach_of(p), Reach::past) << "of the second tensor";
}

TEST(VectorKernels, RefuseAScaleThatMakesTheTableSubnormal) {
  for (const rope_kernel* kernel : registered_kernels()) {
    rope_problem p{};
    p.angle_source =
        kernel->angle_contract == ROPE_CONTRACT_TABLE ? ROPE_ANGLES_TABLE : ROPE_ANGLES_INV_FREQ;
    p.tensor_count = 1;
    p.tensor[0].in_dtype = p.tensor[0].out_dtype = ROPE_BF16;
    p.table_dtype = ROPE_F32;
    for (const double scale : {0.0, 1.0, -2.0, 0x1p-102})
      EXPECT_EQ((p.attention_scale = scale, kernel->supports(&p, nullptr)), ROPE_OK) << scale;
    p.attention_scale = -0x1p-103;
    const char* why = nullptr;
    EXPECT_EQ(kernel->supports(&p, &why), ROPE_UNSUPPORTED);
    EXPECT_STREQ(why, "no attention_scale that makes cos and sin subnormal");
  }
}

}  // namespace
}  // namespace ropewalk
