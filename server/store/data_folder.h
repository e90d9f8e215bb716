// The data folder of one daemon: created with mode 0700, locked against a second process.
#ifndef HELX_SERVER_STORE_DATA_FOLDER_H_
#define HELX_SERVER_STORE_DATA_FOLDER_H_

#include <memory>
#include <string>

#include "core/base/status.h"

namespace helx::server {

class DataFolder {
 public:
  // Creates `path` and its parents where needed and locks it. FAILED_PRECONDITION naming the
  // holder's process when another daemon has it; the kernel releases the lock with the process,
  // however it ends.
  static absl::StatusOr<std::unique_ptr<DataFolder>> Open(const std::string& path);
  ~DataFolder();
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  // Tells whoever finds the folder held where its holder serves; empty: not yet, or no longer.
  void Announce(const std::string& address);

  const std::string& path() const { return path_; }
  // A subfolder, created with mode 0700 when it does not exist.
  absl::StatusOr<std::string> Subfolder(const std::string& name) const;

 private:
  DataFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_STORE_DATA_FOLDER_H_
