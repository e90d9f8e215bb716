// The verbs, each in the file of its name (device ... and lease ... in devices.cc and lease.cc).
#ifndef HELX_CLIENT_CLI_VERBS_H_
#define HELX_CLIENT_CLI_VERBS_H_

#include <memory>

#include "client/cli/command.h"

namespace helx::cli {

std::unique_ptr<Command> MakeBuild();
std::unique_ptr<Command> MakeCancel();
std::unique_ptr<Command> MakeCompare();
std::unique_ptr<Command> MakeDeviceCheck();
std::unique_ptr<Command> MakeDeviceDrain();
std::unique_ptr<Command> MakeDeviceGood();
std::unique_ptr<Command> MakeDeviceLoop();
std::unique_ptr<Command> MakeDeviceMaintenance();
std::unique_ptr<Command> MakeDeviceReset();
std::unique_ptr<Command> MakeDeviceRetire();
std::unique_ptr<Command> MakeDevices();
std::unique_ptr<Command> MakeDoctor();
std::unique_ptr<Command> MakeEngines();
std::unique_ptr<Command> MakeFreeze();
std::unique_ptr<Command> MakeLeaseAcquire();
std::unique_ptr<Command> MakeLeaseExtend();
std::unique_ptr<Command> MakeLeaseList();
std::unique_ptr<Command> MakeLeaseRelease();
std::unique_ptr<Command> MakeList();
std::unique_ptr<Command> MakeLogs();
std::unique_ptr<Command> MakeReplay();
std::unique_ptr<Command> MakeResubmit();
std::unique_ptr<Command> MakeResultsBisect();
std::unique_ptr<Command> MakeResultsExport();
std::unique_ptr<Command> MakeResultsFetch();
std::unique_ptr<Command> MakeResultsList();
std::unique_ptr<Command> MakeResultsVerify();
std::unique_ptr<Command> MakeRun();
std::unique_ptr<Command> MakeRunBuild();
std::unique_ptr<Command> MakeShow();
std::unique_ptr<Command> MakeStatus();
std::unique_ptr<Command> MakeStoreBackup();
std::unique_ptr<Command> MakeStoreCancel();
std::unique_ptr<Command> MakeStoreCheck();
std::unique_ptr<Command> MakeStoreGc();
std::unique_ptr<Command> MakeStorePin();
std::unique_ptr<Command> MakeStorePins();
std::unique_ptr<Command> MakeStoreScrub();
std::unique_ptr<Command> MakeStoreStatus();
std::unique_ptr<Command> MakeStoreUnpin();
std::unique_ptr<Command> MakeSubmit();
std::unique_ptr<Command> MakeTargets();
std::unique_ptr<Command> MakeVersion();
std::unique_ptr<Command> MakeWait();
std::unique_ptr<Command> MakeWatch();

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_VERBS_H_
