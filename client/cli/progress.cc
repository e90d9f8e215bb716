#include "client/cli/progress.h"

#include "client/cli/text.h"

namespace helx::cli {
namespace {

constexpr int64_t kLargeBytes = 8 << 20;
constexpr size_t kBarWidth = 24;
constexpr size_t kLineWidth = 79;
constexpr std::chrono::milliseconds kRedraw{100};

}  // namespace

void Progress::Step(std::string_view text) {
  if (quiet_) return;
  if (terminal_) {
    Draw(std::string(text));
  } else {
    err_ << text << std::endl;
  }
}

void Progress::Transfer(std::string_view what, int64_t done, int64_t total) {
  if (quiet_) return;
  const bool first = !transferring_;
  transferring_ = done < total;
  if (!terminal_) {
    if (total < kLargeBytes) return;
    if (first) err_ << what << " " << Bytes(total) << std::endl;
    if (!transferring_) err_ << what << " " << Bytes(total) << ": done" << std::endl;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (transferring_ && now - last_draw_ < kRedraw) return;
  last_draw_ = now;
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const size_t filled = static_cast<size_t>(share * kBarWidth);
  Draw(std::string(what) + " [" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') +
       "] " + Bytes(done) + " of " + Bytes(total));
}

void Progress::Clear() {
  if (drawn_) err_ << "\r\033[K" << std::flush;
  drawn_ = false;
}

void Progress::Draw(const std::string& line) {
  err_ << "\r\033[K" << line.substr(0, kLineWidth) << std::flush;
  drawn_ = true;
}

}  // namespace helx::cli
