// Files and folders for wai-verify, on POSIX calls that WASI has too.
#ifndef HELX_CLIENT_OPS_FILES_H_
#define HELX_CLIENT_OPS_FILES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace helx::ops {

// Empty, with `*error` naming the path, when the file cannot be read or is above 1 GiB.
std::optional<std::string> ReadFile(const std::string& path, std::string* error);
// Writes the file, making its folders.
bool WriteFile(const std::string& path, const std::string& bytes, std::string* error);
bool IsFolder(const std::string& path);
// Every regular file under `folder` by its path relative to it, '/'-separated.
std::optional<std::map<std::string, std::string>> ReadTree(const std::string& folder,
                                                           std::string* error);

// The file's name without its folders and its last extension.
std::string Stem(const std::string& path);

}  // namespace helx::ops

#endif  // HELX_CLIENT_OPS_FILES_H_
