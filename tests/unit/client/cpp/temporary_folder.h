// A folder for one test, removed with it.
#ifndef HELX_TESTS_UNIT_CLIENT_CPP_TEMPORARY_FOLDER_H_
#define HELX_TESTS_UNIT_CLIENT_CPP_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace helx::client {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "helx-test.XXXXXX").string();
    path_ = mkdtemp(path.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }

 private:
  std::string path_;
};

}  // namespace helx::client

#endif  // HELX_TESTS_UNIT_CLIENT_CPP_TEMPORARY_FOLDER_H_
