// Which devices a job or a lease wants: "lab=berlin,rack!=7,fvp,!shared".
#ifndef HELX_SERVER_SCHEDULER_SELECTOR_H_
#define HELX_SERVER_SCHEDULER_SELECTOR_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "google/protobuf/repeated_field.h"
#include "helx/v1/worker.pb.h"

namespace helx::server {

using Labels = google::protobuf::RepeatedPtrField<v1::Label>;

// At most 64 labels, keys and values of at most 64 characters A-Za-z0-9._/- (a value may be empty), each key once.
absl::Status CheckLabels(const Labels& labels);

// Terms separated by commas, all of which must hold: KEY=VALUE, KEY!=VALUE (also when there is no KEY), KEY (whatever its
// value), !KEY. The empty selector matches everything.
class Selector {
 public:
  // INVALID_ARGUMENT naming the term; at most 512 bytes.
  static absl::StatusOr<Selector> Parse(std::string_view text);

  bool Matches(const Labels& labels) const { return Mismatch(labels).empty(); }
  // The first term that does not hold, as written; empty when all do.
  std::string Mismatch(const Labels& labels) const;
  bool empty() const { return terms_.empty(); }

 private:
  struct Term {
    std::string text;
    std::string key;
    std::string value;
    bool with_value = false;
    bool negated = false;
  };
  std::vector<Term> terms_;
};

// Whether a selector that was checked before matches; one that cannot be read matches nothing.
bool SelectorMatches(const std::string& selector, const Labels& labels);

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_SELECTOR_H_
