// A folder that goes with the test.
#ifndef HELX_TESTS_UNIT_SERVER_TEMP_FOLDER_H_
#define HELX_TESTS_UNIT_SERVER_TEMP_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace helx::server {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "helx-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace helx::server

#endif  // HELX_TESTS_UNIT_SERVER_TEMP_FOLDER_H_
