#include "client/cli/job_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/errors.h"
#include "client/cpp/job_client.h"

namespace helx::cli {
namespace {

class Logs : public Command {
 public:
  std::string_view Name() const override { return "logs"; }
  std::string_view Summary() const override {
    return "Print what a job's actions printed; --follow goes on until the job ends";
  }

  void Configure(Options& options) override {
    options.Text("job", job_, "The job, as submit and list print it", Options::Need::kRequired);
    options.Flag("-f,--follow", follow_, "Wait for more until the job ends");
    options.Flag("--raw", raw_, "The bytes as they are; otherwise what is not text is \\xNN");
    options.Integer("--attempt", attempt_, 0, INT32_MAX, "Begin with this attempt (default 0)");
    options.Integer("--offset", offset_, 0, INT64_MAX, "Begin at this byte of it (default 0)");
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const std::string name, client::JobName(job_));
    if (offset_ > 0 && attempt_ == 0) {
      return InvalidArgument("--offset counts the bytes of one attempt; give --attempt too");
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    helx::v1::LogPosition next;
    next.set_attempt(static_cast<int32_t>(attempt_));
    next.set_offset(offset_);
    const absl::Status status = client::JobClient(connection)
                                    .ReadLog(
                                        name, next, follow_,
                                        [&](const helx::v1::LogPiece& piece) {
                                          next = piece.next();
                                          Print(invocation, piece);
                                        },
                                        invocation.stop);
    if (!status.ok() && invocation.stop.stop_requested()) {
      return absl::Status(absl::StatusCode::kCancelled,
                          "interrupted; the job goes on. Come back with '" +
                              invocation.CommandLine("logs --follow " + name + " --attempt " +
                                                     std::to_string(next.attempt()) +
                                                     " --offset " + std::to_string(next.offset())) +
                              "'");
    }
    if (!status.ok()) return client::WithContext(status, name);
    return kOk;
  }

 private:
  void Print(Invocation& invocation, const helx::v1::LogPiece& piece) const {
    if (invocation.json) {
      const Json line = {{"attempt", piece.at().attempt()},
                         {"offset", piece.at().offset()},
                         {"next_offset", piece.next().offset()},
                         {"kind", ActionName(piece.kind())},
                         {"number", piece.number()},
                         {"dropped", piece.dropped()},
                         {"data", Utf8(piece.data())}};
      invocation.out << line.dump() << std::endl;
      return;
    }
    if (piece.dropped() > 0) {
      invocation.err << invocation.program << ": " << Grouped(piece.dropped())
                     << " bytes are not to be had any more" << std::endl;
    }
    invocation.out << (raw_ ? piece.data() : Printable(piece.data())) << std::flush;
  }

  std::string job_;
  bool follow_ = false;
  bool raw_ = false;
  int64_t attempt_ = 0;
  int64_t offset_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeLogs() { return std::make_unique<Logs>(); }

}  // namespace helx::cli
