#include "server/maintenance/scrubber.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "server/maintenance/rows.h"

namespace helx::server {
namespace {

constexpr int64_t kQuarantineBytes = int64_t{1} << 30;
constexpr auto kNap = std::chrono::milliseconds(20);

// Keeps the average rate since its making.
class Pace {
 public:
  explicit Pace(int64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  absl::Status Spend(int64_t bytes, const Operation& operation) {
    bytes_ += bytes;
    while (bytes_per_second_ > 0) {
      HELX_RETURN_IF_ERROR(operation.Continue());
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
      if (static_cast<double>(bytes_) <= spent.count() * static_cast<double>(bytes_per_second_)) {
        break;
      }
      std::this_thread::sleep_for(kNap);
    }
    return operation.Continue();
  }

 private:
  const int64_t bytes_per_second_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int64_t bytes_ = 0;
};

// True when the copy is whole as far as the blob can be read.
bool Quarantine(const BlobStore& blobs, const std::string& folder, const std::string& instance,
                const Digest& digest) {
  mkdir(folder.c_str(), 0700);
  int64_t held = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    held += static_cast<int64_t>(entry.file_size(error));
  }
  if (held + digest.size_bytes > kQuarantineBytes) return false;
  std::ofstream file(
      folder + "/" + instance + "." + digest.hash + "." + std::to_string(digest.size_bytes),
      std::ios::binary | std::ios::trunc);
  blobs
      .Verify(instance, digest,
              [&](std::string_view piece) {
                file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
              })
      .IgnoreError();
  return file.flush().good();
}

}  // namespace

absl::Status Scrub(const Store& store, BlobStore* blobs, const std::string& quarantine_folder,
                   int64_t bytes_per_second, Operation* operation) {
  Pace pace(bytes_per_second);
  for (const auto& [instance, usage] : store.Usage()) {
    HELX_RETURN_IF_ERROR(ForEachBlob(
        *blobs, instance, [&, instance = instance](const BlobStore::Entry& entry) -> absl::Status {
          const absl::Status status = blobs->Verify(instance, entry.digest);
          const bool damaged = absl::IsDataLoss(status);
          if (!status.ok() && !damaged && !absl::IsNotFound(status)) return status;
          if (damaged) {
            const bool copied = Quarantine(*blobs, quarantine_folder, instance, entry.digest);
            blobs->Discard(instance, entry.digest);
            operation->Problem(instance + ": " + MessageOf(status) +
                               (copied ? "; its bytes are in quarantine" : "; its bytes are lost"));
          }
          operation->Update([&](v1::StoreOperation& state) {
            state.set_blobs(state.blobs() + 1);
            state.set_bytes(state.bytes() + entry.digest.size_bytes);
            if (damaged) state.set_damaged_blobs(state.damaged_blobs() + 1);
          });
          return pace.Spend(entry.digest.size_bytes, *operation);
        }));
  }
  return absl::OkStatus();
}

}  // namespace helx::server
