#include "cli/help/manual_page.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/exit_codes.h"

namespace lapwing::cli {
namespace {

// Escapes a word or a line, so that roff prints it unchanged.
std::string plain(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  const bool is_request = absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'");
  return is_request ? "\\&" + escaped : escaped;
}

std::string heading(const std::string& name, const ManualEdition& edition) {
  return absl::StrCat(".TH ", absl::AsciiStrToUpper(plain(name)), " 1 ", edition.date,
                      " \"Lapwing ", edition.version, "\"\n");
}

// Text that man fills, broken into lines of limited length.
std::string filled(absl::string_view text) {
  constexpr std::size_t kColumns = 72;
  std::string out;
  std::string line;
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    const std::string escaped = plain(word);
    if (!line.empty() && line.size() + 1 + escaped.size() > kColumns) {
      absl::StrAppend(&out, line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", escaped);
  }
  return absl::StrCat(out, line, "\n");
}

// Lines that man does not fill. A line that is too long is continued on the next line of the file.
std::string as_they_are(const std::vector<absl::string_view>& lines) {
  constexpr std::size_t kColumns = 70;
  std::string out = ".nf\n";
  for (const absl::string_view line : lines) {
    std::string escaped = plain(line);
    while (escaped.size() > kColumns) {
      const std::size_t blank = escaped.rfind(' ', kColumns);
      if (blank == std::string::npos || blank < kColumns / 2) break;
      absl::StrAppend(&out, escaped.substr(0, blank), "\\c\n");
      escaped = "\\&" + escaped.substr(blank);
    }
    absl::StrAppend(&out, escaped, "\n");
  }
  return out + ".fi\n";
}

// Formats a help text: paragraphs, and examples, which are lines that begin with a space.
std::string paragraphs(const std::string& text) {
  std::string out;
  for (const absl::string_view paragraph : absl::StrSplit(text, "\n\n", absl::SkipWhitespace())) {
    if (!out.empty()) absl::StrAppend(&out, ".PP\n");
    std::string words;
    std::vector<absl::string_view> examples;
    for (const absl::string_view line : absl::StrSplit(paragraph, '\n', absl::SkipWhitespace())) {
      if (absl::StartsWith(line, " ")) {
        examples.push_back(absl::StripTrailingAsciiWhitespace(line));
      } else {
        absl::StrAppend(&words, line, "\n");
      }
    }
    if (!words.empty()) absl::StrAppend(&out, filled(words));
    if (!examples.empty()) absl::StrAppend(&out, as_they_are(examples));
  }
  return out;
}

std::string option_entry(const OptionText& option) {
  std::string entry = absl::StrCat(".TP\n\\fB", plain(absl::StrJoin(option.names, ", ")), "\\fR");
  if (!option.value.empty() && option.choices.empty()) {
    absl::StrAppend(&entry, " \\fI", plain(option.value), "\\fR");
  }
  if (!option.choices.empty()) {
    absl::StrAppend(&entry, " ", plain(absl::StrJoin(option.choices, "|")));
  }
  std::string about = option.about;
  if (!option.default_value.empty()) absl::StrAppend(&about, ". Default: ", option.default_value);
  absl::StrAppend(&about, option.is_required ? ". Required." : ".");
  return absl::StrCat(entry, "\n", filled(about));
}

std::string options_section(const CommandText& command) {
  std::string section = ".SH OPTIONS\n";
  for (const OptionText& option : command.options) section += option_entry(option);
  return section;
}

std::string exit_status_section() {
  std::string section = ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& one : kExitCodes) {
    absl::StrAppend(&section, ".TP\n\\fB", one.code, "\\fR\n",
                    filled(absl::StrCat(one.meaning, ".")));
  }
  return section;
}

// Converts "Show a bus." to the form used in lists: "show a bus".
std::string summary_of(const std::string& about) {
  std::string line = about.substr(0, about.find('\n'));
  if (absl::EndsWith(line, ".")) line.pop_back();
  return line;
}

}  // namespace

std::string manual_of_program(const ProgramText& program, const ManualEdition& edition) {
  const CommandText& whole = program.program;
  const std::size_t end = whole.about.find("\n\n");
  std::string page = absl::StrCat(
      heading("lapwing", edition), ".SH NAME\nlapwing \\- ",
      plain("a broadcast bus for market data on one machine"),
      "\n.SH SYNOPSIS\n\\fBlapwing\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n",
      paragraphs(end == std::string::npos ? whole.about : whole.about.substr(end + 2)),
      ".SH COMMANDS\n");
  for (const CommandText& command : program.commands) {
    absl::StrAppend(&page, ".TP\n\\fBlapwing\\-", plain(command.name), "\\fR(1)\n",
                    filled(summary_of(command.about) + "."));
  }
  return absl::StrCat(page, options_section(whole), exit_status_section(), ".SH NOTES\n",
                      paragraphs(whole.more));
}

std::string manual_of_command(const CommandText& command, const ManualEdition& edition) {
  const std::string name = "lapwing-" + command.name;
  return absl::StrCat(heading(name, edition), ".SH NAME\n",
                      filled(absl::StrCat(name, " - ", summary_of(command.about))),
                      ".SH SYNOPSIS\n\\fBlapwing ", plain(command.name), "\\fR [\\fIOPTIONS\\fR]\n",
                      options_section(command), ".SH DESCRIPTION\n", paragraphs(command.more),
                      exit_status_section(), ".SH SEE ALSO\n\\fBlapwing\\fR(1)\n");
}

}  // namespace lapwing::cli
