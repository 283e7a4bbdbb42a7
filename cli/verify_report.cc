#include "cli/verify_report.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "cli/exit_codes.h"
#include "cli/say.h"
#include "lapwing/error.h"
#include "snapshot/bus_directory.h"

namespace lapwing::cli {
namespace {

using Json = nlohmann::ordered_json;

Json finding_json(const VerifyFinding& finding) {
  Json json = {{"file", finding.damage.file},
               {"offset", finding.damage.offset},
               {"what", finding.damage.what},
               {"loses_records", finding.loses_records},
               {"remedy", finding.remedy}};
  if (finding.damage.first != kNoSequence) {
    json["first"] = finding.damage.first;
    json["last"] = finding.damage.last;
  }
  return json;
}

Json journal_json(const VerifiedJournal& journal) {
  Json json = {{"journal", journal.journal_id.hex()}, {"sessions", journal.sessions},
               {"segments", journal.segments},        {"oldest", journal.oldest},
               {"durable", journal.durable},          {"records", journal.records},
               {"damaged", journal.damaged},          {"voids", journal.voids},
               {"void_records", journal.void_records}};
  if (journal.absent > 0) {
    json["absent"] = journal.absent;
    json["absent_records"] = journal.absent_records;
  }
  return json;
}

void print_finding(const VerifyFinding& finding) {
  const JournalDamage& damage = finding.damage;
  std::cout << "  " << printable(damage.file) << " at offset " << damage.offset;
  if (damage.first != kNoSequence) {
    std::cout << ", sequences " << damage.first << " to " << damage.last;
  }
  std::cout << ": " << printable(damage.what) << "\n    " << finding.remedy << '\n';
}

}  // namespace

Json verify_json(const VerifyReport& report) {
  Json journals = Json::array();
  for (const VerifiedJournal& journal : report.journals) journals.push_back(journal_json(journal));
  Json findings = Json::array();
  for (const VerifyFinding& finding : report.findings) findings.push_back(finding_json(finding));
  return {{"clean", report.is_clean()},
          {"loses_records", report.loses_records},
          {"journals", journals},
          {"findings", findings},
          {"findings_left_off", report.findings_left_off}};
}

void print_verify(const VerifyReport& report) {
  for (const VerifiedJournal& journal : report.journals) {
    std::cout << "journal " << journal.journal_id.hex() << ": " << journal.records
              << " records from " << journal.oldest << " to " << journal.durable << " in "
              << journal.segments << " segments and " << journal.sessions << " sessions; "
              << journal.damaged << " damaged, " << journal.void_records << " void";
    if (journal.absent > 0) std::cout << ", " << journal.absent_records << " absent at the origin";
    std::cout << '\n';
  }
  for (const VerifyFinding& finding : report.findings) print_finding(finding);
  if (report.findings_left_off > 0) {
    std::cout << "  and " << report.findings_left_off << " more\n";
  }
  std::cout << (report.is_clean() ? "all is well" : "damaged") << '\n';
}

int verify_exit_code(const VerifyReport& report) {
  return report.is_clean() ? kExitDone : kExitDamaged;
}

absl::StatusOr<std::string> journal_root_of(const std::string& bus) {
  const absl::StatusOr<BusDescription> description = read_bus_description(bus);
  if (!description.ok()) return description.status();
  if (!description->journal_root.empty()) return description->journal_root;
  return make_error(Errc::kNoJournal,
                    absl::StrCat("bus ", bus,
                                 " keeps no journal to verify or repair. To keep one, start its "
                                 "publisher without --journal none"));
}

}  // namespace lapwing::cli
