#include "server/scheduler/selector.h"

#include <algorithm>
#include <set>

#include "server/scheduler/names.h"

namespace helx::server {
namespace {

constexpr size_t kSelectorBytes = 512;
constexpr int kLabels = 64;
constexpr size_t kWordBytes = 64;

bool IsWord(std::string_view text) {
  return text.size() <= kWordBytes &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") ==
             std::string_view::npos;
}

}  // namespace

absl::Status CheckLabels(const Labels& labels) {
  if (labels.size() > kLabels) {
    return InvalidArgument("a device has " + std::to_string(labels.size()) +
                           " labels; at most 64 are allowed");
  }
  std::set<std::string_view> keys;
  for (const v1::Label& label : labels) {
    if (label.key().empty() || !IsWord(label.key()) || !IsWord(label.value())) {
      return InvalidArgument("label " + Quoted(label.key() + "=" + label.value()) +
                             ": allowed are KEY=VALUE of at most 64 characters A-Za-z0-9._/- each");
    }
    if (!keys.insert(label.key()).second) {
      return InvalidArgument("label " + Quoted(label.key()) + " is given twice");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Selector> Selector::Parse(std::string_view text) {
  Selector selector;
  if (text.empty()) return selector;
  if (text.size() > kSelectorBytes) {
    return InvalidArgument("selector has " + std::to_string(text.size()) +
                           " bytes; at most 512 are allowed");
  }
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    std::string_view rest = text.substr(at, end - at);
    at = end + 1;
    Term term;
    term.text = rest;
    if (const size_t equals = rest.find('='); equals != std::string_view::npos) {
      term.with_value = true;
      term.value = rest.substr(equals + 1);
      rest = rest.substr(0, equals);
      term.negated = !rest.empty() && rest.back() == '!';
      if (term.negated) rest.remove_suffix(1);
    } else {
      term.negated = !rest.empty() && rest.front() == '!';
      if (term.negated) rest.remove_prefix(1);
    }
    term.key = rest;
    if (term.key.empty() || !IsWord(term.key) || !IsWord(term.value)) {
      return InvalidArgument("selector: the term " + Quoted(term.text) +
                             " is none of KEY=VALUE, KEY!=VALUE, KEY and !KEY, with keys and values "
                             "of at most 64 characters A-Za-z0-9._/-");
    }
    selector.terms_.push_back(std::move(term));
  }
  return selector;
}

std::string Selector::Mismatch(const Labels& labels) const {
  for (const Term& term : terms_) {
    const auto found = std::find_if(labels.begin(), labels.end(), [&](const v1::Label& label) {
      return label.key() == term.key;
    });
    const bool holds =
        found != labels.end() && (!term.with_value || found->value() == term.value);
    if (holds == term.negated) return term.text;
  }
  return "";
}

bool SelectorMatches(const std::string& selector, const Labels& labels) {
  const auto parsed = Selector::Parse(selector);
  return parsed.ok() && parsed->Matches(labels);
}

}  // namespace helx::server
