// The schema version of a store, and how older ones become the current one.
//
//   1  the meta row of a blob lies behind its chunks, in the family `blobs`, and says nothing
//   2  meta rows have a family of their own, so that they can be walked without reading any blob,
//      and say when the blob was last used; blobs are counted per instance
#include <charconv>

#include "server/store/database.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr char kSchemaKey[] = "schema_version";
constexpr size_t kRowsAtOnce = 1000;
constexpr size_t kDigestBytes = 32 + 8;  // hash and size, as keys hold them

absl::Status Newer(const std::string& path, const std::string& version) {
  return FailedPrecondition("the store in " + path + " has schema version " + version +
                            "; this helxd reads versions 1 to " + std::to_string(kSchemaVersion) +
                            ": use the helxd that wrote it, or another --data-dir");
}

int VersionOf(const std::string& text) {
  int version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

absl::Status Write(rocksdb::DB* db, rocksdb::WriteBatch& batch) {
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const absl::Status status = ToStatus(db->Write(synced, &batch));
  batch.Clear();
  return status;
}

// Moves meta rows from behind the chunks to their family. A blob whose meta row has moved already
// is passed over, and so are chunks without one: of an upload that a crash cut short.
absl::Status MoveMetaRows(rocksdb::DB* db, const FamilyHandles& families, int64_t now_seconds) {
  auto* const blobs = families[static_cast<int>(Family::kBlobs)];
  auto* const metas = families[static_cast<int>(Family::kBlobMeta)];
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, blobs));
  rocksdb::WriteBatch batch;
  size_t rows = 0;
  for (it->SeekToFirst(); it->Valid();) {
    const std::string key = it->key().ToString();
    const size_t instance = key.find('\0');
    if (instance == std::string::npos || key.size() < instance + 1 + kDigestBytes + 1) {
      return DataLoss("the store: a key of the family blobs is damaged");
    }
    const std::string blob = key.substr(0, instance + 1 + kDigestBytes);
    if (key.size() == blob.size() + 1 && key.back() == 'm') {
      batch.Delete(blobs, key);
      batch.Put(metas, blob, BigEndian64(static_cast<uint64_t>(now_seconds)));
      if (++rows % kRowsAtOnce == 0) HELX_RETURN_IF_ERROR(Write(db, batch));
      it->Next();
    } else {
      // 'c' < 'm': past the chunks, without reading them.
      it->Seek(blob + "m");
    }
  }
  HELX_RETURN_IF_ERROR(ToStatus(it->status()));
  return batch.Count() == 0 ? absl::OkStatus() : Write(db, batch);
}

absl::Status CountBlobs(rocksdb::DB* db, const FamilyHandles& families,
                        rocksdb::WriteBatch& batch) {
  const std::unique_ptr<rocksdb::Iterator> it(
      db->NewIterator({}, families[static_cast<int>(Family::kBlobMeta)]));
  std::map<std::string, BlobUsage> counts;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const std::string_view key = ViewOf(it->key());
    BlobUsage& usage = counts[std::string(FirstPart(key))];
    ++usage.blobs;
    usage.bytes += BlobOfMetaKey(key).size_bytes;
  }
  for (const auto& [instance, usage] : counts) {
    batch.Put(InstanceKey("blobs", instance), BigEndian64(static_cast<uint64_t>(usage.blobs)) +
                                                  BigEndian64(static_cast<uint64_t>(usage.bytes)));
  }
  return ToStatus(it->status());
}

}  // namespace

absl::Status RefuseNewerSchema(const std::string& store_path, const std::string& database_path,
                               rocksdb::Env* env) {
  rocksdb::Options options;
  if (env != nullptr) options.env = env;
  std::vector<std::string> names;
  // A folder without a database has none to refuse.
  if (!rocksdb::DB::ListColumnFamilies(options, database_path, &names).ok()) {
    return absl::OkStatus();
  }
  bool unknown = false;
  for (const std::string& name : names) {
    unknown =
        unknown || std::find(kFamilyNames.begin(), kFamilyNames.end(), name) == kFamilyNames.end();
  }
  if (!unknown) return absl::OkStatus();  // MigrateSchema reads the version
  options.info_log = nullptr;
  rocksdb::DB* opened = nullptr;
  std::string version = "unknown";
  if (rocksdb::DB::OpenForReadOnly(options, database_path, &opened).ok()) {
    const std::unique_ptr<rocksdb::DB> db(opened);
    db->Get({}, kSchemaKey, &version);
  }
  return Newer(store_path, version);
}

absl::Status MigrateSchema(rocksdb::DB* db, const FamilyHandles& families, int64_t now_seconds) {
  std::string text;
  const rocksdb::Status read = db->Get({}, kSchemaKey, &text);
  if (!read.ok() && !read.IsNotFound()) return ToStatus(read);
  // A new database has nothing to migrate.
  const int version = read.IsNotFound() ? kSchemaVersion : VersionOf(text);
  if (version < 1 || version > kSchemaVersion) return Newer(db->GetName(), text);
  if (read.ok() && version == kSchemaVersion) return absl::OkStatus();
  rocksdb::WriteBatch batch;
  if (version == 1) {
    HELX_RETURN_IF_ERROR(MoveMetaRows(db, families, now_seconds));
    FaultPoint("schema.moved");
    HELX_RETURN_IF_ERROR(CountBlobs(db, families, batch));
  }
  batch.Put(kSchemaKey, std::to_string(kSchemaVersion));
  return Write(db, batch);
}

}  // namespace helx::server
